# SPDX-License-Identifier: BSD-3-Clause
"""Shapes of the arrays in a model file, which are checked before a loaded model is used.

Arrays that do not belong together could take any amount of memory: the sum of a column (n, 1) and a row (1, n) is an
(n, n) matrix. `SHAPES` therefore lists a letter for each axis of an array. Axes with the same capital letter have the
same size in the whole model: D columns, M basis functions, K classes, C outputs (one for two classes), P weights per
output. Axes with the same small letter have the same size in one record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix._array import Array
from separatrix.exceptions import PACKAGE, FileError

_TABLE = """
classes_ #K; feature_names_in_ #D; coef_ CM; intercept_ C; priors_ K; class_count_ K; means_ KM; mean_ M; shrinkage_ K
class_weight_ K; GeneralizedLinearModel.coef_ M; covariance_ ?PP; _unscaled ?PP; standard_errors_ ?P; _linear KM,K,M
_fourth K; _contrasts M,KMM,KM,K; scalings_ Mr; ratio_ r; noise_ K; confusion_ KK; mislabelled_ n; centre_ f; spread_ f
value CP; grad ?CP; coef kM; intercept k; W kM; w0 ~k; V Mr; ratio r; confusion kk
theta skm|km|k; weights s; mean km|m; precision km|M; basis Mr; axes kk; L qq; scale q; covariance mm
ArrowApproximation.levels #l; ArrowApproximation.others #d; ArrowApproximation.diagonal l
ArrowApproximation.border ld; ArrowApproximation.root dd
origin M; spread M; column_factors M; AveragedApproximation.widening s; factors j; gradient ?j; eta ?j
count K; ClassMoments.mean KM; NormalClasses.mean KM; widening k; freedom ~k; matrix MM; matrices KMM; squares KM
rows rM; owner #r; F rM; ridge M; root rM; used #u; SingularCovariance.units u
centres nD; widths j; frequencies Dn; phases n; offset D; column #n; centre n; width n; knots nD
bent #n; low n; high n; straight #j; first #f; stop #f; RampProducts.mean f; left #q; right #q
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
    if issubclass(kind, BaseEstimator):
        return
    # The factors of a posterior have the size of its mean, and densities that of their columns.
    shape = np.shape(fields.get("mean", ()))
    for name, size in (("factor", math.prod(shape)), ("factors", shape[-1] if shape else 0)):
        factors = fields.get(name)
        for factor in factors if isinstance(factors, tuple) else (factors,):
            if hasattr(factor, "L") and np.shape(factor.L) != (size, size):
                raise FileError(f"{name} of {kind.__qualname__} does not match its mean, which has shape {shape}")
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
