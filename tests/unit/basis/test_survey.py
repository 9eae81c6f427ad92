# SPDX-License-Identifier: BSD-3-Clause
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from separatrix.basis.survey import Excerpt, require_varying, survey, whole
from separatrix.exceptions import DataError
from separatrix.rows import as_source

ROWS = np.random.default_rng(0).normal(size=(60, 3))


def excerpt_of(numbers):
    return Excerpt(((np.asarray(numbers), ROWS[numbers]),))


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(60)), cuts=st.sets(st.integers(1, 59), min_size=1, max_size=8))
def test_rows_come_back_in_order_however_they_were_split_and_shuffled(order, cuts):
    edges = [0, *sorted(cuts), 60]
    parts = [excerpt_of(order[a:b]) for a, b in pairwise(edges)]
    left = sum(parts, start=Excerpt())
    right = parts[-1]
    for part in parts[-2::-1]:
        right = part + right
    np.testing.assert_array_equal(left.stack(), ROWS)
    np.testing.assert_array_equal(right.stack(), ROWS)


@pytest.mark.parametrize("rows_per_block", [1, 7, 59, 60, 1000])
def test_the_sample_does_not_depend_on_how_rows_are_blocked(rows_per_block):
    expected = survey(as_source(ROWS), 10, np.random.default_rng(5)).sample
    source = replace(as_source(ROWS), height=rows_per_block)
    np.testing.assert_array_equal(survey(source, 10, np.random.default_rng(5)).sample, expected)


def test_a_sample_is_uniform_over_the_rows_and_without_replacement():
    numbers = np.arange(20.0)[:, None]
    rng = np.random.default_rng(1)
    draws = [survey(replace(as_source(numbers), height=3), 5, rng).sample.ravel() for _ in range(200)]
    assert all(len(np.unique(draw)) == 5 for draw in draws)
    counts = np.bincount(np.concatenate(draws).astype(int), minlength=20)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_asking_for_more_rows_than_there_are_gives_them_all():
    np.testing.assert_array_equal(survey(as_source(ROWS), 100, np.random.default_rng(0)).sample, ROWS)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_extent_and_sample_of_sparse_rows_are_those_of_dense_rows(make):
    X = np.where(ROWS > 0.5, ROWS, 0.0)
    found = survey(replace(as_source(make(X)), height=7), 60)
    np.testing.assert_array_equal(found.extent.low, X.min(axis=0))
    np.testing.assert_array_equal(found.extent.high, X.max(axis=0))
    np.testing.assert_array_equal(found.sample, X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_traced_to_its_column(value):
    X = ROWS.copy()
    X[[4, 30], 1] = value
    with pytest.raises(DataError, match=r"column 'x1' \(2 of 60 rows\)"):
        survey(replace(as_source(X), height=16))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_largest_finite_numbers_are_no_infinity(make):
    X = make(np.array([[1.7e308], [1.6e308]]))
    assert survey(as_source(X)).extent.high == 1.7e308


def test_a_constant_column_is_named_with_its_value():
    X = np.column_stack([ROWS[:, 0], np.full(60, 3.5)])
    with pytest.raises(DataError, match=r"Column 'x1' is constant \(3.5 in every row; n_samples = 60\).*Drop"):
        require_varying(survey(as_source(X)).extent, as_source(X))


def test_whole_returns_the_table_and_keeps_it_sparse():
    source = replace(as_source(sparse.csr_array(ROWS)), height=16)
    rows = whole(source)
    assert isinstance(rows, sparse.csr_array)
    np.testing.assert_array_equal(rows.toarray(), ROWS)
