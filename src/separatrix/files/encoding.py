# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of a text, by looking at every byte of it: a gigabyte a second, and no surprise in the last row.

UTF-8 unless there is a mark of UTF-16 or a byte that UTF-8 does not have. Then it is the code page of Windows, with a
note; unless there are valid letters of UTF-8, too: such a text was put together from two, and no encoding is right.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, NamedTuple

from separatrix.files.errors import FileReadError
from separatrix.files.location import Location
from separatrix.files.packing import CHUNK, open_input, reading

__all__ = ["Encoding", "find_encoding", "open_text"]

BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
MAGIC = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"SQLite format 3": "an SQLite database",
    b"\x1f\x8b": "packed with gzip",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
    b"%PDF": "a PDF",
}
LETTER = re.compile(  # of UTF-8, beyond ASCII
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
HIGH = re.compile(rb"[\x80-\xff]")
UNUSED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # bytes that the code page of Windows has no letter for
CHANCE = 0.05  # the share of pairs of Windows letters that may look like one of UTF-8


class Encoding(NamedTuple):
    """How the bytes are to be read, and a sentence where that was a guess."""

    name: str
    note: str | None = None


class _Strange(NamedTuple):
    """The first byte that is not UTF-8, and the counts of such bytes and of letters that are."""

    offset: int
    line: int
    byte: int
    n_strange: int = 0
    n_letters: int = 0


def find_encoding(where: Location) -> Encoding:
    """The encoding of a text.

    Raises
    ------
    FileReadError
        Where it is no text, or of two encodings; names the byte and the line.
    """
    with open_input(where) as stream, reading(where):
        head = stream.read(16)
    for mark, name in BOMS.items():
        if head.startswith(mark):
            return Encoding(name)
    for mark, what in MAGIC.items():
        if head.startswith(mark):
            raise FileReadError(
                f"{where.path} is no text: it is {what}. Give it the suffix of what it is, and read it again."
            )
    strange, unused = _scan(where)
    if strange is None:
        return Encoding("utf-8")
    if strange.n_letters > CHANCE * strange.n_strange:
        raise FileReadError(
            f"{where.path} mixes encodings: byte {strange.offset} (line {strange.line}) is 0x{strange.byte:02x}, which "
            f"is not UTF-8, while {strange.n_letters} other letters are. It was probably put together from files of "
            "different encodings: convert each to UTF-8 first (iconv -f cp1252 -t utf-8), and put it together again."
        )
    name = "latin-1" if unused else "cp1252"
    return Encoding(
        name,
        f"The text is not UTF-8 (the first such byte is 0x{strange.byte:02x}, in line {strange.line}); it was read as "
        f"{name}, the encoding of older Windows and Unix programs. If letters look wrong, save it as UTF-8.",
    )


def open_text(where: Location, encoding: Encoding) -> Any:
    """The text of a file as a stream of UTF-8 without a mark."""
    import pyarrow as pa

    stream = open_input(where)
    if encoding.name == "utf-8":
        return stream
    if encoding.name == "utf-8-sig":
        stream.read(len(codecs.BOM_UTF8))
        return stream
    return pa.transcoding_input_stream(stream, encoding.name, "utf-8")


def _scan(where: Location) -> tuple[_Strange | None, bool]:
    """What is not UTF-8, if anything; and whether any byte is not of the Windows code page."""
    first: _Strange | None = None
    n_strange = n_letters = offset = lines = 0
    unused, rest = False, b""
    with open_input(where) as stream, reading(where):
        while chunk := stream.read(CHUNK):
            if b"\0" in chunk:
                at = offset + len(rest) + chunk.index(0)
                raise FileReadError(
                    f"{where.path} is no text: byte {at} is zero. If it is UTF-16, save it with a byte order mark, or "
                    "as UTF-8; if it is of another format, give it the suffix of that."
                )
            text, rest = _whole(rest + chunk)
            if not text.isascii():
                letters, strays = _counted(text)
                if strays and first is None:
                    at = _first_stray(text)
                    first = _Strange(offset + at, 1 + lines + text[:at].count(b"\n"), text[at])
                n_letters, n_strange = n_letters + letters, n_strange + len(strays)
                unused = unused or UNUSED.search(strays) is not None
            offset, lines = offset + len(text), lines + text.count(b"\n")
    if HIGH.search(rest):
        first = first or _Strange(offset, 1 + lines, rest[0])
        n_strange += len(rest)
    return (first._replace(n_strange=n_strange, n_letters=n_letters) if first else None), unused


def _whole(data: bytes) -> tuple[bytes, bytes]:
    """Up to the last letter that is complete, and what is left: at most three bytes."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC2:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (data[:-back], data[-back:]) if back < needed else (data, b"")
        if byte < 0x80:
            break
    return data, b""


def _counted(text: bytes) -> tuple[int, bytes]:
    """How many letters are beyond ASCII, and the bytes that are part of none; patterns only where there are such."""
    try:
        letters = text.decode("utf-8")
    except UnicodeDecodeError:
        return len(LETTER.findall(text)), b"".join(HIGH.findall(LETTER.sub(b"", text)))
    return len(letters) - len(letters.encode("ascii", "ignore")), b""


def _first_stray(text: bytes) -> int:
    """Where the first byte is that is no part of a letter of UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("asked for a stray byte in a text of UTF-8")
