# SPDX-License-Identifier: BSD-3-Clause
"""The Laplace approximation of any density: a Gaussian at its mode.                       PRML §4.4

    f(x) = ln of a density, up to a constant;      x* its mode,      A = -∇∇ f(x*)
    q(x) = N(x | x*, A⁻¹)                                                                (4.134)
    ln Z = ln ∫ e^f(x) dx ≈ f(x*) + (D/2) ln 2π - ½ ln |A|                               (4.135)

The search works in coordinates y, x = x_0 + T y, in which the curvature is near one in every direction. T is diagonal
at first: a unit of y changes f by about one. After each evaluation T is rotated and stretched until ∇∇f is diagonal
with entries ±1. In these coordinates

- a Newton step, with every curvature taken as positive, is the gradient itself, and one length bounds the step in all
  directions (saddle-free Newton: Dauphin et al. 2014); the step is halved until f rises;
- finite differences use one step for all variables, a fraction of a standard deviation; at the mode they are
  extrapolated to step zero (Richardson), so ln Z is accurate to about 1e-9 without derivatives from the user;
- tolerances do not depend on units: the search ends when the gradient is 1e-8 per standard deviation.

Finally the result is checked: half a standard deviation away along each axis, f must be lower than at the mode. If f
rises again further away, a second search starts there, and a warning is given if it finds another mode.

The posterior of a classifier is a density too, but its mode comes from `solvers` and its Hessian from a pass over the
rows: see `posterior`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from separatrix._arguments import check_count, generator
from separatrix._array import Float
from separatrix._special import LOG_SQRT_2PI
from separatrix._threads import single_thread_blas
from separatrix.exceptions import ApproximationWarning, warn
from separatrix.stats import ValueGradHess

# Finite differences, in units of y
DIFFERENCE_STEP = 0.125
POLISH_STEP, POLISH_LEVELS, POLISH_TOL = 0.25, 5, 1e-10
MAX_STEP_SHRINKS = 30
MAX_UNIT = 1e12  # largest step of a variable relative to its size; if f is still constant, it does not depend on it

# The search for the mode
GRADIENT_TOL = 1e-8  # per standard deviation; the error of ln Z is then 1e-16
NEAR_MODE_IN_STD = 0.05  # distance from the mode below which finite differences are extrapolated
MAX_NEWTON_STEPS, MAX_HALVINGS, ARMIJO_FRACTION = 200, 40, 1e-4
MAX_STRETCH = 10.0  # factor by which an axis may grow from one step to the next
MAX_FAILED_STEPS = 6  # consecutive steps without a rise of f, each on a scale ten times finer
MAX_DISTANCE = 1e8  # distance from x0, relative to the size of x0
FLAT_CURVATURE = 1e-6  # curvature that counts as zero, in coordinates in which that of a Gaussian is one
MIN_DROP, MAX_DROP = 0.0125, 1e3  # decrease of f over half a standard deviation; 1/8 for a Gaussian

# The search for a second mode
LOOKED_IN_STD = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # distances from the mode at which f is compared
MIN_RISE = 0.1  # rise of f from one distance to the next that a Gaussian does not have
MIN_LOG_FRACTION = -7.0  # ln of the fraction of Z below which a second mode changes nothing


class LaplaceError(ValueError):
    """Laplace's approximation does not exist; the message describes the point where the search stopped, and why."""


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """The Gaussian N(x | mode, precision⁻¹), and ln Z of the density that it approximates.

    If x is a scalar, ``mode``, ``std``, ``precision`` and ``covariance`` are floats.

    Attributes
    ----------
    mode : ndarray of shape (D,), or float
        The mode x*.
    factor : ndarray of shape (D, D)
        Cholesky factor L of the precision, A = L L'.
    log_z : float
        The estimate of ln ∫ e^f(x) dx.
    log_density_at_mode : float
        The log density at the mode, f(x*).
    n_evaluations : int
        Number of calls of the log density, and of its gradient and Hessian if they were given.
    """

    mode: Any
    factor: Float
    log_z: float
    log_density_at_mode: float
    n_evaluations: int

    @property
    def precision(self) -> Any:
        """Precision of the Gaussian, A = -∇∇ f(x*)."""
        return self._scalar_or_matrix(self.factor @ self.factor.T)

    @property
    def covariance(self) -> Any:
        """Covariance of the Gaussian, A⁻¹; a variance if x is a scalar."""
        root = self._root
        return self._scalar_or_matrix(root @ root.T)

    @property
    def std(self) -> Any:
        """Standard deviations of the Gaussian."""
        std = np.sqrt((self._root**2).sum(axis=1))
        return float(std[0]) if self._is_number else std

    def log_density(self, x: ArrayLike) -> Any:
        """Return ln N(x | mode, A⁻¹) for points (..., D), or for scalars in an array of any shape."""
        points = np.asarray(x, dtype=np.float64)
        away = (points[..., None] if self._is_number else points) - self.mode
        whitened = away @ self.factor
        log_scale = np.log(np.diag(self.factor)).sum() - len(self.factor) * LOG_SQRT_2PI
        return log_scale - 0.5 * (whitened**2).sum(axis=-1)  # (4.134)

    def sample(self, n: int, rng: int | np.random.Generator | None = None) -> Float:
        """Return ``n`` draws: (n, D), or (n,) if x is a scalar."""
        count = check_count("sample", "n", n, least=0)
        z = generator(rng).standard_normal((count, len(self.factor)))
        x = self.mode + z @ self._root.T
        return np.asarray(x[:, 0] if self._is_number else x)

    @property
    def _root(self) -> Float:
        """R = L'⁻¹, so that R R' = A⁻¹."""
        with single_thread_blas():
            return np.asarray(linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True, trans="T"))

    @property
    def _is_number(self) -> bool:
        return isinstance(self.mode, float)

    def _scalar_or_matrix(self, matrix: Float) -> Any:
        return float(matrix[0, 0]) if self._is_number else matrix


