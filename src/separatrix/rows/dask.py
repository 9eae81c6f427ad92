# SPDX-License-Identifier: BSD-3-Clause
"""Rows that workers of Dask read: the partitions of an array or dataframe, or the parts of a scan.

A pass is one graph: a task for each partition, then a tree of ``+``. Statistics travel, rows do not. The tree follows
the order of the partitions: equal runs give equal bits with threads, with processes, on a cluster, and after a worker
was lost and its tasks were repeated by another. The user's choice of scheduler does the tasks.

Labels and weights may be Dask collections too, in partitions of their own: each partition of y is encoded where it is,
only its classes travel, and the codes are cut into pieces as long as the partitions of X and persisted next to them.

This module is imported only if such rows are given.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from separatrix._array import Array, Float, Rows, bincount
from separatrix._text import did_you_mean
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import (
    UNLABELLED,
    Labelled,
    LabelRules,
    among,
    check_weight,
    encode_labels,
    encode_shares,
    is_dask,
    is_shares,
    is_unlabelled,
    require_classes,
    require_known,
    require_weight,
)
from separatrix.rows.memory import Memory, aligned, block_rows, default_names, open_memory
from separatrix.rows.source import Runner, Source, stack
from separatrix.rows.threads import WATCH, Threads

MAX_BYTES_PER_TASK = 2**14  # of a value that travels with each task; larger ones go to each worker once
ADDED_PER_TASK = 16  # statistics that are added by one task
NARROW_COLUMNS = 256  # up to here, a statistic with a number for each pair of columns is small
ONE_THREAD = Threads(in_task=True)


# Dask's own vocabulary


def task(value: Any) -> Any:
    """``task(f)(a, b)`` is a lazy f(a, b); lazy arguments, and lists of them, are computed first.

    ``task(value)`` is a lazy value of which each worker gets one copy, however many tasks use it.
    """
    return import_module("dask").delayed(value, pure=False, traverse=False)


def for_each(value: Any) -> Any:
    """A value for every task of a graph: a small one travels with each, a large one once to each worker.

    Sharing costs a task, a transfer between workers, and 5 ms per pass.
    """
    if not is_cluster():
        return value  # threads have it already
    return value if len(import_module("cloudpickle").dumps(value)) <= MAX_BYTES_PER_TASK else task(value)


def is_cluster() -> bool:
    """Whether the workers of a client do the tasks, as Dask itself decides it."""
    scheduler = import_module("dask.base").get_scheduler()
    return type(getattr(scheduler, "__self__", None)).__module__.partition(".")[0] == "distributed"


def compute(*lazy: Any) -> tuple[Any, ...]:
    """Compute lazy values."""
    return tuple(import_module("dask").compute(*lazy))


def persist(*lazy: Any) -> tuple[Any, ...]:
    """Compute lazy values once and keep them where they were computed; recomputed if a worker is lost."""
    return tuple(import_module("dask").persist(*lazy))


# Opening arrays and dataframes


@dataclass(frozen=True, eq=False)
class Lazy:
    """One partition of a Dask array or dataframe: a lazy table, and what its collection says about it.

    ``template`` has the columns of the whole collection and no rows; ``length`` is None if Dask does not know it yet.
    """

    value: Any
    template: Any
    number: int
    length: int | None = None
    copies = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        if isinstance(self.template, np.ndarray):
            return default_names(self.template.shape[1])
        return tuple(map(str, self.template.columns))

    @property
    def n_rows(self) -> int:
        """Number of rows, which `Dask.measured` has found."""
        assert self.length is not None, "a partition whose length is not known yet"
        return self.length

    @property
    def known_rows(self) -> int | None:
        """Number of rows if known."""
        return self.length

    def height_for(self, width: float) -> int:
        """Rows per block for ``width`` numbers per row."""
        return block_rows(width)

    @property
    def common(self) -> Any:
        """The same for all partitions of a source."""
        return self.template

    def stripped(self) -> Lazy:
        """Without the value and the common part."""
        return replace(self, value=None, template=None)

    def opened(self, value: Any, common: Any) -> Memory:
        """Return the computed table as rows in memory, inside a task."""
        table = _with_columns(value, common, self.number)
        try:
            return open_memory(table)
        except DataError as error:
            raise DataError(f"In partition {self.number}: {error}") from error


def open_dask(X: Any) -> Source:
    """Open a Dask array of two dimensions or a dataframe; nothing is computed."""
    arrays, frames = import_module("dask.array"), import_module("dask.dataframe")
    if isinstance(X, arrays.Array):
        if X.ndim != 2:
            raise DataError(
                f"X is a Dask array of {X.ndim} dimension{'s' * (X.ndim != 1)}; rows and columns are expected. "
                "Reshape it: one column is X.reshape(-1, 1)."
            )
        if np.isnan(X.shape[1]):
            raise DataError("X is a Dask array of unknown width. Call X.compute_chunk_sizes() first.")
        if X.dtype.kind not in "biufO":
            raise DataError(f"X is a Dask array of {X.dtype}; numbers are expected. Convert it: X.astype(float).")
        values, lengths = _chunks(X)
        template: Any = np.empty((0, X.shape[1]), X.dtype)
    elif isinstance(X, frames.Series):
        raise DataError("X is a single column (a Dask Series); give a table: X.to_frame().")
    elif isinstance(X, frames.DataFrame):
        values, lengths, template = tuple(X.to_delayed()), None, _frame_template(X)
    else:
        raise DataError(
            f"X is a Dask {type(X).__name__}, which has no columns. Give a Dask array or dataframe, for example "
            "bag.to_dataframe() or dask.array.from_delayed(...)."
        )
    if template.shape[1] == 0:
        raise DataError("Found a table with 0 feature(s) while a minimum of 1 is required.")
    known = lengths or (None,) * len(values)
    parts = tuple(Lazy(v, template, i, n) for i, (v, n) in enumerate(zip(values, known, strict=True)))
    height = block_rows(template.shape[1])
    return Source(parts, Dask(), parts[0].columns, height, template, targets=(Targets(),) * len(parts))


def _frame_template(X: Any) -> Any:
    import pandas as pd

    wrong = [f"{name!r} ({kind})" for name, kind in X.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    if wrong:
        raise DataError(
            f"Columns that are not numbers: {', '.join(wrong[:8])}{', ...' if len(wrong) > 8 else ''}. Encode them "
            "(dask.dataframe.get_dummies after .categorize()), or drop them before fitting. TableClassifier encodes "
            "files as workers read them: scan('*.parquet', target=..., client=...)."
        )
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in X.dtypes.items()})


def _chunks(X: Any) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """One lazy array for each chunk of whole rows, and their lengths if known."""
    X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
    lengths = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
    return tuple(X.to_delayed().reshape(-1)), lengths


def _with_columns(table: Any, template: Any, number: int) -> Any:
    """Return a partition with the columns of its collection, in their order; raise if a column is missing."""
    if isinstance(template, np.ndarray):
        if table.shape[1] != template.shape[1]:
            raise DataError(
                f"Partition {number} has {table.shape[1]} columns, but the Dask array has {template.shape[1]}. "
                "Check how the chunks were made: each needs as many columns as the array."
            )
        return table
    names, own = list(template.columns), list(table.columns)
    for name in names:
        if name not in own:
            raise DataError(
                f"Partition {number} has no column {name!r}, which the Dask dataframe declares."
                f"{did_you_mean(str(name), list(map(str, own)))} Give every partition the same columns: "
                "X.map_partitions(lambda part: part.rename(columns=...))."
            )
        if own.count(name) > 1:
            raise DataError(f"Partition {number} has {own.count(name)} columns named {name!r}. Rename them.")
    return table if own == names else table[names]


# Passes


class Place(NamedTuple):
    """Number of the partition's first row among all, its length, and NumPy's floating-point policy of the caller."""

    first: int
    length: int
    policy: dict[str, Any]


@dataclass(frozen=True)
class Dask(Runner):
    """The runner for partitions that workers read. ``client`` is None for the scheduler that Dask uses."""

    client: Any = None
    is_remote = True

    def __getstate__(self) -> dict[str, Any]:
        return {"client": None}

    def measured(self, source: Source) -> Source:
        """Return the source with known lengths: a task counts the rows of each partition whose length is unknown."""
        parts = source.partitions
        unknown = [p for p in parts if p.known_rows is None]
        if unknown:
            counts = [self._on_part(_count_part, p)(p.value, for_each(p.common)) for p in unknown]
            found = iter(self._compute(counts, [0] * len(counts)))
            parts = tuple(p if p.known_rows is not None else _of_length(p, next(found)) for p in parts)
        if not sum(p.n_rows for p in parts):
            where = "Dask collection" if isinstance(parts[0], Lazy) else f"table ({parts[0].rows.title})"
            raise DataError(
                f"Found a {where} with 0 sample(s) in {len(parts)} partition(s) while a minimum of 1 is required."
            )
        return replace(source, partitions=parts) if unknown else source

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        """Sum of the statistic: one graph."""
        source = self.measured(source)
        of_block, common = for_each(statistic), for_each(source.partitions[0].common)
        sums, lengths = [], []
        for part, targets, place in zip(source.partitions, source.targets, _places(source), strict=True):
            if place.length:
                bare, lazy = (None, targets) if is_dask(targets) else (targets, None)
                work = self._on_part(_reduce_part, part, place, source.height, bare)
                sums.append(work(part.value, common, lazy, of_block))
                lengths.append(place.length)
        return self._total(sums, lengths, len(source.columns))

    def reduce_batches(
        self, source: Source, statistic: Callable[[Any], Any], columns: tuple[str, ...], empty: Any
    ) -> Any:
        """Sum of a statistic of Arrow batches: one graph."""
        source = self.measured(source)
        common = for_each(source.partitions[0].common)
        sums = [
            self._on_part(_reduce_batches, part, place, statistic, columns, empty)(part.value, common)
            for part, place in zip(source.partitions, _places(source), strict=True)
        ]
        return self._total(sums, [part.n_rows for part in source.partitions], len(columns))

    def fold(self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: Any) -> NoReturn:
        """Raise: each step needs the result of the one before, but partitions are processed side by side."""
        is_scan = not isinstance(source.partitions[0], Lazy)
        what = "The parts of a scan with a client" if is_scan else "Partitions of a Dask collection"
        remedy = (
            "let this process read the rows: scan(...) without client="
            if is_scan
            else "bring the rows into memory: X.compute(), or a sample of them"
        )
        raise DataError(
            "This fit processes one row after the other, each step starting from the weights of the last one. "
            f"{what} are processed side by side and have no such order. Choose a fit that is a sum over rows "
            "(solver='auto', 'newton', 'lbfgs' or 'gradient'; LogisticRegression or FisherDiscriminant instead of the "
            f"Perceptron), or {remedy}."
        )

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        """Results of all rows, brought to the client."""
        function, common = for_each(row_function), for_each(source.partitions[0].common)
        lazy = [self._on_part(_map_part, part, height)(part.value, common, function) for part in source.partitions]
        found = self._compute(lazy, [part.known_rows or 0 for part in source.partitions])
        results = [result for result in found if result is not None]
        if not results:
            self.measured(source)  # raises: there are no rows
        return stack(iter(results), sum(result.shape[0] for result in results))

    def each(self, source: Source, answer: Callable[[Source], Array]) -> Any:
        """A lazy Dask array with the answer of each partition; results of a scan are brought to the client.

        Dask needs the shape and type of results before they are computed. A row of zeros shows them; if a model has
        no result for it (a gamma density), the first row of the table does.
        """
        parts = source.partitions
        if not isinstance(parts[0], Lazy):
            return answer(source)
        template = source.template
        if isinstance(template, np.ndarray):
            zeros = np.zeros((1, template.shape[1]), template.dtype)
        else:
            zeros = template.reindex([0]).fillna(0).astype(template.dtypes)
        try:
            like = answer(_source_of(open_memory(zeros), source.height))
        except ValueError:
            like = answer(_source_of(open_memory(_first_row(parts)), source.height))
        shape, dtype = like.shape[1:], like.dtype
        function, common = for_each(answer), for_each(source.template)
        work = [self._on_part(_answer_part, p, source.height, shape, dtype)(p.value, common, function) for p in parts]
        lengths = tuple(np.nan if part.length is None else part.length for part in parts)
        name = f"stacked-{work[0].key}"
        layer = {(name, i, *(0 for _ in shape)): chunk.key for i, chunk in enumerate(work)}
        graph = import_module("dask.highlevelgraph").HighLevelGraph.from_collections(name, layer, dependencies=work)
        return import_module("dask.array").Array(graph, name, (lengths, *((n,) for n in shape)), dtype=dtype)

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Targets in memory, cut where the rows are cut; each piece goes to the workers once."""
        if t is not None and t.dtype.kind == "i":
            t = _narrow(t, 1 + int(np.abs(t).max(initial=0)))
        given = (t, weight, offset)
        ends = accumulate((part.n_rows for part in source.partitions), initial=0)
        cuts = [[None if each is None else each[low:high] for each in given] for low, high in pairwise(ends)]
        with self._scheduler():
            return persist(*(task(Targets(t, weight, offset)) for t, weight, offset in cuts))

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Class codes; labels and weights may be Dask collections, in other partitions too, or lie in memory."""
        if is_dask(y):
            return _label_lazily(y, sample_weight, tuple(part.n_rows for part in source.partitions), rules)
        # With the labels in memory, as many weights fit as well.
        weight = sample_weight.compute() if is_dask(sample_weight) else sample_weight
        found = super().label(source, y, weight, rules)
        (targets,) = found.targets
        return found._replace(targets=self.attach(source, targets.t, targets.weight, None))

    def _on_part(self, work: Callable[..., Any], part: Any, *settings: Any) -> Any:
        """A lazy call of ``work`` on a partition; settings are hidden in a partial, which Dask does not look into."""
        return task(partial(work, part.stripped(), *settings))

    def _scheduler(self) -> AbstractContextManager[Any]:
        """Let the client do the tasks."""
        if self.client is None:
            return nullcontext()
        chosen: AbstractContextManager[Any] = import_module("dask").config.set(scheduler=self.client)
        return chosen

    def _total(self, sums: Sequence[Any], lengths: Sequence[int], width: int) -> Any:
        """Sum of lazy statistics, in order.

        For narrow tables the client adds the last few, which saves a round of messages; for wide tables, whose
        statistics are large, only one comes back.
        """
        few = ADDED_PER_TASK if width <= NARROW_COLUMNS else 1
        with self._scheduler():
            return _add(list(_compute_parts(sums, partial(_tree, few=few), lengths)))

    def _compute(self, lazy: Sequence[Any], lengths: Sequence[int]) -> tuple[Any, ...]:
        with self._scheduler():
            return _compute_parts(lazy, lambda parts: parts, lengths)


def _of_length(part: Any, n_rows: int) -> Any:
    if isinstance(part, Lazy):
        return replace(part, length=n_rows)
    part.rows.known_rows = n_rows
    return part


def _places(source: Source) -> list[Place]:
    lengths = [part.n_rows for part in source.partitions]
    policy = dict(np.geterr())
    return [Place(first, n, policy) for first, n in zip(accumulate(lengths, initial=0), lengths, strict=False)]


def _tree(sums: Sequence[Any], few: int) -> Sequence[Any]:
    """A tree of ``+`` whose shape depends on the number of statistics alone."""
    while len(sums) > few:
        sums = [task(_add)(list(sums[i : i + ADDED_PER_TASK])) for i in range(0, len(sums), ADDED_PER_TASK)]
    return sums


def _add(statistics: list[Any]) -> Any:
    return functools.reduce(operator.add, statistics)


def _compute_parts(
    parts: Sequence[Any], combine: Callable[[Sequence[Any]], Sequence[Any]], lengths: Sequence[int]
) -> tuple[Any, ...]:
    """Compute ``combine(parts)`` of lazy parts; each part advances the progress when it is done.

    Threads and processes report every task to a callback of Dask's. On a cluster the parts are futures; each is
    released when it is done, so that it is kept no longer than without progress.
    """
    watch = WATCH.get()
    if watch is None:
        return compute(*combine(parts))
    advance = watch.begin(sum(lengths) or None)
    rows = {part.key: n for part, n in zip(parts, lengths, strict=True)}
    if not is_cluster():

        def after_task(key: Any, *_: Any) -> None:
            if key in rows:
                advance(rows[key])

        with import_module("dask.callbacks").Callback(posttask=after_task):
            return compute(*combine(parts))
    distributed = import_module("distributed")
    kept = persist(*parts)
    results = persist(*combine(kept))
    waiting = distributed.as_completed(distributed.futures_of(kept))
    del kept  # otherwise all parts would stay with the workers until the last is done
    for future in waiting:
        if future.status == "finished":  # `compute` raises the error of one that failed
            advance(rows[future.key])
    return compute(*results)


# Tasks: one partition, on the one thread that the task has


def _source_of(rows: Any, height: int, targets: Any = None, first: int = 0) -> Source:
    return Source((rows,), ONE_THREAD, rows.columns, height, targets=(targets or Targets(),), first=first)


def _count_part(part: Any, value: Any, common: Any) -> int:
    if isinstance(part, Lazy):
        return int(value.shape[0])
    rows = part.opened(value, common)
    return sum(batch.num_rows for batch in rows.rows.batches(rows.plan.features[:1], 2**16))


def _reduce_part(
    part: Any,
    place: Place,
    height: int,
    own: Any,
    value: Any,
    common: Any,
    sent: Any,
    statistic: Callable[[Block], Any],
) -> Any:
    """Statistic of one partition, summed over its blocks in order."""
    rows = part.opened(value, common)
    if isinstance(part, Lazy) and rows.n_rows != place.length:
        raise DataError(
            f"Partition {part.number} has {rows.n_rows} rows now and had {place.length} in the first pass. A fit "
            "reads its rows several times and must find the same ones: fix them with X = X.persist()."
        )
    targets = own
    if sent is not None:  # class codes travel in as few bytes as possible; blocks need integers of the machine's size
        t, weight = sent.t, sent.weight
        t = t.astype(np.intp) if t is not None and t.dtype.kind == "i" else t
        targets = replace(sent, t=t, weight=None if weight is None else aligned(weight))
    with single_thread_blas(), np.errstate(**place.policy):
        return ONE_THREAD.reduce(_source_of(rows, height, targets, place.first), statistic)


def _reduce_batches(
    part: Any,
    place: Place,
    statistic: Callable[[Any], Any],
    columns: tuple[str, ...],
    empty: Any,
    value: Any,
    common: Any,
) -> Any:
    pieces = part.opened(value, common).batches(columns) if place.length else ()
    found = (
        statistic(piece._replace(start=piece.start + place.first, stop=piece.stop + place.first)) for piece in pieces
    )
    return functools.reduce(operator.add, found, empty)


def _map_part(part: Any, height: int, value: Any, common: Any, row_function: Callable[[Rows], Array]) -> Array | None:
    """Results of one partition; None if it has no rows."""
    if isinstance(part, Lazy):
        return None if not value.shape[0] else _source_of(part.opened(value, common), height).map(row_function)
    rows = part.opened(value, common)
    with single_thread_blas(), np.errstate(invalid="ignore", over="ignore"):
        results = [row_function(rows.read(piece)) for piece in rows.pieces(height)]
    return stack(iter(results), None) if results else None


def _answer_part(
    part: Lazy, height: int, shape: Any, dtype: Any, value: Any, common: Any, answer: Callable[[Source], Array]
) -> Array:
    if not value.shape[0]:
        return np.empty((0, *shape), dtype)
    with single_thread_blas():
        return answer(_source_of(part.opened(value, common), height))


def _first_row(parts: Sequence[Lazy]) -> Any:
    for part in parts:
        (row,) = compute(task(operator.itemgetter(slice(1)))(part.value))
        if row.shape[0]:
            return row
    raise DataError("Found a Dask collection with 0 sample(s) while a minimum of 1 is required.")


# Labels that are Dask collections


def _label_lazily(y: Any, sample_weight: Any, lengths: tuple[int, ...], rules: LabelRules) -> Labelled:
    """Targets for each partition of X: parts of y are encoded where they are, and only their classes travel."""
    n_rows, soft = sum(lengths), rules.soft and is_shares(y)
    encoded = persist(*(task(_encode_part)(part, i, rules.unlabelled, soft) for i, part in enumerate(_parts(y, "y"))))
    summary = task(lambda part: (part[0], len(part[1]), int(np.count_nonzero(part[1] < 0))))
    own, counts, n_unlabelled = zip(*compute(*map(summary, encoded)), strict=True)
    if sum(counts) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {sum(counts)} labels. Give one label for each row.")
    classes = own[0] if soft else _united(own, n_rows, rules.unlabelled)
    if rules.known is not None:
        require_known(classes, rules.known)
        classes = rules.known
    require_classes(classes, rules.least)
    like = _codes_among((classes, np.eye(len(classes)) if soft else np.arange(len(classes))), classes)
    t = _aligned([task(_codes_among)(part, classes) for part in encoded], counts, lengths, like)
    parts = _lazy_weights(sample_weight, n_rows)  # kept until the targets are there: Dask drops what has no name here
    weights = [None] * len(lengths) if parts is None else _aligned(*parts, lengths, np.empty(0))
    targets = persist(*(task(Targets)(*pieces) for pieces in zip(t, weights, strict=True)))
    if parts is not None:
        by_class = not soft and rules.known is None
        totals = compute(*(task(_class_weight)(part, len(classes) if by_class else 0) for part in targets))
        require_weight(np.sum(totals, axis=0), np.arange(len(classes)) if by_class else None, classes)
    return Labelled(targets, classes, sum(n_unlabelled), soft)


def _parts(y: Any, name: str) -> tuple[Any, ...]:
    """Lazy parts of labels or weights: one value for each row, or a table of one column or several."""
    if isinstance(y, import_module("dask.array").Array):
        if y.ndim not in (1, 2):
            raise DataError(f"{name} is a Dask array of {y.ndim} dimensions; give one value for each row of X.")
        return _chunks(y)[0]
    frames = import_module("dask.dataframe")
    if not isinstance(y, frames.Series | frames.DataFrame):
        raise DataError(f"{name} is a Dask {type(y).__name__}; give a Dask array or series, aligned with X.")
    return tuple(y.to_delayed())


def _encode_part(y: Any, number: int, unlabelled: Any, soft: bool) -> tuple[Array, Array]:
    """Classes of one part of y, and the codes of its rows among them; or the probability of each class."""
    try:
        if soft:
            return encode_shares(y)
        labels = _one_column(y)
        if is_unlabelled(labels, unlabelled).all():  # a row of another part may have a label
            return labels[:0], np.full(len(labels), UNLABELLED)
        return encode_labels(labels, unlabelled=unlabelled)
    except DataError as error:
        raise DataError(f"In partition {number} of y: {error}") from error


def _united(some: Sequence[Array], n_rows: int, unlabelled: Any) -> Array:
    """Classes of all parts."""
    some = [classes for classes in some if len(classes)]
    if not some:
        raise DataError(f"None of {n_rows} rows has a label (unlabelled={unlabelled!r}).")
    kinds = {"numbers" if classes.dtype.kind in "biuf" else classes.dtype.kind for classes in some}
    # NumPy would turn numbers next to words into words, which are all comparable.
    return encode_labels(np.concatenate(some if len(kinds) == 1 else [classes.astype(object) for classes in some]))[0]


def _codes_among(encoded: tuple[Array, Array], classes: Array) -> Array:
    """Codes of one part among all classes, in as few bytes as they fit; or probabilities of all classes."""
    _, t = among(classes, *encoded)
    if t.ndim == 2:
        return t[:, 1] if len(classes) == 2 else t
    return _narrow(t, len(classes))


def _lazy_weights(sample_weight: Any, n_rows: int) -> tuple[Sequence[Any], Sequence[int]] | None:
    """Parts of the weights and their lengths; None if every row counts once."""
    if not is_dask(sample_weight):
        weight = check_weight(sample_weight, n_rows)
        return None if weight is None else ([task(weight)], [n_rows])
    given = enumerate(_parts(sample_weight, "sample_weight"))
    parts = persist(*(task(_checked_weight)(part, i) for i, part in given))
    counts = compute(*map(task(len), parts))
    if sum(counts) != n_rows:
        raise DataError(f"sample_weight has {sum(counts)} values, expected {n_rows}: one weight for each row of X.")
    return parts, counts


def _checked_weight(weight: Any, number: int) -> Float:
    values = np.asarray(_one_column(weight), dtype=np.float64)
    try:
        check_weight(values, len(values))
    except DataError as error:
        raise DataError(f"In partition {number} of sample_weight: {error}") from error
    return values


def _class_weight(targets: Targets, n_classes: int) -> Float:
    """Weight of each class; of all rows together if ``n_classes`` is 0."""
    assert targets.weight is not None, "a partition without weights"
    if not n_classes:
        return np.array([targets.weight.sum()])
    labelled = targets.t >= 0
    return np.asarray(bincount(targets.t[labelled], targets.weight[labelled], n_classes))


def _aligned(parts: Sequence[Any], counts: Sequence[int], lengths: tuple[int, ...], like: Array) -> Sequence[Any]:
    """Lazy arrays of the type and width of ``like``, cut again into pieces as long as the partitions of X."""
    if tuple(counts) == lengths:
        return parts
    arrays = import_module("dask.array")
    shapes = ((n, *like.shape[1:]) for n in counts)
    some = [arrays.from_delayed(part, shape, like.dtype) for part, shape in zip(parts, shapes, strict=True)]
    pieces = arrays.concatenate(some).rechunk({0: lengths}, method="tasks")  # "p2p" does not survive a lost worker
    return list(pieces.to_delayed().reshape(-1))


def _one_column(y: Any) -> Array:
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _narrow(codes: Array, n_classes: int) -> Array:
    """Codes in as few bytes as they fit; negative ones included."""
    return codes.astype(np.min_scalar_type(-n_classes))
