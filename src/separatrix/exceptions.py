# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings: each names the value, the column and the next thing to try."""

from __future__ import annotations

import inspect
import warnings

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ApproximationWarning",
    "CollinearError",
    "CollinearWarning",
    "ConvergenceWarning",
    "DataError",
    "NotSeparableWarning",
    "SeparationWarning",
    "warn",
]

PACKAGE = __name__.partition(".")[0]


class DataError(ValueError):
    """The table cannot be used as it is; the message says which column and what to do."""


class CollinearError(DataError):
    """A scatter matrix is singular and the model needs its inverse; the message names the columns."""


class CollinearWarning(UserWarning):
    """Some columns are combinations of others: predictions are unique, coefficients are not."""


class NotSeparableWarning(ConvergenceWarning):
    """A perceptron stopped at its limit: no hyperplane was found that separates the classes."""


class SeparationWarning(UserWarning):
    """A hyperplane separates the classes: without a prior the likelihood has no maximum, and weights never settle."""


class ApproximationWarning(UserWarning):
    """A posterior is far from the Gaussian that stands for it, or a better one could not be found."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into the package, however deep inside of it the reason is found."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