def laplace_approximation(
    log_density: Callable[[Any], float],
    x0: ArrayLike,
    *,
    gradient: Callable[[Any], ArrayLike] | None = None,
    hessian: Callable[[Any], ArrayLike] | None = None,
) -> LaplaceApproximation:
    """Approximate a density of one or more variables by a Gaussian at its mode.

    q(x) = N(x | x*, A⁻¹) with the mode x* and A = -∇∇ f(x*), and ln Z ≈ f(x*) + (D/2) ln 2π - ½ ln |A|.

    Parameters
    ----------
    log_density : callable
        f, the logarithm of a density up to a constant. It is called with a float or a vector, like ``x0``. It may
        return minus infinity (or NaN) outside the support.
    x0 : float or array of shape (D,)
        Start of the search, which climbs to a local maximum.
    gradient, hessian : callables, optional
        Derivatives of f. A missing derivative is computed by finite differences: D² + D + 1 evaluations per step, or
        2 D gradients.

    Returns
    -------
    LaplaceApproximation

    Raises
    ------
    LaplaceError
        If f is not finite at ``x0``, has no finite maximum, or is flat in some direction, or if a saddle is found.

    Warns
    -----
    ApproximationWarning
        If a second search finds another mode. Modes that lie in no direction of an axis of the Gaussian are missed.

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
        raise LaplaceError(f"laplace_approximation(x0={x0!r}): x0 must be a finite number or a vector of them.")
    surface = Surface(log_density, is_number=start.ndim == 0, gradient=gradient, hessian=hessian)
    found = find_mode(surface, np.atleast_1d(start))
    require_a_peak(surface, found)
    log_z = log_integral(found)
    other = second_mode(surface, found, np.atleast_1d(start))
    if other is not None and log_integral(other) - log_z > MIN_LOG_FRACTION:
        warn(
            f"The density has another mode at x = {_show(other.x)}, with ln Z = {log_integral(other):.4g} there and "
            f"{log_z:.4g} at the mode found, {_show(found.x)}. A Gaussian describes one mode only: approximate each "
            "from an x0 of its own, and add their Z, or use a sampler.",
            ApproximationWarning,
        )
    mode = float(found.x[0]) if start.ndim == 0 else found.x
    return LaplaceApproximation(mode, found.factor, log_z, found.value, surface.n_evaluations)


@dataclass(frozen=True, eq=False)
class Position:
    """State of the search: x, f(x), and coordinates T in which the gradient is ``grad`` and -∇∇f is diagonal.

    ``curvature`` is that diagonal. An entry is one, or less if its axis must still be stretched.
    """

    x: Float
    value: float
    T: Float
    grad: Float
    curvature: Float

    @property
    def is_stationary(self) -> bool:
        """Whether the gradient is zero up to the rounding error of f."""
        return bool(np.linalg.norm(self.grad) <= max(GRADIENT_TOL, 100 * np.finfo(float).eps * abs(self.value)))

    @property
    def is_round(self) -> bool:
        """Whether every curvature is one."""
        return bool((self.curvature > 0.99).all())

    @property
    def factor(self) -> Float:
        """Cholesky factor of A = T'⁻¹ T⁻¹, by a QR decomposition of T⁻¹ instead of A."""
        with single_thread_blas():
            R = np.linalg.qr(np.linalg.inv(self.T), mode="r")
        return np.asarray((R * np.sign(np.diag(R))[:, None]).T)


