# SPDX-License-Identifier: BSD-3-Clause
"""Rebuild a model from a tree. No code of a file is run: classes are looked up, created empty, and filled.

A file can name only classes of the folders in `FOLDERS`, and only estimators and records (data classes, named tuples,
enumerations). A record may only have the fields of its class; an estimator its arguments and fitted attributes, never
a method. Fields and arguments that are new since the file was written get their defaults. If the file has a later
revision, unknown fields are ignored.

Memory is bounded by the size of the file: every array is created once, from exactly its bytes, and objects computed
from a few numbers, such as a basis, have a limited size.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import io
import math
import pkgutil
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from separatrix._array import Array
from separatrix.exceptions import FileError
from separatrix.export.writer import FUNCTIONS, PACKAGE, TRANSFORMERS

#: Folders that define classes of models. A file cannot import any other part, such as the command line.
FOLDERS = (
    "_linalg",
    "basis",
    "bayesian",
    "comparison",
    "files",
    "rows",
    "table",
    "decisions",
    "discriminative",
    "exceptions",
    "families",
    "generative",
    "likelihoods",
    "priors",
    "reductions",
    "rules",
    "separation",
    "solvers",
    "stats",
    "study",
)
#: Folders whose classes moved: folder in files of earlier versions -> folders to search.
MOVED = {
    "data": ("rows", "files", "table"),
    "scanning": ("files", "rows"),
    "generative": ("generative", "stats", "families"),
    "solvers": ("solvers", "separation"),
    "tables": ("study",),
}
#: Classes that were renamed: (folder, old name) -> new name.
RENAMED: dict[tuple[str, str], str] = {}
PLAIN_KINDS = "biufcUSmM"  # kinds of dtype without Python objects
MAX_BASIS_FUNCTIONS = 10**6


class Reader:
    """Converts nodes to values; ``members`` are those of the archive."""

    def __init__(self, members: Mapping[str, bytes], *, newer: bool = False) -> None:
        self.members, self.newer = members, newer
        self._used: set[int] = set()
        self._makers: dict[str, Callable[[Any], Any]] = {
            "list": self._items,
            "tuple": lambda node: tuple(self._items(node)),
            "set": lambda node: set(self._items(node)),
            "frozenset": lambda node: frozenset(self._items(node)),
            "dict": lambda node: {self.value(key): self.value(item) for key, item in node["items"]},
            "range": lambda node: range(*map(_whole, node["items"])),
            "slice": lambda node: slice(*(None if i is None else _whole(i) for i in node["items"])),
            "float": lambda node: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["value"]],
            "dtype": lambda node: _plain(np.dtype(str(node["name"]))),
            "array": lambda node: self._array(node["array"]),
            "scalar": lambda node: self._array(node["array"])[()],
            "objects": self._objects,
            "csr": self._csr,
            "enum": self._enum,
            "function": lambda node: FUNCTIONS[node["name"]],
            "generator": self._generator,
            "transformer": self._transformer,
            "record": self._record,
        }

    def value(self, node: Any) -> Any:
        """Value of a node."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise FileError("a list in place of a value")
            return node
        make = self._makers.get(node["is"]) if isinstance(node["is"], str) else None
        if make is None:
            raise FileError(f"unknown kind of value {node['is']!r}")
        return make(node)

    def _items(self, node: Any) -> list[Any]:
        return [self.value(item) for item in node["items"]]

    def _objects(self, node: Any) -> Array:
        values = np.empty(len(node["items"]), dtype=object)
        values[:] = self._items(node)
        return values.reshape([_whole(n) for n in node["shape"]])

    def _csr(self, node: Any) -> Any:
        data, indices, indptr = (self._array(part) for part in node["parts"])
        rows, columns = map(_whole, node["shape"])
        matrix = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix

    def _enum(self, node: Any) -> Any:
        kind = _class(node["class"])
        if not issubclass(kind, Enum):
            raise FileError(f"{node['class']} is not an enumeration")
        return kind[node["name"]]

    def _generator(self, node: Any) -> np.random.Generator:
        bits = np.random.PCG64()
        bits.state = self.value(node["state"])
        return np.random.Generator(bits)

    def _transformer(self, node: Any) -> Any:
        """A transformer of a basis, fitted to the same number of columns."""
        from sklearn import preprocessing

        if node["class"] not in TRANSFORMERS:
            raise FileError(f"{node['class']} is not a transformer of a basis")
        arguments = {name: self.value(item) for name, item in node["arguments"].items()}
        transformer = getattr(preprocessing, node["class"])(**arguments)
        given, columns = arguments.get("knots"), _whole(node["columns"])
        _check_basis_size(arguments, columns)
        return transformer.fit(given if isinstance(given, np.ndarray) else np.zeros((1, columns)))

    def _record(self, node: Any) -> Any:
        """An object of this package, created without calling any of its methods."""
        kind = _class(node["class"])
        fields = {name: self.value(item) for name, item in node["fields"].items()}
        if issubclass(kind, Enum):
            raise FileError(f"{node['class']} is an enumeration, not a record")
        if issubclass(kind, tuple):
            names = cast(Any, kind)._fields
            return tuple.__new__(kind, self._completed(kind, fields, names, cast(Any, kind)._field_defaults).values())
        if dataclasses.is_dataclass(kind):
            fields = self._completed(kind, fields, [each.name for each in dataclasses.fields(kind)], _defaults(kind))
        elif issubclass(kind, BaseEstimator):
            fields = self._attributes(kind, fields)
        made = object.__new__(kind)
        for name, item in fields.items():
            object.__setattr__(made, name, item)
        return made

    def _attributes(self, kind: type, fields: dict[str, Any]) -> dict[str, Any]:
        """Arguments and fitted attributes (names with an underscore at either end) of an estimator; no methods."""
        arguments = _arguments(kind)
        plain = [name for name in fields if name not in arguments and not (name[:1] == "_" or name[-1:] == "_")]
        if plain and not self.newer:
            raise FileError(f"{kind.__qualname__} has no argument {plain[0]!r}")
        kept = {name: item for name, item in fields.items() if name not in plain}
        taken = [name for name in kept if _is_defined(kind, name)]
        if taken:
            raise FileError(f"{kind.__qualname__} defines {taken[0]!r} itself")
        missing = [
            name for name, default in arguments.items() if name not in kept and default is inspect.Parameter.empty
        ]
        if missing:
            raise FileError(f"{kind.__qualname__} lacks its argument {missing[0]!r}")
        return arguments | kept

    def _completed(self, kind: type, fields: dict[str, Any], names: Any, defaults: dict[str, Any]) -> dict[str, Any]:
        """A value for each field name, in order."""
        unknown = [name for name in fields if name not in names]
        if unknown and not self.newer:
            raise FileError(f"{kind.__qualname__} has no field {unknown[0]!r}")
        missing = [name for name in names if name not in fields and name not in defaults]
        if missing:
            raise FileError(f"{kind.__qualname__} lacks its field {missing[0]!r}")
        return {name: fields[name] if name in fields else defaults[name] for name in names}

    def _array(self, number: Any) -> Array:
        """Array of a member, after checking that its header matches its size; each array may be used once."""
        if _whole(number) in self._used:
            raise FileError(f"array {number} is used twice")
        self._used.add(number)
        data = self.members[f"arrays/{number}.npy"]
        stream = io.BytesIO(data)
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise FileError(f"array {number} has the unsupported version {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
        if not _plain(dtype).itemsize or math.prod(shape) * dtype.itemsize != len(data) - start:
            raise FileError(f"array {number} claims to be {dtype} {shape}, and has {len(data) - start} bytes")
        flat = np.frombuffer(data, dtype=dtype, offset=start)
        return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise FileError(f"{value!r} in place of an integer")
    return value


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in PLAIN_KINDS:
        raise FileError(f"{dtype} is not a type of numbers or text")
    return dtype


def _defaults(kind: type) -> dict[str, Any]:
    """Defaults of a data class."""
    found: dict[str, Any] = {}
    for each in dataclasses.fields(cast(Any, kind)):
        if each.default is not dataclasses.MISSING:
            found[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            found[each.name] = each.default_factory()
    return found


def _arguments(kind: type) -> dict[str, Any]:
    """Arguments of a constructor, with their defaults."""
    found = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    return {each.name: each.default for each in found if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}


def _is_defined(kind: type, name: str) -> bool:
    """Whether a name is a method or property of a class, or a special name."""
    found = inspect.getattr_static(kind, name, None)
    return name.startswith("__") or inspect.isroutine(found) or inspect.isdatadescriptor(found)


def _check_basis_size(arguments: Mapping[str, Any], columns: int) -> None:
    """Raise if a transformer would have too many functions."""
    knots, degree = arguments.get("n_knots", 0), arguments.get("degree", 0)
    highest = max(map(_whole, degree)) if isinstance(degree, tuple) else _whole(degree)
    few = min(columns, highest)
    if min(columns, highest, _whole(knots)) < 0 or max(columns, highest, knots) > MAX_BASIS_FUNCTIONS:
        raise FileError(f"a basis of {columns} columns, {knots} knots and degree {highest} is not possible")
    outputs = columns * (knots + highest) if knots else math.comb(columns + highest, few) if few < 64 else math.inf
    if outputs > MAX_BASIS_FUNCTIONS:
        raise FileError(f"a basis of {columns} columns, {knots} knots and degree {highest} is too large")


def _class(name: Any) -> type:
    """Find an estimator or record of this package by folder and name; never another object or package.

    Files of formats 1 and 2 name the module of the class. Only its folder counts.
    """
    module, _, qualname = str(name).partition(":")
    package, _, inner = module.partition(".")
    folder = inner.partition(".")[0]
    if package != PACKAGE or folder not in (*FOLDERS, *MOVED):
        raise FileError(f"{name} is not a class of models of this package")
    for part in MOVED.get(folder, (folder,)):
        found = _records(part).get(RENAMED.get((folder, qualname), qualname))
        if found is not None:
            return found
    raise FileError(f"{name} is not an estimator or record of this version")


@cache
def _records(part: str) -> dict[str, type]:
    """Estimators and records defined in the modules of one folder, by name."""
    found: dict[str, type] = {}
    root = importlib.import_module(f"{PACKAGE}.{part}")
    modules = [root]
    for _, name, _ in pkgutil.walk_packages(getattr(root, "__path__", ()), f"{PACKAGE}.{part}."):
        if not name.rpartition(".")[2].startswith("_"):  # compiled kernels define no records
            modules.append(importlib.import_module(name))
    for module in modules:
        for each in vars(module).values():
            if isinstance(each, type) and each.__module__ == module.__name__ and _is_record(each):
                found[each.__qualname__] = each
    return found


def _is_record(kind: type) -> bool:
    is_named_tuple = issubclass(kind, tuple) and "_field_defaults" in dir(kind)
    return dataclasses.is_dataclass(kind) or issubclass(kind, BaseEstimator | Enum) or is_named_tuple
