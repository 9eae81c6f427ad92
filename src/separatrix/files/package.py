# SPDX-License-Identifier: BSD-3-Clause
"""Limits of a workbook, which are checked before it is read.

A workbook is a zip archive of XML. calamine stores a sheet as a rectangle from its first to its last cell, a copy of
the text in every cell, and all shared strings, and ends the process if memory is not sufficient. A file of a few
kilobytes can need any amount: one stray cell in the last row and column is enough. The XML is therefore measured first,
in chunks.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from separatrix._array import Codes
from separatrix.files.location import READ_BYTES, FileReadError

# Limits of a workbook: a number that every file may have, and a number per byte (or cell) for larger files.
MIN_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 2**27, 100  # XML and text: bytes, or bytes per byte of the file
MIN_CELLS, MAX_CELLS_PER_BYTE = 2**20, 4  # cells and shared strings: number, or per byte of the file
MIN_AREA, MAX_AREA_PER_CELL, MAX_AREA_PER_BYTE = 2**22, 32, 8  # rectangle around all cells, of 32 bytes each
MAX_TAG_BYTES = 2**20
MAX_INDEX_BYTES = 2**20  # size of the XML that lists the sheets
HEADER = struct.Struct("<4s22xHH")  # header of a member: signature, and the lengths of the name and of the extra field
ROOT, INDEX, RELATIONS = "_rels/.rels", "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class Extent(NamedTuple):
    """Number of cells of a sheet, and its last cell as (row, column), counted from 0."""

    n_cells: int
    last: tuple[int, int]
    far: str  # name of the cell in the last row or column, whichever is farther from A1


def require_readable(file: Path, path: Path, sheet: str | None = None) -> None:
    """Raise FileReadError if reading a workbook would take memory out of proportion to the size of its file.

    ``path`` is the name of the file in messages. With ``sheet``, measure this sheet; otherwise all other parts.
    """
    size = file.stat().st_size
    try:
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, path)
            parts = _sheet_parts(archive, members)
            if sheet is None:
                _require_few_bytes(sum(info.file_size for info in members.values()), size, path, "unpacked")
                sheets = set(parts.values()) if parts else set()
                for name, info in members.items():
                    if name not in sheets:
                        for _ in _chunks(archive, info, path):
                            continue
                return
            lengths = _string_lengths(archive, members, size, path)
            for name in [parts[sheet]] if sheet in parts else members:
                _require_proportion(_measured(archive, members[name], lengths, size, path), size, f"{path}, {sheet!r}")
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, what: str) -> FileReadError:
    return FileReadError(
        f"{path} is damaged or not an .xlsx workbook ({what}). Open it in a spreadsheet program, and save it as .xlsx."
    )


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Members by name. calamine must see the same ones, so the archive has a plain form and distinct names."""
    members = {info.filename.replace("\\", "/").casefold(): info for info in archive.infolist()}
    if len(members) < len(archive.infolist()) or archive.comment:
        raise _damaged(path, "two parts have the same name, or the archive has a comment")
    return members


