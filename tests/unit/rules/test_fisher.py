import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from problems import blobs
from separatrix.rows import as_source
from separatrix.rules.fisher import fit_fisher
from separatrix.stats import ClassScatter, FactoredScatter, class_moments


@pytest.mark.parametrize("convention", ["pooled", "mean"])
@pytest.mark.parametrize("shrinkage", [0.2, 1.0])
def test_the_wide_path_gives_the_answer_of_the_tall_one(convention, shrinkage):
    X, y = blobs(60)
    source = as_source(X, y)
    a, b = (
        fit_fisher(
            source.reduce(lambda block, kind=kind: class_moments(block, 3, kind)),
            convention=convention,
            shrinkage=shrinkage,
            columns=source.columns,
        )
        for kind in (ClassScatter, FactoredScatter)
    )
    assert_allclose(b.ratio, a.ratio, rtol=1e-9)
    assert_allclose(b.V, a.V, rtol=1e-7, atol=1e-9)


def test_full_shrinkage_ignores_correlation():
    X, y = blobs(100, n_classes=2)
    w = sx.FisherDiscriminant(shrinkage=1.0).fit(X, y).coef_[0]
    within = X - np.stack([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    assert_allclose(w, (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) / within.var(axis=0), rtol=1e-9)


def test_a_class_of_one_row_borrows_the_spread_of_the_other():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    model = sx.FisherDiscriminant(threshold="normal").fit(X, [0, 0, 0, 1])
    assert model.predict([[1.0], [9.0]]).tolist() == [0, 1]


def test_classes_with_equal_means_have_no_direction():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    model = sx.FisherDiscriminant().fit(X, [0, 0, 1, 1])
    assert model.scalings_.shape == (2, 0)
    assert_allclose(model.coef_, 0)


def test_fewer_components_keep_the_best_ones():
    X, y = blobs(200, n_features=5, n_classes=4)
    full, two = sx.FisherDiscriminant().fit(X, y), sx.FisherDiscriminant(n_components=2).fit(X, y)
    assert_allclose(two.transform(X), full.transform(X)[:, :2])
