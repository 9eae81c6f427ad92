# SPDX-License-Identifier: BSD-3-Clause
"""The outer form of a file: a zip archive of named members, each with its checksum, read with suspicion.

Nothing is ever unpacked to disk, only members with the names that a model has are looked at, and no more is unpacked
than a model of that file size could be.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["FileError", "archive_of", "parse_json", "read_archive"]

MAGIC = "separatrix model"
FORMAT = 2  # rises when older versions cannot read what is written
REVISION = 0  # rises when they can, leaving out what they do not know

SMALL, RATIO, LARGEST = 2**26, 200, 2**33  # bytes that are always unpacked, times the file, and at most
SMALL_TREE, TREE_RATIO = 2**23, 50  # the same of the tree, whose objects take many times the memory of its text
MANIFEST, TREE = "manifest.json", "model.json"
MEMBER = re.compile(r"model\.json|arrays/(0|[1-9]\d{0,6})\.npy")
READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What the zip library raises on bytes that are no archive, or only look like one.
DAMAGE = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,  # encrypted, or of a kind that is not implemented
    ValueError,
)


class FileError(ValueError):
    """A file that cannot be read as a model, or a model that cannot be written as a file."""


def archive_of(members: Mapping[str, bytes], about: Mapping[str, Any]) -> bytes:
    """The members and a manifest as the bytes of one file."""
    manifest = {
        "magic": MAGIC,
        "format": FORMAT,
        "revision": REVISION,
        **about,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest, and the members of a model, each of them the bytes that were written.

    Raises
    ------
    FileError
        Where the file is damaged, of a later format, or not one of ours.
    OSError
        Where there is no such file, or it may not be read.
    """
    data = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _require_honest(archive, len(data), path)
            manifest = _manifest(archive, path)
            members = {name: archive.read(name) for name in manifest["sha256"] if MEMBER.fullmatch(name)}
    except FileError:
        raise
    except DAMAGE as error:
        raise FileError(f"{path} is damaged or not a model file ({error}). Save the model again.") from error
    for name, content in members.items():
        if hashlib.sha256(content).hexdigest() != manifest["sha256"][name]:
            raise FileError(f"{path} is damaged: the checksum of {name} is wrong. Save the model again.")
    if TREE not in members:
        raise FileError(f"{path} has no model in it.")
    return manifest, members


def _require_honest(archive: zipfile.ZipFile, size: int, path: Any) -> None:
    """Raise where members hide each other, or would fill the memory."""
    entries = archive.infolist()
    twice = [name for name, count in Counter(entry.filename for entry in entries).items() if count > 1]
    if twice:
        raise FileError(f"{path} holds {twice[0]} more than once. It is not opened.")
    packed = [entry.filename for entry in entries if entry.compress_type not in READABLE]
    if packed:
        raise FileError(f"{path}: {packed[0]} is compressed in a way that models are not. It is not opened.")
    claimed, allowed = sum(entry.file_size for entry in entries), min(max(SMALL, RATIO * size), LARGEST)
    tree = sum(entry.file_size for entry in entries if entry.filename == TREE)
    if claimed > allowed or tree > max(SMALL_TREE, TREE_RATIO * size):
        raise FileError(
            f"{path} has {size} bytes and claims to hold {claimed}, more than any model of that size. It is not opened."
        )


def _manifest(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    try:
        manifest = parse_json(archive.read(MANIFEST))
        is_ours = manifest["magic"] == MAGIC and isinstance(manifest["sha256"], dict)
    except (LookupError, TypeError, ValueError, RecursionError):
        is_ours = False
    if not is_ours:
        raise FileError(f"{path} is a zip file, but not one of a model.")
    number = manifest.get("format")
    if type(number) is not int or number < 1:
        raise FileError(f"{path} is damaged: its format is {number!r}. Save the model again.")
    if number > FORMAT:
        raise FileError(
            f"{path} was written by separatrix {manifest.get('version')} in format {number}; this version reads "
            f"formats up to {FORMAT}. Upgrade separatrix, or save the model again with this version."
        )
    return dict(manifest)


def parse_json(data: bytes, *, finite: bool = True) -> Any:
    """JSON as its standard has it: no NaN, unless asked to, and no key twice."""
    refuse = _refuse_constant if finite else float
    return json.loads(data, object_pairs_hook=_distinct, parse_constant=refuse)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found
