# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of files that may be compressed, in and out.

Text is unpacked while it is read. Formats that are read here and there (Parquet, Excel, databases) are unpacked to a
temporary file, which lasts as long as the table does.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from separatrix.files.errors import FileReadError
from separatrix.files.location import Location, only_member

__all__ = ["open_input", "open_output", "reading", "unpacked"]

CHUNK = 2**20
NATIVE = ("gzip", "bz2", "zstd", "lz4")  # which Arrow unpacks, without holding up other threads


def open_input(where: Location) -> Any:
    """The unpacked bytes of a file, as a stream of Arrow.

    Raises
    ------
    FileReadError
        Where the file is not packed as its suffix says.
    """
    import pyarrow as pa

    with reading(where):
        if where.compression is None:
            return pa.OSFile(str(where.path), "r")
        if where.compression in NATIVE:
            return pa.CompressedInputStream(pa.OSFile(str(where.path), "r"), where.compression)
        if where.compression == "xz":
            return pa.PythonFile(lzma.open(where.path), "r")
        archive = zipfile.ZipFile(where.path)
        return pa.PythonFile(archive.open(only_member(where.path)), "r")


@contextmanager
def reading(where: Location) -> Iterator[None]:
    """Turn what unpacking and reading may raise into one kind of error that names the file."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise FileReadError(_damaged(where, error)) from error
    except OSError as error:  # of Arrow, which has no kinds of its own for this
        if where.compression is None:
            raise FileReadError(f"{where.path} cannot be read: {error}.") from error
        raise FileReadError(_damaged(where, error)) from error


def _damaged(where: Location, error: Exception) -> str:
    words = str(error).lower()
    is_short = isinstance(error, EOFError) or "truncated" in words or "ended before" in words
    what = "ends too early: it is truncated" if is_short else "is damaged, or not packed as its suffix says"
    return f"{where.path} {what} ({where.compression}: {error}). Copy or download it again."


def unpacked(where: Location, owner: object) -> Path:
    """A plain file with the same content: the file itself, or a temporary one that is removed with its owner."""
    if where.compression is None:
        return where.path
    folder = tempfile.TemporaryDirectory(prefix="separatrix-")
    weakref.finalize(owner, folder.cleanup)
    plain = Path(folder.name) / "unpacked"
    with reading(where), open_input(where) as stream, plain.open("wb") as file:
        while chunk := stream.read(CHUNK):
            file.write(chunk)
    return plain


@contextmanager
def open_output(path: Path, compression: str | None, member: str) -> Iterator[IO[bytes]]:
    """A stream that packs what is written; ``member`` is the name of the file in a zip archive."""
    import pyarrow as pa

    with path.open("wb") as file:
        match compression:
            case None:
                yield file
            case "gzip":
                with gzip.GzipFile(member, "wb", compresslevel=6, fileobj=file) as packed:
                    yield packed  # type: ignore[misc]  # a stream of bytes, if not by name
            case "bz2":
                with bz2.BZ2File(file, "wb") as packed:
                    yield packed
            case "xz":
                with lzma.LZMAFile(file, "wb") as packed:
                    yield packed
            case "zip":
                with (
                    zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
                    archive.open(member, "w", force_zip64=True) as packed,
                ):
                    yield packed
            case _:
                with pa.CompressedOutputStream(pa.PythonFile(file, "w"), compression) as packed:
                    yield packed


def pack(plain: Path, packed: Path, compression: str, member: str) -> None:
    """A packed copy of a file."""
    with plain.open("rb") as source, open_output(packed, compression, member) as stream:
        shutil.copyfileobj(source, stream, CHUNK)
