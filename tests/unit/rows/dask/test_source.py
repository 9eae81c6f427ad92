"""A pass over partitions is the pass over all rows: same numbers, fixed order, no rows on the client."""

import pickle
from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.rows import Block, ThroughBasis, as_source
from separatrix.rows.dask.opening import OpenedDask
from separatrix.rows.dask.source import answers
from separatrix.rows.dask.tree import FAN_IN
from separatrix.stats import collect_moments
from separatrix.stats.scatter import ClassScatter


class Numbers(tuple):
    """Row numbers; ``+`` puts them one after another, so that their order shows the order of additions."""

    __slots__ = ()


def numbers(block: Block) -> Numbers:
    return Numbers(block.row)


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 3)) + 1e6


@pytest.fixture
def t(rng):
    return rng.integers(3, size=400)


CHUNKS = {"one": 400, "even": 100, "ragged": ((7, 0, 250, 1, 142, 0),), "many": ((10,) * 40,)}


def partitioned(X, t, chunks):
    return OpenedDask.of(da.from_array(X, chunks=(chunks[0] if isinstance(chunks, tuple) else chunks, 3))).attached(
        t, None, None
    )


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_additions_follow_the_order_of_the_rows(X, t, chunks):
    assert partitioned(X, t, chunks).reduce(numbers) == tuple(range(400))


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_moments_are_those_of_the_whole(X, t, chunks):
    whole = collect_moments(as_source(X, t), 3, ClassScatter)
    parts = collect_moments(partitioned(X, t, chunks), 3, ClassScatter)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-15)
    np.testing.assert_allclose(parts.scatter.matrices, whole.scatter.matrices, rtol=1e-9, atol=1e-9)


def test_the_tree_has_more_than_one_level():
    assert len(CHUNKS["many"][0]) > FAN_IN


def test_of_a_wide_table_one_sum_comes_back(rng):
    wide = rng.normal(size=(40, 300))
    source = OpenedDask.of(da.from_array(wide, chunks=(1, 300))).rows()
    assert source.reduce(numbers) == tuple(range(40))


def test_equal_runs_give_equal_bits_whatever_the_scheduler(X, t):
    runs = []
    for scheduler in ("threads", "synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            runs.append(collect_moments(partitioned(X, t, CHUNKS["many"]), 3, ClassScatter))
    for other in runs[1:]:
        assert other.scatter.matrices.tobytes() == runs[0].scatter.matrices.tobytes()


def test_every_task_returns_a_statistic_and_never_rows(X, t):
    """Of 40 partitions no result larger than one partition's sum is ever held by the scheduler."""
    from dask.callbacks import Callback

    results = []
    with Callback(posttask=lambda key, value, *rest: results.append((key, value))), dask.config.set(scheduler="sync"):
        partitioned(X, t, CHUNKS["many"]).reduce(lambda block: float(block.X.sum()))
    sums = [value for key, value in results if "reduce_part" in str(key) or "add_all" in str(key)]
    assert len(sums) == 40 + 3  # and the client adds the last three
    assert all(isinstance(value, float) for value in sums)


def test_a_source_leaves_its_rows_behind_when_it_travels_with_a_statistic(X, t):
    source = partitioned(X, t, 100)
    sent = pickle.dumps(source)
    assert len(sent) < X.nbytes / 10
    assert pickle.loads(sent).n_rows == 400


def test_a_statistic_that_holds_its_source_reaches_other_processes_without_the_rows(X, t):
    import cloudpickle

    source = partitioned(X, t, 100)
    assert len(cloudpickle.dumps(lambda block: (len(block), source))) < X.nbytes / 4


def test_partitions_seen_through_a_basis(X, t):
    class Squares:
        def evaluate(self, X):
            return X**2

        def names(self, columns):
            return tuple(f"{name}^2" for name in columns)

    total = partial(lambda block, power: block.X.sum() ** power, power=1)
    seen = ThroughBasis(partitioned(X, t, 100), Squares())
    assert seen.reduce(total) == pytest.approx((X**2).sum(), rel=1e-14)


def test_ordered_work_is_refused_with_the_reason_and_alternatives(X, t):
    with pytest.raises(DataError, match=r"one row after the other.*side by side.*solver='auto'.*X.compute\(\)"):
        partitioned(X, t, 100).fold(lambda state, block: state, 0)


def test_a_map_brings_the_answers_into_memory(X, t):
    found = partitioned(X, t, CHUNKS["ragged"]).map(lambda rows: rows[:, 0] * 2)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, 2 * X[:, 0])


def test_answers_are_lazy_where_the_rows_are(X, t):
    def first(rows):
        return rows.map(lambda some: some[:, 0])

    assert isinstance(answers(partitioned(X, t, 100), first), da.Array)
    np.testing.assert_array_equal(answers(as_source(X), first), X[:, 0])


def test_rows_that_change_from_pass_to_pass_are_noticed():
    calls = []

    def grows(block_info=None):
        calls.append(1)
        return np.ones((len(calls), 2))

    lazy = da.from_delayed(dask.delayed(grows, pure=False)(), shape=(np.nan, 2), dtype=float)
    source = OpenedDask.of(lazy).rows()
    with pytest.raises(DataError, match="had 1 in the first pass"):
        source.reduce(numbers)
