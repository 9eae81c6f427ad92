# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings. Every message names the invalid value or column, and a remedy."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning  # noqa: PLC0414  # re-exported

PACKAGE = __name__.partition(".")[0]


class Unavailable:
    """A method that a model does not have: ``hasattr`` is False, and the AttributeError states the reason."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object, owner: type) -> object:
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.why}")


class DataError(ValueError):
    """The data cannot be used; the message names the column and the remedy.

    ``remedy`` is for users of Python. ``option`` is the remedy for the command line, if it differs; `for_command_line`
    is the message with it.
    """

    def __init__(self, message: str, *, remedy: str = "", option: str = "") -> None:
        super().__init__(f"{message} {remedy}".strip())
        self.for_command_line = f"{message} {option or remedy}".strip()


class CollinearError(DataError):
    """The covariance cannot be estimated, or coefficients are not unique; the message names the class or columns."""


class NoEstimateError(DataError):
    """The rows do not determine the parameters of a density; the message names the class and column."""


class RowsChangedError(DataError):
    """The number of rows changed between two passes."""


class StreamEndedError(DataError):
    """A stream that can be read only once was opened again."""


class FileError(ValueError):
    """A file cannot be read as a model, or a model cannot be saved."""


class ExportError(ValueError):
    """A model, or a part of it, cannot be exported to ONNX; the message names the part and the remedy."""


class CollinearWarning(UserWarning):
    """Some columns are constant or combinations of others, so coefficients are not unique, or columns are not used."""


class SupportWarning(UserWarning):
    """A row has a value that an automatically chosen family does not allow; the value is treated as missing."""


class NotSeparableWarning(ConvergenceWarning):
    """The perceptron reached the maximum number of epochs without separating the classes."""


class SeparationWarning(UserWarning):
    """A hyperplane separates the classes, so the maximum-likelihood estimate does not exist; use a prior."""


class ApproximationWarning(UserWarning):
    """The Gaussian approximation of a posterior is poor, and no better approximation was found."""


@contextmanager
def optional_import(purpose: str, extra: str) -> Iterator[None]:
    """If an import in the block fails, raise an error that names the extra dependencies to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        message = f"{purpose}, which is not installed: pip install 'separatrix[{extra}]'"
        raise ModuleNotFoundError(message) from missing


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line that called the package."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
