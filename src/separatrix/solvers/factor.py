# SPDX-License-Identifier: BSD-3-Clause
"""A Hessian, factorised: H = D L L' D in correlation units, or what to do where it is singular."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from separatrix._array import Array, Float
from separatrix._linalg import SingularError, cholesky_of_correlation, solve_minimum_norm
from separatrix._threads import single_thread_blas

__all__ = ["Factor", "factorise"]


@dataclass(frozen=True, eq=False)
class Factor:
    """H⁻¹ for a positive definite H = D L L' D; for a singular one its pseudo-inverse, and the columns at fault."""

    scale: Float
    L: Float
    singular: SingularError | None = None
    hess: Float | None = None

    @property
    def matrix(self) -> Float:
        """H."""
        if self.hess is not None:
            return self.hess
        root = self.scale[:, None] * np.tril(self.L)
        return np.asarray(root @ root.T)

    @property
    def diagonal(self) -> Float:
        """Of H, without H."""
        if self.hess is not None:
            return np.asarray(self.hess.diagonal())
        return np.asarray(self.scale**2 * np.einsum("ij,ij->i", self.L, self.L))

    def square(self, x: Float) -> float:
        """x' H x."""
        if self.hess is not None:
            return float(x.ravel() @ self.hess @ x.ravel())
        z = (self.scale * x.ravel()) @ self.L
        return float(z @ z)

    @property
    def log_det(self) -> float:
        """ln |H|."""
        if self.singular is not None:
            return -np.inf
        return 2 * float(np.log(np.diag(self.L)).sum() + np.log(self.scale).sum())

    @cached_property
    def root(self) -> Float:
        """R with H⁻¹ = R R', upper triangular: columns of R times standard normal numbers have covariance H⁻¹."""
        with single_thread_blas():
            inverse, _ = linalg.lapack.dtrtri(self.L, lower=True)
        return np.asarray((np.tril(inverse) / self.scale).T)

    def solve(self, grad: Float) -> Float:
        """H⁻¹ g, in the shape of g."""
        with single_thread_blas():
            if self.singular is not None and self.hess is not None:
                return solve_minimum_norm(self.hess, grad.reshape(-1, 1)).reshape(grad.shape)
            x, _ = linalg.lapack.dpotrs(self.L, grad.ravel() / self.scale, lower=True)
        return np.asarray((x / self.scale).reshape(grad.shape))


def factorise(hess: Float, n_outputs: int, free: Array) -> Factor:
    """The factor of a Hessian (CP, CP) of C outputs; ``free`` (P,) marks weights that have no prior.

    With C classes, a vector added to the weights of every class changes nothing, so H is singular along it unless a
    prior says otherwise. The gradient has no part there; any curvature along it gives the step that has none either.
    """
    if n_outputs > 1 and free.any():
        P = len(free)
        blocks = hess.reshape(n_outputs, P, n_outputs, P)
        typical = np.einsum("kpkp->p", blocks) / n_outputs**2 * free
        hess = (blocks + np.diag(typical)[None, :, None, :]).reshape(hess.shape)
    with single_thread_blas():  # NumPy and SciPy bring a BLAS each, and their threads wait on each other
        try:
            return Factor(*cholesky_of_correlation(hess))
        except SingularError as singular:
            return Factor(np.ones(len(hess)), np.eye(0), singular, hess)
