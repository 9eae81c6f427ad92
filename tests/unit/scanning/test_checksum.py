"""Rows that change between passes, in as many rows, are noticed; rows in another order are not."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import separatrix as sx
from separatrix.rows.block import Block
from separatrix.scanning import RowsChangedError, scan, watched
from separatrix.scanning.checksum import Checksum, Seal, checksum, label_sum

RNG = np.random.default_rng(7)
N = 60
X = np.asfortranarray(RNG.normal(size=(N, 3)).round(1))
BLOCK = Block(X, RNG.integers(-1, 3, N), RNG.random(N), range(N))


def some(rows):
    return checksum(BLOCK.take(rows))


@given(st.permutations(range(N)), st.integers(0, N))
def test_it_is_a_sum_over_rows_in_any_order_and_any_blocks(order, cut):
    order = np.array(order)
    assert some(order[:cut]) + some(order[cut:]) == checksum(BLOCK)


@given(st.integers(0, N - 1), st.integers(0, 2), st.floats(allow_nan=True, width=64))
def test_one_value_that_changes_changes_it(row, column, value):
    changed = X.copy()
    changed[row, column] = value
    same = changed.view(np.uint64)[row, column] == X.view(np.uint64)[row, column]
    assert (checksum(replace(BLOCK, X=changed)).rows == checksum(BLOCK).rows) == same


@pytest.mark.parametrize("what", ["X", "t", "weight"])
def test_values_that_change_rows_change_it(what):
    """The same values in each column, and other rows."""
    values = getattr(BLOCK, what).copy()
    first = values.T[0] if values.ndim == 2 else values
    first[:] = first[::-1].copy()
    assert checksum(replace(BLOCK, **{what: values})).rows != checksum(BLOCK).rows


def test_whole_numbers_of_one_row_do_not_make_up_for_each_other():
    """Counts have few bits, at one end of a word: with a small factor, 10 + 1 made up for 30 - 10."""
    counts = np.asfortranarray(np.stack(np.meshgrid(*[np.arange(0.0, 60)] * 2), axis=-1).reshape(-1, 2))
    sums = {checksum(Block(counts[[n]], None, None, range(1))).rows for n in range(len(counts))}
    assert len(sums) == len(counts)


def test_columns_that_change_places_change_it():
    assert checksum(replace(BLOCK, X=np.asfortranarray(X[:, [1, 0, 2]]))).rows != checksum(BLOCK).rows


def test_zeros_of_sparse_rows_weigh_nothing():
    dense = np.where(np.abs(X) < 1, 0.0, X)
    as_sparse = replace(BLOCK, X=sparse.csr_array(dense))
    assert checksum(as_sparse) == checksum(replace(BLOCK, X=np.asfortranarray(dense)))


def test_single_precision_soft_targets_and_offsets_are_summed():
    first = replace(BLOCK, X=X.astype(np.float32), t=RNG.random((N, 2)), offset=RNG.random(N))
    assert checksum(first).labels == 0
    for changed in (
        replace(first, X=first.X + np.float32(1e-6)),
        replace(first, t=first.t[:, ::-1]),
        replace(first, offset=first.offset[::-1]),
    ):
        assert checksum(changed) != checksum(first)


def test_labels_are_summed_as_their_counts_are():
    counts = [(code, int((BLOCK.t == code).sum())) for code in (-1, 0, 1, 2)]
    assert checksum(BLOCK).labels == label_sum(counts)


def test_a_seal_says_what_is_different():
    seal = Seal("the query", labels=5)
    with pytest.raises(RowsChangedError, match="the query has other labels"):
        seal.require(Checksum(1, 4))
    seal.require(Checksum(1, 5))
    seal.require(Checksum(1, 0))  # labels are part of the rows, and were compared
    with pytest.raises(RowsChangedError, match=r"other values.*as many rows.*ORDER BY.*CREATE TABLE"):
        seal.require(Checksum(2, 0))


CHANGES = {
    "a value": "UPDATE t SET x1 = x1 + 1e-9 WHERE id = 17",
    "labels, of which there are as many": "UPDATE t SET y = 1 - y",
    "values of two rows": "UPDATE t SET x0 = (SELECT u.x0 FROM t u WHERE u.id = 5 - t.id) WHERE id IN (2, 3)",
    "a weight": "UPDATE t SET w = 2 WHERE id = 3",
    "a gap": "UPDATE t SET x1 = NULL WHERE id = 4",
    "the number of rows": "DELETE FROM t WHERE id = 4",
}


def filled(connection):
    connection.execute("CREATE TABLE t (id INTEGER, x0 DOUBLE, x1 DOUBLE, y INTEGER, w DOUBLE)")
    for i, (a, b) in enumerate(RNG.normal(size=(40, 2)).tolist()):
        connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [i, a, b, i % 2, 1 + i % 3])
    return connection


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("library", [duckdb, sqlite3], ids=["duckdb", "sqlite"])
def test_a_query_that_changes_between_passes_is_an_error_and_the_model_is_unchanged(library, change):
    with closing(filled(library.connect(":memory:"))) as connection:
        rows = scan("SELECT * FROM t", connection=connection, columns=["x0", "x1"], target="y", weight="w")
        model = sx.LogisticRegression().fit(rows)
        before, passes = model.coef_, []

        def change_in_the_third_pass(done, total, number):
            if number == 3 and not passes:
                passes.append(number)
                connection.execute(change)

        said = "had 40 rows before and 39 now" if "DELETE" in change else "has other values than in the pass before"
        with watched(change_in_the_third_pass), pytest.raises(RowsChangedError, match=f"the query .* {said}"):
            model.fit(rows)
        assert model.coef_ is before


TABLE = pa.table({"a": RNG.normal(size=N), "b": RNG.normal(size=N), "y": np.arange(N) % 2})
SHUFFLED = TABLE.take(RNG.permutation(N))


def streams(*tables):
    """A stream that is made again, with the next of the tables each time; the last one stays."""
    waiting = list(tables)
    return lambda: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def test_a_stream_that_is_other_when_it_is_made_again_is_an_error():
    other = TABLE.set_column(0, "a", pa.array(TABLE["a"].to_numpy()[::-1]))
    with pytest.raises(RowsChangedError, match="the stream of the function that was given has other values"):
        sx.LogisticRegression().fit(scan(streams(TABLE, TABLE, other), target="y"))
    flipped = TABLE.set_column(2, "y", pa.array((np.arange(N) == 0).astype(int)))
    with pytest.raises(RowsChangedError, match="has other labels"):  # than those that were counted
        sx.LogisticRegression().fit(scan(streams(TABLE, flipped), target="y"))


def test_another_order_matters_to_labels_in_memory_alone():
    expected = sx.LogisticRegression().fit(scan(TABLE, target="y")).coef_
    shuffled = scan(streams(TABLE, TABLE, SHUFFLED), target="y")
    np.testing.assert_allclose(sx.LogisticRegression().fit(shuffled).coef_, expected, rtol=1e-7)
    y = TABLE["y"].to_numpy()
    alone = scan(streams(TABLE, TABLE, TABLE, SHUFFLED), columns=["a", "b"])
    with pytest.raises(RowsChangedError, match="ORDER BY"):
        sx.LogisticRegression().fit(alone, y)
