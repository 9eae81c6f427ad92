# SPDX-License-Identifier: BSD-3-Clause
"""Encode labels of any type, in memory, as class codes 0 .. K-1; check labels and weights against the rows."""

from __future__ import annotations

from collections.abc import Set
from numbers import Number
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix._array import Array, Codes, Float, to_host
from separatrix._text import counted
from separatrix.exceptions import DataError
from separatrix.rows.block import Targets

NOT_NUMBERS = (TypeError, ValueError, OverflowError)  # errors of `to_numbers`
UNLABELLED = -1  # the code of a row without a label
# Beyond these limits, a prior or a row no longer changes a digit of any result, but products of weights overflow.
MAX_WEIGHT = 1e30  # all weights are scaled so that the largest is at most this, and at least its inverse
NEGLIGIBLE_WEIGHT = 1e-60  # relative to the largest weight; smaller weights count as 0
LABEL_KINDS = {"b": "booleans", "U": "text", "S": "bytes", "M": "dates", "m": "durations"} | dict.fromkeys(
    "iuf", "numbers"
)
SINGLE_TYPES = (str, bytes, Number, NoneType, np.number, np.bool_)  # labels of these types need no check of each row
FIRST_LABELS = 2_000  # rows whose labels are first taken as all classes; the other rows are then checked


class LabelRules(NamedTuple):
    """Labels that a model accepts.

    ``unlabelled`` marks rows without a label (see `encode_labels`). With ``soft``, y may have a column of
    probabilities for each class. ``known`` lists the allowed classes; None allows any. ``least`` is the smallest
    allowed number of classes.
    """

    unlabelled: Any = "error"
    soft: bool = False
    known: Array | None = None
    least: int = 2


class Labelled(NamedTuple):
    """Encoded labels: targets for each partition of a source, the sorted classes, and the kind of labels."""

    targets: tuple[Any, ...]
    classes: Array
    n_unlabelled: int = 0
    is_soft: bool = False


def pair(y: Any, sample_weight: Any, n_rows: int, rules: LabelRules) -> Labelled:
    """Encode labels and weights in memory as the targets of one partition.

    Targets are class codes (N,), with -1 for rows without a label, or class probabilities: (N, K), or (N,) if K = 2.
    Raises DataError if y or the weights do not have ``n_rows`` values, or all weights are zero.
    """
    t: Array
    if rules.soft and is_shares(y):
        classes, t = encode_shares(y)
        if ((t == 0) | (t == 1)).all():  # probabilities 0 and 1 are labels
            t = t.argmax(axis=1)
    else:
        classes, t = encode_labels(y, unlabelled=rules.unlabelled)
    if rules.known is not None:
        classes, t = recode_classes(rules.known, classes, t)
    if t.ndim == 2 and len(classes) == 2:
        t = t[:, 1]
    if len(t) != n_rows:
        raise DataError(
            f"X has {counted(n_rows, 'row')} but y has {counted(len(t), 'label')}. Give one label for each row."
        )
    if len(classes) < 2:
        require_classes(classes, rules.least)
    is_soft = t.dtype.kind == "f"
    weight = None if sample_weight is None else check_weight(sample_weight, n_rows)
    if weight is not None:
        require_weight(weight)
    every_row = isinstance(rules.unlabelled, str) and rules.unlabelled == "error"
    return Labelled((Targets(t, weight),), classes, 0 if every_row else int(np.count_nonzero(t < 0)), is_soft)


