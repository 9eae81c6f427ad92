# SPDX-License-Identifier: BSD-3-Clause
"""Linear separators: where ln p(x | C_k) = w_k'(x - m) + w_k0 + terms that are equal for all classes.   PRML §4.2.4

With u(x) = x and a scale s shared by the classes, p(x | λ, s) = h(x/s)/s g(λ) exp(λ'x/s), and for two classes

    a(x) = (λ_1 - λ_0)'x/s + ln g(λ_1) - ln g(λ_0) + ln π_1/π_0                                              (4.85)

======================== ============ ============= ==========
family                   w            w0            needs
======================== ============ ============= ==========
Bernoulli                ln μ/(1-μ)   ln(1-μ)
Poisson                  ln λ         -λ
exponential              -b           ln b
multinomial              ln μ         0
normal, about m          (μ-m)/σ²     -(μ-m)²/2σ²   one σ
gamma                    -b           a ln b        one a
multivariate normal      Σ⁻¹(μ-m)     -½(μ-m)'w     one Σ
======================== ============ ============= ==========
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix._array import Float, Rows, is_sparse
from separatrix.families import (
    Bernoulli,
    Exponential,
    Gamma,
    Multinomial,
    MultivariateNormal,
    NormalKnownVariance,
    Poisson,
)
from separatrix.generative.groups import GroupedDensity

__all__ = ["Affine", "affine_form", "why_not_affine"]


class Affine(NamedTuple):
    """w (K, D), w0 (K,) and the origin m (D,)."""

    W: Float
    w0: Float
    origin: Float

    @property
    def intercept(self) -> Float:
        """w_k0 - w_k'm, for x as it is."""
        return self.w0 - self.W @ self.origin

    def scaled(self, factor: float) -> Affine:
        """The form times a number."""
        return Affine(factor * self.W, factor * self.w0, self.origin)

    def scores(self, X: Rows) -> Float:
        """w_k'(x - m) + w_k0, (n, K)."""
        W = self.W.T if is_sparse(X) else self.W.T.astype(X.dtype, copy=False)
        return np.asarray(X @ W + self.intercept, dtype=np.float64)


def affine_form(density: GroupedDensity) -> Affine | None:
    """The linear form of all groups together; None where a group has none, or an infinite one."""
    parts = [_affine(each) for each in density.densities]
    if any(part is None for part in parts):
        return None
    K = len(parts[0][0])  # type: ignore[index]  # none is None
    D = sum(len(group.columns) for group in density.groups)
    W, w0, origin = np.zeros((K, D)), np.zeros(K), np.zeros(D)
    for group, (w, constant, m) in zip(density.groups, parts, strict=True):  # type: ignore[misc]
        W[:, group.columns], origin[list(group.columns)] = w, m
        w0 += constant
    return Affine(W, w0, origin) if np.isfinite(W).all() and np.isfinite(w0).all() else None


def why_not_affine(density: GroupedDensity, names: Sequence[str]) -> str:
    """The first reason why there is no linear form, for a person."""
    for group, each in zip(density.groups, density.densities, strict=True):
        form = _affine(each)
        column = f"column {names[group.columns[0]]!r} ({group.family})"
        if form is None:
            return f"the log-odds are not linear in {column}, whose density is {_kind(each)}"
        if not np.isfinite(form[0]).all():
            return f"a probability is 0 in {column}, so the log-odds are infinite; estimate='map' keeps them finite"
    return "a class has no rows yet"


def _affine(density: Any) -> tuple[Float, Float, Float] | None:
    match density:
        case Bernoulli() | Poisson() | Exponential():
            w = density.natural[..., 0]  # λ_k of (4.85); of 0/1 columns (4.82)
            return w, -density.log_normaliser.sum(axis=1), np.zeros(w.shape[1])
        case Multinomial():
            w = density.log_probability
            return w, np.zeros(len(w)), np.zeros(w.shape[1])
        case Gamma() if _is_shared(density.shape):
            return -density.rate, (density.shape * np.log(density.rate)).sum(axis=1), np.zeros(density.rate.shape[1])
        case NormalKnownVariance() if _is_shared(density.sd):
            m = density.mean.mean(axis=0)
            w = (density.mean - m) / density.variance
            return w, -0.5 * (w * (density.mean - m)).sum(axis=1), m
        case MultivariateNormal() if _is_shared(density.covariance):
            m = density.mean.mean(axis=0)
            w = np.linalg.solve(density.covariance[0], (density.mean - m).T).T
            return w, -0.5 * (w * (density.mean - m)).sum(axis=1), m
    return None


def _is_shared(parameter: Float) -> bool:
    return bool((parameter == parameter[:1]).all())


def _kind(density: Any) -> str:
    return f"a {type(density).__name__} with parameters of its own for each class"