def _sheet_parts(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Part of each sheet by its name; empty if this is uncertain, and all parts must be measured."""
    names = (ROOT, INDEX, RELATIONS)
    if any(name not in members or members[name].file_size > MAX_INDEX_BYTES for name in names):
        return {}
    texts = [archive.read(members[name]) for name in names]
    try:
        root, index, relations = map(ElementTree.fromstring, texts)
    except ElementTree.ParseError:
        return {}
    books = [str(each.get("Target")) for each in root.iter() if str(each.get("Type")).endswith("/officeDocument")]
    is_usual = {book.lstrip("/") for book in books} == {INDEX}
    targets = [(str(each.get("Id")), str(each.get("Target"))) for each in relations]
    sheets = [(str(each.get("name")), str(each.get(RELATION))) for each in index.iter() if RELATION in each.attrib]
    is_unique = len(dict(targets)) == len(targets) and len(dict(sheets)) == len(sheets)
    if not (is_usual and is_unique) or any(b"<!" in text for text in texts):  # an entity or a comment
        return {}
    found = {}
    for name, relation in sheets:
        target = dict(targets).get(relation, "").casefold()
        part = target.lstrip("/") if target.startswith(("/", "xl/")) else f"xl/{target}"
        if part not in members:
            return {}
        found[name] = part
    return found


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Iterator[bytes]:
    """Unpack a member. Its size must be as stated, since other libraries unpack it to its end."""
    stream: Any = archive.fp
    stream.seek(info.header_offset)
    signature, name, extra = HEADER.unpack(stream.read(HEADER.size))
    if signature != b"PK\x03\x04" or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _damaged(path, f"{info.filename!r} is not compressed as usual")
    stream.seek(name + extra, 1)
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type else None
    n_left, n_bytes, packed = info.compress_size, 0, b""
    while n_bytes <= info.file_size:
        if not packed:
            packed = stream.read(min(n_left, READ_BYTES))
            n_left -= len(packed)
        chunk = packed if unpacker is None else unpacker.decompress(packed, READ_BYTES)
        packed = b"" if unpacker is None else unpacker.unconsumed_tail
        if not (chunk or packed):
            break
        n_bytes += len(chunk)
        yield chunk
    if n_bytes != info.file_size or n_left:
        raise _damaged(path, f"{info.filename!r} does not have the stated size")


def _tags(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, read: Any) -> None:
    """Call ``read`` with the bytes of a member; it returns how many bytes it has used."""
    rest = b""
    for chunk in _chunks(archive, info, path):
        text = rest + chunk
        rest = text[read(np.frombuffer(text, np.uint8)) :]
        if len(rest) > MAX_TAG_BYTES:
            raise _damaged(path, f"{info.filename!r} has a tag of more than {MAX_TAG_BYTES // 2**20} MB")


def _string_lengths(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], size: int, path: Path) -> Codes:
    """Bytes of each shared string."""
    from separatrix.files._cells import INDEX as N_STRINGS
    from separatrix.files._cells import N_STATE, shared_lengths

    found: list[Codes] = [np.empty(0, np.intp)]
    for info in members.values():
        if b"sst" not in next(_chunks(archive, info, path), b""):
            continue
        state = np.zeros(N_STATE, np.intp)

        def read(text: Any, state: Codes = state) -> int:
            lengths = np.zeros(len(text) // 4 + 1, np.intp)
            state[N_STRINGS] = 0
            n_used = int(shared_lengths(text, state, lengths))
            found.append(lengths[: state[N_STRINGS]].copy())
            _require_few_cells(sum(map(len, found)), size, f"{path} has", "shared strings")
            return n_used

        _tags(archive, info, path, read)
    return np.concatenate(found)


def _measured(archive: zipfile.ZipFile, info: zipfile.ZipInfo, lengths: Codes, size: int, path: Path) -> Extent:
    from separatrix.files import _cells as c

    state, longest = np.zeros(c.N_STATE, np.intp), int(lengths.max(initial=0))

    def read(text: Any) -> int:
        n_used = int(c.measure(text, state, lengths, longest))
        _require_few_bytes(int(state[c.N_BYTES]), size, path, "with a copy of its texts in every cell")
        return n_used

    _tags(archive, info, path, read)
    bottom, right = int(state[c.BOTTOM]), int(state[c.RIGHT])
    lowest, rightmost = cell_name(bottom, int(state[c.BOTTOM_COLUMN])), cell_name(int(state[c.RIGHT_ROW]), right)
    return Extent(int(state[c.N_CELLS]), (bottom, right), lowest if bottom > right else rightmost)


def cell_name(row: int, column: int) -> str:
    """Name of a cell, counted from 0, as spreadsheets show it.

    >>> cell_name(0, 0), cell_name(6, 27), cell_name(1_048_575, 16_383)
    ('A1', 'AB7', 'XFD1048576')
    """
    letters, column = "", column + 1
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def _require_proportion(found: Extent, size: int, where: str) -> None:
    _require_few_cells(found.n_cells, size, f"Sheet {where} has", "cells")
    n_rows, n_columns = found.last[0] + 1, found.last[1] + 1
    if n_rows * n_columns > max(MIN_AREA, min(MAX_AREA_PER_CELL * found.n_cells, MAX_AREA_PER_BYTE * size)):
        raise FileReadError(
            f"Sheet {where} extends to cell {found.far}: {n_rows:,} rows and {n_columns:,} columns, of which only "
            f"{found.n_cells:,} cells are in the file. Most likely a cell far from the table was filled by mistake. "
            "Delete the rows below the table and the columns to its right, or save the sheet as CSV."
        )


def _require_few_cells(n_cells: int, size: int, who: str, what: str) -> None:
    if n_cells > max(MIN_CELLS, MAX_CELLS_PER_BYTE * size):
        raise FileReadError(
            f"{who} {n_cells:,} {what} or more in a file of {size:,} bytes, which would take too much memory. Save the "
            "sheet as CSV."
        )


def _require_few_bytes(n_bytes: int, size: int, path: Path, how: str) -> None:
    if n_bytes > max(MIN_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size):
        raise FileReadError(
            f"{path} has {size:,} bytes, but {how} it has {n_bytes:,} or more, which would take too much memory. Save "
            "the sheet as CSV."
        )
