# SPDX-License-Identifier: BSD-3-Clause
"""The mode of a density, and whether it is one.

All work is done in coordinates y, x = x_0 + T y, in which the curvature is near one in every direction. They are found
along the way: T starts as the step in each variable over which f changes by about one, and after each evaluation it is
turned and stretched until ∇∇f is diagonal with entries ±1. Then

- a Newton step, with every curvature taken as positive, is the gradient itself, and one length bounds the step in all
  directions (saddle-free Newton: Dauphin et al. 2014; a safeguard halves it until f rises);
- differences have one natural step for all variables, a fraction of a standard deviation, and at the mode they are
  extrapolated to step zero (Richardson), so that ln Z is good to about 1e-9 without a derivative from the user;
- every verdict is free of units: the mode is found when the gradient is 1e-8 per standard deviation.

Then the claim is tested: one half of a standard deviation away along each axis, f must be lower than at the mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.laplace.differences import Surface

__all__ = ["LaplaceError", "Point", "climb", "require_a_peak"]

EPS = float(np.finfo(np.float64).eps)
GRADIENT = 1e-8  # per standard deviation: ln Z is then right to 1e-16
NEAR = 0.05  # standard deviations from the mode: from here on derivatives are polished
MAX_STEPS, HALVINGS, ARMIJO = 200, 40, 1e-4
MAX_STRETCH = 10.0  # of the coordinates, from one step to the next
MAX_FAILURES = 6  # in a row, each on a scale ten times finer
FAR = 1e8  # from x0, in units of x0: nobody's mode
FLAT = 1e-6  # curvature, where a Gaussian has one
ENOUGH, TOO_MUCH = 0.0125, 1e3  # what f falls in half a standard deviation, where a Gaussian falls 1/8


class LaplaceError(ValueError):
    """There is no Gaussian to be put here; the message says what was found instead, and where."""


@dataclass(frozen=True, eq=False)
class Point:
    """Where the search stands: x, f(x), and coordinates T in which the gradient is ``grad`` and -∇∇f is diagonal.

    ``curvature`` is that diagonal, one where the coordinates are right, less where they are still to be stretched.
    """

    x: Float
    value: float
    T: Float
    grad: Float
    curvature: Float

    @property
    def is_stationary(self) -> bool:
        """The gradient is zero, as far as f can tell."""
        return bool(np.linalg.norm(self.grad) <= max(GRADIENT, 100 * EPS * abs(self.value)))

    @property
    def is_round(self) -> bool:
        """Every curvature is one."""
        return bool((self.curvature > 0.99).all())

    @property
    def factor(self) -> Float:
        """Cholesky factor of A = T'⁻¹ T⁻¹, by an orthogonal triangularisation of T⁻¹: A is never formed."""
        with single_thread_blas():
            R = np.linalg.qr(np.linalg.inv(self.T), mode="r")
        return np.asarray((R * np.sign(np.diag(R))[:, None]).T)


def climb(surface: Surface, x: Float) -> Point:
    """The stationary point uphill from x, in coordinates where its curvature is one."""
    if surface.value(x) == -np.inf:
        raise LaplaceError(f"The log density is not finite at x0 = {_show(x)}. Start where there is density.")
    units = surface.units(x)
    if np.isinf(units).any():
        raise _flat(x, np.eye(len(x))[int(np.isinf(units).argmax())])
    start, reach = x, FAR * np.maximum(units, np.maximum(np.abs(x), 1.0))
    T, radius, polish, failures = np.diag(units), 1.0, False, 0
    for _ in range(MAX_STEPS):
        point = _straighten(surface, x, T, polish=polish, stretch=1.0 if failures else MAX_STRETCH)
        if polish and point.is_stationary:
            if point.is_round:
                return point
            _require_no_saddle(surface, point)
        _require_near(surface, point, start, reach)
        polish = polish or bool(np.linalg.norm(point.grad) < NEAR)
        moved = _uphill(surface, point, radius)
        if moved is None:  # differences over a shorter distance may know better
            failures += 1
            T, radius = point.T / MAX_STRETCH, 1.0
            if failures > MAX_FAILURES:
                raise _misled(point)
        else:
            failures = 0
            (x, radius), T = moved, point.T
    raise _endless(point, start, "after the last step allowed")


def _straighten(surface: Surface, x: Float, T: Float, *, polish: bool, stretch: float) -> Point:
    """f and its derivatives at x, and T turned and stretched until -∇∇f is diagonal with entries ±1.

    No axis becomes more than ``stretch`` times longer at once: a curvature near zero is still less than one afterwards.
    """
    value, grad, hess = (surface.polished if polish else surface.local)(x, T)
    if not (np.isfinite(grad).all() and np.isfinite(hess).all()):
        raise LaplaceError(
            f"The log density has no finite derivatives at x = {_show(x)}, where it is {value:.6g}: it may be at the "
            "edge of the density. Use coordinates in which there is no edge (the logarithm of a positive number)."
        )
    with single_thread_blas():
        curvature, V = np.linalg.eigh(-hess)
    size = np.maximum(np.abs(curvature), stretch**-2)
    turn = V / np.sqrt(size)
    return Point(x, value, T @ turn, turn.T @ grad, curvature / size)