def encode_labels(y: Any, *, unlabelled: Any = "error") -> tuple[Array, Codes]:
    """Return the sorted classes and, for each row, the position of its label among them.

    ``unlabelled`` determines which rows have no label (code -1): with "missing", rows with None or NaN; with another
    value, rows with that value; with "error", every row must have a label.
    Raises DataError if a label is missing, ValueError if ``y`` is real-valued (scikit-learn's own message).
    """
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    if isinstance(y, str):
        raise DataError(
            f"y is the text {y!r}. Pass the labels: fit(X.drop(columns={y!r}), X[{y!r}]), or for a file "
            f"fit(sx.scan(path, target={y!r})). Only TableClassifier accepts the name of a column."
        )
    labels = y if type(y) is np.ndarray else label_array(y)
    if isinstance(y, list | tuple) and labels.dtype.kind in "US" and not all(isinstance(v, str) for v in y):
        labels = np.array(y, dtype=object)  # NumPy would turn NaN among strings into the word "nan"
    if labels.ndim != 1 or labels.dtype.kind == "c":  # only if needed: the check takes a tenth of a small fit
        if is_shares(labels):
            raise _not_labels(labels)
        labels = np.asarray(column_or_1d(labels, warn=True))
    if labels.dtype.kind in "OV" and labels.size:
        labels = _plain_objects(labels)
    every_row = isinstance(unlabelled, str) and unlabelled == "error"
    if not every_row and (without := is_unlabelled(labels, unlabelled)).any():
        if without.all():
            raise DataError(f"None of {len(labels)} rows has a label (unlabelled={unlabelled!r}).")
        codes = np.full(len(labels), UNLABELLED, dtype=np.intp)
        classes, codes[~without] = encode_labels(labels[~without])
        return classes, codes
    if labels.dtype.kind in "OfM" and (missing := is_unlabelled(labels, "missing")).any():
        raise DataError(
            f"{int(missing.sum())} of {len(labels)} labels are missing (NaN, None or infinite), the first in row "
            f"{missing.argmax() + 1} (counted from 1). Drop those rows, or give them a label."
        )
    try:
        classes, codes = _distinct(labels)
    except TypeError as error:
        kinds = sorted({type(v).__name__ for v in labels.tolist()})
        raise DataError(
            f"Labels of different types cannot be sorted: {', '.join(kinds)}. Convert them all to one type."
        ) from error
    if classes.dtype.kind == "f" and (broken := classes[classes % 1 != 0]).size:
        check_classification_targets(np.tile(broken, 3))  # raises scikit-learn's own error
    return classes, codes


def label_array(y: Any) -> Array:
    """Labels as an array; masked labels become None. Raises DataError if rows have different lengths."""
    if np.ma.isMaskedArray(y):
        labels = np.asarray(y.data)
        if np.ma.is_masked(y):
            labels = labels.astype(object)
            labels[np.ma.getmaskarray(y)] = None
        return labels
    try:
        return np.asarray(to_host(y))
    except ValueError as error:  # NumPy's message names a shape only
        raise DataError("y has rows of different lengths. Give one label for each row.") from error


def given_classes(classes: Any) -> Array:
    """Sorted classes that a user gives before all of them have rows."""
    labels = label_array(classes)
    if labels.ndim != 1 or not labels.size:
        raise DataError(f"classes={classes!r}: pass a list with the label of each class.")
    return encode_labels(labels)[0]


def _plain_objects(labels: Array) -> Array:
    """Labels that are Python objects; raise unless each is a single value. Text becomes an array of text.

    Strings sort and compare ten times faster than objects.
    """
    if labels.dtype.kind == "O" and all(isinstance(v, str) for v in labels):
        return labels.astype(str)
    if labels.dtype.kind == "O" and all(issubclass(kind, SINGLE_TYPES) for kind in set(map(type, labels))):
        return labels
    for n, label in enumerate(labels):
        if not is_hashable(label) or isinstance(label, Set) or labels.dtype.kind == "V":
            raise DataError(
                f"The label of row {n + 1} (counted from 1) is {label!r}, of type {type(label).__name__}. Labels must "
                "be single values, such as numbers or text."
            )
    return labels


def is_single(label: Any) -> bool:
    """Whether a label is one value, not a list, array, tuple or mapping."""
    return is_hashable(label) and not np.ndim(label)