def find_mode(surface: Surface, x: Float) -> Position:
    """Climb from x to a stationary point, and return it in coordinates in which the curvature is one."""
    if surface.value(x) == -np.inf:
        raise LaplaceError(f"The log density is not finite at x0 = {_show(x)}. Start inside the support.")
    units = surface.units(x)
    if np.isinf(units).any():
        raise _flat_error(x, np.eye(len(x))[int(np.isinf(units).argmax())])
    start, reach = x, MAX_DISTANCE * np.maximum(units, np.maximum(np.abs(x), 1.0))
    T, radius, polish, failures = np.diag(units), 1.0, False, 0
    for _ in range(MAX_NEWTON_STEPS):
        here = _diagonalise(surface, x, T, polish=polish, stretch=1.0 if failures else MAX_STRETCH)
        if polish and here.is_stationary:
            if here.is_round:
                return here
            _require_no_saddle(surface, here)
        if (np.abs(here.x - start) > reach).any():
            raise _no_maximum_error(here, start, "far away from x0")
        if (np.abs(here.T) > reach[:, None]).any():
            require_a_peak(surface, here)
            raise _no_maximum_error(here, start, "ever more slowly")
        polish = polish or bool(np.linalg.norm(here.grad) < NEAR_MODE_IN_STD)
        moved = _line_search(surface, here, radius)
        if moved is None:  # shorter finite differences may be more accurate
            failures += 1
            T, radius = here.T / MAX_STRETCH, 1.0
            if failures > MAX_FAILED_STEPS:
                raise LaplaceError(
                    f"The log density does not rise along its gradient at x = {_show(here.x)}, where it is "
                    f"{here.value:.6g}. If gradient= is given, compare it with finite differences; if the density is "
                    "noisy or has a kink, smooth it."
                )
        else:
            failures = 0
            (x, radius), T = moved, here.T
    raise _no_maximum_error(here, start, f"after {MAX_NEWTON_STEPS} steps")


