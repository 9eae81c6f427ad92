"""From scores and log densities to labels and probabilities, also where densities vanish."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from separatrix.onnx import ExportError, to_onnx
from separatrix.onnx.answer import of_log_joint, of_scores

LABELS = np.array([0, 1, 2])
JOINT = np.array([[0.0, -1.0, 2.0], [-1e5, -1e5 + 1, -np.inf], [-np.inf] * 3, [700.0, -np.inf, 701.0]])
PRIORS = np.array([0.5, 0.2, 0.3])


def test_probabilities_of_log_densities(evaluate):
    P = evaluate(lambda a: of_log_joint(LABELS, a, PRIORS).probabilities, JOINT)
    possible = [0, 1, 3]
    np.testing.assert_allclose(P[possible], np.exp(log_softmax(JOINT[possible], axis=1)), atol=1e-10)
    np.testing.assert_array_equal(P[2], PRIORS)  # no class can have made the row: it says nothing


def test_a_gap_that_cannot_be_dealt_with_shows(evaluate):
    P = evaluate(lambda a: of_log_joint(LABELS, a, PRIORS).probabilities, [[np.nan, np.nan, np.nan]])
    assert np.isnan(P).all()


def test_two_classes_are_decided_by_sign(evaluate):
    a = np.array([-1.0, 0.0, 1e-300])
    assert evaluate(lambda a: of_scores(LABELS[:2], a).code.as_double(), a).tolist() == [0, 0, 1]


def test_models_of_others_are_refused():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ExportError, match=r"sklearn.*LogisticRegression has no form in ONNX here.*skl2onnx"):
        to_onnx(model)
