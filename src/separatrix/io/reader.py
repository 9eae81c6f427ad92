# SPDX-License-Identifier: BSD-3-Clause
"""A tree as a model again. Nothing in a file is run: classes are looked up, made empty, and filled.

A file can name only classes of the parts of this package that models are made of, and of those only estimators and
records (data classes, named tuples, enumerations). A record has just the fields that its class has; an estimator its
arguments and what fitting leaves behind, and never a method. A field, or an argument of a model, that is new since the
file was written gets its default. Where the file is of a later revision, fields that are not known here are left out,
as its writer promised they may be.

Memory is bounded by the file: every array is made once, from as many bytes as it has, and what is computed from a few
numbers, such as a basis, must be of a size that a basis has.
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
from separatrix.io.archive import FileError
from separatrix.io.writer import FUNCTIONS, PACKAGE, TRANSFORMERS

__all__ = ["Reader"]

#: Where the classes of a model live. Importing any other part, such as the command line, is not for a file to ask.
PARTS = (
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
#: Folders whose classes moved: where to look for what an earlier version wrote under the first name.
MOVED = {
    "data": ("rows", "files", "table"),
    "scanning": ("files", "rows"),
    "generative": ("generative", "stats", "families"),
    "solvers": ("solvers", "separation"),
    "tables": ("study",),
}
#: Classes that were renamed: (folder, old name) -> new name.
RENAMED: dict[tuple[str, str], str] = {}
NUMBERS = "biufcUSmM"  # kinds of dtype that are plain bytes
MOST_OUTPUTS = 10**6  # numbers that a transformer makes of a row


class Reader:
    """Values from nodes; ``members`` are those of the archive."""

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
        """What a node stands for."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise FileError("a list stands where a value should")
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
            raise FileError(f"{node['class']} is no enumeration")
        return kind[node["name"]]

    def _generator(self, node: Any) -> np.random.Generator:
        bits = np.random.PCG64()
        bits.state = self.value(node["state"])
        return np.random.Generator(bits)

    def _transformer(self, node: Any) -> Any:
        """One of the two transformers that bases have, made and fitted as the basis does it."""
        from sklearn import preprocessing

        if node["class"] not in TRANSFORMERS:
            raise FileError(f"{node['class']} is not a transformer of a basis")
        arguments = {name: self.value(item) for name, item in node["arguments"].items()}
        transformer = getattr(preprocessing, node["class"])(**arguments)
        given, columns = arguments.get("knots"), _whole(node["columns"])
        _require_small(arguments, columns)
        return transformer.fit(given if isinstance(given, np.ndarray) else np.zeros((1, columns)))

    def _record(self, node: Any) -> Any:
        """An object of this package, made without calling anything of it."""
        kind = _class(node["class"])
        fields = {name: self.value(item) for name, item in node["fields"].items()}
        if issubclass(kind, Enum):
            raise FileError(f"{node['class']} is an enumeration, and no record")
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
        """Those of an estimator: its arguments, and names with an underscore at either end; none that is a method."""
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
        """A value for each name, in their order."""
        unknown = [name for name in fields if name not in names]
        if unknown and not self.newer:
            raise FileError(f"{kind.__qualname__} has no field {unknown[0]!r}")
        missing = [name for name in names if name not in fields and name not in defaults]
        if missing:
            raise FileError(f"{kind.__qualname__} lacks its field {missing[0]!r}")
        return {name: fields[name] if name in fields else defaults[name] for name in names}

    def _array(self, number: Any) -> Array:
        """The array of a member, once its header is known to promise no more than there is, and only once."""
        if _whole(number) in self._used:
            raise FileError(f"array {number} stands in two places")
        self._used.add(number)
        data = self.members[f"arrays/{number}.npy"]
        stream = io.BytesIO(data)
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise FileError(f"array {number} is of version {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
        if not _plain(dtype).itemsize or math.prod(shape) * dtype.itemsize != len(data) - start:
            raise FileError(f"array {number} claims to be {dtype} {shape}, and has {len(data) - start} bytes")
        flat = np.frombuffer(data, dtype=dtype, offset=start)
        return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise FileError(f"{value!r} stands where a whole number should")
    return value


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in NUMBERS:
        raise FileError(f"{dtype} is no type of number or text")
    return dtype


def _defaults(kind: type) -> dict[str, Any]:
    """The defaults of a data class."""
    found: dict[str, Any] = {}
    for each in dataclasses.fields(cast(Any, kind)):
        if each.default is not dataclasses.MISSING:
            found[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            found[each.name] = each.default_factory()
    return found


def _arguments(kind: type) -> dict[str, Any]:
    """The arguments of a model's constructor, with their defaults."""
    found = list(inspect.signature(kind.__init__).parameters.values())[1:]  # type: ignore[misc]
    return {each.name: each.default for each in found if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}


def _is_defined(kind: type, name: str) -> bool:
    """Whether a name is a method or property of a class, or one of Python's own."""
    found = inspect.getattr_static(kind, name, None)
    return name.startswith("__") or inspect.isroutine(found) or inspect.isdatadescriptor(found)


def _require_small(arguments: Mapping[str, Any], columns: int) -> None:
    """Raise where a transformer would make more of a row than any basis does."""
    knots, degree = arguments.get("n_knots", 0), arguments.get("degree", 0)
    highest = max(map(_whole, degree)) if isinstance(degree, tuple) else _whole(degree)
    few = min(columns, highest)
    if min(columns, highest, _whole(knots)) < 0 or max(columns, highest, knots) > MOST_OUTPUTS:
        raise FileError(f"a basis of {columns} columns, {knots} knots and degree {highest} is none")
    outputs = columns * (knots + highest) if knots else math.comb(columns + highest, few) if few < 64 else math.inf
    if outputs > MOST_OUTPUTS:
        raise FileError(f"a basis of {columns} columns, {knots} knots and degree {highest} is too large")


def _class(name: Any) -> type:
    """An estimator or record of this package by folder and name; never another attribute, never another package.

    A file names the module that defined the class when the file was written. Only its folder counts, so that classes
    may move between the modules of a folder.
    """
    module, _, qualname = str(name).partition(":")
    package, _, inner = module.partition(".")
    folder = inner.partition(".")[0]
    if package != PACKAGE or folder not in (*PARTS, *MOVED):
        raise FileError(f"{name} is not of the models of this package")
    for part in MOVED.get(folder, (folder,)):
        found = _records(part).get(RENAMED.get((folder, qualname), qualname))
        if found is not None:
            return found
    raise FileError(f"{name} is not an estimator or record of this version")


@cache
def _records(part: str) -> dict[str, type]:
    """The estimators and records that the modules of one folder define, by name."""
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
