import numpy as np
import pytest
from sklearn.datasets import load_iris

import separatrix as sx
from problems import blobs
from separatrix.basis import Polynomial
from separatrix.exceptions import DataError
from separatrix.plots.projection import ProjectionDisplay


def pooled_spread(z, codes):
    return np.sqrt(np.mean([(z[n] - z[codes == codes[n]].mean()) ** 2 for n in range(len(z))]))


def test_classes_have_unit_spread_around_a_threshold_of_zero():
    X, y = blobs(200, n_features=3, n_classes=2)
    model = sx.LogisticRegression().fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    assert display.z.shape == (200, 1)
    assert pooled_spread(display.z[:, 0], y) == pytest.approx(1)
    assert display.wrong == pytest.approx(1 - model.score(X, y))
    np.testing.assert_allclose(display.direction, model.coef_[0] / np.linalg.norm(model.coef_))
    assert display.counts.sum(axis=1).tolist() == np.bincount(y).tolist()
    assert len(display.edges) == 31


def test_the_distance_of_the_means_gives_the_criterion_of_fisher():
    X, y = blobs(150, n_features=4, n_classes=2)
    model = sx.FisherDiscriminant().fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    share = np.bincount(y) / len(y)
    assert display.distance**2 * share.prod() == pytest.approx(model.ratio_[0])


def test_the_direction_of_fisher_has_the_largest_distance_of_means(rng):
    X, y = blobs(150, n_features=3, n_classes=2)
    fisher = sx.FisherDiscriminant().fit(X, y)
    plain, best = ProjectionDisplay.beside_difference_of_means(fisher, X, y)
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    np.testing.assert_allclose(plain.direction, (means[1] - means[0]) / np.linalg.norm(means[1] - means[0]))
    np.testing.assert_allclose(plain.means.sum(), 0, atol=1e-12)  # the threshold is halfway
    assert plain.distance < best.distance
    for w in rng.normal(size=(50, 3)):
        z = X @ w / pooled_spread(X @ w, y)
        assert abs(z[y == 1].mean() - z[y == 0].mean()) <= best.distance
    assert plain.figure_ is best.figure_


def test_three_classes_are_drawn_along_two_discriminants():
    X, y = load_iris(return_X_y=True)
    model = sx.FisherDiscriminant().fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.z, model.transform(X))
    for d in (0, 1):
        assert pooled_spread(display.z[:, d], y) == pytest.approx(1)
    np.testing.assert_allclose(display.means, [model.transform(X)[y == k].mean(axis=0) for k in range(3)])
    assert display.ax_.get_xlabel().startswith("first discriminant")


def test_one_discriminant_of_three_classes_is_a_histogram():
    X, y = load_iris(return_X_y=True)
    display = ProjectionDisplay.from_estimator(sx.FisherDiscriminant(n_components=1).fit(X, y), X, y, n_bins=12)
    assert display.counts.shape == (3, 12)
    assert display.counts.sum() == 150
    assert "threshold" not in display.ax_.get_legend_handles_labels()[1]


def test_a_model_with_a_basis_is_projected_without_a_direction():
    X, y = blobs(100, n_features=2, n_classes=2)
    model = sx.FisherDiscriminant(basis=Polynomial(2)).fit(X, y)
    display = ProjectionDisplay.from_estimator(model, X, y)
    assert display.direction is None
    assert display.wrong == pytest.approx(1 - model.score(X, y))
    with pytest.raises(DataError, match="fitted with a basis"):
        ProjectionDisplay.beside_difference_of_means(model, X, y)


def test_equal_projections_have_no_histogram():
    X, y = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]]), [0, 0, 1, 1]
    model = sx.LogisticRegression().fit(X, y)
    model.coef_ = np.array([[1.0, 0.0]])
    with pytest.raises(DataError, match="no histogram"):
        ProjectionDisplay.from_estimator(model, X, y)


def test_a_table_is_projected_onto_the_weights_of_its_encoded_columns():
    table, y = sx.datasets.make_mixed_types(300, as_frame=True, rng=0)
    model = sx.TableClassifier().fit(table, y)
    display = ProjectionDisplay.from_estimator(model, table, y)
    activations = model.decision_function(table)
    np.testing.assert_allclose(display.z[:, 0] * activations.std() / display.z.std(), activations, rtol=1e-9)
    assert display.wrong == pytest.approx(1 - model.score(table, y))
    assert display.direction.shape == model.coef_[0].shape
    _, fitted = ProjectionDisplay.beside_difference_of_means(model, table, y)
    np.testing.assert_array_equal(fitted.z, display.z)


def test_a_table_of_three_classes_is_projected_onto_discriminants():
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = X.assign(kind=np.where(X.iloc[:, 0] > 5, "large", "small"))
    model = sx.TableClassifier(sx.FisherDiscriminant(), drop="first").fit(table, y)
    display = ProjectionDisplay.from_estimator(model, table, y)
    np.testing.assert_allclose(display.z, model.estimator_.transform(model.encoder_.transform(table))[:, :2])


def test_a_wrapper_without_weights_is_refused_with_a_remedy():
    X = {"age": np.arange(40.0), "town": ["Bern", "Rom"] * 20}
    rule = sx.DecisionRule(sx.TableClassifier(), reject=0.1).fit(X, np.arange(40) // 20)
    with pytest.raises(DataError, match=r"DecisionRule has no weights .* Pass a linear model, or a TableClassifier"):
        ProjectionDisplay.from_estimator(rule, X, np.arange(40) // 20)
