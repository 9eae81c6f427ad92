# SPDX-License-Identifier: BSD-3-Clause
"""Rows that Dask workers read: the partitions of an array or dataframe, or the parts of a scan.

A pass is one task graph: a task for each partition, then a tree of additions. Only statistics are transferred, never
rows. The tree depends on the order of the partitions alone, so repeated runs are bit-identical with threads, with
processes, on a cluster, and after a lost worker. Tasks run on the scheduler that the user has chosen.

Labels and weights may be Dask collections too, partitioned differently from X. Workers encode each partition of y and
return only its classes. The codes are then split as X is, and persisted on the workers.

This module is imported only for such rows.
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

from separatrix._array import Array, Float, Rows
from separatrix._text import counted, did_you_mean
from separatrix._threads import single_thread_blas
from separatrix.exceptions import DataError
from separatrix.rows.block import Block, Targets
from separatrix.rows.labels import (
    UNLABELLED,
    Labelled,
    LabelRules,
    check_weight,
    encode_labels,
    encode_shares,
    is_dask,
    is_shares,
    is_unlabelled,
    recode_classes,
    require_classes,
    require_known,
    require_weight,
)
from separatrix.rows.memory import (
    Memory,
    aligned,
    block_rows,
    default_names,
    open_memory,
    require_cells,
    require_distinct,
)
from separatrix.rows.source import Runner, Source, stack
from separatrix.rows.threads import ONE_THREAD, WATCH

MAX_BYTES_PER_TASK = 2**14  # largest value that is sent with each task; larger values are sent to each worker once
ADDED_PER_TASK = 16  # number of statistics that one task adds
NARROW_COLUMNS = 256  # number of columns up to which a D x D statistic is considered small


def task(value: Any) -> Any:
    """Make a lazy function or value. ``task(f)(a, b)`` is a lazy f(a, b); lazy arguments are computed first.

    Each worker gets one copy of ``task(value)``, however many tasks use it.
    """
    return import_module("dask").delayed(value, pure=False, traverse=False)


def is_cluster() -> bool:
    """Whether Dask would run tasks on the workers of a distributed client."""
    scheduler = import_module("dask.base").get_scheduler()
    return type(getattr(scheduler, "__self__", None)).__module__.partition(".")[0] == "distributed"


def compute(*lazy: Any) -> tuple[Any, ...]:
    """Compute lazy values."""
    return tuple(import_module("dask").compute(*lazy))


def persist(*lazy: Any) -> tuple[Any, ...]:
    """Compute lazy values and keep them on the workers; Dask recomputes them if a worker is lost."""
    return tuple(import_module("dask").persist(*lazy))


@dataclass(frozen=True, eq=False)
class Lazy:
    """One partition of a Dask array or dataframe, as a lazy table.

    ``template`` has the columns of the collection and no rows. ``known_rows`` is None if the length is unknown.
    """

    value: Any
    template: Any
    number: int
    known_rows: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        if isinstance(self.template, np.ndarray):
            return default_names(self.template.shape[1])
        return tuple(map(str, self.template.columns))

    @property
    def n_rows(self) -> int:
        """Number of rows, which `Dask.measured` has counted."""
        assert self.known_rows is not None, "a partition whose length is not known yet"
        return self.known_rows

    def height_for(self, width: float) -> int:
        return block_rows(width)

    @property
    def shared_plan(self) -> Any:
        """The template, which all partitions of a source share."""
        return self.template

    def without_shared_plan(self) -> Lazy:
        """Return the partition without its table and its template."""
        return replace(self, value=None, template=None)

    def opened(self, value: Any, common: Any) -> Memory:
        """Open the computed table as rows in memory, inside a task."""
        table = _with_columns(value, common, self.number)
        try:
            return open_memory(table)
        except DataError as error:
            raise DataError(f"In partition {self.number}: {error}") from error


def open_dask(X: Any) -> Source:
    """Open a two-dimensional Dask array or a Dask dataframe, without computing anything."""
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
        import pandas as pd

        wrong = [f"{name!r} ({kind})" for name, kind in X.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
        if wrong:
            raise DataError(
                f"These columns are not numbers: {', '.join(wrong[:8])}{', ...' if len(wrong) > 8 else ''}. Encode "
                "them (dask.dataframe.get_dummies after .categorize()), or drop them before fitting. TableClassifier "
                "encodes files as workers read them: scan('*.parquet', target=..., client=...)."
            )
        require_distinct(X.columns)
        values, lengths = tuple(X.to_delayed()), None
        template = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in X.dtypes.items()})
    else:
        raise DataError(
            f"X is a Dask {type(X).__name__}, which has no columns. Give a Dask array or dataframe, for example "
            "bag.to_dataframe() or dask.array.from_delayed(...)."
        )
    if template.shape[1] == 0:
        require_cells((sum(lengths or ()) or 1, 0))
    known = lengths or (None,) * len(values)
    parts = tuple(Lazy(v, template, i, n) for i, (v, n) in enumerate(zip(values, known, strict=True)))
    height = block_rows(template.shape[1])
    return Source(parts, Dask(), parts[0].columns, height, template, targets=(Targets(),) * len(parts))


def _chunks(X: Any) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """Return a lazy array for each chunk of complete rows, and the lengths of the chunks; None if not known."""
    X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
    lengths = None if np.isnan(X.chunks[0]).any() else tuple(map(int, X.chunks[0]))
    return tuple(X.to_delayed().reshape(-1)), lengths


def _with_columns(table: Any, template: Any, number: int) -> Any:
    """Put the columns of a partition into the order of the collection; raise if a column is missing."""
    if isinstance(template, np.ndarray):
        if table.shape[1] != template.shape[1]:
            raise DataError(
                f"Partition {number} has {counted(table.shape[1], 'column')}, but the Dask array has "
                f"{template.shape[1]}. "
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
            raise DataError(f"Partition {number} has {counted(own.count(name), 'column')} named {name!r}. Rename them.")
    return table if own == names else table[names]


class PartitionPosition(NamedTuple):
    """Row number of a partition's first row, its number of rows, and the caller's `numpy.geterr` settings."""

    first: int
    length: int
    policy: dict[str, Any]


@dataclass(frozen=True)
class Dask(Runner):
    """The runner for partitions that workers read. If ``client`` is None, Dask's current scheduler is used."""

    client: Any = None
    is_remote = True

    def __getstate__(self) -> dict[str, Any]:
        return {"client": None}

    def measured(self, source: Source) -> Source:
        """Count the rows of each partition whose length is unknown, with one task each."""
        parts = source.partitions
        unknown = [p for p in parts if p.known_rows is None]
        if unknown:
            counts = [self._on_part(_count_part, p)(p.value, self._for_each(p.shared_plan)) for p in unknown]
            found = iter(self._compute(counts, [0] * len(counts)))
            parts = tuple(p if p.known_rows is not None else _of_length(p, next(found)) for p in parts)
        if not sum(p.n_rows for p in parts):
            where = "Dask collection" if isinstance(parts[0], Lazy) else f"table ({parts[0].rows.title})"
            raise DataError(
                f"Found a {where} with 0 sample(s) in {len(parts)} partition(s) while a minimum of 1 is required."
            )
        return replace(source, partitions=parts) if unknown else source

    def reduce(self, source: Source, statistic: Callable[[Block], Any]) -> Any:
        source = self.measured(source)
        of_block, common = self._for_each(statistic), self._for_each(source.partitions[0].shared_plan)
        sums, lengths = [], []
        for part, targets, position in zip(source.partitions, source.targets, _positions(source), strict=True):
            if position.length:
                bare, lazy = (None, targets) if is_dask(targets) else (targets, None)
                work = self._on_part(_reduce_part, part, position, source.height, bare)
                sums.append(work(part.value, common, lazy, of_block))
                lengths.append(position.length)
        return self._total(sums, lengths, len(source.columns))

    def reduce_batches(
        self, source: Source, statistic: Callable[[Any], Any], columns: tuple[str, ...], empty: Any
    ) -> Any:
        source = self.measured(source)
        common = self._for_each(source.partitions[0].shared_plan)
        sums = [
            self._on_part(_reduce_batches, part, position, statistic, columns, empty)(part.value, common)
            for part, position in zip(source.partitions, _positions(source), strict=True)
        ]
        return self._total(sums, [part.n_rows for part in source.partitions], len(columns))

    def fold(self, source: Source, step: Callable[[Any, Block], Any], state: Any, rng: Any) -> NoReturn:
        """Raise an error: each step needs the result of the previous one, but partitions are processed in parallel."""
        if isinstance(source.partitions[0], Lazy):
            what, remedy = "Partitions of a Dask collection", "bring the rows, or a sample, into memory: X.compute()"
        else:
            what, remedy = "Parts of a scan with a client", "let this process read the rows: scan(...) without client="
        raise DataError(
            "This fit processes one row after the other: each step starts from the weights of the previous one. "
            f"{what} are processed in parallel, without an order. Choose a fit that is a sum over rows (solver='auto', "
            "'newton', 'lbfgs' or 'gradient'; LogisticRegression or FisherDiscriminant instead of the Perceptron), or "
            f"{remedy}."
        )

    def map(self, source: Source, row_function: Callable[[Rows], Array], height: int) -> Array:
        function, common = self._for_each(row_function), self._for_each(source.partitions[0].shared_plan)
        settings = (height, dict(np.geterr()))
        lazy = [self._on_part(_map_part, part, *settings)(part.value, common, function) for part in source.partitions]
        found = self._compute(lazy, [part.known_rows or 0 for part in source.partitions])
        results = [result for result in found if result is not None]
        if not results:
            self.measured(source)  # raises the error for a table without rows
        return stack(iter(results), sum(result.shape[0] for result in results))

    def each(self, source: Source, answer: Callable[[Source], Array]) -> Any:
        """Apply ``answer`` to each partition and return a lazy Dask array; results of a scan are computed at once.

        Dask needs the shape and type of results before they are computed. They are found from a row of zeros or, if
        the model cannot predict it (as with a gamma density), from the first row of the table.
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
        function, common = self._for_each(answer), self._for_each(source.template)
        work = [self._on_part(_predict_part, p, source.height, shape, dtype)(p.value, common, function) for p in parts]
        lengths = tuple(np.nan if part.known_rows is None else part.known_rows for part in parts)
        name = f"stacked-{work[0].key}"
        layer = {(name, i, *(0 for _ in shape)): chunk.key for i, chunk in enumerate(work)}
        graph = import_module("dask.highlevelgraph").HighLevelGraph.from_collections(name, layer, dependencies=work)
        return import_module("dask.array").Array(graph, name, (lengths, *((n,) for n in shape)), dtype=dtype)

    def attach(self, source: Source, t: Any, weight: Any, offset: Any) -> tuple[Any, ...]:
        """Split targets in memory as the rows are split; each part is sent to the workers once."""
        if t is not None and t.dtype.kind == "i":
            t = _narrow(t, 1 + int(np.abs(t).max(initial=0)))
        given = (t, weight, offset)
        ends = accumulate((part.n_rows for part in source.partitions), initial=0)
        cuts = [[None if each is None else each[low:high] for each in given] for low, high in pairwise(ends)]
        with self._scheduler():
            return persist(*(task(Targets(t, weight, offset)) for t, weight, offset in cuts))

    def label(self, source: Source, y: Any, sample_weight: Any, rules: LabelRules) -> Labelled:
        """Encode labels. Labels and weights may be in memory, or Dask collections in any partitions."""
        if is_dask(y):
            return _label_lazily(y, sample_weight, tuple(part.n_rows for part in source.partitions), rules)
        # If the labels fit in memory, so do the weights.
        weight = sample_weight.compute() if is_dask(sample_weight) else sample_weight
        found = super().label(source, y, weight, rules)
        (targets,) = found.targets
        return found._replace(targets=self.attach(source, targets.t, targets.weight, None))

    def _on_part(self, work: Callable[..., Any], part: Any, *settings: Any) -> Any:
        """Make a lazy call of ``work`` on a partition; a partial keeps Dask from searching settings for lazy values."""
        return task(partial(work, part.without_shared_plan(), *settings))

    def _for_each(self, value: Any) -> Any:
        """Prepare a value for all tasks: a small value is sent with each task, a large one once to each worker.

        Sending once to each worker needs a task and a transfer between workers, and takes 5 ms per pass.
        """
        with self._scheduler():
            if not is_cluster():
                return value  # threads share memory
        return value if len(import_module("cloudpickle").dumps(value)) <= MAX_BYTES_PER_TASK else task(value)

    def _scheduler(self) -> AbstractContextManager[Any]:
        """Context in which the client runs all tasks."""
        if self.client is None:
            return nullcontext()
        chosen: AbstractContextManager[Any] = import_module("dask").config.set(scheduler=self.client)
        return chosen

    def _total(self, sums: Sequence[Any], lengths: Sequence[int], width: int) -> Any:
        """Sum lazy statistics, in order.

        For narrow tables this process adds the last few statistics, which saves a round of messages. For wide tables
        statistics are large, so workers add all of them and return one.
        """
        few = ADDED_PER_TASK if width <= NARROW_COLUMNS else 1

        def tree(sums: Sequence[Any]) -> Sequence[Any]:
            while len(sums) > few:  # the shape of the tree depends on the number of statistics alone
                sums = [task(_add)(list(sums[i : i + ADDED_PER_TASK])) for i in range(0, len(sums), ADDED_PER_TASK)]
            return sums

        with self._scheduler():
            return _add(list(_compute_parts(sums, tree, lengths)))

    def _compute(self, lazy: Sequence[Any], lengths: Sequence[int]) -> tuple[Any, ...]:
        with self._scheduler():
            return _compute_parts(lazy, lambda parts: parts, lengths)


def _of_length(part: Any, n_rows: int) -> Any:
    if isinstance(part, Lazy):
        return replace(part, known_rows=n_rows)
    part.rows.known_rows = n_rows
    return part


def _positions(source: Source) -> list[PartitionPosition]:
    lengths = [part.n_rows for part in source.partitions]
    firsts, policy = accumulate(lengths, initial=0), dict(np.geterr())
    return [PartitionPosition(first, n, policy) for first, n in zip(firsts, lengths, strict=False)]


def _add(statistics: list[Any]) -> Any:
    return functools.reduce(operator.add, statistics)


def _compute_parts(
    parts: Sequence[Any], combine: Callable[[Sequence[Any]], Sequence[Any]], lengths: Sequence[int]
) -> tuple[Any, ...]:
    """Compute ``combine(parts)`` of lazy parts, and report each finished part to the progress callback.

    With threads and processes, Dask calls a function after each task. On a cluster the parts are futures. Each is
    released when it is finished, so reporting progress does not keep results longer.
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
    del kept  # otherwise workers would keep all parts until the last one is finished
    for future in waiting:
        if future.status == "finished":  # `compute` raises the error of a failed part
            advance(rows[future.key])
    return compute(*results)


