"""Weights reach the fit of a wrapped classifier as its metadata request states."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.meta import fit_arguments
from separatrix.reductions import OneVsRest


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
