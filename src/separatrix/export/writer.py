# SPDX-License-Identifier: BSD-3-Clause
"""Convert a model to a tree of JSON values, with its arrays in separate members of the archive.

Values that JSON does not have are nodes with a key ``"is"``: tuples, sets, mappings, numbered arrays, and *records*. A
record is an object of this package with its class (``separatrix.<folder>:<Class>``) and its fields. The saved state of
an object is the state that it would pickle, so the training rows, to which some models refer, are not saved.
"""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Callable, Mapping
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from separatrix._array import Array, is_sparse
from separatrix.exceptions import PACKAGE, FileError
from separatrix.likelihoods import cloglog, log_odds, normal_quantile
from separatrix.meta import is_ours

#: Functions that can be part of a model. A file can name only these.
FUNCTIONS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (log_odds, normal_quantile, cloglog)}
#: scikit-learn transformers inside bases. Their arguments are saved, and `load` fits them to as many columns again.
TRANSFORMERS = ("PolynomialFeatures", "SplineTransformer")
MAX_SPLINES = 1500  # per column; the memory of a SplineTransformer grows with their square


class Writer:
    """Builds a tree; ``arrays`` contains the bytes of .npy files."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []

    def node(self, value: Any, where: str) -> Any:  # noqa: PLR0911, PLR0912  (one case for each kind)
        """Node of a value; ``where`` is the path of the value in the model, for error messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if isinstance(value, Enum):
            return {"is": "enum", "class": _name(type(value), where), "name": value.name}
        if isinstance(value, np.generic):
            return {"is": "scalar", "array": self._array(np.asarray(value))}
        if isinstance(value, np.ndarray):
            if value.dtype.kind != "O":
                return {"is": "array", "array": self._array(value)}
            items = [self.node(item, where) for item in value.ravel().tolist()]  # names and labels
            return {"is": "objects", "items": items, "shape": list(value.shape)}
        if is_sparse(value):
            csr = value.tocsr()
            parts = [self._array(part) for part in (csr.data, csr.indices, csr.indptr)]
            return {"is": "csr", "parts": parts, "shape": list(csr.shape)}
        if isinstance(value, range | slice):
            return {"is": type(value).__name__, "items": [value.start, value.stop, value.step]}
        if isinstance(value, Mapping):
            pairs = [[self.node(k, where), self.node(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"is": "dict", "items": pairs}
        if type(value) in (list, tuple, set, frozenset):
            items = [self.node(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"is": type(value).__name__, "items": items}
        if isinstance(value, np.dtype):
            return {"is": "dtype", "name": value.str}
        if isinstance(value, np.random.Generator):
            return {"is": "generator", "state": self.node(value.bit_generator.state, where)}
        if isinstance(value, FunctionType) and FUNCTIONS.get(value.__name__) is value:
            return {"is": "function", "name": value.__name__}
        if type(value).__name__ in TRANSFORMERS and type(value).__module__.startswith("sklearn.preprocessing."):
            arguments, columns = self._items(value.get_params(deep=False), where), value.n_features_in_
            if getattr(value, "n_features_out_", 0) > MAX_SPLINES * columns:
                raise FileError(f"save: {where} has more than {MAX_SPLINES} splines per column. Fit with fewer knots.")
            return {"is": "transformer", "class": type(value).__name__, "arguments": arguments, "columns": columns}
        if isinstance(value, FrozenEstimator):
            return {"is": "frozen", "model": self.node(value.estimator, f"{where}.estimator")}
        if isinstance(value, tuple):  # a named tuple
            fields = value._asdict()  # type: ignore[attr-defined]
        elif dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        else:
            state = value.__getstate__() if isinstance(value, BaseEstimator) else vars(value)
            fields = {name: item for name, item in state.items() if name != "_sklearn_version"}
        return {"is": "record", "class": _name(type(value), where), "fields": self._items(fields, where)}

    def _items(self, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
        return {name: self.node(value, f"{where}.{name}") for name, value in fields.items()}

    def _array(self, value: Array) -> int:
        buffer = io.BytesIO()
        np.save(buffer, value, allow_pickle=False)
        self.arrays.append(buffer.getvalue())
        return len(self.arrays) - 1


def _name(kind: type, where: str) -> str:
    """Folder and name of a class of this package. The module is omitted, so the class may move within its folder."""
    if not is_ours(kind) or "<" in kind.__qualname__:
        raise FileError(
            f"save: {where} is a {kind.__module__}.{kind.__qualname__}, which is not part of this package. Saved files "
            "contain only objects of this package; save other parts of a pipeline separately."
        )
    folder = kind.__module__.split(".")[1]
    return f"{PACKAGE}.{folder}:{kind.__qualname__}"