def _diagonalise(surface: Surface, x: Float, T: Float, *, polish: bool, stretch: float) -> Position:
    """Evaluate f and its derivatives at x, and rotate and stretch T until -∇∇f is diagonal with entries ±1.

    No axis becomes more than ``stretch`` times longer at once, so a curvature near zero is still below one afterwards.
    """
    found = surface.derivatives(x, T, polish=polish)
    if not (np.isfinite(found.grad).all() and np.isfinite(found.hess).all()):
        raise LaplaceError(
            f"The log density has no finite derivatives at x = {_show(x)}, where it is {found.value:.6g}: x may be at "
            "the edge of the support. Use coordinates without an edge (the logarithm of a positive number)."
        )
    with single_thread_blas():
        curvature, V = np.linalg.eigh(-found.hess)
    size = np.maximum(np.abs(curvature), stretch**-2)
    turn = V / np.sqrt(size)
    return Position(x, found.value, T @ turn, turn.T @ found.grad, curvature / size)


def _line_search(surface: Surface, here: Position, radius: float) -> tuple[Float, float] | None:
    """Search along the gradient; return the next x and step limit, or None if f does not rise."""
    length = float(np.linalg.norm(here.grad))
    step = here.grad * min(1.0, radius / max(length, 1e-300))
    is_mode = here.is_stationary or (here.is_round and length < NEAR_MODE_IN_STD)
    # Rounding error of the difference of two values of f
    slack = 8 * np.finfo(float).eps * (1 + abs(here.value)) if is_mode else 0.0
    for halved in range(MAX_HALVINGS):
        x = here.x + here.T @ step
        gain = surface.value(x) - here.value
        if gain + slack > ARMIJO_FRACTION * float(here.grad @ step):
            grown = 4 * radius if length > radius else radius
            return x, max(float(np.linalg.norm(step)), 0.25) if halved else grown
        step = step / 2
    return None


def _require_no_saddle(surface: Surface, here: Position) -> None:
    """Raise if a stationary point is not a maximum, or is a maximum with zero curvature."""
    lowest = int(here.curvature.argmin())
    axis = here.T[:, lowest]
    if here.curvature[lowest] < -FLAT_CURVATURE:
        kind = "a minimum" if (here.curvature < -FLAT_CURVATURE).all() else "a saddle"
        raise LaplaceError(
            f"The stationary point x = {_show(here.x)} is {kind} and not a maximum: the log density curves upwards "
            f"along {_direction(axis)}. Start at another x0, away from this point in that direction."
        )
    if here.curvature[lowest] < FLAT_CURVATURE and _drops(surface, here, axis).min() > MIN_DROP:
        raise _flat_error(here.x, axis)


def require_a_peak(surface: Surface, here: Position) -> None:
    """Raise unless f decreases in both directions of each axis; over half an axis, a Gaussian decreases by 1/8."""
    for axis in here.T.T:
        drops = _drops(surface, here, axis)
        if drops.max() < MIN_DROP or drops.min() > MAX_DROP:
            raise _flat_error(here.x, axis)
        if drops.min() < MIN_DROP:
            drop = drops.min()
            change = f"falls by only {drop:.2g}" if drop > 0.001 else "does not fall"
            raise LaplaceError(
                f"x = {_show(here.x)} is not a reliable mode, although the gradient vanishes there: along "
                f"{_direction(axis if drops[0] < drops[1] else -axis)} the log density {change}, where its curvature "
                "predicts a fall by 0.125. The mode may lie at infinity in that direction, or x may be a minor local "
                "maximum. Add a prior, or start at another x0."
            )


def log_integral(here: Position) -> float:
    """Return the estimate of ln Z at a mode (4.135)."""
    return here.value + len(here.x) * LOG_SQRT_2PI - float(np.log(np.diag(here.factor)).sum())


def second_mode(surface: Surface, here: Position, start: Float) -> Position | None:
    """Climb from a place where f, which falls away from the mode, rises again; None if another mode is not found.

    Such places are looked for along the axes of the Gaussian and along the way from the start. A mode in any other
    direction may be missed.
    """
    way = start - here.x
    length = float(np.linalg.norm(np.linalg.solve(here.T, way)))
    axes = [*here.T.T, way / length] if length > 1 else [*here.T.T]
    for axis in (side * axis for axis in axes for side in (1.0, -1.0)):
        with suppress(ArithmeticError, ValueError):  # of the user's function, far from the mode; LaplaceError is one
            values = [surface.value(here.x + distance * axis) for distance in LOOKED_IN_STD]
            rises = [k for k in range(1, len(values)) if values[k] > values[k - 1] + MIN_RISE]
            if rises:
                other = find_mode(surface, here.x + LOOKED_IN_STD[rises[0]] * axis)
                require_a_peak(surface, other)
                if np.linalg.norm(np.linalg.solve(here.T, other.x - here.x)) > 1:
                    return other
    return None


