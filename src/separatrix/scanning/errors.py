# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong between two passes, beyond a file that cannot be read."""

from __future__ import annotations

from separatrix.exceptions import DataError

__all__ = ["QueryError", "RowsChangedError"]


class QueryError(DataError):
    """A database did not answer, or broke off. A pass is tried once more before this is raised."""


class RowsChangedError(DataError):
    """A pass has read other rows than the one before."""
