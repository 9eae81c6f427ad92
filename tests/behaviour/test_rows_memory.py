"""Tables in memory become blocks of rows with their targets: each row once, in order, without a second copy."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import separatrix as sx
from problems import STORAGES, blobs, names
from separatrix._array import to_dense
from separatrix.exceptions import DataError
from separatrix.files import scan
from separatrix.rows import Block, RowStore, as_source, open_rows, targets_in_memory, watched
from separatrix.rows.memory import Sparse, open_memory
from separatrix.stats import PooledScatter, collect_moments, extent

X = np.round(np.random.default_rng(0).normal(size=(23, 3)), 3)
T, WEIGHT, OFFSET = np.arange(23) % 3, np.linspace(1, 2, 23), np.linspace(-1, 1, 23)


def in_blocks(source, height=7):
    return replace(source, height=height)


def peak_of(call):
    """Return the largest memory in use during a call."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def blocks_of(source, rng=None):
    return source.fold(lambda seen, block: [*seen, block], [], rng)


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])], ids=["positions", "mask"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_are_taken_with_their_targets(rows, store):
    table, t, weight, offset = np.arange(6.0).reshape(3, 2), T[:3], WEIGHT[:3], OFFSET[:3]
    part = Block(store(table), t, weight, range(10, 13), offset).take(rows)
    taken = np.arange(3)[rows]
    assert_array_equal(to_dense(part.X), table[taken])
    for found, whole in [(part.t, t), (part.weight, weight), (part.row, np.arange(10, 13)), (part.offset, offset)]:
        assert_array_equal(found, whole[taken])
    bare = Block(store(table), None, None, range(3)).take(rows)
    assert (bare.t, bare.weight, bare.offset) == (None, None, None)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_storage_gives_the_same_rows(storage):
    source = in_blocks(as_source(STORAGES[storage](X)))
    assert (source.n_rows, len(source.columns)) == (23, 3)
    assert all(block.X.dtype == np.float64 for block in blocks_of(source))
    assert_array_equal(np.vstack([to_dense(block.X) for block in blocks_of(source)]), X)
    assert_array_equal(source.map(lambda B: B @ np.ones(3)), X @ np.ones(3))
    if storage in ("pandas", "polars", "pyarrow"):
        assert source.columns == tuple(names(X))


@pytest.mark.parametrize(
    ("dtype", "working"), [("f4", "f4"), ("f2", "f4"), ("i8", "f8"), ("u1", "f8"), ("?", "f8"), (">f8", "f8")]
)
def test_single_precision_stays_and_other_types_become_double(dtype, working):
    block = open_memory(X.astype(dtype)).read(slice(0, 5))
    assert block.dtype == working
    assert block.dtype.isnative


@pytest.mark.parametrize("order", ["C", "F"])
def test_unaligned_numbers_are_aligned(order):
    raw = np.empty(X.nbytes + 1, np.uint8)
    odd = np.ndarray(X.shape, X.dtype, buffer=raw.data, offset=1, order=order)
    odd[...] = X
    read = open_memory(odd).read(slice(2, 9))
    assert read.flags.aligned
    assert_array_equal(read, X[2:9])


def test_any_arrow_stream_is_a_table():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(dict(zip("abc", X.T, strict=True))).__arrow_c_stream__(requested_schema)

    source = open_rows(Stream())
    assert source.columns == ("a", "b", "c")
    assert_array_equal(source.as_block().X, X)


LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("library", LIBRARIES)
def test_mixed_columns_become_float64_with_nan_in_every_pass(library):
    columns = {"i": [1, 2, None], "b": [True, False, True], "f": [0.5, None, 2.5]}
    table = pd.DataFrame(columns).convert_dtypes() if library == "pandas" else LIBRARIES[library](columns)
    source = as_source(table)
    for _ in range(3):
        assert_array_equal(source.map(lambda B: B), [[1, 1, 0.5], [2, 0, np.nan], [np.nan, 1, 2.5]])


def test_a_mixed_frame_is_held_at_most_once():
    n = 200_000
    frame = pd.DataFrame({f"x{d}": np.arange(n) % (d + 2) if d % 2 else np.ones(n, bool) for d in range(20)})
    rows = open_memory(frame)
    rows.read(slice(0, 10))
    assert peak_of(lambda: rows.read(slice(0, 10))) < 1.8 * 8 * n * 20  # a second pass converts the whole frame
    assert_array_equal(rows.read(slice(n - 3, n)), frame.to_numpy(dtype=float)[-3:])


def test_columns_of_a_frame_may_have_the_names_of_methods():
    frame = pd.DataFrame({"open_rows": [1.0, 2.0], "label": [3.0, 4.0]})
    assert open_rows(frame).n_rows == 2
    assert targets_in_memory(frame, "y", "weight") == ("y", "weight")
    assert not isinstance(frame, RowStore)


def test_no_second_copy_of_the_table_is_made():
    rng = np.random.default_rng(0)
    table, t = rng.normal(size=(100_000, 20)), rng.integers(2, size=100_000)
    collect_moments(as_source(table, t), 2, PooledScatter)  # compiles, which takes memory too
    peak = peak_of(lambda: collect_moments(as_source(table, t), 2, PooledScatter))
    assert peak < 0.8 * table.nbytes  # a few blocks per thread, not 16 MB


def test_progress_is_reported_for_every_block_of_every_pass():
    source, calls = in_blocks(as_source(np.zeros((900, 3))), 400), []
    with watched(lambda *call: calls.append(call)):
        source.reduce(len)
        source.fold(lambda n, block: n + len(block), 0)
        source.map(lambda B: B[:, 0])
    assert calls == [(done, 900, number) for number in (1, 2) for done in (400, 800, 900)] + [
        (done, 900, 3) for done in (800, 900)
    ]
    source.reduce(len)
    assert len(calls) == 8  # nothing is reported outside the block


@pytest.mark.parametrize("place", ["memory", "scan"])
def test_progress_reaches_the_number_of_rows_in_every_pass(place):
    table, y = blobs(900, n_classes=3)
    columns = pa.table({**{f"x{d}": table[:, d] for d in range(4)}, "y": y})
    calls = []
    with watched(lambda *call: calls.append(call)):
        model = sx.LinearDiscriminantAnalysis()
        model = model.fit(table, y) if place == "memory" else model.fit(scan(columns, target="y"))
    last = {number: (done, total) for done, total, number in calls}
    assert set(last.values()) == {(900, 900)}
    assert len(last) == model.n_passes_ + (place == "scan")  # one more for the classes


def test_an_error_of_the_callback_stops_the_pass():
    def interrupt(done, total, number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watched(interrupt):
        as_source(X).reduce(len)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [0.0, np.nan, -np.inf])
def test_the_extent_of_a_large_block_is_that_of_numpy(dtype, odd, rng):
    X = rng.normal(size=(6000, 10)).astype(dtype)
    X[3000, 4] = odd
    found = extent(Block(X, None, None, range(len(X))))
    np.testing.assert_array_equal(found.low, X.min(axis=0))
    np.testing.assert_array_equal(found.high, X.max(axis=0))
    np.testing.assert_allclose(found.radius, np.sqrt((X.astype(np.float64) ** 2).sum(axis=1).max()), rtol=1e-6)


def test_duplicate_entries_of_sparse_rows_are_summed_in_every_pass(rng):
    row, column, data = rng.integers(40, size=300), rng.integers(5, size=300), rng.normal(size=300)
    X = sparse.csr_array((data, column, np.searchsorted(np.sort(row), np.arange(41))), shape=(40, 5))
    stored = X.data.copy()
    source = as_source(X)
    passes = [source.reduce(lambda block: block.X.multiply(block.X).sum(axis=0)) for _ in range(3)]
    for squares in passes:
        np.testing.assert_allclose(squares, np.square(X.toarray()).sum(axis=0))
    np.testing.assert_array_equal(X.data, stored)  # the matrix of the caller is unchanged


def test_tall_blocks_of_many_sparse_rows_are_bounded():
    """A block of half of the rows would need as much memory for its activations as the rows themselves."""
    columns = tuple(map(str, range(100)))
    heights = {n: Sparse(sparse.csr_array((n, 100)), columns).tall_height(2**16) for n in (2**16, 2**18, 2**22)}
    assert heights == {2**16: 2**16, 2**18: 2**17, 2**22: 2**19}


@pytest.mark.parametrize("n", [1, 99, 100, 101, 250, 1000])
def test_sparse_rows_are_cut_into_an_even_number_of_equal_blocks(n):
    sizes = [piece.stop - piece.start for piece in Sparse(sparse.csr_array((n, 2)), ("a", "b")).pieces(100)]
    assert sum(sizes) == n
    assert max(sizes) <= 100
    assert len(sizes) == 1 if n <= 100 else len(sizes) % 2 == 0 and max(sizes) - min(sizes) < len(sizes)


@pytest.mark.parametrize("n", [1, 2621, 3125, 20_000, 50_000])
def test_dense_rows_that_are_read_once_are_cut_into_equal_blocks(n):
    """Threads would wait for the longer of two unequal blocks."""
    rows = open_memory(np.broadcast_to(np.zeros(100), (n, 100)))
    height = rows.height_for(100)
    sizes = [piece.stop - piece.start for piece in rows.pieces(rows.tall_height(height))]
    assert sum(sizes) == n
    assert max(sizes) <= max(height, n // 8)
    assert max(sizes) - min(sizes) < len(sizes)


NO_TABLES = {"object": object(), "set": {1}, "list_iterator": iter([[1.0]]), "dict": {"a": [1]}, "list": [{"a": [1]}]}


@pytest.mark.parametrize(
    ("model", "kind"),
    [(model, kind) for model in (sx.LogisticRegression(), sx.basis.Linear()) for kind in NO_TABLES]
    + [(sx.TableClassifier(), kind) for kind in NO_TABLES if kind not in ("dict", "list")],  # records
)
def test_an_object_that_is_no_table_is_named(model, kind):
    named = "X has values of type dict and shape" if kind == "list" else f"X is of type {kind}, not a table"
    with pytest.raises(DataError, match=f"^{named}.*Pass an array, a data frame"):
        model.fit(NO_TABLES[kind], [0])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 added text of variable width")
def test_text_of_variable_width_is_refused_in_words():
    with pytest.raises(ValueError, match="Column 'x1' holds 'red' in row 1"):
        open_memory(np.array([["1", "red"]], dtype=np.dtypes.StringDType()))


def test_other_shapes_of_sparse_arrays_are_refused_by_wrappers_too():
    cube = sparse.coo_array(np.ones((1, 4, 2)))
    for model in (
        sx.LogisticRegression(),
        sx.OneVsOne(sx.LogisticRegression()),
        sx.Calibrated(sx.LogisticRegression()),
    ):
        with pytest.raises(DataError, match=r"sparse array of shape \(1, 4, 2\). Expected 2 dimensions"):
            model.fit(cube, [0, 1, 0, 1])


def test_a_memory_view_is_a_table():
    table = np.random.default_rng(0).normal(size=(20, 2))
    model = sx.OneVsOne(sx.LogisticRegression()).fit(memoryview(table), np.arange(20) % 3)
    assert_array_equal(model.predict(memoryview(table)), model.predict(table))