def _drops(surface: Surface, here: Position, axis: Float) -> Float:
    """Return the decrease of f half an axis away, in both directions."""
    return np.array([here.value - surface.value(here.x + side * axis) for side in (0.5, -0.5)])


def _flat_error(x: Float, axis: Float) -> LaplaceError:
    return LaplaceError(
        f"The log density is flat at x = {_show(x)} along {_direction(axis)}: its curvature there is zero, and the "
        "Gaussian would be infinitely wide. Remove that direction, or add a prior on it."
    )


def _no_maximum_error(here: Position, start: Float, how: str) -> LaplaceError:
    return LaplaceError(
        f"The log density still rises, {how}: the search went from x0 = {_show(start)} to x = {_show(here.x)}, along "
        f"{_direction(here.x - start)}, where it is {here.value:.6g}. The mode lies at infinity, or the density cannot "
        "be normalised. Add a prior, or start nearer to a mode."
    )


def _show(x: Float) -> str:
    if len(x) == 1:
        return f"{x[0]:.6g}"
    return "(" + ", ".join(f"{v:.6g}" for v in x[:6]) + (", ...)" if len(x) > 6 else ")")


def _direction(axis: Float) -> str:
    """Describe a direction by its largest components."""
    if len(axis) == 1:
        return "+x" if axis[0] > 0 else "-x"
    unit = axis / np.linalg.norm(axis)
    large = [i for i in np.argsort(-np.abs(unit))[:4] if abs(unit[i]) > 0.01]
    return " ".join(f"{unit[i]:+.2g} x[{i}]" for i in large)


