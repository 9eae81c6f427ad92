# SPDX-License-Identifier: BSD-3-Clause
"""A model in which some coefficients have given values: their columns become a part of the offset.

Fits start where the covariance of the full fit foretells their end, so they take few steps. Coefficients here are
vectors (w, w0) in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from separatrix._array import Codes, Float
from separatrix._threads import single_thread_blas
from separatrix.discriminative.glm_fit import GLMFit
from separatrix.priors import Penalty
from separatrix.rows import Block
from separatrix.solvers import Posterior, Units
from separatrix.stats import Design

__all__ = ["Restriction", "fit_restricted", "foretold", "null_coefficients", "restrict"]


def held(block: Block, free: Codes, fixed: Codes, values: Float, constant: float = 0.0) -> Block:
    """The same rows with some columns, times their coefficients, moved to the offset."""
    known = np.asarray(block.X[:, fixed] @ values, dtype=np.float64) + constant
    offset = known if block.offset is None else block.offset + known
    return replace(block, X=block.X[:, free], offset=offset)


@dataclass(frozen=True, eq=False)
class Restriction:
    """A model of the free coefficients, and where they stand among all."""

    posterior: Posterior
    free: Codes
    rest: Float

    def start(self, w: Float) -> Float:
        """θ (1, Q) of the free coefficients in a vector of all of them."""
        part, bias = w[self.free], self.posterior.design.bias
        M = len(part) - bias
        return self.posterior.design.of_user_units(part[None, :M], part[M:])

    def all_of(self, theta: Float) -> Float:
        """The vector of all coefficients, free ones from θ."""
        coef, intercept = self.posterior.design.in_user_units(theta)
        w = self.rest.copy()
        w[self.free] = np.append(coef[0], intercept)[: len(self.free)]
        return w


def restrict(fit: GLMFit, fixed: list[int], values: Float) -> Restriction:
    """The model in which some coefficients have given values."""
    full = fit.posterior
    P, M = full.design.width, len(full.design.origin)
    free = np.setdiff1d(np.arange(P), fixed)
    rest = np.zeros(P)
    rest[fixed] = values
    m, fixed_columns = free[free < M], np.array([j for j in fixed if j < M], dtype=np.intp)
    view = partial(held, free=m, fixed=fixed_columns, values=rest[fixed_columns], constant=float(rest[M:].sum()))
    source = full.source.viewed(view, tuple(full.source.columns[j] for j in m))
    mean, spread, bias = full.units.mean[m], full.units.spread[m], M in free
    if full.design.bias and not bias:
        spread = np.hypot(mean, spread)  # without a bias there is nothing to centre about but zero
    units: Units = replace(full.units, mean=mean, spread=spread)
    design = Design(full.design.origin[m], True, full.design.subtract) if bias else Design(np.zeros(len(m)), False)
    prior = Penalty(np.zeros((1, len(free))), np.zeros(len(free)))
    return Restriction(Posterior(source, full.likelihood, prior, design, units), free, rest)


def fit_restricted(fit: GLMFit, fixed: list[int], values: Float, *starts: Float) -> tuple[float, Float] | None:
    """Deviance and coefficients of the restricted model, from the best start; None where no start has a likelihood."""
    model = restrict(fit, fixed, values)
    found = min((_at(model, w) for w in starts), key=lambda point: point[0])
    if not np.isfinite(found[0]):
        return None
    value, theta = found
    if theta.size:
        solution = replace(fit.solver, trace=True).minimise(model.posterior, theta)
        value, theta = solution.trace[-1].value, solution.value
    return 2.0 * value, model.all_of(theta)


def _at(model: Restriction, w: Float) -> tuple[float, Float]:
    theta = model.start(w)
    return model.posterior.value_grad(theta).value, theta


def null_coefficients(fit: GLMFit) -> Float:
    """Of the model of a mean alone."""
    w = np.zeros(fit.posterior.design.width)
    w[len(fit.posterior.design.origin) :] = fit.null.activation
    return w


def foretold(fit: GLMFit, fixed: list[int], values: Float) -> Float:
    """The restricted fit, were the likelihood normal: the conditional mean given the fixed coefficients."""
    S, w = fit.user_covariance, fit.coefficients
    with single_thread_blas():
        pull = np.linalg.solve(S[np.ix_(fixed, fixed)], values - w[fixed])
    moved = w + S[:, fixed] @ pull
    moved[fixed] = values
    return np.asarray(moved)
