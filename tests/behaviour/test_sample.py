from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse, stats

from separatrix.rows import as_source
from separatrix.stats import collect_sample, drawn_numbers


def rows_of(sample):
    """The one column of a drawn source."""
    return np.asarray(sample.map(lambda X: X.toarray() if sparse.issparse(X) else X))[:, 0]


@pytest.mark.parametrize("n", [1, 7, 100, 12_345])
@pytest.mark.parametrize("rows", [1, 10, 1000, 100_000])
def test_about_as_many_rows_as_requested_are_drawn(n, rows):
    drawn = collect_sample(as_source(np.arange(n, dtype=np.float64)[:, None]), rows)
    if rows >= n:
        np.testing.assert_array_equal(rows_of(drawn), np.arange(n))
    else:
        # one out of every n // rows, at most twice as many as requested
        assert rows - 1 <= drawn.n_rows <= 2 * rows + 1
        assert len(np.unique(rows_of(drawn))) == drawn.n_rows


def test_rows_keep_their_targets_and_their_weights_are_scaled():
    n = 4000
    t, weight = np.arange(n) % 3, 1.0 + np.arange(n) % 2
    source = as_source(np.arange(n, dtype=np.float64)[:, None]).with_numbers(t, weight, -np.arange(float(n)))
    drawn = collect_sample(replace(source, height=300), 400)
    row = rows_of(drawn).astype(int)
    drawn = drawn.as_block()
    np.testing.assert_array_equal(drawn.t, t[row])
    np.testing.assert_array_equal(drawn.offset, -row)
    np.testing.assert_allclose(drawn.weight, weight[row] * n / len(drawn))
    assert drawn.weight.sum() == pytest.approx(weight.sum(), rel=0.05)


@pytest.mark.parametrize("period", [2, 16, 50, 64, 100])
def test_a_periodic_table_is_sampled_fairly(period):
    """Every position within the period is equally likely (a chi-squared test)."""
    n = 100_000
    place = (np.arange(n) % period).astype(np.float64)
    for rows in (n // 16, n // 50):
        drawn = rows_of(collect_sample(as_source(place[:, None]), rows)).astype(int)
        assert stats.chisquare(np.bincount(drawn, minlength=period)).pvalue > 1e-4


def test_a_row_of_a_short_last_stratum_is_drawn_as_often_as_any_other():
    """The last of 11 rows in strata of 10 is drawn once in ten times, like every other row."""
    seen = np.zeros(11)
    for first in range(4000):
        seen[drawn_numbers(first, first + 11, 10) - first] += 1
    np.testing.assert_allclose(seen / 4000, 0.1, atol=0.025)
