# SPDX-License-Identifier: BSD-3-Clause
"""The encoding of a text file and its use of quotes, determined from all of its bytes in one pass.

It is UTF-16 if the file starts with a byte order mark of UTF-16, and UTF-8 if all bytes are valid UTF-8. Other text is
read as Windows code page 1252, or as Latin-1 if it has a byte that this page does not define, with a note.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from separatrix._lazy import pa
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
NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"  # bytes that Windows code page 1252 does not define


@dataclass
class Quotes:
    """How a text uses the quote character, from a pass over its bytes.

    If every line has an even number of quotes, the odd ones open a field and the even ones close it (or both are one
    half of a doubled quote). ``before`` has the bytes before quotes that open, ``after`` those after quotes that close.
    """

    found: bool = False
    are_paired: bool = True  # whether every line has an even number of quotes
    before: set[int] = field(default_factory=set)
    after: set[int] = field(default_factory=set)
    rest: bytes = b"\n"  # the incomplete last line, after the end of the previous line

    def add(self, chunk: bytes) -> None:
        """Add the next bytes; b"" ends the text."""
        self.found = self.found or b'"' in chunk
        if not self.are_paired:
            return
        text = self.rest + chunk + (b"" if chunk else b"\n")
        end = max(text.rfind(b"\n"), text.rfind(b"\r"))
        lines, self.rest = text[: end + 1], text[end:]
        self.are_paired = len(self.rest) <= READ_BYTES  # longer lines are not kept in memory
        if b'"' in lines:
            codes = np.frombuffer(lines, np.uint8)
            at = np.flatnonzero(codes == ord('"'))
            line = np.searchsorted(np.flatnonzero((codes == ord("\n")) | (codes == ord("\r"))), at)
            if (np.bincount(line) % 2).any():
                self.are_paired = False
                return
            self.before.update(np.unique(codes[at[::2] - 1]).tolist())
            self.after.update(np.unique(codes[at[1::2] + 1]).tolist())

    def enclose_fields(self, delimiter: str) -> bool:
        """Whether all quotes enclose fields or are doubled inside them, and no quoted field contains a line break."""
        return self.are_paired and self.before | self.after <= set(f'{delimiter}"\r\n'.encode())


def find_encoding(where: Location) -> tuple[str, list[str], Quotes]:
    """Encoding of a text file, a note if it was guessed, and the use of quotes; raises if the file is not text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    first_wrong = ""
    is_cp1252, n_bytes, n_lines, quotes = True, 0, 0, Quotes()
    with open_input(where) as stream, reading(where):
        first = stream.read(READ_BYTES)
        mark = next((mark for mark in BYTE_ORDER_MARKS if first.startswith(mark)), b"")
        for signature, what in SIGNATURES.items():
            if first.startswith(signature):
                raise FileReadError(f"{where.path} is not text: it is {what}. Rename it with the suffix of its format.")
        for chunk in chain([first[len(mark) :]], iter(lambda: stream.read(READ_BYTES), b""), [b""]):
            quotes.add(chunk)
            if mark:
                continue
            if b"\0" in chunk:
                raise FileReadError(
                    f"{where.path} is not text: byte {n_bytes + chunk.index(0)} is zero. If it is UTF-16, save it with "
                    "a byte order mark or as UTF-8; otherwise rename it with the suffix of its format."
                )
            is_cp1252 = is_cp1252 and (chunk.isascii() or not any(byte in chunk for byte in NOT_CP1252))
            if not first_wrong:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    line = 1 + n_lines + error.object.count(b"\n", 0, error.start)
                    first_wrong = f"0x{error.object[error.start]:02x} in line {line}"
            n_bytes, n_lines = n_bytes + len(chunk), n_lines + chunk.count(b"\n")
    if mark or not first_wrong:
        return BYTE_ORDER_MARKS.get(mark, "utf-8"), [], quotes
    name = "cp1252" if is_cp1252 else "latin-1"
    note = (
        f"The text is not UTF-8 (the first such byte is {first_wrong}); it was read as {name}, the encoding of older "
        "Windows and Unix programs. If letters look wrong, save it as UTF-8."
    )
    return name, [note], quotes


def open_text(where: Location, encoding: str) -> Any:
    """Open the text of a file as a stream of UTF-8 without a byte order mark."""
    stream = open_input(where)
    if encoding == "utf-8-sig":
        stream.read(len(codecs.BOM_UTF8))
    return stream if encoding.startswith("utf-8") else pa.transcoding_input_stream(stream, encoding, "utf-8")
