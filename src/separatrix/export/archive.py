# SPDX-License-Identifier: BSD-3-Clause
"""The file of a saved model: a zip archive whose manifest has the checksum of every other member.

Archives may come from untrusted sources. Nothing is unpacked to disk, only members that belong to a model are read, and
an archive that would unpack to far more than its own size is refused.
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
FORMAT = 3  # increased if older versions cannot read new files
REVISION = 0  # increased if older versions can read new files by ignoring new fields
# An archive may unpack to MIN_ALLOWED_BYTES, or to MAX_UNPACKED_RATIO times its own size if that is more.
MIN_ALLOWED_BYTES, MAX_UNPACKED_RATIO = 2**26, 200
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
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read the manifest and the members of a model, and verify the checksums.

    Raises
    ------
    FileError
        If the file is damaged, of a later format, or not a model.
    OSError
        If the file does not exist or cannot be read.
    """
    data = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
            if unpacked > max(MIN_ALLOWED_BYTES, MAX_UNPACKED_RATIO * len(data)):
                raise FileError(
                    f"{path} has {len(data)} bytes but would unpack to {unpacked}, more than any model of that size. "
                    "The file was not opened."
                )
            manifest = _read_manifest(archive, path)
            members = {name: archive.read(name) for name in manifest["sha256"] if MEMBER.fullmatch(name)}
    except FileError:
        raise
    except Exception as error:  # zipfile raises many kinds of errors for damaged files
        raise FileError(f"{path} is damaged or not a model file ({error}). Save the model again.") from error
    for name, content in members.items():
        if hashlib.sha256(content).hexdigest() != manifest["sha256"][name]:
            raise FileError(f"{path} is damaged: the checksum of {name} is wrong. Save the model again.")
    if TREE not in members:
        raise FileError(f"{path} contains no model.")
    return manifest, members


def _read_manifest(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read(MANIFEST))
        is_model = manifest["magic"] == MAGIC and isinstance(manifest["sha256"], dict)
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
