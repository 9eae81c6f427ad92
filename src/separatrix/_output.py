# SPDX-License-Identifier: BSD-3-Clause
"""Output: results as pandas data frames, and files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def as_frame(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return a pandas data frame with one name per row. pandas is an optional dependency."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas. to_dict() works without it.") from error
    return pd.DataFrame(dict(columns), index=list(names))


@contextmanager
def atomic_file(target: Path) -> Iterator[IO[bytes]]:
    """Yield an open file that replaces ``target`` at the end, or is removed on any exception, Ctrl-C included.

    The content is flushed to disk before the target is replaced. The file has the user's default permissions.
    """
    path = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(path, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(path, target)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_atomically(target: Path, content: bytes) -> None:
    """Write all of the content, or leave the existing file unchanged."""
    with atomic_file(target) as file:
        file.write(content)
