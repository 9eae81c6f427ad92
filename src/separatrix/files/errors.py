# SPDX-License-Identifier: BSD-3-Clause
"""What can be wrong with a file: one paragraph each, that says what, where, and what to do."""

from __future__ import annotations

from separatrix.exceptions import DataError

__all__ = ["FileReadError", "FileWriteError"]


class FileReadError(DataError):
    """A file that is not there, or cannot be read as a table."""


class FileWriteError(DataError):
    """A table that cannot be written; nothing of it is left behind."""
