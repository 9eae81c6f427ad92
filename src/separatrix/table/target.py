# SPDX-License-Identifier: BSD-3-Clause
"""Encode the column to predict: find the sorted classes and the class code of each row that has a label.

Numbers may be labels or measurements. Whole numbers that repeat are treated as labels; other numbers are labels only if
the caller passes ``categorical=True``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from separatrix._array import Array, Codes
from separatrix._lazy import pa
from separatrix._text import counted, enumerated, option, type_setting
from separatrix.exceptions import DataError
from separatrix.table.kinds import Kind
from separatrix.table.values import as_text, read_values

MANY_CLASSES, ROWS_PER_CLASS = 20, 5  # more than 20 classes with fewer than 5 rows per class are an error
INVISIBLE = "\u200b\u2060\ufeff"  # characters of width zero

# Pairs of words for no and yes. Pairs are compared, because a word may mean yes in one language and no in another.
NO_YES_PAIRS = """
no yes, n y, false true, f t, negative positive, neg pos, - +, off on, down up, absent present, without with,
absence presence, inactive active, dislike like, disagree agree, 0 1, -1 1, -1 +1, 👎 👍, ❌ ✅, ✗ ✓,
nein ja, n j, falsch wahr, falsch richtig, negativ positiv, aus an, nee ja, onwaar waar, nei ja, nej ja, nej jo,
non oui, n o, faux vrai, negatif positif, no si, n s, falso verdadero, falso vero, f v, falso verdadeiro, nao sim,
negativo positivo, nu da, fals adevarat, jo po, ez bai, ei kylla, ei joo, ei jah, hayır evet, hayir evet, nem igen,
nie tak, n t, ne ano, nie ano, n a, ne da, n d, ne taip, ne ja, ne jes, net da, nyet da, ni tak,
нет да, н д, не да, не так, ні так, ложь истина, οχι ναι, oxi nai, ochi nai, לא כן, لا نعم, نه بله, خیر بله,
नहीं हाँ, nahi haan, না হ্যাঁ, いいえ はい, iie hai, 否 是, 不是 是, 不 是, 无 有, 無 有, 没有 有, 沒有 有, 错 对,
아니요 네, 아니요 예, 아니오 네, 아니오 예, aniyo ne, ไม่ใช่ ใช่, ไม่ ใช่, khong co, sai dung, tidak ya, hapana ndiyo,
hindi oo
"""
# Words that mean yes or no in all of these pairs, whatever the other label is, such as "negative" and "trace".
YES_WORDS = frozenset({"yes", "true", "positive"})
NO_WORDS = frozenset({"no", "none", "never", "false", "negative", "0"})
NEGATIONS = frozenset({"no", "not", "non", "without", "kein", "keine", "nicht", "ohne", "sans", "sin", "senza", "sem"})


@dataclass(frozen=True)
class Target:
    """Labels as codes: ``classes[codes]`` are the labels of the rows ``X[labelled]``.

    ``classes`` (K,) are booleans, integers or strings, and ``labelled`` (N,) is the mask of the rows that have a label.
    ``notes`` are warnings for the user, such as a large number of numeric classes.
    """

    classes: Array
    codes: Codes
    labelled: Array
    notes: tuple[str, ...] = ()

    @property
    def n_missing(self) -> int:
        return int((~self.labelled).sum())

    @property
    def labels(self) -> Array:
        return np.asarray(self.classes[self.codes])


def encode_target(column: Any, *, name: str = "the target", categorical: bool = False) -> Target:
    """Encode labels of any type: text, booleans, whole numbers, categories of any data frame library.

    Classes are sorted; categorical and enum columns keep their own order. None, NaN and blank text are missing.
    White space around a label is not part of it. Whole numbers are exact; beyond 64 bits, they become text.

    ``column`` is a Series of any data frame library, an array or a list, which messages call ``name``. With
    ``categorical``, all numbers are names of classes, such as ratings 1, 1.5, 2, ..., 5. If they are not all whole
    numbers, the classes are text, such as "1.5", because scikit-learn does not accept fractions as labels.

    Raises DataError if the labels are dates or all missing; without ``categorical``, it also raises if they are mostly
    distinct or fractions.

    Examples
    --------
    >>> import pandas as pd
    >>> target = encode_target(pd.Series(["low", "high", None, "low"], dtype=pd.CategoricalDtype(["low", "high"])))
    >>> target.classes.tolist(), target.codes.tolist(), target.n_missing
    (['low', 'high'], [0, 1, 0], 1)
    >>> encode_target([1.5, 2.0, 1.5], categorical=True).classes.tolist()
    ['1.5', '2']
    """
    if nw.dependencies.is_into_series(column):
        series = nw.from_native(column, series_only=True)
    else:
        series = np.array(column, dtype=object) if isinstance(column, list | tuple) else np.asarray(column)
        if series.ndim != 1:
            raise DataError(f"The target must be one column of labels; got an array of shape {series.shape}.")
    values = read_values(series)
    labelled = ~values.missing if values.kind is Kind.TEXT else np.isfinite(values.numbers)
    n_rows = int(labelled.sum())
    if not n_rows:
        raise DataError(f"Every label of {name!r} is missing ({counted(len(labelled), 'row')}). Choose another column.")
    if values.kind is Kind.TEXT:
        texts = list(map(_trimmed, values.texts))
        declared = {_trimmed(as_text(level)): _trimmed(level) for level in _declared_order(series)}
        seen = set(texts)
        ordered = [text for text in declared if text in seen] or sorted(seen)
        classes = np.array([declared.get(text, text) for text in ordered])
        position = {text: k for k, text in enumerate(ordered)}
        codes = np.array([position[text] for text in texts], dtype=np.intp)[values.codes[labelled]]
    elif values.kind is Kind.BOOLEAN:
        classes, codes = np.unique(values.numbers[labelled].astype(bool), return_inverse=True)
    elif values.kind is Kind.NUMBER:
        classes, codes = _number_classes(values.present, name, categorical=categorical)
    else:
        raise DataError(f"{name!r} has {values.kind.value}, which cannot be classes. Choose another column.")
    repeats = len(classes) < n_rows or n_rows == 1
    if len(classes) > max(MANY_CLASSES, n_rows / ROWS_PER_CLASS) and not (categorical and repeats):
        shown = ", ".join(map(repr, classes[:3].tolist()))
        raise DataError(
            f"{name!r} has {len(classes)} distinct values in {n_rows} rows ({shown}, ...), which look like counts, ids "
            "or free text instead of classes. Choose another column, or cut it into classes.",
            **({} if categorical else _if_classes(name)),
        )
    first, last = repr(classes.tolist()[0]), repr(classes.tolist()[-1])
    order = f"The categories of {name!r} have an order, from {first} to {last}. The models do not use it."
    notes = [order] if len(classes) > 2 and _is_ordered(column) else []
    alike: defaultdict[str, list[str]] = defaultdict(list)  # labels that are equal except for upper and lower case
    for label in classes.tolist() if classes.dtype.kind in "UO" else ():
        alike[str(label).casefold()].append(repr(label))
    for labels in (labels for labels in alike.values() if len(labels) > 1):
        notes.append(
            f"The labels {enumerated(labels)} of {name!r} differ only in case and are treated as {len(labels)} "
            "classes. If they mean the same, write them alike."
        )
    if classes.dtype.kind in "iuf" and len(classes) > MANY_CLASSES and not categorical:
        notes.append(
            f"{name} has whole numbers in {len(classes)} distinct values, from {classes[0]} to {classes[-1]}. Each "
            "value is treated as a class of its own; their order is not used. If they are amounts, cut them into fewer "
            f"classes; if they are classes, confirm it by {type_setting(name, 'categorical')}."
        )
    return Target(classes, codes, labelled, tuple(notes))


def positive_label(labels: Sequence[Any], counts: Sequence[int]) -> Any:
    """Of two labels, the one that means yes; the rarer (the second if tied) if words and signs do not tell.

    Words for yes and no are compared as pairs in many languages, without case, accents and the words that both labels
    contain. A label that negates the other, as in "no churn" and "churn", means no. Of two numbers, one above zero
    means yes if the other is zero or below. The labels 1 and 2 have no such meaning.

    Examples
    --------
    >>> [positive_label(labels, [10, 90]) for labels in (["ja", "nein"], ["thumbs down", "thumbs up"], [1, 2])]
    ['ja', 'thumbs up', 1]
    """
    words = [_plain(str(as_text(label))) for label in labels]
    yes = _yes_word(*words)
    return labels[int(counts[1] <= counts[0]) if yes is None else words.index(yes)]


def _plain(text: str) -> str:
    """Text without accents, case and surrounding white space."""
    letters = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


_YES_OF_PAIR = {
    frozenset(pair.split()): pair.split()[1] for pair in map(_plain, NO_YES_PAIRS.replace("\n", " ").split(","))
}


def _yes_word(first: str, second: str) -> str | None:  # noqa: PLR0911  # one return per rule
    """The one of two plain labels that means yes, or None."""
    if first == second or frozenset({first, second}) in _YES_OF_PAIR:
        return _YES_OF_PAIR.get(frozenset({first, second}))
    numbers = [float(word) for word in (first, second) if re.fullmatch(r"[+-]?\d+(\.\d+)?", word)]
    if len(numbers) == 2:
        return (first, second)[int(np.argmax(numbers))] if min(numbers) <= 0 < max(numbers) else None
    said = [(word in YES_WORDS) - (word in NO_WORDS) for word in (first, second)]
    if said[0] != said[1]:
        return first if said[0] > said[1] else second
    own, other = (re.findall(r"[^\W_]+", word) for word in (first, second))
    if not own or not other:
        return None
    if second == f"non{first}" or (other[0] in NEGATIONS and other[1:] == own):
        return first
    if first == f"non{second}" or (own[0] in NEGATIONS and own[1:] == other):
        return second
    shared = set(own) & set(other)  # "thumbs" of "thumbs up" and "thumbs down"
    own, other = ([word for word in words if word not in shared] for words in (own, other))
    if not shared or len(own) != 1 or len(other) != 1:
        return None
    if own[0].isalpha() and len(own[0]) == len(other[0]) == 1:  # "type n" and "type a" are no abbreviations
        return None
    yes = _yes_word(own[0], other[0])
    return yes and (first if yes == own[0] else second)


def clean_labels(labels: Any, *, unlabelled: Any = "error", categorical: bool = False) -> Any:
    """Clean an array (NumPy or Arrow) of labels as `encode_target` does, but keep the type of numbers.

    White space around a label is removed. Blank text becomes None, unless it is the mark ``unlabelled``. With
    ``categorical``, numbers become text.
    """
    if not isinstance(labels, np.ndarray):
        is_text = pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)
        is_number = pa.types.is_integer(labels.type) or pa.types.is_floating(labels.type)
        if not is_text and not (is_number and categorical):
            return labels
        coded = labels.dictionary_encode()
        distinct = np.array(coded.dictionary.to_pylist(), dtype=object)
        cleaned = clean_labels(distinct, unlabelled=unlabelled, categorical=categorical)
        return pa.array(cleaned.tolist(), pa.string()).take(coded.indices)
    if labels.ndim != 1 or (labels.dtype.kind not in "UO" and not categorical):
        return labels
    values, clean = labels.tolist(), {}
    for value in {value for value in values if isinstance(value, str) or (categorical and isinstance(value, Real))}:
        label = _trimmed(as_text(value)) if isinstance(value, str) or math.isfinite(value) else None
        if value not in (label or None, unlabelled):
            clean[value] = label or None
    return np.array([clean.get(value, value) for value in values], dtype=object) if clean else labels


def _trimmed(label: Any) -> Any:
    """Label without surrounding white space, visible or not."""
    return label.strip().strip(INVISIBLE).strip() if isinstance(label, str) else label


def _is_ordered(column: Any) -> bool:
    """Whether a column of pandas declares that its categories have an order."""
    native = nw.to_native(column, pass_through=True)
    return nw.dependencies.is_pandas_series(native) and bool(getattr(native.dtype, "ordered", False))


def _declared_order(series: Any) -> list[Any]:
    """Categories in the order of the column's type; empty if the column is not categorical."""
    if isinstance(series, np.ndarray) or series.dtype not in (nw.Categorical, nw.Enum):
        return []
    native = series.to_native()
    if nw.dependencies.is_pandas_series(native) and str(native.dtype) == "category":
        return list(native.cat.categories.tolist())
    return list(series.dtype.categories) if series.dtype == nw.Enum else []


def _number_classes(numbers: Array, name: str, *, categorical: bool) -> tuple[Array, Codes]:
    """Find the classes and codes of numbers. Whole numbers of 64 bits become integers, other numbers text."""
    classes, codes = np.unique(numbers, return_inverse=True)
    broken = [label for label in classes.tolist() if label != label // 1]
    if not broken and classes[0] >= -(2**63) and classes[-1] < 2**63:
        return classes.astype(np.int64), codes
    if categorical or not broken:
        return np.array(list(map(as_text, classes.tolist()))), codes
    raise DataError(
        f"{name!r} looks continuous: {counted(len(classes), 'distinct value')} from {classes[0]:.6g} to "
        f"{classes[-1]:.6g}, such as {broken[0]:.6g}. A classifier needs labels: cut it into classes, or choose "
        "another column.",
        **_if_classes(name),
    )


def _if_classes(name: str) -> dict[str, str]:
    """Remedies if the values are classes, in Python and on the command line."""
    prefix = "If each of these values is a class,"
    python = f"types={{{name!r}: 'categorical'}} (encode_target: categorical=True)"
    return {"remedy": f"{prefix} pass {python}.", "option": f"{prefix} add {option('--types', f'{name}=categorical')}."}
