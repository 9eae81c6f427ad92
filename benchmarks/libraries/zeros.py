# SPDX-License-Identifier: BSD-3-Clause
"""Doing nothing: W = 0, and for w0 the best constants there are. What any fit has to improve on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, ndtri

from benchmarks.libraries import Job, Library, Prepare, import_job
from benchmarks.objectives import Answer
from benchmarks.problems import Data

Float = NDArray[np.float64]


def constant(link: Callable[[Float], Float]) -> Prepare:
    """W = 0 and w0 = link(share): for two classes of the share of the second, for more of all shares."""

    def prepare(data: Data) -> Job:
        outputs = data.k if data.k > 2 else 1

        def run() -> Answer:
            share = np.bincount(data.y, minlength=data.k) / len(data.y)
            return Answer(np.zeros((outputs, data.X.shape[1])), link(share[-outputs:]), passes=0)

        return Job(run, lambda answer: answer)

    return prepare


def priors(judged: Callable[[Data], Data]) -> Prepare:
    """p(C_k | x) = p(C_k), for the rows that the task is judged by."""

    def prepare(data: Data) -> Job:
        def run() -> Answer:
            share = np.bincount(data.y, minlength=data.k) / len(data.y)
            return Answer.of_log_proba(np.tile(np.log(share), (len(judged(data).y), 1)), passes=0)

        return Job(run, lambda answer: answer)

    return prepare


def _new(data: Data) -> Data:
    assert data.new is not None, "this problem has no rows to judge by"
    return data.new


class_shares = constant(lambda share: share)  # the least-squares optimum among constants

TASKS = {
    **dict.fromkeys(("least_squares", "fisher", "perceptron_epoch"), class_shares),
    **dict.fromkeys(("lda", "lda_missing", "qda", "gaussian_nb", "bernoulli_nb"), priors(lambda data: data)),
    **dict.fromkeys(("posterior", "tuned"), priors(_new)),
    **dict.fromkeys(("logistic", "flat_logistic"), constant(logit)),
    "probit": constant(ndtri),
    "softmax": constant(np.log),
    "import": import_job("pass"),
}
ENTRIES = (Library("zeros", "0", TASKS),)
