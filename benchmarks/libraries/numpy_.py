# SPDX-License-Identifier: BSD-3-Clause
"""Plain NumPy: the product X @ w under every prediction, and the derivatives of the logistic objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.libraries import Job, Library
from benchmarks.objectives import ALPHA, Answer, pass_point
from benchmarks.problems import Data


def gradient_pass(data: Data) -> Job:
    """Two products that read the whole table each."""
    W, w0 = pass_point(data)

    def run() -> Answer:
        miss = expit(data.X @ W[0] + w0) - data.y
        return Answer((miss @ data.X + ALPHA * W[0])[None], miss.sum(keepdims=True), passes=2)

    return Job(run, lambda answer: answer)


def hessian_pass(data: Data) -> Job:
    """One product with a weighted copy of the table."""
    W, w0 = pass_point(data)

    def run() -> Answer:
        a = data.X @ W[0] + w0
        r = expit(a) * expit(-a)
        H = np.empty((W.size + 1, W.size + 1))
        H[:-1, :-1] = data.X.T @ (r[:, None] * data.X) + ALPHA * np.eye(W.size)
        H[-1, :-1] = H[:-1, -1] = r @ data.X
        H[-1, -1] = r.sum()
        return Answer(H, np.empty(0), passes=3)

    return Job(run, lambda answer: answer)


def predict_linear(data: Data) -> Job:
    """Activations only, no comparison and no labels. The time does not depend on which weights they are."""
    outputs = data.k if data.k > 2 else 1
    W = np.random.default_rng(0).standard_normal((outputs, data.X.shape[1])).astype(data.X.dtype)
    w = W.T if outputs > 1 else W[0]
    return Job(lambda: data.X @ w, lambda a: Answer(W.astype(np.float64), np.zeros(outputs), codes=_codes(a)))


def _codes(a: Any) -> Any:
    return a.argmax(axis=1) if a.ndim > 1 else (a > 0).astype(np.intp)


TASKS = {"gradient_pass": gradient_pass, "hessian_pass": hessian_pass, "predict_linear": predict_linear}
ENTRIES = (Library("numpy", np.__version__, TASKS),)
