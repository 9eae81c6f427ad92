# SPDX-License-Identifier: BSD-3-Clause
"""Whether a file is still the one that was opened: passes over two different files add up to nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass

from separatrix.files import FileReadError

__all__ = ["FileStamp"]


@dataclass(frozen=True)
class FileStamp:
    """What a file was when it was opened."""

    path: str
    size: int
    changed_ns: int
    identity: int

    @classmethod
    def of(cls, path: str) -> FileStamp:
        """Of the file as it is now."""
        try:
            state = os.stat(path)
        except FileNotFoundError as error:
            raise FileReadError(
                f"{path} is gone: it was there when it was opened. Restore it, and fit again."
            ) from error
        return cls(path, state.st_size, state.st_mtime_ns, state.st_ino)

    def require(self) -> None:
        """Raise, saying what is different, where the file was changed since."""
        now = FileStamp.of(self.path)
        if now == self:
            return
        if now.size != self.size:
            what = f"it had {self.size} bytes and has {now.size}"
        elif now.identity != self.identity:
            what = "another file of the same size is in its place"
        else:
            what = "it was written to, and has as many bytes as before"
        raise FileReadError(
            f"{self.path} has changed since it was opened: {what}. A fit reads it several times and needs the same "
            "rows each time. Wait until it is complete, or copy it, and scan it again."
        )
