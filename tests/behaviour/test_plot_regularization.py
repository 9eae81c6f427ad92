import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError

Display = sx.plots.RegularizationPathDisplay
X, y = blobs(90, n_classes=2)
_, three = blobs(90, n_classes=3)
LASSO = sx.LogisticRegression(prior=sx.ElasticNet())


@pytest.fixture(scope="module")
def path():
    return sx.regularization_path(LASSO, X, y, n_alphas=8, folds=3)


def test_lines_are_the_weights_and_marks_the_chosen_alphas(path):
    display = Display.from_path(path, most=2, title="Path")
    top, bottom = display.axes_
    drawn = {line.get_label(): line.get_ydata() for line in top.get_lines()}
    assert len(display.named) == 2
    for j in display.named:
        np.testing.assert_array_equal(drawn[path.columns[j]], path.coef[:, 0, j])
    assert top.get_xlim()[0] > top.get_xlim()[1]  # weak priors are on the right
    at = [line.get_xdata()[0] for line in bottom.get_lines()[1:]]
    assert at == [path.best.alpha, path.sparsest.alpha]
    assert "log-odds of 1" in top.get_ylabel()
    assert top.get_title() == "Path"


def test_weights_per_standard_deviation(path):
    display = Display.from_path(path, X)
    np.testing.assert_allclose(display.weight, path.coef[:, 0] * X.std(axis=0))
    assert "standard deviation" in display.ax_.get_ylabel()


def test_one_class_of_several_without_cross_validation():
    display = Display.from_estimator(LASSO, X, three, folds=None, label=1)
    assert display.label == "1"
    assert len(display.axes_) == 1
    assert not display.marks
    assert Display.from_estimator(LASSO, X, three, folds=None).label == "2"


def test_an_unknown_class_and_other_columns_are_refused(path):
    with pytest.raises(DataError, match="'z'"):
        Display.from_path(path, label="z")
    with pytest.raises(DataError, match="2 columns"):
        Display.from_path(path, X[:, :2])