def _source_of(rows: Any, height: int, targets: Any = None, first: int = 0) -> Source:
    return Source((rows,), ONE_THREAD, rows.columns, height, targets=(targets or Targets(),), first=first)


# Functions that run in a task, each on one partition and one thread


def _count_part(part: Any, value: Any, common: Any) -> int:
    if isinstance(part, Lazy):
        return int(value.shape[0])
    rows = part.opened(value, common)
    return sum(batch.num_rows for batch in rows.rows.batches(rows.plan.features[:1], 2**16))


def _reduce_part(
    part: Any,
    position: PartitionPosition,
    height: int,
    own: Any,
    value: Any,
    common: Any,
    sent: Any,
    statistic: Callable[[Block], Any],
) -> Any:
    """Sum the statistic over the blocks of one partition, in order."""
    rows = part.opened(value, common)
    if isinstance(part, Lazy) and rows.n_rows != position.length:
        raise DataError(
            f"Partition {part.number} has {counted(rows.n_rows, 'row')} now and had {position.length} in the first "
            "pass. A fit "
            "reads its rows several times and needs the same rows each time: keep them with X = X.persist()."
        )
    targets = own
    if sent is not None:  # class codes are sent in the smallest integer type, but blocks need intp
        t, weight = sent.t, sent.weight
        t = t.astype(np.intp) if t is not None and t.dtype.kind == "i" else t
        targets = replace(sent, t=t, weight=None if weight is None else aligned(weight))
    with single_thread_blas(), np.errstate(**position.policy):
        return ONE_THREAD.reduce(_source_of(rows, height, targets, position.first), statistic)


