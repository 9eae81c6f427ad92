# SPDX-License-Identifier: BSD-3-Clause
"""The Laplace approximation of any density: a Gaussian at its mode.                       PRML §4.4

    f(x) = ln of a density, up to a constant;      x* its mode,      A = -∇∇ f(x*)
    q(x) = N(x | x*, A⁻¹)                                                                (4.134)
    ln Z = ln ∫ e^f(x) dx ≈ f(x*) + (D/2) ln 2π - ½ ln |A|                               (4.135)

The mode is found by `peak`, in coordinates where the density is round; what derivatives the user does not give are
taken there by `differences`, and ln Z is good to about 1e-9 all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from separatrix._arguments import check_count, generator
from separatrix._array import Float
from separatrix._special import LOG_SQRT_2PI
from separatrix._threads import single_thread_blas
from separatrix.bayesian.laplace.differences import Surface
from separatrix.bayesian.laplace.peak import LaplaceError, climb, require_a_peak

__all__ = ["LaplaceApproximation", "LaplaceError", "laplace_approximation"]


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """N(x | mode, precision⁻¹), and ln Z of the density that it stands for.

    For a density of one number, ``mode``, ``std``, ``precision`` and ``covariance`` are numbers as well.

    Attributes
    ----------
    mode : ndarray of shape (D,), or float
        x*.
    factor : ndarray of shape (D, D)
        Cholesky factor L of the precision, A = L L'.
    log_z : float
        The estimate of ln ∫ e^f(x) dx.
    log_density_at_mode : float
        f(x*).
    n_evaluations : int
        Calls of the log density, and of its gradient and Hessian where they were given.
    """

    mode: Any
    factor: Float
    log_z: float
    log_density_at_mode: float
    n_evaluations: int

    @property
    def precision(self) -> Any:
        """A = -∇∇ f(x*)."""
        return self._as_given(self.factor @ self.factor.T)

    @property
    def covariance(self) -> Any:
        """A⁻¹; for one number its variance."""
        root = self._root
        return self._as_given(root @ root.T)

    @property
    def std(self) -> Any:
        """The square roots of the diagonal of A⁻¹."""
        std = np.sqrt((self._root**2).sum(axis=1))
        return float(std[0]) if self._is_number else std

    def log_density(self, x: ArrayLike) -> Any:
        """ln N(x | mode, A⁻¹) for one point or many, (..., D); for a density of one number, of any shape."""
        points = np.asarray(x, dtype=np.float64)
        away = (points[..., None] if self._is_number else points) - self.mode
        whitened = away @ self.factor
        log_scale = np.log(np.diag(self.factor)).sum() - len(self.factor) * LOG_SQRT_2PI
        return log_scale - 0.5 * (whitened**2).sum(axis=-1)  # (4.134)

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Float:
        """``n`` draws: (n, D), or (n,) for a density of one number."""
        count = check_count("sample", "n", n, least=0)
        z = generator(rng).standard_normal((count, len(self.factor)))
        x = self.mode + z @ self._root.T
        return np.asarray(x[:, 0] if self._is_number else x)

    @property
    def _root(self) -> Float:
        """L'⁻¹, whose product with its transpose is A⁻¹."""
        with single_thread_blas():
            return np.asarray(linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True, trans="T"))

    @property
    def _is_number(self) -> bool:
        return isinstance(self.mode, float)

    def _as_given(self, matrix: Float) -> Any:
        return float(matrix[0, 0]) if self._is_number else matrix


def laplace_approximation(
    log_density: Callable[[Any], float],
    x0: ArrayLike,
    *,
    gradient: Callable[[Any], ArrayLike] | None = None,
    hessian: Callable[[Any], ArrayLike] | None = None,
) -> LaplaceApproximation:
    """Put a Gaussian at the mode of a density of one variable or many.

    q(x) = N(x | x*, A⁻¹) with x* the mode and A = -∇∇ ln p(x*), and ln Z = ln p(x*) + (D/2) ln 2π - ½ ln |A|.

    Parameters
    ----------
    log_density : callable
        f, the logarithm of a density up to a constant. It is called with a float or a vector, as ``x0`` is. It may
        return minus infinity (or NaN) where there is no density.
    x0 : float or array of shape (D,)
        Where the search for the mode begins; the mode found is the one uphill from here.
    gradient, hessian : callables, optional
        Derivatives of f. What is not given is taken by differences: D² + D + 1 evaluations a step, or 2 D gradients.

    Returns
    -------
    LaplaceApproximation

    Raises
    ------
    LaplaceError
        Where f is not finite at ``x0``, where the point found is not a maximum, where f is flat in some direction, and
        where it rises without end.

    Examples
    --------
    A Gaussian times a sigmoid (PRML figure 4.14):

    >>> import numpy as np
    >>> from separatrix import laplace_approximation
    >>> q = laplace_approximation(lambda z: -z**2 / 2 - np.logaddexp(0, -20 * z - 4), 0.0)
    >>> round(q.mode, 4), round(q.std, 4), round(q.log_z, 4)
    (0.0775, 0.627, 0.4453)
    """
    start = np.asarray(x0, dtype=np.float64)
    if start.ndim > 1 or start.size == 0 or not np.isfinite(start).all():
        raise LaplaceError(f"laplace_approximation: x0 must be a finite number or a vector of them, and is {x0!r}.")
    surface = Surface(log_density, is_number=start.ndim == 0, gradient=gradient, hessian=hessian)
    point = climb(surface, np.atleast_1d(start))
    require_a_peak(surface, point)
    log_z = point.value + len(point.x) * LOG_SQRT_2PI - float(np.log(np.diag(point.factor)).sum())  # (4.135)
    mode = float(point.x[0]) if start.ndim == 0 else point.x
    return LaplaceApproximation(mode, point.factor, log_z, point.value, surface.n_evaluations)
