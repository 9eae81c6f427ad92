"""What a user is told, and when: warnings at the user's own line, once, naming what is at fault and nothing else."""

import warnings

import numpy as np
import pytest

import separatrix as sx
from separatrix.exceptions import ConvergenceWarning, SeparationWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] + RNG.logistic(size=300) > 0).astype(int)
LINE = np.arange(10.0)[:, None]


def caught(fit):
    """The result of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return fit(), found


STOPPED = {
    "logistic": sx.LogisticRegression,
    "probit": sx.ProbitRegression,
    "label noise": sx.LabelNoiseLogisticRegression,
    "binary regression": lambda **options: sx.GeneralizedLinearModel("bernoulli", **options),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_fit_that_stopped_early_says_so_once_at_the_line_of_the_user(name):
    _, found = caught(lambda: STOPPED[name](max_steps=1).fit(X, Y))
    assert [w.category for w in found] == [ConvergenceWarning]
    assert found[0].filename == __file__


@pytest.mark.parametrize("name", STOPPED)
def test_separated_classes_are_reported_at_the_line_of_the_user(name):
    _, found = caught(lambda: STOPPED[name](alpha=0.0).fit(LINE, (LINE[:, 0] > 4).astype(int)))
    assert SeparationWarning in [w.category for w in found]
    assert {w.filename for w in found} == {__file__}
