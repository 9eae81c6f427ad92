# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of a text file, plain or packed, in chunks of whole lines: what one thread parses at a time."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from separatrix.files.errors import FileReadError
from separatrix.files.location import COMPRESSIONS, Location
from separatrix.files.packing import reading

__all__ = ["Chunk", "LineFile"]

CHUNK = 2**20  # bytes: more than enough to keep a thread busy, few enough to stay near it
OPENERS: dict[str | None, Callable[..., Any]] = {None: open, "gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}


class Chunk(NamedTuple):
    """Whole lines; the number of the first, from 1, and the byte at which it begins in the unpacked file."""

    text: bytes
    line: int
    offset: int


class LineFile:
    """A text file that is read from its beginning as often as asked, and is the same every time.

    Raises
    ------
    FileReadError
        Where there is no such file, or it is packed in a way that is not known.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        if not self.path.is_file():
            what = "is a folder" if self.path.is_dir() else "is not there"
            raise FileReadError(f"{self.path} {what}. Give the path of a text file: label index:value ...")
        packed = COMPRESSIONS.get(self.path.suffix.lower())
        if packed not in OPENERS:
            raise FileReadError(
                f"{self.path} is packed with {packed}, which is not unpacked while reading lines. Unpack it, or pack "
                "it as .gz, .bz2 or .xz."
            )
        self._where = Location(self.path, "libsvm", packed)
        self._first_state = self._state()

    @property
    def is_packed(self) -> bool:
        """Whether the file can only be read from its beginning."""
        return self._where.compression is not None

    def chunks(self, *, size: int | None = None) -> Iterator[Chunk]:
        """All lines, in order; a chunk is about ``size`` bytes (`CHUNK`), or one line that is longer.

        Raises
        ------
        FileReadError
            Where the file cannot be read, or is no longer what it was when it was opened.
        """
        self._require_same()
        with reading(self._where), OPENERS[self._where.compression](self.path, "rb") as file:
            yield from _whole_lines(file, size or CHUNK)
        self._require_same()

    def part(self, start: int, stop: int, line: int) -> Chunk:
        """The lines from one byte to another, the first of which has the number ``line``; of a plain file."""
        self._require_same()
        with reading(self._where), self.path.open("rb") as file:
            file.seek(start)
            return Chunk(file.read(stop - start), line, start)

    def _state(self) -> tuple[int, ...]:
        state = self.path.stat()
        return state.st_size, state.st_mtime_ns, state.st_ino

    def _require_same(self) -> None:
        try:
            is_same = self._state() == self._first_state
        except FileNotFoundError as error:
            raise FileReadError(f"{self.path} is gone: it was there when it was opened. Restore it.") from error
        if not is_same:
            raise FileReadError(
                f"{self.path} has changed since it was opened: what was learned about its rows may be wrong now. "
                "Wait until it is complete, and open it again."
            )


def _whole_lines(file: IO[bytes], size: int) -> Iterator[Chunk]:
    line, offset, rest = 1, 0, [b""]
    while more := file.read(size):
        cut = more.rfind(b"\n") + 1
        if not cut:
            rest.append(more)
            continue
        text = b"".join([*rest, more[:cut]])
        yield Chunk(text, line, offset)
        line, offset, rest = line + text.count(b"\n"), offset + len(text), [more[cut:]]
    if text := b"".join(rest):
        yield Chunk(text, line, offset)
