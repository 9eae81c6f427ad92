# SPDX-License-Identifier: BSD-3-Clause
"""skglm: sparse weights by proximal Newton steps over working sets. Its objective is averaged over rows.

It reads columns, so that a table must be stored by columns; the conversion is part of the preparation, and not timed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import skglm  # type: ignore[import-untyped,import-not-found,unused-ignore]  # optional
from scipy import sparse

from benchmarks.libraries import Job, Library
from benchmarks.objectives import Answer, lasso_alpha
from benchmarks.problems import Data

LASSO_TOL = 1e-5  # of the violation of the conditions of the minimum, per row


def lasso(data: Data) -> Job:
    """Sparse weights."""
    X = sparse.csc_matrix(data.X) if sparse.issparse(data.X) else np.asfortranarray(data.X)
    model = skglm.SparseLogisticRegression(alpha=lasso_alpha(data) / len(data.y), tol=LASSO_TOL, max_iter=100)
    return Job(lambda: model.fit(X, data.y), _read)


def _read(model: Any) -> Answer:
    return Answer(np.atleast_2d(model.coef_).astype(float), np.atleast_1d(model.intercept_).astype(float))


ENTRIES = (Library("skglm", skglm.__version__, {"lasso": lasso}),)
