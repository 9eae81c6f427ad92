# SPDX-License-Identifier: BSD-3-Clause
"""A model in which some coefficients have given values, as the full model on an affine set θ = θ0 + T u.

Gradients and Hessians are those of the full model, projected, in the same coordinates; fits start where the full
covariance foretells their end. No column is copied or dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix.discriminative.glm_fit import GLMFit
from separatrix.solvers.posterior import Posterior
from separatrix.stats.objective import ValueGrad, ValueGradHess

__all__ = ["Restricted", "fit_restricted", "foretold", "restrict"]


@dataclass(frozen=True, eq=False)
class Restricted(Posterior):
    """E(θ0 + T u) as a function of u (1, Q): T is (P, Q), θ0 (1, P)."""

    base: Float = field(kw_only=True)
    span: Float = field(kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """(1, Q)."""
        return 1, self.span.shape[1]

    @property
    def column_units(self) -> Float:
        """Of T' φ̃."""
        return np.sqrt(super().column_units ** 2 @ self.span**2)

    def lift(self, u: Float) -> Float:
        """θ."""
        return np.asarray(self.base + u @ self.span.T)

    def value_grad(self, theta: Float) -> ValueGrad:
        """E and its gradient in u."""
        here = super().value_grad(self.lift(theta))
        return ValueGrad(here.value, here.grad @ self.span)

    def value_grad_hess(self, theta: Float, *, exact: bool = True, single: bool = False) -> ValueGradHess:
        """E, gradient and Hessian in u."""
        here = super().value_grad_hess(self.lift(theta), exact=exact, single=single)
        return ValueGradHess(here.value, here.grad @ self.span, self.span.T @ here.hess @ self.span)

    def hess_dot(self, theta: Float, V: Float) -> Float:
        """The Hessian in u times V."""
        return super().hess_dot(self.lift(theta), V @ self.span.T) @ self.span

    def largest_move(self, V: Float) -> float:
        """How far a step in u moves any row's activation."""
        return super().largest_move(V @ self.span.T)


def restrict(fit: GLMFit, fixed: list[int], values: Float) -> Restricted:
    """The model in which some coefficients, in the user's units, have given values."""
    full, P = fit.posterior, fit.posterior.design.width
    free = np.setdiff1d(np.arange(P), fixed)
    # The intercept in the user's units is w0 = b - w'c, so holding it still ties b to w; else b is as good as w0.
    axes = np.eye(P)
    if full.design.bias and P - 1 in fixed:
        axes[-1, :-1] = full.design.origin
    base = (axes[:, fixed] @ values)[None]
    parts = full.source, full.likelihood, full.prior, full.design, full.units
    return Restricted(*parts, base=base, span=axes[:, free])


def fit_restricted(fit: GLMFit, fixed: list[int], values: Float, near: Float) -> tuple[float, Float] | None:
    """Deviance and θ of the restricted model, started close to ``near``; None where no start has a likelihood."""
    model = restrict(fit, fixed, values)
    for start in (near, _null_theta(fit)):
        u = np.linalg.lstsq(model.span, (start - model.base)[0], rcond=None)[0][None]
        if np.isfinite(model.value_grad(u).value):
            found = replace(fit.solver, trace=True).minimise(model, u)
            return 2.0 * found.trace[-1].value, model.lift(found.value)
    return None


def _null_theta(fit: GLMFit) -> Float:
    theta = np.zeros(fit.posterior.shape)
    if fit.posterior.design.bias:
        theta[0, -1] = fit.null.activation
    return theta


def foretold(fit: GLMFit, fixed: list[int], values: Float) -> Float:
    """The restricted θ, were the likelihood normal: the conditional mean given the fixed coefficients."""
    J = fit.to_user_units
    S = J @ fit.unscaled_covariance @ J.T
    w = J @ fit.theta[0]
    moved = w + S[:, fixed] @ np.linalg.solve(S[np.ix_(fixed, fixed)], values - w[fixed])
    return np.asarray(linalg.solve_triangular(J, moved, lower=True))[None]
