# SPDX-License-Identifier: BSD-3-Clause
"""CSV from standard input: kept on disk while it is used, so that it can be read more than once like any file."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.files.delimited import DelimitedFile
from separatrix.files.errors import FileReadError
from separatrix.files.location import STANDARD, Location

__all__ = ["StandardInput"]


class StandardInput(DelimitedFile):
    """What comes in, to its end."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        folder = tempfile.TemporaryDirectory(prefix="separatrix-")
        weakref.finalize(self, folder.cleanup)
        copy = Path(folder.name) / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        if not copy.stat().st_size:
            raise FileReadError(
                "Standard input is empty, or was read already: it can be opened once. Give the name of a file, or pass "
                "on the table that was opened first."
            )
        super().__init__(Location(copy, "csv"), types)
        self.path = Path(STANDARD)
