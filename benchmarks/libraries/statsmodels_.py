# SPDX-License-Identifier: BSD-3-Clause
"""statsmodels: maximum likelihood by Newton's method, without a penalty. Standard errors come with every fit.

It stops where no weight changes by more than ``tol``. Its models want the column of ones in the table: adding it is
part of the preparation, and not timed.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import statsmodels.discrete.discrete_model as discrete  # type: ignore[import-untyped,import-not-found,unused-ignore]  # optional

from benchmarks.libraries import Job, Library, Prepare
from benchmarks.objectives import TOL, Answer
from benchmarks.problems import Data


def newton(kind: type[Any]) -> Prepare:
    """The model of this kind, fitted by Newton's method."""

    def prepare(data: Data) -> Job:
        model = kind(data.y, np.column_stack([data.X, np.ones(len(data.y), data.X.dtype)]))
        return Job(lambda: model.fit(method="newton", maxiter=100, tol=TOL, disp=False), _read)

    return prepare


def _read(result: Any) -> Answer:
    return Answer(result.params[None, :-1], result.params[-1:])


ENTRIES = (
    Library(
        "statsmodels",
        version("statsmodels"),
        {"flat_logistic": newton(discrete.Logit), "probit": newton(discrete.Probit)},
    ),
)
