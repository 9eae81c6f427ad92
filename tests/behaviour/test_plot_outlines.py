import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.geometry import grid_predictions
from separatrix.plots.boundary import blurred, margins

MODELS = [
    sx.LinearDiscriminantAnalysis(),
    sx.QuadraticDiscriminantAnalysis(),
    sx.LogisticRegression(alpha=1.0),
    sx.NaiveBayes(),
    sx.LeastSquaresClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_class_predicted_is_the_one_above_zero(model, n_classes):
    X, y = blobs(90, n_features=2, n_classes=n_classes)
    fitted = model.fit(X, y)
    grid = grid_predictions(fitted, X, resolution=25)
    inside = margins(fitted, X, grid.codes, 25)
    assert inside.shape == (25, 25, n_classes + 1)
    np.testing.assert_array_equal(inside.argmax(axis=-1), grid.codes)
    assert (np.take_along_axis(inside, grid.codes[..., None], axis=-1) >= 0).all()
    assert ((inside > 0).sum(axis=-1) <= 1).all()


def test_of_a_linear_model_two_classes_meet_where_the_activation_is_zero():
    X, y = blobs(90, n_features=2, n_classes=2)
    model = sx.LogisticRegression(alpha=1.0).fit(X, y)
    grid = grid_predictions(model, X, resolution=15)
    inside = margins(model, X, grid.codes, 15)
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(grid.x, grid.y)])
    np.testing.assert_allclose(inside[..., 1].ravel(), 2 * model.decision_function(points))


def test_a_rule_that_does_not_take_the_largest_score_is_drawn_from_what_it_predicts():
    X, y = blobs(120, n_features=2, n_classes=2)
    rule = sx.DecisionRule(sx.LogisticRegression(alpha=1.0), costs=[[0.0, 1.0], [30.0, 0.0]]).fit(X, y)
    grid = grid_predictions(rule, X, resolution=40)
    inside = margins(rule, X, grid.codes, 40)
    np.testing.assert_array_equal(inside, blurred(grid.codes, 2))
    assert (inside.argmax(axis=-1) == grid.codes).mean() > 0.98  # but for corners


def test_blurring_does_not_move_a_straight_outline():
    codes = (np.arange(20)[None, :] >= 9).astype(int).repeat(20, axis=0)
    inside = blurred(codes, 2)
    np.testing.assert_array_equal(inside.argmax(axis=-1), codes)
    np.testing.assert_allclose(inside[:, 8, 1], -inside[:, 9, 1])  # zero half way between the two columns
    assert (inside[..., 2] < 0).all()
