# SPDX-License-Identifier: BSD-3-Clause
"""The floor under prediction: the bare product X @ w, which no linear rule can do without."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.libraries import Job, Library
from benchmarks.objectives import Answer
from benchmarks.problems import Data


def predict_linear(data: Data) -> Job:
    """Activations only, no comparison and no labels. The time does not depend on which weights they are."""
    outputs = data.k if data.k > 2 else 1
    W = np.random.default_rng(0).standard_normal((outputs, data.X.shape[1])).astype(data.X.dtype)
    w = W.T if outputs > 1 else W[0]
    return Job(lambda: data.X @ w, lambda a: Answer(W.astype(np.float64), np.zeros(outputs), codes=_codes(a)))


def _codes(a: Any) -> Any:
    return a.argmax(axis=1) if a.ndim > 1 else (a > 0).astype(np.intp)


ENTRIES = (Library("numpy", np.__version__, {"predict_linear": predict_linear}),)