def _uphill(surface: Surface, point: Point, radius: float) -> tuple[Float, float] | None:
    """The next point, and how far the next step may reach; None where f does not rise. The gradient is the step."""
    length = float(np.linalg.norm(point.grad))
    step = point.grad * min(1.0, radius / max(length, 1e-300))
    # At the mode f cannot tell any more which of two points is higher.
    slack = 8 * EPS * (1 + abs(point.value)) if point.is_stationary or (point.is_round and length < NEAR) else 0.0
    for halved in range(HALVINGS):
        x = point.x + point.T @ step
        gain = surface.value(x) - point.value
        if gain + slack > ARMIJO * float(point.grad @ step):
            grown = 4 * radius if length > radius else radius
            return x, max(float(np.linalg.norm(step)), 0.25) if halved else grown
        step = step / 2
    return None


def _require_no_saddle(surface: Surface, point: Point) -> None:
    """An error at a stationary point with a curvature that is negative, or zero at a peak; else it may be stretched."""
    lowest = int(point.curvature.argmin())
    axis = point.T[:, lowest]
    if point.curvature[lowest] < -FLAT:
        kind = "a minimum" if (point.curvature < -FLAT).all() else "a saddle"
        raise LaplaceError(
            f"The stationary point x = {_show(point.x)} is {kind} and not a maximum: the log density curves upwards "
            f"along {_direction(axis)}. Start at another x0, off to one side in that direction."
        )
    if point.curvature[lowest] < FLAT and _drops(surface, point, axis).min() > ENOUGH:
        raise _flat(point.x, axis)


def _require_near(surface: Surface, point: Point, start: Float, reach: Float) -> None:
    """An error where the search, or the scale that it works on, has left everything behind."""
    if (np.abs(point.x - start) > reach).any():
        raise _endless(point, start, "far away from x0")
    if (np.abs(point.T) > reach[:, None]).any():
        require_a_peak(surface, point)
        raise _endless(point, start, "ever more slowly")


def require_a_peak(surface: Surface, point: Point) -> None:
    """Half a standard deviation away on both sides along each axis, f must have fallen; by 1/8, were it a Gaussian."""
    for axis in point.T.T:
        drops = _drops(surface, point, axis)
        if drops.max() < ENOUGH or drops.min() > TOO_MUCH:
            raise _flat(point.x, axis)
        if drops.min() < ENOUGH:
            raise LaplaceError(
                f"At x = {_show(point.x)} the gradient vanishes, but the log density does not fall along "
                f"{_direction(axis if drops[0] < drops[1] else -axis)} as its curvature promises (by "
                f"{drops.min():.2g}, not by 0.125): the mode lies at infinity in that direction, or this is a ripple "
                "on a higher slope. Add a prior, or start at another x0."
            )


def _drops(surface: Surface, point: Point, axis: Float) -> Float:
    """How far f falls over half of an axis, forwards and backwards."""
    return np.array([point.value - surface.value(point.x + side * axis) for side in (0.5, -0.5)])


def _flat(x: Float, axis: Float) -> LaplaceError:
    return LaplaceError(
        f"The log density is flat at x = {_show(x)} along {_direction(axis)}: its curvature there is zero, and a "
        "Gaussian would be infinitely wide. Leave that direction out, or add a prior that decides it."
    )


def _misled(point: Point) -> LaplaceError:
    return LaplaceError(
        f"The log density does not rise along its gradient at x = {_show(point.x)}, where it is {point.value:.6g}. "
        "If gradient= is given, compare it with differences; if the density is noisy or has a kink, smooth it."
    )


def _endless(point: Point, start: Float, how: str) -> LaplaceError:
    return LaplaceError(
        f"The log density still rises, {how}: from x0 = {_show(start)} the search came to x = {_show(point.x)}, where "
        f"it is {point.value:.6g}, along {_direction(point.x - start)}. The mode lies at infinity, or "
        "the density cannot be normalised. Add a prior, or start nearer to a mode."
    )


def _show(x: Float) -> str:
    """A number, or the first few of a vector."""
    if len(x) == 1:
        return f"{x[0]:.6g}"
    return "(" + ", ".join(f"{v:.6g}" for v in x[:6]) + (", ...)" if len(x) > 6 else ")")


def _direction(axis: Float) -> str:
    """A direction in words: its largest components, the first of them in full."""
    if len(axis) == 1:
        return "+x" if axis[0] > 0 else "-x"
    unit = axis / np.linalg.norm(axis)
    large = [i for i in np.argsort(-np.abs(unit))[:4] if abs(unit[i]) > 0.01]
    return " ".join(f"{unit[i]:+.2g} x[{i}]" for i in large)
