"""What a task does with the rows of its partition."""

from dataclasses import replace
from threading import get_ident

import numpy as np
import pandas as pd
import pytest

from separatrix.exceptions import DataError
from separatrix.rows.block import Block
from separatrix.rows.dask.part import Beside, Place, Task, part_rows, places, reduce_part
from separatrix.rows.watch import watched

X = np.arange(20.0).reshape(10, 2)
POLICY = tuple(np.geterr().items())


class Seen(tuple):
    """Blocks one after another."""

    __slots__ = ()


def seen(block: Block) -> Seen:
    return Seen((block,))


def test_blocks_are_numbered_among_all_rows_and_carry_what_stands_beside_them():
    beside = Beside(np.arange(10, dtype=np.int8), np.linspace(1, 2, 10), -np.arange(10.0))
    blocks = reduce_part(X, X[:0], beside, Place(3, 100, 10), seen, Task(4, POLICY))
    assert [block.row for block in blocks] == [range(100, 104), range(104, 108), range(108, 110)]
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), beside.weight)
    np.testing.assert_array_equal(np.concatenate([block.offset for block in blocks]), beside.offset)
    assert blocks[0].t.dtype == np.intp


def test_real_targets_stay_real():
    (block,) = reduce_part(X, X[:0], Beside(np.linspace(0, 1, 10)), Place(0, 0, 10), seen, Task(10, POLICY))
    assert block.t.dtype == np.float64


def test_rows_alone_have_neither_targets_nor_weights():
    (block,) = reduce_part(X, X[:0], None, Place(0, 0, 10), seen, Task(10, POLICY))
    assert (block.t, block.weight, block.offset) == (None, None, None)


def test_a_partition_that_changed_since_the_first_pass_is_an_error():
    with pytest.raises(DataError, match=r"Partition 2 has 10 rows now and had 9 in the first pass.*X.persist\(\)"):
        reduce_part(X, X[:0], None, Place(2, 0, 9), seen, Task(4, POLICY))


def test_the_callers_floating_point_policy_holds_in_the_task():
    def overflow(block: Block) -> Seen:
        return Seen((np.float64(1e308) * 10,))

    with pytest.raises(FloatingPointError):
        reduce_part(X, X[:0], None, Place(0, 0, 10), overflow, Task(10, (*POLICY, ("over", "raise"))))
    assert reduce_part(X, X[:0], None, Place(0, 0, 10), overflow, Task(10, (*POLICY, ("over", "ignore")))) == (np.inf,)


def test_a_partition_is_a_source_of_its_own():
    rows = part_rows(pd.DataFrame(X, columns=["a", "b"])).sized_for(10**6)
    assert (rows.n_rows, rows.columns) == (10, ("a", "b"))
    np.testing.assert_array_equal(rows.map(lambda some: some.sum(axis=1)), X.sum(axis=1))
    assert rows.fold(lambda n, block: n + len(block), 0) == 10


def test_a_partition_is_worked_on_by_the_thread_of_its_task():
    rows = replace(part_rows(X), rows_per_block=1)
    assert set(rows.reduce(lambda block: Seen((get_ident(),)))) == {get_ident()}
    told = []
    with watched(lambda *progress: told.append(progress)):  # the client tells how far the pass is
        rows.reduce(seen)
    assert told == []


@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_that_begin_at_an_odd_byte_are_aligned_first(order):
    """As they come over a network: BLAS would copy them at each use."""
    raw = np.empty(X.nbytes + 1, np.uint8)
    odd = np.ndarray(X.shape, X.dtype, buffer=raw.data, offset=1, order=order)
    odd[...] = X
    assert not odd.flags.aligned
    blocks = reduce_part(odd, X[:0], Beside(None, odd[:, 0]), Place(0, 0, 10), seen, Task(4, POLICY))
    assert all(block.X.flags.aligned and block.weight.flags.aligned for block in blocks)
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)


def test_places_follow_one_another():
    assert places((3, 0, 2)) == [Place(0, 0, 3), Place(1, 3, 0), Place(2, 3, 2)]


FRAME = pd.DataFrame(X, columns=["a", "b"])


def test_columns_of_a_partition_are_found_by_name():
    (block,) = reduce_part(FRAME[["b", "a"]], FRAME[:0], None, Place(0, 0, 10), seen, Task(10, POLICY))
    np.testing.assert_array_equal(block.X, X)


@pytest.mark.parametrize(
    ("table", "likeness", "said"),
    [
        (FRAME.rename(columns={"b": "bb"}), FRAME[:0], r"Partition 4 has no column 'b'.*mean 'bb'.*map_partitions"),
        (FRAME[["a", "b", "a"]], FRAME[:0], "Partition 4 has 2 columns that are called 'a'"),
        (FRAME.assign(b="x"), FRAME[:0], r"In partition 4: Columns that are not numbers: 'b'"),
        (X[:, :1], X[:0], "Partition 4 has 1 columns, and the Dask array says that it has 2"),
    ],
)
def test_a_partition_with_other_columns_is_an_error_that_names_it(table, likeness, said):
    with pytest.raises(DataError, match=said):
        reduce_part(table, likeness, None, Place(4, 0, 10), seen, Task(10, POLICY))
