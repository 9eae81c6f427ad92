# SPDX-License-Identifier: BSD-3-Clause
"""Columns to check before a model is trusted: leaks of the class, copies of columns, outliers, and codes.

All checks use the encoded features, one column at a time, and cost about as much as sorting them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from separatrix._array import Array, Codes, Float, to_dense
from separatrix._text import first_few, option
from separatrix.comparison import Fold
from separatrix.study.records import Note
from separatrix.table import DatePlan, NumberPlan, Schema, TextPlan

MAX_LEAK_ERRORS = 0.02  # errors of a leak, relative to those of always predicting the largest class
MAX_CHANCE = 0.01  # largest probability that any of the columns predicts equally well by chance
MAX_LEAK_ROWS = 20_000  # more rows are thinned out evenly
MIN_OUTLIER_RATIO = 100  # distance of an outlier from the median, relative to the farthest ordinary value
MAX_OUTLIERS, MAX_OUTLIER_FRACTION, MIN_OUTLIER_ROWS = 3, 0.01, 10
MIN_CODES, MAX_CODES, MIN_CODE_ROWS = 5, 30, 10  # distinct values of a column of codes, and rows of each
MIN_CONSECUTIVE_CODES = 7  # fewer consecutive numbers may be ratings, with an effect that is largest at both ends
MIN_CODE_RATIO = 5  # smallest ratio of chi-squared to its degrees of freedom that is not due to chance
MIN_NEIGHBOUR_RATIO = 0.7  # smallest ratio of differences of neighbouring values to those of any two, if they are names
CODE_SAMPLE_ROWS = 2000  # columns with more than `MAX_CODES` distinct values in the first rows are skipped
CELLS_PER_CHUNK = 2_000_000


def notes_on_columns(schema: Schema, folds: Sequence[Fold], target: str, given: Container[str] = ()) -> Iterator[Note]:
    """Notes on leaks, identical columns and codes in the first fold, which has most rows, and on outliers in all folds.

    The types of the columns ``given`` were stated, so they are not codes.
    """
    features, codes, groups = folds[0].X.array, folds[0].codes, schema.groups
    step = -(-len(codes) // MAX_LEAK_ROWS)
    yield from _leaks(schema, groups, _by_column(features[::step]), codes[::step], target)
    X, copies = _by_column(features), defaultdict(list)
    for column, place in groups.items():
        part = X[:, place.start : place.stop]
        arrays = (part.indptr, part.indices, part.data) if sparse.issparse(part) else (np.ascontiguousarray(part.T),)
        copies[len(place), *(hash(array.tobytes()) for array in arrays)].append(column)
    for first, *others in copies.values():
        if others:
            names, verb = first_few(list(map(repr, others))), "is" if len(others) == 1 else "are"
            yield Note(
                "identical",
                f"{names} {verb} identical to {first!r}: the weights share one effect. Leave copies out "
                f"({_drop(others[0])}).",
            )
    blocks, rows = [_by_column(fold.X.array) for fold in folds], np.concatenate([fold.rows for fold in folds])
    for plan in schema.plans:
        if not isinstance(plan, NumberPlan) or plan.kind != "number" or plan.constant:
            continue
        at = list(groups[plan.column])
        both = np.concatenate([to_dense(block[:, at]) for block in blocks])
        seen = np.flatnonzero(both[:, -1] == 0) if plan.indicator else np.arange(len(both))
        x: Float = both[seen, 0]
        if len(x) < MIN_OUTLIER_ROWS:
            continue
        distance: Array = np.abs(x / 2 - np.median(x) / 2)  # halves, so that the difference does not overflow
        order, most = np.argsort(distance)[::-1], min(MAX_OUTLIERS, int(MAX_OUTLIER_FRACTION * len(x)) or 1)
        far = [n for n in range(1, most + 1) if distance[order[n]] * MIN_OUTLIER_RATIO < distance[order[n - 1]]]
        if far and np.median(distance) > 0:
            shown = [f"{x[i]:g} (row {rows[seen[i]] + 1})" for i in order[: far[-1]]]
            yield Note(
                "outlier",
                f"{plan.column!r} has {'a value' if len(shown) == 1 else 'values'} more than {MIN_OUTLIER_RATIO} times "
                f"as far from the median as all others: {', '.join(shown)}. Such values dominate means and weights: "
                "correct them, or leave them empty if they are errors.",
            )
        elif plan.column not in given and len(codes) >= MIN_CODES * MIN_CODE_ROWS:
            yield from _code_notes(plan.column, x[seen < len(codes)], codes[seen[seen < len(codes)]], target)


def _by_column(X: Any) -> Any:
    return X.tocsc() if sparse.issparse(X) else X


def _drop(column: str) -> str:
    return f"{option('--drop', column)}; in Python, types={{{column!r}: 'drop'}}"


def _code_notes(column: str, x: Float, codes: Codes, target: str) -> Iterator[Note]:
    """A note if numbers act as names: the classes depend on them, but neighbours have no more in common than others.

    Class proportions are compared between the distinct values, per class as in Pearson's chi-squared. Half of the mean
    squared difference of neighbours, divided by the variance, is about 1 for names and near 0 for a smooth function
    (von Neumann's ratio).
    """
    if len(np.unique(x[:CODE_SAMPLE_ROWS])) > MAX_CODES:
        return
    values, level, counts = np.unique(x, return_inverse=True, return_counts=True)
    n_values, low, high = len(values), values[0], values[-1]
    is_frequent = counts >= MIN_CODE_ROWS  # values of fewer rows are left out
    gaps = " with gaps" if high - low >= n_values else ""
    L = int(is_frequent.sum())
    if n_values > MAX_CODES or (MIN_CODES if gaps else MIN_CONSECUTIVE_CODES) > L or (values != np.floor(values)).any():
        return
    kept = is_frequent[level]
    level, codes, counts = (np.cumsum(is_frequent) - 1)[level[kept]], codes[kept], counts[is_frequent]
    of_class = np.bincount(codes)
    table = np.bincount(level * len(of_class) + codes, minlength=L * len(of_class)).reshape(L, -1)[:, of_class > 0]
    share = of_class[of_class > 0] / len(codes)
    scaled: Float = (table / counts[:, None] - share) / np.sqrt(share)
    chi_squared = float((counts[:, None] * scaled**2).sum())
    variance = float(scaled.var(axis=0, ddof=1).sum())
    between = float((np.diff(scaled, axis=0) ** 2).sum()) / (2 * (L - 1))
    if chi_squared >= MIN_CODE_RATIO * (L - 1) * (len(share) - 1) > 0 and between >= MIN_NEIGHBOUR_RATIO * variance:
        yield Note(
            "codes",
            f"{column!r} has {n_values} whole numbers from {low:g} to {high:g}{gaps}, and {target} depends on them but "
            "neither rises nor falls with them: they may be codes of categories. If so, set the type: "
            f"{option('--types', f'{column}=categorical')}; in Python, types={{{column!r}: 'categorical'}}.",
            (column,),
        )


def _leaks(schema: Schema, groups: Mapping[str, range], X: Any, codes: Codes, target: str) -> Iterator[Note]:
    """Columns that alone predict the class with at most 2 % of the errors of always predicting the largest class.

    The rule for a number is an interval for each class. The rule for a category or a missing value is the most frequent
    class of each level among the other rows. There are about N, or K^levels, such rules, so the probability that one
    of them is as good by chance is at most their number divided by the number of arrangements of the labels.
    """
    N, counts = len(codes), np.bincount(codes)
    if np.count_nonzero(counts) < 2:  # any rule predicts a single class
        return
    K, allowed = len(counts), int(MAX_LEAK_ERRORS * (N - counts.max()))
    log_arrangements = float(gammaln(N + 1) - gammaln(counts + 1).sum())
    max_log_rules = log_arrangements + np.log(MAX_CHANCE / max(len(groups), 1))
    owner: dict[int, str] = {}  # of each numeric feature
    flags: dict[str, list[int]] = {}  # indicators of levels or missing values
    for plan in schema.plans:
        place = list(groups[plan.column]) if plan.names else []
        if isinstance(plan, TextPlan):  # words are neither numbers nor levels
            place = place[len(plan.terms) :]
        n_numbers = len(place) - plan.indicator if isinstance(plan, NumberPlan | DatePlan) else 0
        owner |= dict.fromkeys(place[:n_numbers], plan.column)
        flags[plan.column] = place[n_numbers:]
    errors: dict[str, float] = {}
    one_hot = np.eye(K)[codes]
    for column, place in flags.items():
        if place and (len(place) + 1) * np.log(K) < max_log_rules:
            levels = X[:, place].T @ one_hot
            # Each row gets the most frequent class of the other rows of its level.
            second, first = np.sort(np.vstack([levels, counts - levels.sum(axis=0)]), axis=1)[:, -2:].T
            errors[column] = int(N - first[first - 1 > second].sum())
    width = max(1, CELLS_PER_CHUNK // N)
    for start in range(0, len(owner) if np.log(N) < max_log_rules else 0, width):
        part = list(owner)[start : start + width]
        for d, wrong in zip(part, _interval_errors(to_dense(X[:, part]), codes, K).tolist(), strict=True):
            errors[owner[d]] = min(wrong, errors.get(owner[d], N))
    for column, wrong in sorted(errors.items(), key=lambda item: item[1]):
        if wrong <= allowed:
            how = "without error" if wrong == 0 else f"in {100 * (1 - wrong / N):.4g} % of the rows"
            yield Note(
                "leak",
                f"{column!r} alone predicts {target} {how}: is it known at prediction time? If not, leave it out "
                f"({_drop(column)}); with it, scores say nothing about new rows.",
                (column,),
            )


def _interval_errors(X: Float, codes: Codes, K: int) -> Codes:
    """Errors of each column if one interval of its values is assigned to each class, (D,).

    With S the running sum of +1 for rows of class k and -1 for other rows, in the order of the column, the rows of the
    class minus the other rows in an interval are a difference of S at two boundaries. For two classes, either class may
    be inside. For more classes, each wrong row is counted for the class it has and the class it is assigned to.
    """
    order = np.argsort(X, axis=0, kind="stable")
    values, sorted_codes = np.take_along_axis(X, order, axis=0), codes[order]
    is_boundary = np.vstack([np.ones((1, X.shape[1]), dtype=bool), values[1:] > values[:-1]])
    is_boundary = np.vstack([is_boundary, np.ones((1, X.shape[1]), dtype=bool)])
    errors = []
    for k in range(K):
        S = np.vstack([np.zeros((1, X.shape[1])), np.cumsum(np.where(sorted_codes == k, 1.0, -1.0), axis=0)])
        least = np.minimum.accumulate(np.where(is_boundary, S, np.inf), axis=0)
        gain = (np.where(is_boundary, S, -np.inf) - least).max(axis=0)
        errors.append((codes == k).sum() - gain)
    found: Codes = np.min(errors, axis=0) if K == 2 else np.sum(errors, axis=0) / 2
    return found
