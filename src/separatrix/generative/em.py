# SPDX-License-Identifier: BSD-3-Clause
"""Expectation maximisation as sums over rows: one pass per step.                                  PRML §9.3

E step: with the current parameters, the *expected* facts of the rows (a statistic: it adds over blocks).
M step: parameters from facts, as if they had been seen. The likelihood of what was really seen never falls.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from separatrix._array import Float
from separatrix.exceptions import ConvergenceWarning
from separatrix.rows import Block, Source
from separatrix.solvers import Solution, Status

__all__ = ["Expectation", "maximise_expectation", "one_hot"]

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Expectation(Generic[F]):
    """Expected facts, and the log likelihood of what was observed."""

    facts: F
    log_likelihood: float
    weight: float = 0.0  # of the rows, for a stopping rule that does not depend on its scale

    def __add__(self, other: Expectation[F]) -> Expectation[F]:
        """Both add."""
        facts: Any = self.facts
        total = self.log_likelihood + other.log_likelihood
        return Expectation(facts + other.facts, total, self.weight + other.weight)


def one_hot(block: Block, n_classes: int) -> Float:
    """R (n, K): the weight of each row at its class."""
    R = np.zeros((len(block), n_classes))
    R[np.arange(len(block)), block.codes] = 1.0 if block.weight is None else block.weight
    return R


def maximise_expectation(
    source: Source,
    start: F,
    expect: Callable[..., Expectation[F]],
    parameters: Callable[[F], Any],
    *,
    tol: float = 1e-8,
    max_steps: int = 500,
) -> Solution[F]:
    """Iterate ``facts <- expect(block, parameters(facts))`` until the log likelihood rises by less than tol per row.

    ``solution.trace`` holds the log likelihood before each step; it never falls.
    """
    facts, trace = start, []
    status = Status.MAX_STEPS
    for _ in range(max_steps):
        step: Callable[[Block], Expectation[F]] = partial(expect, parameters=parameters(facts))
        expected = source.reduce(step)
        facts = expected.facts
        trace.append(expected.log_likelihood)
        if not np.isfinite(trace[-1]):
            raise ArithmeticError(
                f"EM met a likelihood of {trace[-1]} in step {len(trace)}: some row has no probability. "
                "Use shrinkage or a prior, or leave out rows far from all others."
            )
        if len(trace) > 1 and trace[-1] - trace[-2] <= tol * (expected.weight or source.n_rows):
            status = Status.LIKELIHOOD
            break
    if status is Status.MAX_STEPS:
        warnings.warn(
            f"EM stopped after {max_steps} passes, with the log likelihood still rising by {trace[-1] - trace[-2]:.3g} "
            "a pass. The result is usable; with fewer gaps or more labels EM converges faster.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return Solution(facts, status, len(trace), len(trace), tuple(trace))
