# SPDX-License-Identifier: BSD-3-Clause
"""Files that are there whole or not at all: written beside their place, then renamed to it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["beside", "whole_file", "write_whole"]


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """The path of a file yet to be made, which takes the target's name at the end; removed where anything goes wrong.

    Ctrl-C included. The file is made by who writes it, with the rights that the user's files have.
    """
    path = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield path
        os.replace(path, target)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which is on the disk before it takes the target's name."""
    with beside(target) as path, open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_whole(target: Path, content: bytes) -> None:
    """Write a file that has all of the content, or leave what was there."""
    with whole_file(target) as file:
        file.write(content)
