"""What all formats share: the size of batches, and the watch over changes."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.files import FileReadError, open_table, table


@given(sizes=st.lists(st.integers(0, 9), max_size=8), rows=st.integers(1, 7))
def test_rebatching_keeps_the_rows_and_their_order(sizes, rows):
    numbers = iter(range(100))
    batches = [pa.record_batch({"a": pa.array([next(numbers) for _ in range(n)], pa.int64())}) for n in sizes]
    found = list(table.rebatch(iter(batches), rows))
    assert [value for batch in found for value in batch["a"].to_pylist()] == list(range(sum(sizes)))
    assert all(batch.num_rows == rows for batch in found[:-1])
    assert all(0 < batch.num_rows <= rows for batch in found)


def test_wide_rows_come_in_smaller_batches(monkeypatch):
    monkeypatch.setattr(table, "MOST_BYTES", 800)
    batches = [pa.record_batch({"a": pa.array(range(50), pa.int64())})] * 4
    assert [batch.num_rows for batch in table.rebatch(iter(batches), 1000)] == [100, 100]


def test_categories_of_different_batches_are_put_together():
    batches = [pa.record_batch({"a": pa.array(texts).dictionary_encode()}) for texts in (["x", "y"], ["z", "x"])]
    (found,) = table.rebatch(iter(batches), 10)
    assert found["a"].to_pylist() == ["x", "y", "z", "x"]


def test_a_file_that_changed_since_it_was_opened_is_not_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    opened = open_table(path)
    before = opened.fingerprint()
    assert opened.read().num_rows == 1
    path.write_text("a\n1\n2\n")
    assert opened.fingerprint() != before
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        opened.read()
    with pytest.raises(ValueError, match="rows"):
        open_table(path).batches(rows=0)
    path.unlink()
    with pytest.raises(FileReadError, match="t.csv is gone"):
        opened.read()