def is_hashable(value: Any) -> bool:
    """Whether a value has a hash; a tuple that contains a list is a `Hashable` without one."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_class(label: Any, classes: Array) -> bool:
    """Whether a label is one of the classes. Hashes are compared first, because NA == NA is neither True nor False."""
    return is_hashable(label) and label in set(classes.tolist())


def label_kind(labels: Array) -> str:
    """The kind of labels, for messages: numbers, text, ..., or objects."""
    return LABEL_KINDS.get(labels.dtype.kind, "objects")


def accuracy(y: Any, predicted: Array, sample_weight: Any) -> float:
    """Weighted fraction of rows whose prediction equals the label in y."""
    given = label_array(y)
    classes, codes = encode_labels(given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else y)
    if len(codes) != len(predicted):
        raise DataError(
            f"X has {counted(len(predicted), 'row')} but y has {counted(len(codes), 'label')}. Give one label for each "
            "row."
        )
    kinds = label_kind(classes), label_kind(predicted)
    if "text" in kinds and not {"text", "objects"} >= set(kinds):
        raise DataError(
            f"The labels in y are {kinds[0]} ({classes[:3].tolist()}...), but the model predicts {kinds[1]} "
            f"({predicted[:3].tolist()}...). Pass labels of the type that the model was fitted to."
        )
    if not len(codes):
        raise DataError("score needs at least one row, but X and y have none.")
    weight = check_weight(sample_weight, len(codes))
    require_weight(weight)
    return float(np.average(classes[codes] == predicted, weights=weight))


def _distinct(labels: Array) -> tuple[Array, Codes]:
    """``np.unique(labels, return_inverse=True)``, but sorting all labels takes as long as the rest of a fast fit."""
    pair = np.sort(labels[[0, (labels != labels[:1]).argmax()]] if len(labels) else labels)
    is_second = labels == pair[-1:]
    if (is_second != (labels == pair[:1])).all():
        return pair, is_second.astype(np.intp)
    classes = np.unique(labels[:FIRST_LABELS])
    codes = np.minimum(classes.searchsorted(labels), len(classes) - 1)
    return (classes, codes) if (classes[codes] == labels).all() else np.unique(labels, return_inverse=True)


def is_unlabelled(labels: Array, unlabelled: Any) -> Array:
    """Mask of the rows without a label; "missing" means None, NaN, NA, NaT and infinity."""
    if not (isinstance(unlabelled, str) and unlabelled in ("error", "missing")):
        if not is_single(unlabelled):
            raise ValueError(
                f"unlabelled={unlabelled!r}: use 'error', 'missing', or the value that marks rows without a label."
            )
        if unlabelled is not None and is_missing(unlabelled):
            return is_unlabelled(labels, "missing")
        if labels.dtype.kind == "O":  # == may return NA, or an array
            return np.fromiter((is_hashable(v) and v in {unlabelled} for v in labels), bool, len(labels))
        try:
            found = np.asarray(labels == unlabelled, dtype=bool)
        except OverflowError:  # an integer that the type of the labels cannot hold
            found = np.asarray(False)
        return np.broadcast_to(found, labels.shape)
    if unlabelled == "error":
        return np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        return np.fromiter(map(is_missing, labels), bool, len(labels))
    return ~np.isfinite(labels) if labels.dtype.kind in "fM" else np.zeros(len(labels), dtype=bool)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NA or NaT; for NA and for arrays, ``value != value`` is not True or False."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return getattr(value, "ndim", 0) == 0 and bool(value != value)  # noqa: PLR0124


def is_shares(y: Any) -> bool:
    """Whether y has several columns: soft targets, the probability of each class."""
    if isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        return len(y[0]) > 1 and all(np.shape(row) == np.shape(y[0]) for row in y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def _not_labels(Y: Array) -> DataError:
    """Error for y with several columns, which are neither labels nor class probabilities."""
    if Y.dtype.kind in "biuf" and ((Y == 0) | (Y == 1)).all():
        n_labels = Y.sum(axis=1).astype(int)
        for row in np.flatnonzero(n_labels != 1)[:1]:
            return DataError(
                f"y has {counted(Y.shape[1], 'column')} of 0 and 1, and row {row + 1} (counted from 1) has "
                f"{n_labels[row]} ones: "
                "each column is a label of its own (multilabel). This model predicts one class for each row; "
                "sklearn.multioutput.MultiOutputClassifier(model) fits one model to each column."
            )
    return DataError(
        f"y should be a 1d array, got an array of shape {Y.shape} instead. Give one label for each row. Probabilities "
        "of the classes are accepted by LogisticRegression and BayesianLogisticRegression."
    )


def encode_shares(y: Any) -> tuple[Array, Float]:
    """Check soft targets; return the classes and the probabilities (N, K), which sum to 1 in each row.

    The classes are the column names of a data frame, or 0 .. K-1 for an array.
    Raises DataError if a row is not a probability distribution.
    """
    names = getattr(y, "column_names", getattr(y, "columns", None))  # "columns" of an Arrow table are its values
    T = np.asarray(to_host(y))
    try:
        T = to_numbers(T)
    except NOT_NUMBERS:
        raise _not_labels(T) from None
    classes = np.arange(T.shape[1]) if names is None else np.asarray(names)
    try:
        np.sort(classes)
    except TypeError:
        kinds = sorted({type(name).__name__ for name in classes.tolist()})
        raise DataError(
            f"The columns of y have names of different types: {', '.join(kinds)}. They are the classes: give them all "
            "one type."
        ) from None
    with np.errstate(over="ignore"):
        total = T.sum(axis=1)
    if ((T == 0) | (T == 1)).all() and (total != 1).any():
        raise _not_labels(T)
    wrong = np.flatnonzero(~((T >= 0) & (T <= 1)).all(axis=1))
    if len(wrong):
        values = ", ".join(f"{value:.4g}" for value in T[wrong[0]][:6]) + (", ..." if T.shape[1] > 6 else "")
        raise DataError(
            f"Row {wrong[0] + 1} of y (counted from 1) is ({values}): soft targets are probabilities and must lie in "
            f"[0, 1] ({len(wrong)} of {len(T)} rows do not). Give one column for each class, or a list of labels."
        )
    wrong = np.flatnonzero(np.abs(total - 1) > 1e-6)
    if len(wrong):
        raise DataError(
            f"Row {wrong[0] + 1} of y (counted from 1) sums to {total[wrong[0]]:.6g}: the probabilities of a row must "
            f"sum to 1 ({len(wrong)} of {len(T)} rows do not). Divide each row by its sum."
        )
    return classes, T / total[:, None]


def recode_classes(known: Array, classes: Array, codes: Array) -> tuple[Array, Array]:
    """Recode class codes, or columns of probabilities, from ``classes`` to the ``known`` classes."""
    require_known(classes, known)
    order = np.argsort(known)
    place = order[np.searchsorted(known, classes, sorter=order)]
    if codes.ndim == 1:
        return known, np.append(place, UNLABELLED)[codes]  # code -1 selects the appended -1
    shares = np.zeros((len(codes), len(known)))
    shares[:, place] = codes
    return known, shares


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; the check does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def require_known(classes: Array, known: Array) -> None:
    """Raise if a class is not one of the known classes."""
    unknown = classes[~np.isin(classes, known)]
    if len(unknown):
        raise DataError(
            f"Label {unknown.tolist()[0]!r} is not one of the classes: {', '.join(map(repr, known[:8].tolist()))}. "
            "Name all classes at the first call: partial_fit(X, y, classes=...)."
        )


def to_numbers(values: Any) -> Float:
    """Convert an array of any library to float64; raise one of `NOT_NUMBERS` for dates, complex numbers and text."""
    given = np.asarray(to_host(values))
    if given.dtype.kind in "cmMV":
        raise TypeError(f"it has the type {given.dtype}")
    with np.errstate(over="ignore"):  # callers check for infinity
        return given.astype(np.float64, copy=False)


def check_weight(sample_weight: Any, n_rows: int) -> Float | None:
    """Check weights; return them as float64, scaled if they are huge or tiny, or None if all are 1."""
    if sample_weight is None:
        return None
    if np.ma.isMaskedArray(sample_weight) and np.ma.is_masked(sample_weight):
        raise DataError(
            f"sample_weight has {int(np.ma.getmaskarray(sample_weight).sum())} masked values. Use 0 to leave a row out."
        )
    try:
        weight = to_numbers(sample_weight)
    except NOT_NUMBERS as error:
        raise DataError(f"sample_weight is not numeric ({error}). Pass one weight for each row of X.") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}.")
    if len(weight) != n_rows:
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one weight for each row of X.")
    if not np.isfinite(weight).all():
        raise DataError(f"sample_weight contains NaN or infinity ({int((~np.isfinite(weight)).sum())} of {n_rows}).")
    if (weight < 0).any():
        worst = int(weight.argmin())
        raise DataError(
            f"sample_weight[{worst}] is {weight[worst]:g}; weights must not be negative. Use 0 to leave a row out."
        )
    if (weight == 1.0).all():
        return None
    largest = float(weight.max(initial=0.0))
    weight = np.where(weight < NEGLIGIBLE_WEIGHT * largest, 0.0, weight)
    if 1 / MAX_WEIGHT <= largest <= MAX_WEIGHT or largest == 0:
        return weight
    return np.asarray(weight / largest * (MAX_WEIGHT if largest > 1 else 1 / MAX_WEIGHT))


def require_classes(classes: Array, least: int = 2, where: str = "") -> None:
    """Raise if there are fewer than ``least`` classes; ``where`` names the column in the message."""
    if len(classes) == 0:
        raise DataError("y has no labels (0 rows). Give rows of at least two classes.")
    if len(classes) < least:
        raise DataError(
            f"Classifier can't train when only one class is present: every label{where} is {classes.tolist()[0]!r}. "
            "Give rows of at least two classes."
        )


def require_weight(weight: Float | None) -> None:
    """Raise if all weights are zero. A class without weight stays a class, as in scikit-learn."""
    if weight is not None and not weight.any():
        raise DataError(
            "Every sample_weight is zero, or the class_weight of its row; give at least one row of each class a "
            "positive weight."
        )
