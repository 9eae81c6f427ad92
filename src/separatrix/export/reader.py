# SPDX-License-Identifier: BSD-3-Clause
"""Rebuild a model from a saved tree. No code of a file is run: objects are created empty, and their fields are set.

A file can name only classes of the folders in `FOLDERS`, and only estimators and records (data classes, named tuples,
enumerations). A record may only have the fields of its class. An estimator may only have its arguments and fitted
attributes, never a method. Fields and arguments that are newer than the file get their defaults. If the file has a
later revision, unknown fields are ignored.

The size of the file limits the memory: every array uses its own bytes. Numbers that determine the size of other objects
(features, functions of a basis) are limited by the size of the arrays, because a model has a weight for each of them.

Arrays that do not belong together could take any amount of memory: the sum of a column (n, 1) and a row (1, n) is an
(n, n) matrix. `SHAPES` therefore lists a letter for each axis of an array. Axes with the same capital letter have the
same size in the whole model: D columns, M basis functions, K classes, C outputs (one for two classes), P weights per
output. Axes with the same small letter have the same size in one record.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import io
import math
import pkgutil
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from separatrix._array import Array
from separatrix.exceptions import PACKAGE, FileError
from separatrix.export.writer import FUNCTIONS, MAX_SPLINES, TRANSFORMERS

#: Folders with classes that a model may contain. A file cannot import any other part, such as the command line.
FOLDERS = (
    "_linalg", "basis", "bayesian", "calibration", "comparison", "decisions", "discriminative", "exceptions",
    "families", "files", "generative", "likelihoods", "metrics", "priors", "reductions", "rows", "rules", "separation",
    "solvers", "stats", "study", "table", "table_model", "weights",
)  # fmt: skip
#: Folders whose classes moved: folder in files of earlier versions -> folders to search.
MOVED = {
    "bayesian": ("bayesian", "weights"),
    "data": ("rows", "files", "table"),
    "scanning": ("files", "rows"),
    "generative": ("generative", "stats", "families"),
    "solvers": ("solvers", "separation"),
    "study": ("study", "table_model"),
    "tables": ("table_model", "study"),
}
#: Records with another name in files of earlier versions.
RENAMED = {"WeightPosterior": "WeightDistribution"}
#: Records that no longer exist: class in files of earlier versions -> the field or fields that took its place.
REPLACED = {"Mistakes": ("weights",), "_Contrasts": ("origin", "C", "w", "w0")}
MAX_HEADER_BYTES = 10 + 2**16  # size of the largest header of an array
PLAIN_KINDS = "biufcUSmM"  # kinds of dtype that contain no Python objects
#: Number of features and of basis functions that is allowed even if the arrays of a file are small.
MIN_FEATURES, MIN_FUNCTIONS, MAX_DEGREE = 100_000, 10_000, 100
MAX_OMITTED_FIELDS = 100_000
#: Pairs of classes of a Bayesian model, whose covariance is computed for each row: at least 4 million, and at most 10
#: for each number in the arrays of the file.
MIN_PAIRS, PAIRS_PER_NUMBER = 4_000_000, 10
#: Fields and arguments that determine the size of arrays when a model predicts.
SIZES = (
    "n_features_in_", "n_columns", "n_outputs", "n_functions", "n_features", "n_centres", "n_scales", "n_knots",
    "n_components", "degree", "hashing",
)  # fmt: skip
#: Types of the fields of records by annotation. True as a count, or a count as a truth value, would repeat a name.
PLAIN_TYPES: dict[str, tuple[type, ...]] = {"bool": (bool, np.bool_), "int": (int, np.integer), "str": (str,)}
COLLECTIONS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}

_TABLE = """
classes_ #K; feature_names_in_ #D; coef_ CM; intercept_ C; priors_ K; class_count_ K; means_ KM; mean_ M; shrinkage_ K
class_weight_ K; GeneralizedLinearModel.coef_ M; covariance_ ?PP; _unscaled ?PP; standard_errors_ ?P; _linear KM,K,M
_fourth K; _contrasts M,KMM,KM,K; scalings_ Mr; ratio_ r; noise_ K; confusion_ KK; mislabelled_ n; centre_ f; spread_ f
value CP; grad ?CP; coef kM; intercept k; W kM; w0 ~k; V Mr; ratio r; confusion kk
theta skm|km|k; weights s; mean km|m; precision km|M; basis Mr; axes kk; L qq; scale q; covariance mm
NormalApproximation.covariance yy; NormalApproximation.null xy
ArrowApproximation.levels #l; ArrowApproximation.others #d; ArrowApproximation.diagonal l
ArrowApproximation.border ld; ArrowApproximation.root dd
origin M; spread M; column_factors M; AveragedApproximation.widening s; factors j; gradient ?j; eta ?j
count K; ClassMoments.mean KM; NormalClasses.mean KM; widening k; freedom ~k; matrix MM; matrices KMM; squares KM
rows rM; owner #r; F rM; ridge M; root rM; used #u; SingularCovariance.units u
centres nD; widths j; frequencies Dn; phases n; offset D; column #n; centre n; width n; knots nD
bent #n; low n; high n; straight #j; first #f; stop #f; RampProducts.mean f; left #q; right #q
numbers #z; RadialFunctions.mean z; RadialFunctions.std z; RadialFunctions.centres nz
proportions_ K; AffineMap.W KK; AffineMap.b K; Curve.knots n; Curve.levels n; Ranks.scores ~n; Ranks.counts n
"""
#: Letters of the axes of each field, or of a field of one class. Alternatives differ in the number of axes; commas
#: separate the parts of a tuple. A mark precedes the letters: "#" for labels and positions, "~" for numbers that may
#: be infinite, "?" for numbers that may be NaN. All other numbers are finite.
SHAPES: dict[str, str] = dict(entry.split() for line in _TABLE.split("\n") if line for entry in line.split(";"))
#: Axes in the records of families: classes, columns, and parameters of a column, or columns again for a matrix.
FAMILY_SHAPES = {"covariance": "Kd|Kdd", "scatter": "Kd|Kdd", "scale": "Kd|Kdd"}
DEFAULT_FAMILY_SHAPE = "~K|Kd|Kdu"
MAX_NARROW = 100_000  # numbers in an array of less than 4 bytes per number, which take 8 bytes when a model predicts


class Reader:
    """Rebuilds objects from the nodes of a saved tree; ``members`` are the arrays of the archive, not copied."""

    def __init__(self, members: Mapping[str, bytearray], *, newer: bool = False) -> None:
        self.members, self.newer = members, newer
        self._used: set[int] = set()
        self._omitted, self._hashed = 0, 0  # number of fields that got their defaults, and of hashed columns
        self._weights = sum(map(len, members.values())) // 8  # upper bound of the number of weights
        self._sizes: dict[str, int] = {}  # numbers of columns, classes, ... of the model that is read

    def value(self, node: Any) -> Any:  # noqa: PLR0911, PLR0912  (one case for each kind of node)
        """Value of a node."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise FileError("the tree has a list instead of a value")
            return node
        match node["is"]:
            case "list" | "tuple" | "set" | "frozenset" as name:
                return COLLECTIONS[name](map(self.value, node["items"]))
            case "dict":
                return {self.value(key): self.value(item) for key, item in node["items"]}
            case "range":
                found = range(*map(_integer, node["items"]))
                self._require_size("the length of a range", len(found))
                return found
            case "slice":
                return slice(*(None if item is None else _integer(item) for item in node["items"]))
            case "float":
                return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["value"]]
            case "dtype":
                return _plain(np.dtype(str(node["name"])))
            case "array":
                return self._array(node["array"])
            case "scalar":
                return self._array(node["array"])[()]
            case "objects":
                values = np.empty(len(node["items"]), dtype=object)
                values[:] = [self.value(item) for item in node["items"]]
                return values.reshape([_integer(n) for n in node["shape"]])
            case "csr":
                parts = tuple(self._array(part) for part in node["parts"])
                self._require_size("the shape of a sparse matrix", *node["shape"])
                matrix = sparse.csr_array(parts, shape=tuple(node["shape"]))
                matrix.check_format(full_check=True)
                return matrix
            case "enum":
                kind = _class(node["class"])
                if not issubclass(kind, Enum):
                    raise FileError(f"{node['class']} is not an enumeration")
                return kind[node["name"]]
            case "function":
                return FUNCTIONS[node["name"]]
            case "generator":
                bits = np.random.PCG64()
                bits.state = self.value(node["state"])
                return np.random.Generator(bits)
            case "transformer":
                return self._transformer(node)
            case "frozen":
                return FrozenEstimator(self.value(node["model"]))
            case "record":
                if names := REPLACED.get(str(node["class"]).partition(":")[2]):
                    parts = tuple(self.value(node["fields"][name]) for name in names)
                    return parts if len(parts) > 1 else parts[0]
                return self._record(node)
            case other:
                raise FileError(f"unknown kind of value {other!r}")

    def _transformer(self, node: Any) -> Any:
        """Rebuild a scikit-learn transformer for the same number of columns; the number of functions is limited."""
        from sklearn import preprocessing

        if node["class"] not in TRANSFORMERS:
            raise FileError(f"{node['class']} is not a transformer of a basis")
        arguments = {name: self.value(item) for name, item in node["arguments"].items()}
        columns, knots, degree = node["columns"], arguments.get("n_knots", 0), arguments.get("degree", 0)
        example = arguments.get("knots")
        if isinstance(example, np.ndarray) and example.ndim == 2 and example.shape[1] == columns:
            knots = len(example)
        else:
            example = None
        highest = max(degree) if isinstance(degree, tuple) else degree
        possible = min(map(_integer, (columns, knots, highest))) >= 0 and highest <= MAX_DEGREE
        most = max(MIN_FUNCTIONS, self._weights)
        possible = possible and columns <= most and knots + highest <= MAX_SPLINES + 1
        outputs = possible and (columns * (knots + highest) if knots else math.comb(columns + highest, highest))
        if not possible or outputs > most:
            raise FileError(f"a basis of {columns} columns, {knots} knots and degree {highest} is not possible")
        transformer = getattr(preprocessing, node["class"])(**arguments)
        return transformer.fit(np.zeros((1, columns)) if example is None else example)

    def _record(self, node: Any) -> Any:  # noqa: PLR0912  (one branch for each check)
        """Rebuild an object of this package without calling any of its methods."""
        kind: Any = _class(node["class"])
        if issubclass(kind, Enum):
            raise FileError(f"{node['class']} is an enumeration, not a record")
        defaults, is_record = _parameters(kind), issubclass(kind, tuple) or dataclasses.is_dataclass(kind)
        fields, outer = dict(defaults), self._sizes
        if issubclass(kind, BaseEstimator):
            self._sizes = {}
        given = _with_posterior(node["fields"])
        for name, item in given.items():
            # Fitted attributes of an estimator have an underscore at the beginning or end of their name.
            if name in defaults or (not is_record and "_" in (name[:1], name[-1:])):
                fields[name] = value = self.value(item)
                if is_record:
                    _check_type(kind, name, value)
                if name in SIZES and value is not None:
                    size = int(value) if isinstance(value, np.integer) else _integer(value)
                    self._hashed += size if name == "n_columns" else 0
                    self._require_size(name, size, self._hashed)
            elif not self.newer:
                raise FileError(f"{kind.__qualname__} has no field or argument {name!r}")
        self._omitted += len(fields) - len(given)
        if self._omitted > MAX_OMITTED_FIELDS:
            raise FileError(f"more than {MAX_OMITTED_FIELDS} fields are missing")
        missing = [name for name, item in fields.items() if item is inspect.Parameter.empty]
        if missing:
            raise FileError(f"{kind.__qualname__} lacks its field or argument {missing[0]!r}")
        check_shapes(kind, fields, self._sizes)
        if "widths" in fields:  # each centre has a function of every width
            self._require_size("the number of basis functions", np.size(fields["centres"]) * np.size(fields["widths"]))
        if issubclass(kind, BaseEstimator):
            check_sizes(self._sizes, fields)
            K = self._sizes.get("K", 0)
            if "posterior_" in fields and max(MIN_PAIRS, PAIRS_PER_NUMBER * self._weights) < K * K:
                raise FileError(
                    f"{kind.__qualname__} has {K} classes, too many for {self._weights} numbers in the file"
                )
            self._sizes = outer
        if issubclass(kind, tuple):
            return tuple.__new__(kind, fields.values())
        made = object.__new__(kind)
        for name, item in fields.items():
            found = None if is_record else inspect.getattr_static(kind, name, None)
            if name.startswith("__") or inspect.isroutine(found) or inspect.isdatadescriptor(found):
                raise FileError(f"{name!r} is a method or property of {kind.__qualname__}, which a file cannot replace")
            object.__setattr__(made, name, item)
        return made

    def _require_size(self, what: str, *sizes: Any) -> None:
        if max(map(_integer, sizes)) > max(MIN_FEATURES, self._weights):
            raise FileError(f"{what} is {max(sizes)}, but the arrays of the file have at most {self._weights} numbers")

    def _array(self, number: Any) -> Array:
        """Read an array after checking that its header matches its size; each array may be used only once."""
        if _integer(number) in self._used:
            raise FileError(f"array {number} is used twice")
        self._used.add(number)
        data = self.members[f"arrays/{number}.npy"]
        stream = io.BytesIO(data[:MAX_HEADER_BYTES])
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise FileError(f"array {number} has the unsupported version {version}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
        if not _plain(dtype).itemsize or math.prod(shape) * dtype.itemsize != len(data) - start:
            raise FileError(f"array {number} has {len(data) - start} bytes, which do not match {dtype} {shape}")
        if 0 in shape:
            self._require_size("the length of an empty array", *shape)
        return np.frombuffer(data, dtype=dtype, offset=start).reshape(shape, order="F" if fortran else "C")


def _with_posterior(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a Bayesian model; up to format 3, some fields of its posterior were fields of the model."""
    old = {name: fields[name] for name in ("draws_", "_rule", "_variance_factor") if name in fields}
    if not old:
        return fields
    factor = 0.0 if old.get("_rule") == "map" else old.get("_variance_factor", 1.0)
    posterior = fields["posterior_"]
    inner = posterior["fields"] | {"draws": old.get("draws_"), "variance_factor": factor}
    kept = {name: item for name, item in fields.items() if name not in old}
    return kept | {"posterior_": posterior | {"fields": inner}}


def _parameters(kind: Any) -> dict[str, Any]:
    """Fields of a record or arguments of an estimator, with their defaults; `inspect.Parameter.empty` if required."""
    if not dataclasses.is_dataclass(kind):
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(kind).parameters.values()
        return {each.name: each.default for each in parameters if each.kind not in variadic}
    defaults: dict[str, Any] = {}
    for each in dataclasses.fields(kind):
        default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
        defaults[each.name] = inspect.Parameter.empty if default is dataclasses.MISSING else default
    return defaults


@cache
def _types(kind: type) -> dict[str, str]:
    """Annotations of the fields of a record, as text."""
    return {name: str(getattr(each, "__forward_arg__", each)) for name, each in inspect.get_annotations(kind).items()}


def _check_type(kind: type, name: str, value: Any) -> None:
    """Raise if a field of a record has an annotation in `PLAIN_TYPES`, or is a tuple of such, and another value."""
    annotation = next((found for each in kind.__mro__ if (found := _types(each).get(name))), "")
    is_optional, annotation = annotation.endswith(" | None"), annotation.removesuffix(" | None")
    values = [value]
    if annotation.startswith("tuple[") and annotation.endswith(", ...]") and isinstance(value, tuple):
        annotation, values = annotation[6:-6], list(value)
    types = PLAIN_TYPES.get(annotation)
    if types is None or (is_optional and value is None):
        return
    for each in values:
        if not isinstance(each, types) or (isinstance(each, bool) and bool not in types):
            raise FileError(f"{name} of {kind.__qualname__} is {str(each)[:40]!r}, and should be {annotation}")


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise FileError(f"the tree has {value!r} instead of an integer")
    return value


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in PLAIN_KINDS:
        raise FileError(f"{dtype} is neither a numeric type nor text")
    return dtype


def _class(name: Any) -> type:
    """Find an estimator or record of this package by folder and name.

    Files of formats 1 and 2 contain the module of the class, of which only the folder is used.
    """
    module, _, qualname = str(name).partition(":")
    package, _, inner = module.partition(".")
    folder = inner.partition(".")[0]
    if package != PACKAGE or folder not in (*FOLDERS, *MOVED):
        raise FileError(f"{name} is not a class that a model of this package may contain")
    for part in MOVED.get(folder, (folder,)):
        found = _records(part).get(RENAMED.get(qualname, qualname))
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
            if not isinstance(each, type) or each.__module__ != module.__name__:
                continue
            is_named_tuple = issubclass(each, tuple) and "_field_defaults" in dir(each)
            if is_named_tuple or dataclasses.is_dataclass(each) or issubclass(each, BaseEstimator | Enum):
                found[each.__qualname__] = each
    return found


def check_shapes(kind: type, fields: Mapping[str, Any], sizes: dict[str, int]) -> None:
    """Raise if the arrays of a record or estimator do not match; ``sizes`` of the model, by letter, are added to."""
    is_family, small = kind.__module__.startswith(f"{PACKAGE}.families."), dict[str, int]()
    for name, value in fields.items():
        axes = SHAPES.get(f"{kind.__qualname__}.{name}", SHAPES.get(name, ""))
        if is_family:
            axes = FAMILY_SHAPES.get(name, DEFAULT_FAMILY_SHAPE)
        is_argument = issubclass(kind, BaseEstimator) and "_" not in (name[0], name[-1])  # not used for predictions
        if is_argument or not axes or value is None:
            continue
        arrays = [value] if isinstance(value, np.ndarray) else []
        if type(value) in (list, tuple, range) and not is_family:
            has_arrays = any(isinstance(each, np.ndarray) for each in value)
            arrays = [np.asarray(each) for each in (value if has_arrays else [value])]
            arrays = [array for array in arrays if array.dtype.kind != "O"]  # not a tuple of records
        parts = axes.strip("#~?").split(",")
        if len(parts) not in (1, len(arrays)):
            raise FileError(f"{name} of {kind.__qualname__} has {len(arrays)} parts instead of {len(parts)}")
        for i, array in enumerate(arrays):
            _check_array(f"{name} of {kind.__qualname__}", array, axes[0], parts[i % len(parts)], (sizes, small))
    if not issubclass(kind, BaseEstimator):
        _check_parts(kind, fields)


def _check_parts(kind: type, fields: Mapping[str, Any]) -> None:
    """Raise unless the factors of a posterior have the size of its mean, and densities that of their columns."""
    shape = np.shape(fields.get("mean", ()))
    for name, size in (("factor", math.prod(shape)), ("factors", shape[-1] if shape else 0)):
        factors = fields.get(name)
        for factor in factors if isinstance(factors, tuple) else (factors,):
            if hasattr(factor, "L") and np.shape(factor.L) != (size, size):
                raise FileError(f"{name} of {kind.__qualname__} does not match its mean, which has shape {shape}")
    if kind.__qualname__ == "NormalApproximation" and len(fields["covariance"]) != math.prod(shape):
        raise FileError(f"covariance of NormalApproximation does not match its mean, which has shape {shape}")
    densities = fields.get("densities", fields.get("parts", ()))
    for group, density in zip(fields.get("groups") or (), densities, strict=False):
        arrays = [each for each in getattr(density, "__dict__", {}).values() if isinstance(each, np.ndarray)]
        if any(each.ndim > 1 and each.shape[1] != len(group.columns) for each in arrays):
            raise FileError(f"{type(density).__qualname__} does not match its {len(group.columns)} columns")


def _check_array(what: str, array: Array, mark: str, axes: str, sizes: tuple[dict[str, int], dict[str, int]]) -> None:
    letters = next((each for each in axes.split("|") if len(each) == array.ndim), "")
    if array.ndim and not letters:
        raise FileError(f"{what} has {array.ndim} axes")
    for letter, size in zip(letters, array.shape, strict=True):
        known = sizes[letter.islower()].setdefault(letter, size)
        if known != size:
            raise FileError(f"{what} has shape {array.shape}: {size} should be {known}")
    if mark not in "#?":
        is_narrow = array.dtype.itemsize < 4 and array.size > MAX_NARROW
        if array.dtype.kind not in "fiub" or is_narrow:
            raise FileError(f"{what} has the type {array.dtype}")
        if np.isnan(array).any() or (mark != "~" and not np.isfinite(array).all()):
            raise FileError(f"{what} is not finite")


def check_sizes(sizes: Mapping[str, int], fields: Mapping[str, Any]) -> None:
    """Raise if the sizes of an estimator do not match each other."""
    D, M, K, C, P = (sizes.get(letter) for letter in "DMKCP")
    columns, labels = fields.get("n_features_in_", D), fields.get("classes_")
    if K is not None and labels is not None and len(np.unique(labels)) < K:
        raise FileError("two classes have the same label")
    for what, size, possible in (
        ("columns", D, (columns,)),
        ("weights", M, (columns if fields.get("basis_") is None else M,)),
        ("outputs", C, (1 if K == 2 else K,)),
        ("weights per output", P, (M, None if M is None else M + 1)),
    ):
        if size is not None and possible[0] is not None and size not in possible:
            raise FileError(f"the number of {what} is {size}, and {possible[0]} is expected")