class Surface:
    """A function f with its first two derivatives, and a count of evaluations.

    Derivatives that are not given are finite differences. In coordinates y, x + T y, with axes e_i and step h,

        g_i  = (f(h e_i) - f(-h e_i)) / 2h
        H_ii = (f(h e_i) - 2 f(0) + f(-h e_i)) / h²
        H_ij = (f(h e_i + h e_j) + f(-h e_i - h e_j) - f(h e_i) - f(-h e_i) - f(h e_j) - f(-h e_j) + 2 f(0)) / 2h²

    which takes D² + D + 1 evaluations. All errors are power series in h², so halving h and extrapolating to h = 0
    removes one power at a time (Richardson). The caller chooses T so that f changes by about one over a unit of y. The
    same h then suits every function and all units of x, with small truncation and rounding errors.
    """

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
        """Return f(x), or minus infinity if f is not finite."""
        value = float(self._call("log_density", self._function, x, ()))
        return value if np.isfinite(value) else -np.inf

    def units(self, x: Float) -> Float:
        """Return a step of each variable that changes f clearly, by about one; infinite if no step does."""
        here = self.value(x)
        min_change = max(0.1, 1e4 * np.finfo(float).eps * abs(here))
        return np.array([self._unit(x, axis, here, min_change) for axis in np.eye(len(x))])

    def _unit(self, x: Float, axis: Float, here: float, min_change: float) -> float:
        """Multiply or divide a step by four until f changes by a suitable amount."""
        size = max(float(np.abs(x @ axis)), 1.0)
        h, grown = 1e-3 * size, False
        for _ in range(200):
            change = np.abs(np.array([self.value(x + h * axis), self.value(x - h * axis)]) - here).max()
            if change > 20 * min_change:  # the change is infinite if f is not finite
                h /= 4
                if grown:
                    return h
            elif change < min_change:
                h *= 4
                grown = True
                if h > MAX_UNIT * size:
                    return np.inf
            else:
                return h
        return h

    def derivatives(self, x: Float, T: Float, *, polish: bool) -> ValueGradHess:
        """Return f and its derivatives at x.

        Finite differences are accurate to about 1 %; with ``polish`` they are extrapolated to step zero.
        """
        value, h = self.value(x), POLISH_STEP if polish else DIFFERENCE_STEP
        for _ in range(MAX_STEP_SHRINKS):  # shorten the step while f is not finite there
            first = self._at_step(x, T, value, h)
            if np.isfinite(first.grad).all() and np.isfinite(first.hess).all():
                break
            h /= 4
        if not polish or (self._gradient is not None and self._hessian is not None):
            return first
        rows, best, error = [first], first, np.inf
        for level in range(1, POLISH_LEVELS):
            extrapolated = [self._at_step(x, T, value, h * 0.5**level)]
            for power, coarse in enumerate(rows, start=1):  # the error falls by 4^power from coarse to fine
                grad, hess = extrapolated[-1].grad, extrapolated[-1].hess
                grad = grad + (grad - coarse.grad) / (4.0**power - 1)
                hess = hess + (hess - coarse.hess) / (4.0**power - 1)
                extrapolated.append(ValueGradHess(value, grad, hess))
            change = max(_distance(extrapolated[-1], rows[-1]), _distance(extrapolated[-1], extrapolated[-2]))
            if change < error:
                best, error = extrapolated[-1], change
            if error < POLISH_TOL or change > 10 * error:
                break
            rows = extrapolated
        return best

    def _at_step(self, x: Float, T: Float, value: float, h: float) -> ValueGradHess:
        D = len(x)
        if self._gradient is None:  # by central differences of f
            steps = h * T.T
            ahead, behind = (np.array([self.value(x + sign * step) for step in steps]) for sign in (1, -1))
            with np.errstate(invalid="ignore"):  # the caller checks for infinity minus infinity
                grad, both = (ahead - behind) / (2 * h), ahead + behind
                hess = np.diag((both - 2 * value) / h**2)
                if self._hessian is None and np.isfinite(both).all():
                    for i, j in zip(*np.tril_indices(D, -1), strict=True):
                        corner = self.value(x + steps[i] + steps[j]) + self.value(x - steps[i] - steps[j])
                        hess[i, j] = hess[j, i] = (corner - both[i] - both[j] + 2 * value) / (2 * h**2)
        else:
            grad, hess = self._slope(x, T), np.empty((D, D))
            if self._hessian is None:  # by central differences of the gradient: 2 D evaluations
                rows = [(self._slope(x + h * t, T) - self._slope(x - h * t, T)) / (2 * h) for t in T.T]
                hess = np.asarray(np.add(rows, np.transpose(rows)) / 2)
        if self._hessian is not None:
            full = self._call("hessian", self._hessian, x, (D, D))
            hess = T.T @ ((full + full.T) / 2) @ T
        return ValueGradHess(value, grad, hess)

    def _slope(self, x: Float, T: Float) -> Float:
        assert self._gradient is not None
        return np.asarray(T.T @ self._call("gradient", self._gradient, x, (len(x),)))

    def _call(self, name: str, function: Callable[[Any], ArrayLike], x: Float, shape: tuple[int, ...]) -> Float:
        """Call a user's function at x; it may return a scalar instead of an array with one entry."""
        self.n_evaluations += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = np.asarray(function(float(x[0]) if self._is_number else x.copy()), dtype=np.float64)
        if found.size != np.prod(shape) or not (found.shape == shape or found.size == 1):
            raise ValueError(f"{name}(x) must have shape {shape} for x of shape {x.shape}, but has {found.shape}.")
        return found.reshape(shape)


def _distance(a: ValueGradHess, b: ValueGradHess) -> float:
    return float(max(np.abs(a.grad - b.grad).max(), np.abs(a.hess - b.hess).max()))
