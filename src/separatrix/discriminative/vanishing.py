# SPDX-License-Identifier: BSD-3-Clause
"""Does a normal model with a log link have a maximum? Not where the best mean of some rows is zero or less.

    E = ½ Σ_n weight_n (t_n - e^{a_n})²

Along a direction d with d'φ̃_n <= 0 for all rows the means of the rows S with d'φ̃_n < 0 fall to zero, the others stay,
and E tends to a limit. If that is no higher than E,

    Σ_{n in S} weight_n (2 t_n μ_n - μ_n²) <= 0,

nothing is lost by going on for ever: the weights grow without end, and the gradient vanishes all the same. So it is
from wherever one starts, if no target of S is positive: then d is a direction as zero counts have one (`support`). But
a group of rows whose targets merely add up to no more than zero has no best mean either. So the rows are asked twice:
first with those that may fall whose target is not positive, then also with those whose mean is small at the end of the
fit. The sum decides in both cases. If all targets are positive, a maximum exists, and nothing is asked.

A model of a mean alone says the same of its one mean (`null_model`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix._array import Array, Float
from separatrix.exceptions import DataError
from separatrix.likelihoods import NormalLog
from separatrix.rows import Block
from separatrix.separation import Separability, Support, separability
from separatrix.solvers import Posterior

__all__ = ["require_positive_means"]

SMALL = 1e-2  # a mean beside the root mean square of the targets that may be on its way to zero
ROUNDING = 1e-9  # of what a standard deviation of every column moves: rows no further from the plane lie on it
COUNTS = Support(is_count=True)


def require_positive_means(posterior: Posterior, theta: Float, targets: Array) -> None:
    """`DataError` where the means of some rows fall to zero without end; of a normal model with a log link."""
    if not (isinstance(posterior.likelihood, NormalLog) and posterior.prior.free.all() and (targets <= 0).any()):
        return
    for small in (0.0, SMALL * float(np.sqrt(np.mean(targets**2)))):
        seen = posterior.source.viewed(_Falling(posterior, theta, small).show)
        found = separability(seen, 2, fit_intercept=posterior.design.bias)
        limit = posterior.source.reduce(_Limit(posterior, theta, found).of) if found else None
        if limit is not None and limit.n_rows and limit.change <= 0:
            raise DataError(
                f"The best mean of {limit.n_rows} rows is zero or less, and a log link has positive means only: their "
                f"weights would grow without end, along {', '.join(map(repr, found.columns)) or 'the intercept'}. Use "
                "link='identity', set alpha > 0, or drop those rows or columns."
            )


@dataclass(frozen=True, eq=False)
class _Falling:
    """Rows that may fall as zero counts, and the others as positive ones."""

    posterior: Posterior
    theta: Float
    small: float

    def show(self, block: Block) -> Block:
        may_fall = (block.targets <= 0) | (_means(self.posterior, block, self.theta) <= self.small)
        return COUNTS.repeat(replace(block, t=1.0 - may_fall))


@dataclass(frozen=True, slots=True)
class _Change:
    """2 (lim E - E) and the number of rows that fall; ``+`` is that of both sets of rows."""

    change: float
    n_rows: int

    def __add__(self, other: _Change) -> _Change:
        return _Change(self.change + other.change, self.n_rows + other.n_rows)


@dataclass(frozen=True, eq=False)
class _Limit:
    """What becomes of E along the direction that was found."""

    posterior: Posterior
    theta: Float
    found: Separability

    def of(self, block: Block) -> _Change:
        """On one block."""
        design, units = self.posterior.design, self.posterior.column_units
        d = design.of_user_units(self.found.coef, self.found.intercept)
        moved = np.asarray(design.activate(replace(block, offset=None), d))
        weight = np.ones(len(block)) if block.weight is None else block.weight
        falls = (moved < -ROUNDING * float(np.abs(d[0]) @ units)) & (weight > 0)
        mu, t = _means(self.posterior, block, self.theta)[falls], block.targets[falls]
        return _Change(float(weight[falls] @ (2 * t * mu - mu**2)), int(falls.sum()))


def _means(posterior: Posterior, block: Block, theta: Float) -> Float:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(NormalLog().mean(posterior.design.activate(block, theta)))
