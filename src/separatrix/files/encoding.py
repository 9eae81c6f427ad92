# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of a text file, determined from all of its bytes (about 1 GB per second).

UTF-8, unless there is a byte order mark of UTF-16 or a byte that is not UTF-8. Then it is the Windows code page, with a
note; unless there are valid UTF-8 letters as well: such a file was joined from two encodings, and none is correct.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, NamedTuple

from separatrix.files.location import READ_BYTES, FileReadError, Location, open_input, reading

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"SQLite format 3": "an SQLite database",
    b"\x1f\x8b": "compressed with gzip",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b"%PDF": "a PDF",
}
UTF8_LETTER = re.compile(  # beyond ASCII
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
HIGH_BYTE = re.compile(rb"[\x80-\xff]")
NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # bytes without a letter in the Windows code page
ACCIDENTAL_UTF8 = 0.05  # fraction of pairs of Windows letters that may look like a letter of UTF-8


class Encoding(NamedTuple):
    """Name of the encoding, and a sentence if it was guessed."""

    name: str
    note: str | None = None


class _NotUtf8(NamedTuple):
    """Position of the first byte that is not UTF-8."""

    offset: int
    line: int
    byte: int


def find_encoding(where: Location) -> Encoding:
    """Determine the encoding of a text file.

    Raises
    ------
    FileReadError
        If it is not text, or mixes two encodings; names the byte and the line.
    """
    with open_input(where) as stream, reading(where):
        head = stream.read(16)
    for mark, name in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return Encoding(name)
    for mark, what in SIGNATURES.items():
        if head.startswith(mark):
            raise FileReadError(f"{where.path} is not text: it is {what}. Rename it with the suffix of its format.")
    first: _NotUtf8 | None = None
    n_wrong = n_letters = offset = lines = 0
    is_cp1252, rest = True, b""
    with open_input(where) as stream, reading(where):
        while chunk := stream.read(READ_BYTES):
            if b"\0" in chunk:
                raise FileReadError(
                    f"{where.path} is not text: byte {offset + len(rest) + chunk.index(0)} is zero. If it is UTF-16, "
                    "save it with a byte order mark or as UTF-8; otherwise rename it with the suffix of its format."
                )
            text, rest = _whole_letters(rest + chunk)
            if not text.isascii():
                try:
                    letters = text.decode("utf-8")
                    n_letters += len(letters) - len(letters.encode("ascii", "ignore"))
                except UnicodeDecodeError as error:
                    wrong = b"".join(HIGH_BYTE.findall(UTF8_LETTER.sub(b"", text)))
                    n_letters, n_wrong = n_letters + len(UTF8_LETTER.findall(text)), n_wrong + len(wrong)
                    is_cp1252 = is_cp1252 and NOT_CP1252.search(wrong) is None
                    line = 1 + lines + text[: error.start].count(b"\n")
                    first = first or _NotUtf8(offset + error.start, line, text[error.start])
            offset, lines = offset + len(text), lines + text.count(b"\n")
    if HIGH_BYTE.search(rest):
        first = first or _NotUtf8(offset, 1 + lines, rest[0])
        n_wrong += len(rest)
    if first is None:
        return Encoding("utf-8")
    if n_letters > ACCIDENTAL_UTF8 * n_wrong:
        raise FileReadError(
            f"{where.path} mixes encodings: byte {first.offset} (line {first.line}) is 0x{first.byte:02x}, which is "
            f"not UTF-8, while {n_letters} other letters are. It was joined from files in different encodings: "
            "convert each to UTF-8 (iconv -f cp1252 -t utf-8), and join them again."
        )
    name = "cp1252" if is_cp1252 else "latin-1"
    return Encoding(
        name,
        f"The text is not UTF-8 (the first such byte is 0x{first.byte:02x} in line {first.line}); it was read as "
        f"{name}, the encoding of older Windows and Unix programs. If letters look wrong, save it as UTF-8.",
    )


def open_text(where: Location, encoding: Encoding) -> Any:
    """Open the text of a file as a stream of UTF-8 without a byte order mark."""
    import pyarrow as pa

    stream = open_input(where)
    if encoding.name == "utf-8":
        return stream
    if encoding.name == "utf-8-sig":
        stream.read(len(codecs.BOM_UTF8))
        return stream
    return pa.transcoding_input_stream(stream, encoding.name, "utf-8")


def _whole_letters(data: bytes) -> tuple[bytes, bytes]:
    """Split after the last complete letter of UTF-8; at most three bytes remain."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC2:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (data[:-back], data[-back:]) if back < needed else (data, b"")
        if byte < 0x80:
            break
    return data, b""
