# SPDX-License-Identifier: BSD-3-Clause
"""Fitted models in one file: no pickle, nothing that a reader could be made to run.

A file is a zip archive of

    manifest.json     format, versions, and the SHA-256 of every other member
    model.json        the model as a tree of plain values, records and arrays
    arrays/<n>.npy    the arrays, in NumPy's own format

A tree holds what JSON has, and a few kinds of node marked by ``"is"``: tuples, sets, mappings, arrays by number, and
*records*: objects of this package, by module and name, with their fields. `load` looks classes up only among this
package's own modules, makes them without calling anything of theirs, and fills in the fields. A file that is damaged,
truncated or made by a hostile hand gives a `FileError`.

Unknown fields are kept, so a file of a later version opens where its format number is the same; a format number that is
higher does not.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, is_sparse

__all__ = ["FileError", "load", "save"]

FORMAT = 1
MAGIC = "separatrix model"
PACKAGE = "separatrix"
LARGEST = 2**33  # bytes that a member may unpack to: a file of a few kilobytes must not fill the memory


class FileError(ValueError):
    """A file that cannot be read as a model, or a model that cannot be written as a file."""


def save(model: Any, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator
        Fitted, and of this package.
    path : str or path
        Where to; by custom ``model.sx``.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Returns
    -------
    Path
        Where it is. It is there whole or not at all.
    """
    target = Path(path)
    if not isinstance(model, BaseEstimator) or not _is_ours(type(model)):
        raise FileError(f"save: {type(model).__name__} is not a model of this package.")
    check_is_fitted(model)
    if target.exists() and not force:
        raise FileError(f"save: {target} exists. Choose another name, or pass force=True to replace it.")
    writer = _Writer()
    tree = json.dumps(writer.node(model, "model"), allow_nan=True).encode()
    members = {"model.json": tree} | {f"arrays/{i}.npy": data for i, data in enumerate(writer.arrays)}
    manifest = {
        "magic": MAGIC,
        "format": FORMAT,
        "version": importlib.import_module(PACKAGE).__version__,
        "model": type(model).__name__,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    with _whole_or_not_at_all(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Raises
    ------
    FileError
        Where the file is damaged, of a later format, or not one of ours.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, path)
            members = {name: _member(archive, name, digest, path) for name, digest in manifest["sha256"].items()}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise FileError(f"{path} is damaged or not a model file ({error}). Save the model again.") from error
    if "model.json" not in members:
        raise FileError(f"{path} has no model in it.")
    try:
        model = _Reader(members).value(json.loads(members["model.json"]))
    except (LookupError, TypeError, ValueError, AttributeError, ImportError, RecursionError) as error:
        raise FileError(f"{path} cannot be read: {error}. It may come from another version.") from error
    if not isinstance(model, BaseEstimator):
        raise FileError(f"{path} holds a {type(model).__name__} and no model.")
    return model


def _manifest(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    try:
        manifest = json.loads(_bounded(archive, "manifest.json", path))
        if manifest["magic"] != MAGIC or not isinstance(manifest["sha256"], dict):
            raise KeyError("magic")
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path} is a zip file, but not one of a model.") from error
    if manifest.get("format", 0) > FORMAT:
        raise FileError(
            f"{path} was written by version {manifest.get('version')} in format {manifest['format']}; this version "
            f"reads formats up to {FORMAT}. Upgrade separatrix to open it."
        )
    return dict(manifest)


def _member(archive: zipfile.ZipFile, name: str, digest: str, path: Any) -> bytes:
    try:
        data = _bounded(archive, name, path)
    except KeyError as error:
        raise FileError(f"{path} is damaged: {name} is missing.") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise FileError(f"{path} is damaged: the checksum of {name} is wrong.")
    return data


def _bounded(archive: zipfile.ZipFile, name: str, path: Any) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise FileError(f"{path}: {name} claims to be {archive.getinfo(name).file_size} bytes. It is not opened.")
    return archive.read(name)


@contextmanager
def _whole_or_not_at_all(target: Path) -> Iterator[Any]:
    """A file beside the target, renamed to it at the end."""
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            yield file
            file.close()
            os.replace(file.name, target)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise


def _is_ours(kind: type) -> bool:
    return kind.__module__ == PACKAGE or kind.__module__.startswith(PACKAGE + ".")


class _Writer:
    """A model as a tree; arrays apart."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []

    def node(self, value: Any, where: str) -> Any:  # noqa: PLR0911, PLR0912  (one line for each kind)
        """The tree of a value; ``where`` it is, for messages."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Enum):
            return {"is": "enum", "class": _name(type(value), where), "name": value.name}
        if isinstance(value, np.generic):
            return {"is": "scalar", "array": self._array(np.asarray(value))}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":  # names and labels, value by value
            items = [self.node(item, where) for item in value.ravel().tolist()]
            return {"is": "objects", "items": items, "shape": list(value.shape)}
        if isinstance(value, np.ndarray):
            return {"is": "array", "array": self._array(value)}
        if is_sparse(value):
            parts = [self._array(part) for part in (value.data, value.indices, value.indptr)]
            return {"is": "csr", "parts": parts, "shape": list(value.shape)}
        if isinstance(value, tuple) and type(value) is not tuple:
            fields = value._asdict()  # type: ignore[attr-defined]  # a named tuple
            return {"is": "record", "class": _name(type(value), where), "fields": self._items(fields, where)}
        if isinstance(value, list | tuple | set | frozenset):
            items = [self.node(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"is": type(value).__name__, "items": items}
        if isinstance(value, range):
            return {"is": "range", "items": [value.start, value.stop, value.step]}
        if isinstance(value, slice):
            return {"is": "slice", "items": [value.start, value.stop, value.step]}
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": value.str}
        if isinstance(value, Mapping):
            pairs = [[self.node(k, where), self.node(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"is": "dict", "items": pairs}
        if isinstance(value, np.random.Generator):
            return {"is": "generator", "state": self.node(value.bit_generator.state, where)}
        return {"is": "record", "class": _name(type(value), where), "fields": self._items(_fields(value), where)}

    def _items(self, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
        return {name: self.node(value, f"{where}.{name}") for name, value in fields.items()}

    def _array(self, value: Array) -> int:
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        self.arrays.append(buffer.getvalue())
        return len(self.arrays) - 1


def _name(kind: type, where: str) -> str:
    """Module and name of a class of this package."""
    if not _is_ours(kind) or "<" in kind.__qualname__:
        raise FileError(
            f"save: {where} is a {kind.__module__}.{kind.__qualname__}, which is not of this package. Files hold only "
            "what this package can make again; save the rest of a pipeline by its own means."
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _fields(value: Any) -> dict[str, Any]:
    """The state of an object: its fields, or its attributes."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: item for name, item in vars(value).items() if name != "_sklearn_version"}


class _Reader:
    """A tree as a model again."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.members = members

    def value(self, node: Any) -> Any:
        """What a node stands for."""
        if not isinstance(node, dict):
            return node
        kind = node["is"]
        make = getattr(self, f"_{kind}", None) if isinstance(kind, str) else None
        if make is None:
            raise FileError(f"unknown kind of value {kind!r}")
        return make(node)

    def _items(self, node: Any) -> list[Any]:
        return [self.value(item) for item in node["items"]]

    def _list(self, node: Any) -> list[Any]:
        return self._items(node)

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple(self._items(node))

    def _set(self, node: Any) -> set[Any]:
        return set(self._items(node))

    def _frozenset(self, node: Any) -> frozenset[Any]:
        return frozenset(self._items(node))

    def _range(self, node: Any) -> range:
        return range(*map(int, node["items"]))

    def _slice(self, node: Any) -> slice:
        return slice(*node["items"])

    def _dtype(self, node: Any) -> np.dtype[Any]:
        return np.dtype(str(node["name"]))

    def _dict(self, node: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in node["items"]}

    def _array(self, node: Any) -> Array:
        return self._read(node["array"])

    def _objects(self, node: Any) -> Array:
        values = np.empty(len(node["items"]), dtype=object)
        values[:] = self._items(node)
        return values.reshape([int(n) for n in node["shape"]])

    def _scalar(self, node: Any) -> Any:
        return self._read(node["array"])[()]

    def _csr(self, node: Any) -> Any:
        parts = tuple(self._read(part) for part in node["parts"])
        return sparse.csr_array(parts, shape=tuple(node["shape"]))

    def _enum(self, node: Any) -> Any:
        kind = _class(node["class"])
        if not issubclass(kind, Enum):
            raise FileError(f"{node['class']} is no enumeration")
        return kind[node["name"]]

    def _generator(self, node: Any) -> np.random.Generator:
        bits = np.random.PCG64()
        bits.state = self.value(node["state"])
        return np.random.Generator(bits)

    def _record(self, node: Any) -> Any:
        """An object of this package, made without calling anything of it."""
        kind = _class(node["class"])
        fields = {name: self.value(item) for name, item in node["fields"].items()}
        if issubclass(kind, tuple):
            return tuple.__new__(kind, [fields[name] for name in kind._fields])  # type: ignore[attr-defined]
        made = object.__new__(kind)
        for name, item in fields.items():
            object.__setattr__(made, name, item)
        return made

    def _read(self, number: Any) -> Array:
        data = self.members[f"arrays/{int(number)}.npy"]
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))


def _class(name: str) -> type:
    """A class of this package by module and name; never another attribute, never another package."""
    module, _, qualname = str(name).partition(":")
    if module != PACKAGE and not module.startswith(PACKAGE + "."):
        raise FileError(f"{name} is not of this package")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = vars(found).get(part)
        if not isinstance(found, type):
            raise FileError(f"{name} is not a class of this version")
    if found.__module__ != module:
        raise FileError(f"{name} is not of that module")
    return found  # type: ignore[no-any-return]
