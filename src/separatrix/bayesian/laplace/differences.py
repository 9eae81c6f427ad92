# SPDX-License-Identifier: BSD-3-Clause
"""A function of one variable or many with its first two derivatives, given or by differences.

In coordinates y, x + T y, with e_i the axes and h the step,

    g_i  = (f(h e_i) - f(-h e_i)) / 2h
    H_ii = (f(h e_i) - 2 f(0) + f(-h e_i)) / h²
    H_ij = (f(h e_i + h e_j) + f(-h e_i - h e_j) - f(h e_i) - f(-h e_i) - f(h e_j) - f(-h e_j) + 2 f(0)) / 2h²

which takes D² + D + 1 evaluations. All errors are series in h², so that halving h and extrapolating to h = 0 removes
one power after the other (Richardson). T is chosen by the caller so that f changes by about one over a unit of y:
then one h suits every function and every unit of x, and neither truncation nor rounding is large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix._array import Float

__all__ = ["Local", "Surface"]

STEP = 0.125  # in units of y
POLISH_FROM, POLISH_LEVELS, POLISHED = 0.25, 5, 1e-10
SHRINKS = 30
LARGEST_UNIT = 1e12


class Local(NamedTuple):
    """f, ∇f (D,) and ∇∇f (D, D) at a point, in coordinates y."""

    value: float
    grad: Float
    hess: Float


class Surface:
    """f, and how often it and its derivatives were evaluated."""

    def __init__(
        self,
        function: Callable[[Any], float],
        *,
        is_number: bool,
        gradient: Callable[[Any], ArrayLike] | None = None,
        hessian: Callable[[Any], ArrayLike] | None = None,
    ) -> None:
        self.n_evaluations = 0
        self._function, self._gradient, self._hessian = function, gradient, hessian
        self._is_number = is_number

    def value(self, x: Float) -> float:
        """f(x), and minus infinity where f is not a finite number."""
        value = float(self._call("log_density", self._function, x, ()))
        return value if np.isfinite(value) else -np.inf

    def units(self, x: Float) -> Float:
        """For each variable a step that changes f by about one, well above rounding; infinite where none does."""
        here = self.value(x)
        return np.array([self._unit(x, axis, here) for axis in np.eye(len(x))])

    def local(self, x: Float, T: Float) -> Local:
        """f and its derivatives at x; what is not given by one set of differences, right to a per cent or so."""
        return self._where_finite(x, T, self.value(x), STEP)[0]

    def polished(self, x: Float, T: Float) -> Local:
        """The same with differences extrapolated to step zero."""
        value = self.value(x)
        first, h = self._where_finite(x, T, value, POLISH_FROM)
        if self._gradient is not None and self._hessian is not None:
            return first
        rows, best, error = [first], first, np.inf
        for level in range(1, POLISH_LEVELS):
            extrapolated = [self._at_step(x, T, value, h * 0.5**level)]
            for power, coarse in enumerate(rows, start=1):
                extrapolated.append(_extrapolate(extrapolated[-1], coarse, 4.0**power))
            change = max(_distance(extrapolated[-1], rows[-1]), _distance(extrapolated[-1], extrapolated[-2]))
            if change < error:
                best, error = extrapolated[-1], change
            if error < POLISHED or change > 10 * error:
                break
            rows = extrapolated
        return best

    def _unit(self, x: Float, axis: Float, here: float) -> float:
        """Four times longer or shorter until the change of f is right, or has gone from too small to too large."""
        size = max(float(np.abs(x @ axis)), 1.0)
        least = max(0.1, 1e4 * float(np.finfo(float).eps) * abs(here))
        h, grown = 1e-3 * size, False
        for _ in range(200):
            moved = np.array([self.value(x + h * axis), self.value(x - h * axis)])
            change = np.abs(moved - here).max()
            if change > 20 * least:  # also where f is not finite
                h /= 4
                if grown:
                    return h
            elif change < least:
                h *= 4
                grown = True
                if h > LARGEST_UNIT * size:
                    return np.inf
            else:
                return h
        return h

    def _where_finite(self, x: Float, T: Float, value: float, h: float) -> tuple[Local, float]:
        """Derivatives, and the step they were taken at: shorter where f is not finite that far out."""
        for _ in range(SHRINKS):
            found = self._at_step(x, T, value, h)
            if np.isfinite(found.grad).all() and np.isfinite(found.hess).all():
                break
            h /= 4
        return found, h

    def _at_step(self, x: Float, T: Float, value: float, h: float) -> Local:
        D = len(x)
        if self._gradient is None:
            grad, hess = self._from_values(x, T, value, h)
        else:
            grad, hess = self._slope(x, T), self._from_slopes(x, T, h) if self._hessian is None else np.empty((D, D))
        if self._hessian is not None:
            full = self._call("hessian", self._hessian, x, (D, D))
            hess = T.T @ ((full + full.T) / 2) @ T
        return Local(value, grad, hess)

    def _slope(self, x: Float, T: Float) -> Float:
        assert self._gradient is not None
        return np.asarray(T.T @ self._call("gradient", self._gradient, x, (len(x),)))

    def _from_slopes(self, x: Float, T: Float, h: float) -> Float:
        """∇∇f by central differences of the gradient given: 2 D of them."""
        rows = [(self._slope(x + h * t, T) - self._slope(x - h * t, T)) / (2 * h) for t in T.T]
        return np.asarray(np.add(rows, np.transpose(rows)) / 2)

    def _from_values(self, x: Float, T: Float, value: float, h: float) -> tuple[Float, Float]:
        """∇f, and ∇∇f unless it is given, by central differences of f."""
        steps = h * T.T
        ahead = np.array([self.value(x + step) for step in steps])
        behind = np.array([self.value(x - step) for step in steps])
        with np.errstate(invalid="ignore"):  # infinity minus infinity: the caller asks
            grad, both = (ahead - behind) / (2 * h), ahead + behind
            hess = np.diag((both - 2 * value) / h**2)
            if self._hessian is None and np.isfinite(both).all():
                for i in range(len(x)):
                    for j in range(i):
                        corner = self.value(x + steps[i] + steps[j]) + self.value(x - steps[i] - steps[j])
                        hess[i, j] = hess[j, i] = (corner - both[i] - both[j] + 2 * value) / (2 * h**2)
        return grad, hess

    def _call(self, name: str, function: Callable[[Any], ArrayLike], x: Float, shape: tuple[int, ...]) -> Float:
        """A function of the user's at x, with numbers for vectors and matrices of one entry."""
        self.n_evaluations += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = np.asarray(function(float(x[0]) if self._is_number else x.copy()), dtype=np.float64)
        if found.size != np.prod(shape) or not (found.shape == shape or found.size == 1):
            raise ValueError(f"{name}(x) must have shape {shape} for x of shape {x.shape}, and has {found.shape}.")
        return found.reshape(shape)


def _extrapolate(fine: Local, coarse: Local, factor: float) -> Local:
    """The error that falls by ``factor`` from coarse to fine, removed."""
    return Local(
        fine.value,
        fine.grad + (fine.grad - coarse.grad) / (factor - 1),
        fine.hess + (fine.hess - coarse.hess) / (factor - 1),
    )


def _distance(a: Local, b: Local) -> float:
    return float(max(np.abs(a.grad - b.grad).max(), np.abs(a.hess - b.hess).max()))