def _reduce_batches(
    part: Any,
    position: PartitionPosition,
    statistic: Callable[[Any], Any],
    columns: tuple[str, ...],
    empty: Any,
    value: Any,
    common: Any,
) -> Any:
    pieces = part.opened(value, common).batches(columns) if position.length else ()
    first = position.first
    found = (statistic(piece._replace(start=piece.start + first, stop=piece.stop + first)) for piece in pieces)
    return functools.reduce(operator.add, found, empty)


def _map_part(
    part: Any, height: int, policy: dict[str, Any], value: Any, common: Any, row_function: Callable[[Rows], Array]
) -> Array | None:
    """Return the results of one partition; None if it has no rows."""
    if isinstance(part, Lazy) and not value.shape[0]:
        return None
    rows = part.opened(value, common)
    with single_thread_blas(), np.errstate(**policy):
        results = [row_function(rows.read(piece)) for piece in rows.pieces(height)]
    return stack(iter(results), None) if results else None


def _predict_part(
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


def _label_lazily(y: Any, sample_weight: Any, lengths: tuple[int, ...], rules: LabelRules) -> Labelled:
    """Return targets for each partition of X. Workers encode the parts of y and return only their classes."""
    n_rows, soft = sum(lengths), rules.soft and is_shares(y)
    encoded = persist(*(task(_encode_part)(part, i, rules.unlabelled, soft) for i, part in enumerate(_parts(y, "y"))))
    summary = task(lambda part: (part[0], len(part[1]), int(np.count_nonzero(part[1] < 0))))
    own, counts, n_unlabelled = zip(*compute(*map(summary, encoded)), strict=True)
    if sum(counts) != n_rows:
        raise DataError(
            f"X has {counted(n_rows, 'row')} but y has {counted(sum(counts), 'label')}. Give one label for each row."
        )
    classes = own[0] if soft else _united(own, n_rows, rules.unlabelled)
    if rules.known is not None:
        require_known(classes, rules.known)
        classes = rules.known
    require_classes(classes, rules.least)
    like = _codes_among((classes, np.eye(len(classes)) if soft else np.arange(len(classes))), classes)
    t = _aligned([task(_codes_among)(part, classes) for part in encoded], counts, lengths, like)
    parts = _lazy_weights(sample_weight, n_rows)  # this variable keeps Dask from releasing them
    weights = [None] * len(lengths) if parts is None else _aligned(*parts, lengths, np.empty(0))
    targets = persist(*(task(Targets)(*pieces) for pieces in zip(t, weights, strict=True)))
    if parts is not None:
        require_weight(np.array(compute(*(task(lambda part: part.weight.sum())(part) for part in targets))))
    return Labelled(targets, classes, sum(n_unlabelled), soft)


def _parts(y: Any, name: str) -> tuple[Any, ...]:
    """Return the lazy parts of labels or weights, which are a Dask array, series or dataframe."""
    if isinstance(y, import_module("dask.array").Array):
        if y.ndim not in (1, 2):
            raise DataError(f"{name} is a Dask array of {y.ndim} dimensions; give one value for each row of X.")
        return _chunks(y)[0]
    frames = import_module("dask.dataframe")
    if not isinstance(y, frames.Series | frames.DataFrame):
        raise DataError(f"{name} is a Dask {type(y).__name__}; give a Dask array or series, aligned with X.")
    return tuple(y.to_delayed())


def _encode_part(y: Any, number: int, unlabelled: Any, soft: bool) -> tuple[Array, Array]:
    """Return the classes of one part of y, and the class codes of its rows or, for soft targets, probabilities."""
    try:
        if soft:
            return encode_shares(y)
        labels = _one_column(y)
        if is_unlabelled(labels, unlabelled).all():  # rows of other parts may have labels
            return labels[:0], np.full(len(labels), UNLABELLED)
        return encode_labels(labels, unlabelled=unlabelled)
    except DataError as error:
        raise DataError(f"In partition {number} of y: {error}") from error


def _united(some: Sequence[Array], n_rows: int, unlabelled: Any) -> Array:
    """Return the sorted classes of all parts."""
    some = [classes for classes in some if len(classes)]
    if not some:
        raise DataError(f"None of {n_rows} rows has a label (unlabelled={unlabelled!r}).")
    kinds = {"numbers" if classes.dtype.kind in "biuf" else classes.dtype.kind for classes in some}
    # NumPy would convert mixed numbers and strings to strings, which hides the error of `encode_labels`.
    return encode_labels(np.concatenate(some if len(kinds) == 1 else [classes.astype(object) for classes in some]))[0]


def _codes_among(encoded: tuple[Array, Array], classes: Array) -> Array:
    """Recode one part with respect to all classes: codes in the smallest integer type, or probabilities."""
    _, t = recode_classes(classes, *encoded)
    if t.ndim == 2:
        return t[:, 1] if len(classes) == 2 else t
    return _narrow(t, len(classes))


def _lazy_weights(sample_weight: Any, n_rows: int) -> tuple[Sequence[Any], Sequence[int]] | None:
    """Return the parts of the weights and their lengths; None if all weights are 1."""
    if not is_dask(sample_weight):
        weight = check_weight(sample_weight, n_rows)
        return None if weight is None else ([task(weight)], [n_rows])

    def checked(weight: Any, number: int) -> Float:
        values = np.asarray(_one_column(weight), dtype=np.float64)
        try:
            check_weight(values, len(values))
        except DataError as error:
            raise DataError(f"In partition {number} of sample_weight: {error}") from error
        return values

    given = _parts(sample_weight, "sample_weight")
    parts = persist(*(task(checked)(part, i) for i, part in enumerate(given)))
    counts = compute(*map(task(len), parts))
    if sum(counts) != n_rows:
        raise DataError(
            f"sample_weight has {counted(sum(counts), 'value')}, expected {n_rows}: one weight for each row of X."
        )
    return parts, counts


def _aligned(parts: Sequence[Any], counts: Sequence[int], lengths: tuple[int, ...], like: Array) -> Sequence[Any]:
    """Split lazy arrays again, to the lengths of the partitions of X; ``like`` has their type and width."""
    if tuple(counts) == lengths:
        return parts
    arrays = import_module("dask.array")
    shapes = ((n, *like.shape[1:]) for n in counts)
    some = [arrays.from_delayed(part, shape, like.dtype) for part, shape in zip(parts, shapes, strict=True)]
    pieces = arrays.concatenate(some).rechunk({0: lengths}, method="tasks")  # method "p2p" fails if a worker is lost
    return list(pieces.to_delayed().reshape(-1))


def _one_column(y: Any) -> Array:
    values = np.asarray(y)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _narrow(codes: Array, n_classes: int) -> Array:
    """Convert codes to the smallest integer type that also holds -1."""
    return codes.astype(np.min_scalar_type(-n_classes))
