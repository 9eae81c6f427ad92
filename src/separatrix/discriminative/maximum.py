# SPDX-License-Identifier: BSD-3-Clause
"""The maximum of a likelihood or posterior, kept for what is computed after a fit: the distribution of the weights.

Near its maximum θ̂, the log posterior is a parabola with the Hessian H = I + Λ, where I is the information of the rows
and Λ the precision of the prior. So the Gaussian

    N(θ | θ̂, H⁻¹)

is the sampling distribution of the estimate if there is no prior, and Laplace's posterior under the prior if there is
one. If the solver ended with H, it is kept; otherwise H takes one pass over the training rows, at the first use.
"""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

from separatrix._arguments import Estimator
from separatrix._array import Float
from separatrix.separation import has_free_weights
from separatrix.solvers import Factor, Posterior, Solution
from separatrix.stats import Design
from separatrix.weights import NormalApproximation, WeightDistribution, inverse_information, require_few_weights

MAX_KEPT_WEIGHTS = 500  # Hessians of at most so many weights (2 MB) are kept after a fit
INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum θ (C, P) of the posterior, with the Hessian there if it is known, and the training rows if needed.

    If the Hessian is known and every weight of a column has a prior, nothing else needs the rows: ``objective`` is
    None.
    """

    theta: Float
    design: Design
    names: tuple[str, ...]
    hess: Float | None
    objective: Posterior | None

    @classmethod
    def of(cls, objective: Posterior, theta: Float, solution: Solution[Float]) -> Maximum:
        """Keep what may be needed of a fit. ``theta`` may differ from the solution by a vector added to all classes."""
        design, end = objective.design, solution.end
        names = (*objective.source.columns, INTERCEPT)[: design.width]
        is_known = end is not None and end.is_exact and isinstance(end.inverse, Factor)
        is_known = is_known and objective.prior.corner is None and theta.size <= MAX_KEPT_WEIGHTS
        hess = end.inverse.matrix if end is not None and is_known else None
        needs_rows = hess is None or has_free_weights(objective)
        return cls(theta, design, names, hess, replace(objective, sample=None) if needs_rows else None)

    def distribution(self, owner: str) -> WeightDistribution:
        """Return the Gaussian at the maximum; raises if its covariance is too large."""
        require_few_weights(owner, self.theta.size)
        hess = self.hess
        if hess is None:
            assert self.objective is not None, "the rows are kept if the Hessian is not known"
            hess = self.objective.value_grad_hess(self.theta).hess
        covariance, null = inverse_information(hess, len(self.theta))
        return WeightDistribution(NormalApproximation(self.theta, covariance, null=null), self.design, self.names)


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
