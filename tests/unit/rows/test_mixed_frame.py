"""Data frames of several types: converted block by block at first, once where they are read again."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from separatrix import LinearDiscriminantAnalysis, LogisticRegression
from separatrix.rows import as_source, reader
from separatrix.rows.reader import open_reader

N = 1000
RNG = np.random.default_rng(0)
COLUMNS = {
    "flag": RNG.random(N) < 0.5,
    "count": RNG.integers(0, 9, N),
    "size": RNG.normal(size=N),
    "small": RNG.normal(size=N).astype(np.float32),
}
TABLE = np.column_stack([column.astype(np.float64) for column in COLUMNS.values()])
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture
def conversions(monkeypatch):
    """The spans that were converted."""
    seen = []
    honest = reader._MixedFrame._convert

    def counted(self, span):
        seen.append(span)
        return honest(self, span)

    monkeypatch.setattr(reader._MixedFrame, "_convert", counted)
    return seen


def pass_over(table):
    return np.concatenate([table.read(slice(start, start + 300)) for start in range(0, N, 300)])


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_pass_reads_the_same_rows(library, conversions):
    opened = open_reader(LIBRARIES[library](COLUMNS))
    assert opened.n_rows == N
    assert opened.columns == tuple(COLUMNS)
    for _ in range(4):
        assert_array_equal(pass_over(opened), TABLE)
    assert conversions == [slice(0, 300), slice(300, 600), slice(600, 900), slice(900, 1200), slice(0, 262144)]


def test_where_memory_is_short_every_pass_converts_and_nothing_is_kept(conversions, monkeypatch):
    monkeypatch.setattr(reader, "_spare", lambda: TABLE.nbytes)
    opened = open_reader(pd.DataFrame(COLUMNS))
    for _ in range(3):
        assert_array_equal(pass_over(opened), TABLE)
    assert len(conversions) == 3 * 4


def test_a_large_frame_is_converted_in_parts_and_held_once(monkeypatch):
    n = 200_000
    frame = pd.DataFrame({f"x{d}": np.arange(n) % (d + 2) if d % 2 else np.ones(n, bool) for d in range(20)})
    opened = open_reader(frame)
    opened.read(slice(0, 10))
    tracemalloc.start()
    opened.read(slice(0, 10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.8 * 8 * n * 20
    assert_array_equal(opened.read(slice(n - 3, n)), frame.to_numpy(dtype=float)[-3:])


def test_one_pass_keeps_nothing_and_many_passes_convert_once(conversions):
    frame, y = pd.DataFrame(COLUMNS), (TABLE[:, 2] + RNG.logistic(size=N) > 0).astype(int)
    LinearDiscriminantAnalysis().fit(frame, y)
    once = len(conversions)
    assert once == 1
    model = LogisticRegression().fit(frame, y)
    assert model.n_passes_ > 4
    assert len(conversions) == once + 2
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(TABLE, y).coef_, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_frame_of_one_working_precision_is_never_copied(dtype):
    frame = pd.DataFrame(RNG.normal(size=(N, 3)).astype(dtype))
    source = as_source(frame)
    for _ in range(3):
        assert np.shares_memory(source.reader.read(slice(0, 50)), frame.to_numpy())


def test_the_memory_of_the_machine_is_known_or_guessed(monkeypatch):
    reader._spare.cache_clear()
    assert reader._spare() > 2**26

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(reader.os, "sysconf", unknown)
    reader._spare.cache_clear()
    assert reader._spare() == 2**30
    reader._spare.cache_clear()
