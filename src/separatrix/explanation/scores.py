# SPDX-License-Identifier: BSD-3-Clause
"""The activation of a row as a sum over columns, and what each column contributes to its probability.

A linear model has a(x) = w'φ(x) + w0. Relative to a reference with the functions φ_0, column c contributes

    A_c = Σ_j∈c w_j (φ_j(x) - φ_0j),        a(x) = a_0 + Σ_c A_c,    a_0 = w'φ_0 + w0

which is linear in the weights, so its distribution is known. Naive Bayes has such a sum, too: A_c is the logarithm of
p(x_c | C_k), and a_0 = ln p(C_k), so that the reference is a row of which nothing is known.

The probability is not linear: what a column adds depends on which columns have changed already. So let columns change
at random times between 0 and 1, and average over these times. At time t,

    a(t) = a_0 + Σ_c B_c A_c + t Σ_d A_d,        B_c = 1 with probability t, otherwise 0

for the few largest contributions c, which change at once, and the others d, which change gradually. The probability
changes by p(x) - p_0, of which the columns have the parts

    ∫_0^1 E[p(a(t) with B_c = 1) - p(a(t) with B_c = 0)] dt        and        ∫_0^1 E[∂p/∂a(t)]' A_d dt

They add up exactly, and no change at once exceeds 1. If all columns change at once, a part is Shapley's value (1953),
the average over all orders of the columns; if all change gradually, it is that of Aumann and Shapley (1974), which is
unbounded if contributions cancel. With both it is the value of an oceanic game (Milnor and Shapley 1978).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float, Rows, to_dense
from separatrix.likelihoods import ClassLikelihood, Logit, Probit, Softmax
from separatrix.weights import WeightDistribution, interval_tails, quantiles

N_DRAWS = 1000  # draws of the weights for intervals of probabilities, whose ends they give to 6 % of the half width
MAX_KEPT_FLOATS = 8_000_000  # weights of all draws that are kept for the next row; more are drawn again for each row
MAX_BATCH_FLOATS = 1_000_000  # weights that are drawn at once
N_LARGE = 5  # lines that change at once, in 2^5 sets
N_NODES = 16  # nodes of Gauss and Legendre's rule for each panel of the time from 0 to 1
PANEL_WIDTH = 4.0  # gradual change of a difference of activations for which so many nodes are exact to rounding
MAX_PANELS = 256
DRAWN_NODES, DRAWN_PANEL_WIDTH = 5, 8.0  # of each draw: an error of 1e-4 does not matter
SMALL_CHANGE = 1e-5  # of an activation, for the slope of p: the error of a central difference is 1e-10
LINKS = {"logit": "log-odds", "log": "log of the mean", "identity": "sum", "inverse": "inverse of the mean"}
FLAT_STD = 1e-12  # relative to the size of a contribution; smaller deviations are rounding errors


class Lines(NamedTuple):
    """Decomposition of one row for one class: reference, contributions of C lines, and total.

    ``estimate`` (C + 2,) are numbers on the scale of the activation, first the reference, last the total; so are
    ``error``, ``lower`` and ``upper``, or None without a distribution. ``probability`` (C + 2,) is the same for the
    probability at the mean weights, and ``bounds`` (C + 2, 2) are intervals.
    """

    estimate: Float
    error: Float | None
    lower: Float | None
    upper: Float | None
    probability: Float
    bounds: Float | None

    @property
    def columns(self) -> dict[str, Float]:
        """Copies of the numbers by name, with those of intervals if there are any."""
        found = {"estimate": self.estimate}
        if self.error is not None and self.lower is not None and self.upper is not None:
            found |= {"standard_error": self.error, "lower": self.lower, "upper": self.upper}
        found["probability"] = self.probability
        if self.bounds is not None:
            found |= {"probability_lower": self.bounds[:, 0], "probability_upper": self.bounds[:, 1]}
        return {name: column.copy() for name, column in found.items()}


class Scores(ABC):
    """How a model computes the activations of classes as a sum. ``reference`` are the average functions of a row."""

    likelihood: ClassLikelihood
    reference: Float | None
    has_decision: ClassVar[bool] = True

    @property
    def scale(self) -> str:
        """Name of the scale on which contributions add up."""
        return "probit" if isinstance(self.likelihood, Probit) else "log-odds"

    def contrast(self, code: int) -> Float:
        """Coefficients (K,) of the activations in the sum that is explained."""
        return class_contrast(self.likelihood.n_outputs, code)

    def response(self, a: Float, code: int) -> Float:
        """Probability of the class with this code for activations (..., K), or (..., 1) of two classes."""
        flat = a.reshape(-1) if a.shape[-1] == 1 else a.reshape(-1, a.shape[-1])
        return np.asarray(self.likelihood.probabilities(flat)[:, code].reshape(a.shape[:-1]))

    def slope(self, a: Float, code: int) -> Float:
        """∂p/∂a (..., K): a central difference for one activation, exact for a softmax."""
        if a.shape[-1] == 1:
            up, down = (self.response(a + side * SMALL_CHANGE, code) for side in (0.5, -0.5))
            return ((up - down) / SMALL_CHANGE)[..., None]
        p = self.likelihood.probabilities(a.reshape(-1, a.shape[-1])).reshape(a.shape)
        return np.asarray(p[..., [code]] * (np.eye(a.shape[-1])[code] - p))

    @property
    @abstractmethod
    def has_intervals(self) -> bool:
        """Whether the distribution of the weights is known."""

    @abstractmethod
    def lines(self, phi: Rows, start: Float | None, owner: Codes, n_lines: int, code: int, level: float) -> Lines:
        """Decompose the row with the functions ``phi`` (1, M) for the class with this code.

        Function j belongs to line ``owner[j]``. ``start`` (r, M) are the functions of rows whose average is the
        reference.
        """


@dataclass(frozen=True, eq=False)
class LinearScores(Scores):
    """A linear model: ``weights`` (C, P) with the intercept last, or their distribution if that is known.

    ``spread`` are standard deviations of the functions of the training rows, None if unknown.
    """

    weights: Float
    likelihood: Any
    reference: Float | None = None
    distribution: WeightDistribution | None = None
    has_bias: bool = True
    spread: Float | None = None

    @property
    def has_intervals(self) -> bool:
        return self.distribution is not None

    def lines(self, phi: Rows, start: Float | None, owner: Codes, n_lines: int, code: int, level: float) -> Lines:
        """Decompose one row; its lines are functions of the weights."""
        assert start is not None, "linear models have a reference"
        L = self._functions(phi, start.mean(axis=0), owner, n_lines)
        q = self.contrast(code)
        if self.distribution is None:
            a = L @ self.weights.T
            return Lines(a @ q, None, None, None, with_total(self, a[None], code, large_of(a @ q))[0], None)
        found = self.distribution.functions(L, None if len(q) == 1 else q[None])
        mean, std = (part.reshape(len(part)) for part in (found.mean, found.std))
        ends = found.quantiles(interval_tails("explain", level)).reshape(len(mean), 2)
        sign = q[0] if len(q) == 1 else 1.0
        mean, ends = sign * mean, ends if sign > 0 else -ends[:, ::-1]
        # The mean activations of each class: those of the draws if there are any, else of the approximation.
        every = self.distribution.functions(L, None).mean.reshape(L.shape[0], -1)
        large = large_of(mean)
        probability = with_total(self, every[None], code, large)[0]
        bounds = quantiles(self._drawn_probabilities(L, code, large), interval_tails("explain", level))
        unknown = np.isnan(std)
        bounds[unknown] = np.nan
        if len(q) == 1:  # the response is monotone in the activation, so quantiles of a are quantiles of the response
            bounds[[0, -1]] = np.sort(self.response(sign * ends[[0, -1], :, None], code), axis=1)
        return Lines(mean, std, ends[:, 0], ends[:, 1], probability, bounds)

    def _functions(self, phi: Rows, start: Float, owner: Codes, n_lines: int) -> Rows:
        """Rows (C + 2, P) of the linear functions of the weights: reference, contributions, and total."""
        moved = to_dense(phi)[0] - start
        at = np.flatnonzero(moved)
        lines = sparse.csr_array((moved[at], (owner[at], at)), shape=(n_lines, len(moved)))
        ends = [sparse.csr_array(start[None]), lines, sparse.csr_array(to_dense(phi))]
        L = sparse.csr_array(sparse.vstack(ends, format="csr"))
        if self.has_bias:
            bias = np.zeros((n_lines + 2, 1))
            bias[[0, -1]] = 1.0
            L = sparse.csr_array(sparse.hstack([L, sparse.csr_array(bias)], format="csr"))
        return L

    def _drawn_probabilities(self, L: Rows, code: int, large: Codes) -> Float:
        """Draws (C + 2, S) of the probability of the reference, the contributions to it, and that of the row.

        The weights are the same draws on every call.
        """
        found, stop = np.empty((L.shape[0], N_DRAWS)), 0
        for W in self._draws():
            a = np.asarray((L @ W.reshape(-1, L.shape[1]).T).T).reshape(-1, len(self.weights), L.shape[0])
            start, stop = stop, stop + len(a)
            a = np.moveaxis(a, 1, 2)
            found[:, start:stop] = with_total(self, a, code, large, DRAWN_NODES, DRAWN_PANEL_WIDTH).T
        return found

    def _draws(self) -> Iterator[Float]:
        """Return draws of the weights, in batches that limit the memory."""
        if N_DRAWS * self.weights.size <= MAX_KEPT_FLOATS:
            return iter(self._kept_draws)
        return self._new_draws()

    def _new_draws(self) -> Iterator[Float]:
        assert self.distribution is not None
        rng, at_once = np.random.default_rng(0), max(1, MAX_BATCH_FLOATS // self.weights.size)
        for start in range(0, N_DRAWS, at_once):
            yield self.distribution.sample(min(at_once, N_DRAWS - start), rng)

    @cached_property
    def _kept_draws(self) -> list[Float]:
        """All draws, so that many rows are explained without drawing again."""
        return list(self._new_draws())


@dataclass(frozen=True, eq=False)
class MeanScores(LinearScores):
    """A generalised linear model, whose response is the mean μ(a) instead of a probability."""

    has_decision = False

    @property
    def scale(self) -> str:
        """Name of the link function of the mean."""
        link: str = self.likelihood.link
        return LINKS.get(link, link)

    def contrast(self, code: int) -> Float:
        """The activation itself."""
        return np.ones(1)

    def response(self, a: Float, code: int) -> Float:
        """Mean for activations (..., 1)."""
        return np.asarray(self.likelihood.mean(a[..., 0]))

    def slope(self, a: Float, code: int) -> Float:
        """dμ/da, (..., 1)."""
        return np.asarray(self.likelihood.mean_derivatives(a[..., 0])[1])[..., None]


@dataclass(frozen=True, eq=False)
class SumScores(Scores):
    """A model whose activations are sums of ``terms`` (n, M, K) of the functions of rows, plus a constant (K,).

    The reference is a row of which nothing is known, whose terms are zero.
    """

    terms: Callable[[Rows], Float]
    constant: Float
    reference: Float | None = None

    @property
    def likelihood(self) -> ClassLikelihood:  # type: ignore[override]
        return Logit() if len(self.constant) == 2 else Softmax(len(self.constant))

    @property
    def has_intervals(self) -> bool:
        return False

    def lines(self, phi: Rows, start: Float | None, owner: Codes, n_lines: int, code: int, level: float) -> Lines:
        """Decompose one row into the terms of its columns."""
        terms, constant = self.terms(phi)[0], self.constant
        if start is not None:
            before = self.terms(start).mean(axis=0)
            terms, constant = terms - before, constant + before.sum(axis=0)
        a = np.zeros((n_lines + 2, len(constant)))
        a[0] = constant
        np.add.at(a, owner + 1, terms)
        a[-1] = a[:-1].sum(axis=0)
        if len(constant) == 2:
            a = np.diff(a, axis=1)
        q = self.contrast(code)
        return Lines(a @ q, None, None, None, with_total(self, a[None], code, large_of(a @ q))[0], None)


def large_of(estimate: Float) -> Codes:
    """Positions of the lines with the largest contributions, of the estimates (C + 2,)."""
    size = np.abs(estimate[1:-1])
    largest = np.argsort(-size, kind="stable")[:N_LARGE]
    return np.sort(largest[size[largest] > 0])


def class_contrast(n_outputs: int, code: int) -> Float:
    """Coefficients of the activations in the log-odds of a class: against the other class, or the mean of the classes.

    >>> class_contrast(1, 0).tolist(), class_contrast(4, 1).tolist()
    ([-1.0], [-0.25, 0.75, -0.25, -0.25])
    """
    if n_outputs == 1:
        return np.array([1.0 if code else -1.0])
    return np.asarray(np.eye(n_outputs)[code] - 1.0 / n_outputs)


def with_total(
    scores: Scores, a: Float, code: int, large: Codes, n_nodes: int = N_NODES, width: float = PANEL_WIDTH
) -> Float:
    """Probabilities (S, C + 2) of the reference, contributions of the lines, and of the row, for S sets of weights.

    ``a`` (S, C + 2, K) are activations of the reference, contributions to the activations, and those of the row. The
    lines ``large`` change at once.
    """
    ends = scores.response(a[:, [0, -1]], code)
    parts = _parts(scores, a[:, 0], a[:, 1:-1], code, large, n_nodes, width)
    return np.column_stack([ends[:, 0], parts, ends[:, 1]])


def _parts(scores: Scores, start: Float, A: Float, code: int, large: Codes, n_nodes: int, width: float) -> Float:
    """Parts (S, C) of the lines in the change of the probability of class ``code``; see the top of the file."""
    parts, gradual = np.zeros(A.shape[:2]), np.setdiff1d(np.arange(A.shape[1]), large)
    sets = (np.arange(2 ** len(large))[:, None] >> np.arange(len(large))) & 1  # which large lines have changed
    a = start[:, None] + np.einsum("bc,sck->sbk", sets, A[:, large])
    whole = A[:, gradual].sum(axis=1)
    n_panels = int(np.clip(np.ceil(np.abs(whole).max(initial=0.0) / width), 1, MAX_PANELS))
    x, weight = np.polynomial.legendre.leggauss(n_nodes)
    times = ((np.arange(n_panels)[:, None] + (x + 1) / 2) / n_panels).ravel()
    dt, has_changed = np.tile(weight / 2, n_panels) / n_panels, sets[:, None] == 1
    chance = np.where(has_changed, times[:, None], 1.0 - times[:, None]).prod(axis=2) * dt  # of each set, at each time
    change = chance[..., None] * np.where(has_changed, 1.0 / times[:, None], -1.0 / (1.0 - times[:, None]))
    if not whole.any():  # the same activations at all times
        parts[:, large] = scores.response(a, code) @ change.sum(axis=1)
        return parts
    for at, t in enumerate(times.tolist()):
        moved = a + t * whole[:, None]
        parts[:, large] += scores.response(moved, code) @ change[:, at]
        slope = np.einsum("b,sbk->sk", chance[:, at], scores.slope(moved, code))
        parts[:, gradual] += np.einsum("sk,sck->sc", slope, A[:, gradual])
    return parts
