"""Tables are opened once, and prediction traces bad numbers to their columns."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from separatrix.discriminative import GeneralizedLinearModel
from separatrix.exceptions import DataError


def test_prediction_needs_a_fit_and_finite_rows(rng):
    X = rng.normal(size=(20, 2))
    model = GeneralizedLinearModel()
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, X[:, 0])
    with pytest.raises(DataError, match="column 'x1'"):
        model.predict([[0.0, np.nan]])
    with pytest.raises(DataError, match="one offset for each row"):
        model.predict(X, offset=np.zeros(3))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.zeros((2, 3)))


def test_offsets_add_to_the_activation(rng):
    X, offset = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = GeneralizedLinearModel("poisson").fit(X, rng.poisson(2.0, 20))
    np.testing.assert_allclose(model.predict(X, offset=offset), model.predict(X) * np.exp(offset))


def test_columns_far_from_zero_are_predicted_about_their_means(rng):
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=200)
    near, far = GeneralizedLinearModel().fit(X, y), GeneralizedLinearModel().fit(X + 1e8, y)
    np.testing.assert_allclose(far.predict(X + 1e8), near.predict(X), atol=1e-6)


def test_targets_are_asked_of_after_the_table(rng):
    with pytest.raises(ValueError, match="y cannot be None|requires y"):
        GeneralizedLinearModel().fit(rng.normal(size=(5, 2)), None)
