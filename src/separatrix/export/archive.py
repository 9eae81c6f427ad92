# SPDX-License-Identifier: BSD-3-Clause
"""The file of a saved model: a zip archive whose manifest has the checksum of every other member.

Archives may come from untrusted sources. Nothing is unpacked to disk, and only members that belong to a model are
read. A model may take `BASE_BYTES` of memory, and `BYTES_PER_BYTE` times the size of its file. Sizes are checked before
memory is allocated, and members are unpacked in chunks, up to the size that the archive states. `write_archive` writes
no archive that exceeds this limit: it does not compress a model that compresses too well.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.exceptions import FileError

MAGIC = "separatrix model"
FORMAT = 4  # increased if older versions cannot read new files
REVISION = 0  # increased if older versions can read new files by ignoring new fields
BASE_BYTES, BYTES_PER_BYTE = 2**25, 8
ARRAY_COPIES = 4  # memory of an array and of its copies when a model predicts, in sizes of the array
ENTRY_BYTES, CHUNK_BYTES = 1000, 2**20  # memory of an entry of the archive; bytes that are unpacked at a time
#: Memory of the values that a character of JSON separates or starts.
JSON_BYTES = {b"{": 200, b"[": 64, b",": 60, b":": 50}
MAX_JSON_KEYS = 10_000
MANIFEST, TREE = "manifest.json", "model.json"
MEMBER = re.compile(r"model\.json|arrays/(0|[1-9]\d{0,6})\.npy")


def write_archive(members: Mapping[str, bytes], header: Mapping[str, Any]) -> bytes:
    """Bytes of an archive that contains the members, and a manifest with the fields of ``header``."""
    manifest = {
        "magic": MAGIC,
        "format": FORMAT,
        "revision": REVISION,
        **header,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(manifest, indent=1).encode()
    sizes = {MANIFEST: len(text)} | {name: len(data) for name, data in members.items()}
    needed = max(_member_bytes(sizes) + json_bytes(members[TREE]), 3 * json_bytes(text))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in ({MANIFEST: text} | dict(members)).items():
                archive.writestr(name, data)
        excess = needed - _allowed_bytes(buffer.tell())
        if excess <= 0:
            return buffer.getvalue()
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:  # a tree of millions of small values
        archive.writestr("padding", bytes(excess // (BYTES_PER_BYTE - 1) + 1))
    return buffer.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytearray]]:
    """Read the manifest and the members of a model, and verify the checksums.

    Raises FileError if the file is damaged, of a later format, or not a model; OSError if it cannot be read.
    """
    return open_archive(Path(path).read_bytes(), path)


def open_archive(data: bytes, path: Any) -> tuple[dict[str, Any], dict[str, bytearray]]:
    """Read the content of a file as `read_archive` does; ``path`` is for error messages."""
    allowed = _allowed_bytes(len(data))
    try:
        _require_memory(ENTRY_BYTES * data.count(b"PK\x01\x02"), allowed, path)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if len(entries) < len(archive.infolist()):
                raise FileError(f"{path} is damaged: two members have the same name. Save the model again.")
            needed = _member_bytes({name: entry.file_size for name, entry in entries.items()})
            _require_memory(needed, allowed, path)
            manifest = _read_manifest(archive, path, allowed)
            members = {name: _unpack(archive, name) for name in manifest["sha256"] if MEMBER.fullmatch(name)}
    except FileError:
        raise
    except Exception as error:  # zipfile raises many kinds of errors for damaged files
        raise FileError(f"{path} is damaged or not a model file ({error}). Save the model again.") from error
    for name, content in members.items():
        if hashlib.sha256(content).hexdigest() != manifest["sha256"][name]:
            raise FileError(f"{path} is damaged: the checksum of {name} is wrong. Save the model again.")
    if TREE not in members:
        raise FileError(f"{path} contains no model.")
    _require_memory(needed + json_bytes(members[TREE]), allowed, path)
    return manifest, members


def _allowed_bytes(size: int) -> int:
    return BASE_BYTES + BYTES_PER_BYTE * size


def _member_bytes(sizes: Mapping[str, int]) -> int:
    """Memory of the members of an archive, by their sizes."""
    return sum(size * (ARRAY_COPIES if name.startswith("arrays/") else 1) for name, size in sizes.items())


def _require_memory(needed: int, allowed: int, path: Any) -> None:
    if needed > allowed:
        raise FileError(
            f"{path} would take {needed} bytes of memory, more than any model in a file of this size. It was not "
            "opened: check where it comes from. If you trust it, save the model again with this version."
        )


def _unpack(archive: zipfile.ZipFile, name: str) -> bytearray:
    """Content of a member, at most as many bytes as the archive states."""
    entry = archive.getinfo(name)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{name} is compressed by method {entry.compress_type}")
    content = bytearray()
    with archive.open(entry) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            content += chunk
    return content


def json_bytes(text: bytes | bytearray) -> int:
    """Upper bound of the memory that JSON takes once it is parsed, with at most `MAX_JSON_KEYS` names of fields.

    A text with one character beyond Latin-1 takes two bytes for each of its characters, and four with one beyond the
    Basic Multilingual Plane (an emoji, written as a pair of surrogates). A text with escapes is parsed into a buffer
    that may be a quarter too large.
    """
    per_byte = 2 if b"\\" not in text else 6 if b"\\ud" in text or b"\\uD" in text else 4
    return per_byte * len(text) + sum(size * text.count(mark) for mark, size in JSON_BYTES.items())


def parse_json(text: bytes | bytearray) -> Any:
    """Parse JSON of ASCII characters, as `json.dumps` writes it, whose objects have few different names of fields."""
    keys: set[str] = set()

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        keys.update(found)
        if len(keys) > MAX_JSON_KEYS:
            raise ValueError(f"more than {MAX_JSON_KEYS} different names")
        return found

    return json.loads(text.decode("ascii"), object_pairs_hook=made)


def _read_manifest(archive: zipfile.ZipFile, path: Any, allowed: int) -> dict[str, Any]:
    try:
        text = _unpack(archive, MANIFEST)
        _require_memory(3 * json_bytes(text), allowed, path)  # every name in it is different
        manifest = json.loads(text.decode("ascii"))  # wide characters would take 4 bytes each
        is_model = manifest["magic"] == MAGIC and isinstance(manifest["sha256"], dict)
    except FileError:
        raise
    except (LookupError, TypeError, ValueError, RecursionError):
        is_model = False
    if not is_model:
        raise FileError(f"{path} is a zip file, but not a saved model.")
    number = manifest.get("format")
    if type(number) is not int or number < 1:
        raise FileError(f"{path} is damaged: its format is {number!r}. Save the model again.")
    if number > FORMAT:
        raise FileError(
            f"{path} was written by separatrix {manifest.get('version')} in format {number}; this version reads "
            f"formats up to {FORMAT}. Upgrade separatrix, or save the model again with this version."
        )
    return dict(manifest)
