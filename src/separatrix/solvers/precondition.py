# SPDX-License-Identifier: BSD-3-Clause
"""Approximate inverse Hessians g -> H⁻¹ g: what makes a first-order method take Newton's steps.

    joint       the whole Hessian (CP, CP), factorised; from a sample of the rows, or in single precision
    by class    its C diagonal blocks (P, P), and the constraint that class weights keep their mean
    diagonal    a bound on its diagonal

By class: with C classes H = Σ_n (diag p - p p') ⊗ φ̃ φ̃' has no curvature along vectors added to every class, where
its diagonal blocks have plenty. A preconditioner made of those blocks alone takes steps along them which only the prior
takes back, slowly. The optimum has the mean of the prior there, so a start is given it (`level`), and the mean over
classes is taken out of every step: on 60 000 images of 784 pixels and ten classes that saves two thirds of the passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy import linalg

from separatrix._array import Float, device_aware
from separatrix._linalg import SingularError, cholesky_of_correlation
from separatrix._threads import single_thread_blas
from separatrix.likelihoods import Covariances, Likelihood
from separatrix.rows import Block
from separatrix.solvers.factor import Factor
from separatrix.solvers.posterior import Posterior
from separatrix.stats import Design, Grad

__all__ = ["ByClass", "Diagonal", "Inverse", "by_class", "diagonal", "level"]

RIDGE = 1e-6  # of a block's mean diagonal, where single precision or a small sample leaves it singular


class Inverse(Protocol):
    """An approximate inverse Hessian."""

    def solve(self, grad: Float) -> Float:
        """H⁻¹ g, in the shape of g."""


@dataclass(frozen=True, eq=False)
class Diagonal:
    """One number for each weight, (C, P)."""

    curvature: Float

    def solve(self, grad: Float) -> Float:
        """Component by component."""
        return np.asarray(grad / self.curvature)


@dataclass(frozen=True, eq=False)
class ByClass:
    """One factor for each class; ``keeps_mean`` where the prior is the same for every class."""

    factors: tuple[Factor, ...]
    keeps_mean: bool = True

    def solve(self, grad: Float) -> Float:
        """The approximate H⁻¹ g (C, P), with no mean over classes."""
        step = np.stack([factor.solve(row) for factor, row in zip(self.factors, grad, strict=True)])
        return np.asarray(step - step.mean(axis=0)) if self.keeps_mean else step


def level(objective: Posterior, theta: Float) -> Float:
    """θ moved by one vector for all classes, which changes the prior alone, to where a prior they share is highest."""
    mean, precision = objective.prior.mean, objective.prior.precision
    if len(theta) == 1 or len(precision) != theta.shape[1]:
        return theta
    return np.asarray(theta + (mean - theta).mean(axis=0))


def by_class(objective: Posterior, theta: Float) -> ByClass:
    """From one pass: C weighted Gram matrices, in single precision."""
    gram = partial(class_grams, theta=theta, likelihood=objective.likelihood, design=objective.design)
    blocks = objective.source.reduce(gram).grad
    precision, (C, P) = objective.prior.precision, objective.shape
    is_joint = len(precision) != P
    if is_joint:
        blocks += np.einsum("kpkq->kpq", precision.reshape(C, P, C, P))
    else:
        blocks += np.diag(precision) if precision.ndim == 1 else precision
    return ByClass(tuple(_sturdy_factor(block) for block in blocks), keeps_mean=not is_joint)


@device_aware
def class_grams(block: Block, theta: Float, likelihood: Likelihood, design: Design) -> Grad:
    """The diagonal blocks of the Hessian on one block of rows, (C, P, P)."""
    curvature = likelihood.safe_curvature(design.activate(block, theta), block.targets)
    assert isinstance(curvature, Covariances), "classes have a curvature each where there are several outputs"
    weight = 1.0 if block.weight is None else block.weight
    entries = (weight * curvature.block(k, k) for k in range(len(theta)))
    return Grad(np.stack([design.gram(block, entry, single=True) for entry in entries]))


def _sturdy_factor(A: Float) -> Factor:
    """The Cholesky factor of A, or of A and a little more: a preconditioner need not be exact."""
    with single_thread_blas():
        try:
            return Factor(*cholesky_of_correlation(A))
        except SingularError:
            scale = np.sqrt(np.diag(A) + RIDGE * np.diag(A).mean())
            C = A / np.outer(scale, scale)
            values, V = linalg.eigh(C)
            C = (V * np.maximum(values, RIDGE)) @ V.T
            return Factor(scale, linalg.cholesky(C, lower=True))


def diagonal(objective: Posterior) -> Diagonal:
    """From no pass at all: curvature is at most a quarter, and each column's sum of squares is known."""
    bound = 0.25 * objective.units.total * objective.column_units**2
    return Diagonal(bound + objective.prior.diagonal)
