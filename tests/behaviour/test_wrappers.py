"""Classifiers around a classifier: reject labels change no class, and weights reach the wrapped fit."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.meta import fit_arguments, labels_with_reject
from separatrix.reductions import OneVsRest


@pytest.mark.parametrize(
    ("classes", "label", "expected"),
    [
        ([0, 1, 2], None, [0, 1, 2, -1]),
        ([0.5, 1.5], None, [0.5, 1.5, -1.0]),
        ([False, True], None, [0, 1, -1]),
        (["a", "bb"], None, ["a", "bb", "reject"]),
        (["a", "b"], "a longer label", ["a", "b", "a longer label"]),
        ([0, 1], 9, [0, 1, 9]),
        ([0, 1], "unsure", [0, 1, "unsure"]),
        (["a", "b"], -1, ["a", "b", -1]),
    ],
)
def test_no_label_is_changed_by_the_reject_label(classes, label, expected):
    labels = labels_with_reject(np.array(classes), label)
    assert labels.tolist() == expected
    assert [isinstance(v, str) for v in labels.tolist()] == [isinstance(v, str) for v in expected]


def test_routing_follows_the_request_of_the_wrapped_classifier():
    w = np.ones(3)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = LogisticRegression().set_fit_request(sample_weight=True)
        assert fit_arguments(OneVsRest(asked), w)["sample_weight"] is w
        declined = LogisticRegression().set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match="not routed to any object"):
            fit_arguments(OneVsRest(declined), w)
        inside = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        assert fit_arguments(OneVsRest(inside), w)["sample_weight"] is w
        with pytest.raises(UnsetMetadataPassedError, match=r"LogisticRegression\.set_fit_request"):
            fit_arguments(OneVsRest(LogisticRegression()), w)
