# SPDX-License-Identifier: BSD-3-Clause
"""glum: iteratively reweighted least squares. Its objective is averaged over rows, hence alpha / N.

Its covariances are for models without a penalty, so that it has no Hessian to offer here, and its solver forms an
M x M matrix in every step, so that tables with many columns are left out.
"""

from __future__ import annotations

from typing import Any

import glum  # type: ignore[import-untyped,import-not-found,unused-ignore]  # optional
import numpy as np
from scipy import sparse

from benchmarks.libraries import Job, Library
from benchmarks.objectives import ALPHA, TOL, Answer
from benchmarks.problems import Data

MANY_COLUMNS = 500


def logistic(data: Data) -> Job | None:
    """Maximum a posteriori."""
    return _fit(data, ALPHA / len(data.y))


def flat_logistic(data: Data) -> Job | None:
    """Maximum likelihood."""
    return _fit(data, 0.0)


def _fit(data: Data, alpha: float) -> Job | None:
    if sparse.issparse(data.X) or data.X.shape[1] > MANY_COLUMNS:
        return None
    y = data.y.astype(data.X.dtype)
    model = glum.GeneralizedLinearRegressor(family="binomial", alpha=alpha, gradient_tol=TOL)
    return Job(lambda: model.fit(data.X, y), _read)


def _read(model: Any) -> Answer:
    return Answer(model.coef_[None].astype(float), np.array([model.intercept_], dtype=float))


ENTRIES = (Library("glum", glum.__version__, {"logistic": logistic, "flat_logistic": flat_logistic}),)
