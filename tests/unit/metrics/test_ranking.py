import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from separatrix.metrics import auc


def scores(seed, n=80, K=2, levels=12):
    """Probabilities with many ties."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(K), size=levels)[rng.integers(levels, size=n)]
    codes = rng.integers(K, size=n)
    codes[: 2 * K] = np.tile(np.arange(K), 2)
    return P, codes


def wins(a, b):
    """How often a row of ``a`` beats each of ``b``: 1, ½ or 0."""
    return (a[:, None] > b) + 0.5 * (a[:, None] == b)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_the_area_is_that_of_scikit_learn(K):
    P, codes = scores(K, K=K)
    expected = roc_auc_score(codes, P[:, 1]) if K == 2 else roc_auc_score(codes, P, multi_class="ovo")
    assert auc(P, codes).value == pytest.approx(expected, rel=1e-12)


def test_weights_are_those_of_scikit_learn(rng):
    P, codes = scores(1)
    weight = rng.integers(0, 4, size=len(P))
    expected = roc_auc_score(codes, P[:, 1], sample_weight=weight)
    assert auc(P, codes, weight).value == pytest.approx(expected, rel=1e-12)


def test_two_classes_by_mann_whitney():
    P, codes = scores(3)
    a, b = P[codes == 1, 1], P[codes == 0, 1]
    assert auc(P, codes).value == pytest.approx(stats.mannwhitneyu(a, b).statistic / (len(a) * len(b)), rel=1e-12)


def test_the_variance_is_delongs_formula_over_all_pairs():
    P, codes = scores(4)
    won = wins(P[codes == 1, 1], P[codes == 0, 1])
    m, n = won.shape
    variance = won.mean(axis=1).var(ddof=1) / m + won.mean(axis=0).var(ddof=1) / n
    assert auc(P, codes).standard_error == pytest.approx(np.sqrt(variance), rel=1e-12)


@pytest.mark.parametrize("K", [2, 3])
def test_the_standard_error_is_the_spread_over_data_sets(rng, K):
    found = []
    for _ in range(300):
        codes = rng.integers(K, size=150)
        A = rng.normal(size=(150, K)) + 1.0 * np.eye(K)[codes]
        found.append(auc(np.exp(A) / np.exp(A).sum(axis=1, keepdims=True), codes))
    found = np.array(found)
    assert found[:, 1].mean() == pytest.approx(found[:, 0].std(), rel=0.1)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_only_ranks_matter(seed):
    P, codes = scores(seed)
    p = P[:, 1] ** 3
    assert auc(np.column_stack([1 - p, p]), codes) == pytest.approx(auc(P, codes), rel=1e-12)


def test_classes_that_do_not_occur_are_left_out():
    P, codes = scores(5, K=4)
    kept = codes < 3
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = np.mean([wins(P[codes == i, i], P[codes == j, i]).mean() for i, j in pairs])
    assert auc(P[kept], codes[kept]).value == pytest.approx(expected, rel=1e-12)


def test_one_class_has_no_area():
    assert np.isnan(auc([[0.5, 0.5], [0.2, 0.8]], [1, 1])).all()


def test_one_row_of_a_class_has_no_standard_error():
    value, se = auc([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]], [1, 0, 0])
    assert value == 0.5
    assert np.isnan(se)
