"""Labels and weights in partitions: what they are in memory, they are beside the rows."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.exceptions import DataError
from separatrix.rows.dask.beside import Column, _cut, census, split
from separatrix.rows.dask.graph import shared
from separatrix.rows.pairing import LabelRules, pair

N = 60
LENGTHS = (25, 0, 30, 5)
HALVES = da.arange(N, chunks=9) % 2


@pytest.fixture
def words(rng):
    return np.array(["lot", "few", "none"])[rng.integers(3, size=N)]


@pytest.fixture
def weight(rng):
    return rng.integers(1, 4, size=N) / 2


def joined(beside):
    """All partitions as one, and whether they are cut where they should be."""
    parts = dask.compute(*beside)
    assert tuple(len(part.t) for part in parts) == LENGTHS
    weights = [part.weight for part in parts]
    return np.concatenate([part.t for part in parts]), None if weights[0] is None else np.concatenate(weights)


def lazy(values, chunks):
    return da.from_array(np.asarray(values), chunks=chunks)


@pytest.mark.parametrize("chunks", [N, 7, (LENGTHS,)], ids=["one", "others", "the_same"])
def test_codes_and_weights_are_those_of_memory(words, weight, chunks):
    found = census(lazy(words, chunks), lazy(weight, 11), LENGTHS, LabelRules())
    expected = pair(words, weight, N, LabelRules())
    t, w = joined(found.beside)
    np.testing.assert_array_equal(found.classes, expected.classes)
    assert found.classes.dtype == expected.classes.dtype
    np.testing.assert_array_equal(t, expected.t)
    np.testing.assert_array_equal(w, expected.weight)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(N) % 4,
        (np.arange(N) % 2).astype(bool),
        (np.arange(N) % 3).astype(float),
        np.array(["no", "yes", "perhaps"] * (N // 3), dtype=object),
    ],
    ids=["int", "bool", "float", "object"],
)
def test_classes_have_the_type_they_have_in_memory(labels):
    found = census(lazy(labels, 13), None, LENGTHS, LabelRules())
    expected = pair(labels, None, N, LabelRules())
    assert (found.classes.dtype, found.classes.tolist()) == (expected.classes.dtype, expected.classes.tolist())
    np.testing.assert_array_equal(joined(found.beside)[0], expected.t)


def test_a_series_of_strings_or_categories(words):
    for series in (pd.Series(words), pd.Series(words).astype("category")):
        found = census(dd.from_pandas(series, npartitions=4), None, LENGTHS, LabelRules())
        assert found.classes.tolist() == ["few", "lot", "none"]


def test_either_may_be_in_memory(words, weight):
    expected = pair(words, weight, N, LabelRules())
    for y, w in ((lazy(words, 9), weight), (list(words), lazy(weight, 9))):
        t, kept = joined(census(y, w, LENGTHS, LabelRules()).beside)
        np.testing.assert_array_equal(t, expected.t)
        np.testing.assert_array_equal(kept, expected.weight)


def test_weights_that_are_all_one_are_none(words):
    assert joined(census(lazy(words, 9), da.ones(N, chunks=8), LENGTHS, LabelRules()).beside)[1] is None


def test_rows_without_a_label_are_counted_also_where_a_partition_has_no_other():
    labels = np.where(np.arange(N) < 30, -1, np.arange(N) % 3)
    found = census(lazy(labels, 10), None, LENGTHS, LabelRules(unlabelled=-1))
    assert (found.n_unlabelled, found.classes.tolist()) == (30, [0, 1, 2])
    np.testing.assert_array_equal(joined(found.beside)[0], labels)


def test_classes_known_before_keep_their_codes(words):
    known = np.array(["none", "some", "lot", "few"])
    found = census(lazy(words, 10), None, LENGTHS, LabelRules(known=known))
    np.testing.assert_array_equal(known[joined(found.beside)[0]], words)
    with pytest.raises(DataError, match="'few' is not one of the classes"):
        census(lazy(words, 10), None, LENGTHS, LabelRules(known=known[:3]))


def test_soft_targets(rng):
    T = rng.dirichlet(np.ones(3), N)
    found = census(lazy(T, (11, 2)), None, LENGTHS, LabelRules(soft=True))
    assert found.is_soft
    np.testing.assert_allclose(joined(found.beside)[0], T, rtol=1e-15)
    frame = dd.from_pandas(pd.DataFrame(T[:, :2] / T[:, :2].sum(axis=1, keepdims=True), columns=["q", "p"]))
    pair_of = census(frame, None, LENGTHS, LabelRules(soft=True))
    assert pair_of.classes.tolist() == ["q", "p"]
    assert joined(pair_of.beside)[0].ndim == 1


@pytest.mark.parametrize(
    ("y", "weight", "rules", "said"),
    [
        (da.zeros(N + 1, chunks=9), None, LabelRules(), "X has 60 rows but y has 61 labels"),
        (da.zeros(N, chunks=9), None, LabelRules(), "every label is 0.0"),
        (da.full(N, -1, chunks=9), None, LabelRules(unlabelled=-1), "Not one of 60 rows has a label"),
        (
            HALVES,
            da.ones(N - 1, chunks=9),
            LabelRules(),
            "sample_weight has 59 values, expected 60",
        ),
        (HALVES, -da.ones(N, chunks=9), LabelRules(), r"In partition \d of sample_weight"),
        (HALVES, HALVES, LabelRules(), "class 0 has weight 0"),
        (HALVES, da.zeros(N, chunks=9), LabelRules(), "Every sample_weight is zero"),
    ],
)
def test_what_does_not_pair_up_is_an_error(y, weight, rules, said):
    with pytest.raises(DataError, match=said):
        census(y, weight, LENGTHS, rules)


def test_labels_of_different_types_in_different_partitions():
    mixed = da.concatenate([lazy(np.array([1, 2], object), 2), lazy(np.array(["a", "b"], object), 2)])
    with pytest.raises(DataError, match="different types cannot be sorted: int, str"):
        census(mixed, None, (4,), LabelRules())


def test_a_missing_target_is_an_error():
    with pytest.raises(ValueError, match="requires y to be passed"):
        census(None, da.ones(N), LENGTHS, LabelRules())


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data())
def test_values_cut_anew_are_the_same_values_in_the_same_order(lengths, data):
    total = sum(lengths)
    cuts = sorted(data.draw(st.lists(st.integers(0, total), max_size=5)))
    wanted = tuple(np.diff([0, *cuts, total]).tolist())
    values = np.arange(total)
    parts = [shared(part) for part in np.split(values, np.cumsum(lengths)[:-1])]
    pieces = dask.compute(*_cut(Column(parts, tuple(lengths)), wanted), scheduler="sync")
    assert tuple(map(len, pieces)) == wanted
    np.testing.assert_array_equal(np.concatenate(pieces), values)


def test_numbers_in_memory_are_cut_where_the_rows_are_cut():
    t, offset = np.arange(N) % 3, np.arange(N) / 7
    parts = dask.compute(*split((t, None, offset), LENGTHS))
    np.testing.assert_array_equal(np.concatenate([part.offset for part in parts]), offset)
    assert parts[0].t.dtype == np.int8
    assert parts[0].weight is None
