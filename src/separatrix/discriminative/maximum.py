# SPDX-License-Identifier: BSD-3-Clause
"""The maximum of a likelihood or posterior, kept for what is computed after a fit: the distribution of the weights.

Near its maximum θ̂, the log posterior is a parabola with the Hessian H = I + Λ, where I is the information of the rows
and Λ the precision of the prior. So the Gaussian

    N(θ | θ̂, H⁻¹)

is the sampling distribution of the estimate if there is no prior, and Laplace's posterior under the prior if there is
one. If the solver ended with H, it is kept; otherwise H takes one pass over the training rows, at the first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from separatrix._arguments import Estimator
from separatrix._array import Float
from separatrix.rows import Block, Source, Targets
from separatrix.separation import has_free_weights
from separatrix.solvers import Factor, Posterior, Solution
from separatrix.stats import Design, Tally
from separatrix.weights import NormalApproximation, WeightDistribution, inverse_information, require_few_weights

MAX_KEPT_WEIGHTS = 500  # Hessians of at most so many weights (2 MB) are kept after a fit
INTERCEPT = "intercept"
WITHOUT_ROWS = (
    "Likelihood-ratio and score tests, profile intervals, infinite coefficients and other covariances need the "
    "training rows, but a saved model does not contain them. Call fit(X, y) again; Wald tests and intervals need no "
    "rows."
)


@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum θ (C, P) of the posterior, with the Hessian there if it is known, and the training rows if needed.

    If the Hessian is known and every weight of a column has a prior, nothing else needs the rows: ``objective`` is
    None. Without any prior (``is_flat``), ``value`` is minus the log likelihood, None if the solver did not keep it.
    ``n_observations`` is the sum of frequency weights, or the number of rows with other ``weights``; None if it needs a
    pass.
    """

    theta: Float
    design: Design
    names: tuple[str, ...]
    hess: Float | None
    objective: Posterior | None
    is_flat: bool
    n_observations: float | None
    value: float | None
    weights: str = "frequency"

    @classmethod
    def of(cls, objective: Posterior, theta: Float, solution: Solution[Float], weights: str = "frequency") -> Maximum:
        """Keep what may be needed of a fit. ``theta`` may differ from the solution by a vector added to all classes."""
        design, end = objective.design, solution.end
        names = (*objective.source.columns, INTERCEPT)[: design.width]
        is_known = end is not None and end.is_exact and isinstance(end.inverse, Factor)
        is_known = is_known and objective.prior.corner is None and theta.size <= MAX_KEPT_WEIGHTS
        hess = end.inverse.matrix if end is not None and is_known else None
        needs_rows = hess is None or has_free_weights(objective)
        kept = replace(objective, sample=None) if needs_rows else None
        value = None if end is None else end.value
        known = known_total(objective, weights)
        return cls(theta, design, names, hess, kept, objective.is_flat, known, value, weights)

    @property
    def rows(self) -> Posterior:
        """The objective with the training rows; raises ValueError if they were not kept."""
        if self.objective is None:
            raise ValueError(WITHOUT_ROWS)
        return self.objective

    def distribution(self, owner: str, robust: Float | None = None) -> WeightDistribution:
        """Return the Gaussian at the maximum, with a ``robust`` covariance if given; raises if it is too large."""
        approximation = self.approximation(owner)
        if robust is not None:
            approximation = replace(approximation, covariance=robust)
        return WeightDistribution(approximation, self.design, self.names, is_sampling=self.is_flat)

    def approximation(self, owner: str) -> NormalApproximation:
        """Return N(θ, H⁻¹), with the directions without information; raises if the matrix is too large."""
        require_few_weights(owner, self.theta.size)
        hess = self.hess
        if hess is None:
            assert self.objective is not None, "the rows are kept if the Hessian is not known"
            hess = self.objective.value_grad_hess(self.theta).hess
        covariance, null = inverse_information(hess, len(self.theta))
        return NormalApproximation(self.theta, covariance, null=null)

    def facts(self, *, may_read: bool = True) -> dict[str, float]:
        """Return N and, without a prior, log likelihood and deviance; with a pass if needed, unless it is forbidden."""
        N, value, objective = self.n_observations, self.value, self.objective if may_read else None
        if N is None and objective is not None:
            N = float(objective.source.reduce(partial(total_weight, weights=self.weights)).count)
        found = {} if N is None else {"N": N}
        if value is None and self.is_flat and objective is not None:
            value = objective.value_grad(self.theta).value
        if not self.is_flat or value is None or N is None or self.weights == "probability":
            return found
        return found | {"log likelihood": -value, "deviance": 2.0 * value}


def with_criteria(facts: Mapping[str, float], n_identified: int) -> dict[str, float]:
    """Facts with AIC and BIC, if the deviance is known; columns that are combinations of others add no parameter."""
    if "deviance" not in facts:
        return dict(facts)
    deviance, N = facts["deviance"], facts["N"]
    criteria = {"AIC": deviance + 2.0 * n_identified, "BIC": deviance + float(np.log(N)) * n_identified}
    return {**facts, **criteria}


def known_total(objective: Posterior, weights: str) -> float | None:
    """Sum of frequency weights, or number of rows with other weights, if it is known without a pass."""
    is_frequency, parts = weights == "frequency", objective.source.targets
    if is_frequency and objective.sample is None:
        return objective.units.total
    if not all(isinstance(part, Targets) for part in parts):
        return None
    if any(part.weight is None for part in parts):
        return objective.units.total
    return float(sum(part.weight.sum() if is_frequency else np.count_nonzero(part.weight) for part in parts))


def total_weight(block: Block, weights: str) -> Tally:
    """Sum of the frequency weights of one block, or its number of rows with other weights."""
    if block.weight is None:
        return Tally(np.asarray(float(len(block))))
    return Tally(np.asarray(block.weight.sum() if weights == "frequency" else float(np.count_nonzero(block.weight))))


def has_fractions(source: Source) -> bool:
    """Whether weights in memory are not whole numbers."""
    parts = source.targets
    return any(isinstance(part, Targets) and part.weight is not None and (part.weight % 1).any() for part in parts)


class KeepsRows(Estimator):
    """Base class of models that keep a reference to their training rows, in ``_fit``, for what is computed later.

    Copies keep the reference; pickled and saved models do not contain the rows.
    """

    _fit: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the training rows."""
        state: dict[str, Any] = super().__getstate__()
        return state | {"_fit": None} if "_fit" in state else state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = memo[id(self)] = copy(self)
        other.__dict__.update({name: deepcopy(value, memo) for name, value in vars(self).items() if name != "_fit"})
        return other

    def __copy__(self) -> Self:
        """A copy with a reference to the same training rows."""
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        return other
