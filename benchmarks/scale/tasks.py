# SPDX-License-Identifier: BSD-3-Clause
"""The fits that are measured, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from separatrix import BayesianLogisticRegression, LinearDiscriminantAnalysis, LogisticRegression

__all__ = ["FITS"]

FITS: Mapping[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "posterior": BayesianLogisticRegression,
    "lda": LinearDiscriminantAnalysis,
}
