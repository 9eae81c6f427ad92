import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from separatrix.rows import as_source
from separatrix.scanning import scan
from separatrix.stats.objective import Grad


@pytest.fixture
def path(table, tmp_path):
    pq.write_table(table.select(["x0", "x1", "x2", "x3"]), tmp_path / "a.parquet", row_group_size=130)
    return tmp_path / "a.parquet"


@pytest.fixture
def rows(path):
    return scan(path).open_rows(None).rows()


def column_sums(block):
    return Grad(block.X.sum(axis=0))


@pytest.mark.parametrize("width", [1, 10**4, 10**7])
def test_a_pass_is_the_sum_over_all_rows_for_any_blocks(rows, width, numbers):
    np.testing.assert_allclose(rows.sized_for(width).reduce(column_sums).grad, numbers[0].sum(axis=0), rtol=1e-12)
    assert rows.sized_for(width).n_rows == 900


def test_equal_runs_give_equal_bits_and_threads_do_not_matter(rows, monkeypatch):
    tall = rows.in_blocks(17)
    first = tall.reduce(column_sums).grad
    assert all((tall.reduce(column_sums).grad == first).all() for _ in range(5))
    monkeypatch.setattr("separatrix._threads.LIMIT", "1")
    assert (tall.reduce(column_sums).grad == first).all()


def test_blocks_are_numbered_through_the_row_groups(rows):
    seen = rows.in_blocks(50).fold(lambda seen, block: [*seen, *block.row], [])
    assert seen == list(range(900))


def test_ordered_work_sees_rows_in_order_or_shuffled_within_their_batch(rows, numbers):
    def values(seen, block):
        return [*seen, *block.X[:, 0].tolist()]

    assert rows.fold(values, []) == numbers[0][:, 0].tolist()
    shuffled = rows.fold(values, [], np.random.default_rng(0))
    for start in range(0, 900, 130):
        group = numbers[0][start : start + 130, 0].tolist()
        assert shuffled[start : start + 130] != group
        assert sorted(shuffled[start : start + 130]) == sorted(group)
    assert shuffled == rows.fold(values, [], np.random.default_rng(0))


def test_answers_are_stacked_in_order_dense_or_sparse(rows, numbers):
    np.testing.assert_array_equal(rows.in_blocks(13).map(lambda X: X * 2), numbers[0] * 2)
    found = rows.in_blocks(13).map(lambda X: sparse.csr_array(X))
    np.testing.assert_array_equal(found.toarray(), numbers[0])


def test_numbers_beside_the_rows_come_to_their_rows(rows, path, numbers):
    beside = np.arange(900.0)
    attached = scan(path).open_rows(None).attached(numbers[1], beside, -beside)

    def check(state, block):
        np.testing.assert_array_equal(block.t, numbers[1][block.row.start : block.row.stop])
        np.testing.assert_array_equal(block.weight, list(block.row))
        np.testing.assert_array_equal(-block.offset, list(block.row))
        return state

    attached.fold(check, None)


def test_single_precision_columns_make_single_precision_blocks():
    table = pa.table({"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)})
    assert scan(table).open_rows(None).rows().map(lambda X: X).dtype == np.float32


def test_a_batch_is_read_while_the_one_before_is_reduced():
    """The function that reduces the first batch waits for the third to be read: alone it would wait for ever."""
    read = [threading.Event() for _ in range(3)]
    schema = pa.schema([("a", pa.float64())])

    def batches():
        for event in read:
            event.set()
            yield pa.record_batch({"a": [1.0]}, schema=schema)

    def wait(block):
        assert block.row.start or read[2].wait(60), "nobody reads ahead"
        return Grad(block.X.sum(axis=0))

    rows = scan(lambda: pa.RecordBatchReader.from_batches(schema, batches()))
    rows.ledger.n_rows = 3
    rows.origin.first.clear()
    assert rows.open_rows(None).rows().reduce(wait).grad.tolist() == [3.0]


def test_an_error_in_a_block_ends_the_pass_and_its_threads(rows):
    def fail(block):
        raise ZeroDivisionError("in a block")

    with pytest.raises(ZeroDivisionError, match="in a block"):
        rows.in_blocks(10).reduce(fail)
    assert not [thread for thread in threading.enumerate() if "separatrix-scan" in thread.name]


MEASURE = """
import resource, sys
import numpy as np
import separatrix as sx
from separatrix.scanning import scan
model = sx.LinearDiscriminantAnalysis()
small, large = (scan(path, target="y") for path in sys.argv[1:])
model.fit(small)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(large)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path, rng):
    """Eight times the rows: 190 MB more of numbers, of which no more than a few batches may be in memory."""
    X = rng.normal(size=(31_250, 24))
    table = pa.table({**{f"x{d}": X[:, d] for d in range(24)}, "y": X[:, 0] > 0})
    paths = [tmp_path / "small.parquet", tmp_path / "large.parquet"]
    for path, times in zip(paths, (4, 36), strict=True):
        with pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
            for _ in range(times):
                writer.write_table(table)
    done = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 50_000  # kB


def test_moments_are_those_of_memory(rows, numbers):
    here, there = (
        source.reduce(lambda block: Grad(block.X.T @ block.X)).grad for source in (rows, as_source(numbers[0]))
    )
    np.testing.assert_allclose(here, there, rtol=1e-12)
