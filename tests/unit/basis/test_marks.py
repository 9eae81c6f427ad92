# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest

from separatrix.basis.marks import MARKS, SAMPLE, even_marks, quantile_marks
from separatrix.exceptions import DataError
from separatrix.rows import as_source

X = np.random.default_rng(0).exponential(size=(500, 2))


def test_even_marks_run_from_the_smallest_to_the_largest_value():
    np.testing.assert_array_equal(even_marks(as_source(X), 6), np.linspace(X.min(axis=0), X.max(axis=0), 6))


def test_quantile_marks_are_the_quantiles_of_the_rows():
    np.testing.assert_array_equal(quantile_marks(as_source(X), 5), np.quantile(X, [0, 0.25, 0.5, 0.75, 1], axis=0))


def test_quantiles_of_many_rows_come_from_a_sample_but_their_ends_are_exact():
    many = np.random.default_rng(1).exponential(size=(5 * SAMPLE, 1))
    marks = quantile_marks(as_source(many), 5)
    assert (marks[0], marks[-1]) == (many.min(), many.max())
    ranks = [(many <= mark).mean() for mark in marks[1:-1, 0]]
    np.testing.assert_allclose(ranks, [0.25, 0.5, 0.75], atol=0.02)


@pytest.mark.parametrize("kind", MARKS)
def test_a_constant_column_is_refused(kind):
    with pytest.raises(DataError, match="Column 'x0' is constant"):
        MARKS[kind](as_source(np.ones((4, 1))), 3)
