# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of calibration, around its own classifiers; `make test` has those of tests/oracles."""

from types import SimpleNamespace

import pytest
from sklearn import calibration
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

import separatrix as sx
from peers.suite import Adapter, peer_tests

pytestmark = pytest.mark.slow


class CalibratedClassifierCV(Adapter, like=calibration.CalibratedClassifierCV):
    def build(self, classes):
        estimator = LinearSVC(random_state=0) if self.estimator is None else self.estimator
        method = "platt" if self.method == "sigmoid" else self.method
        cv = 5 if self.cv is None else self.cv
        return sx.Calibrated(estimator, method, cv=StratifiedKFold(cv) if isinstance(cv, int) else cv)  # not shuffled

    @property
    def calibrated_classifiers_(self):
        model = self.model_
        maps = [Temperature(model.map_.W[0, 0])] if self.method == "temperature" else []
        return [SimpleNamespace(estimator=model.estimator_, predict_proba=model.predict_proba, calibrators=maps)]


class Temperature(BaseEstimator):
    """The inverse temperature β of a map, under scikit-learn's name."""

    def __init__(self, beta):
        self.beta_ = beta

    def fit(self):
        raise NotImplementedError


ADAPTERS = {"CalibratedClassifierCV": CalibratedClassifierCV}
globals().update(peer_tests("sklearn.tests.test_calibration", calibration=ADAPTERS))

DIFFERENT = {
    "one map is fitted to the scores of all folds; there is no ensemble": "test_calibration_cv_splitter[True]",
    "any number of folds is accepted": "test_calibration_cv_nfold",
    "maps have a weak prior, and isotonic steps count one more row": "test_calibration_ensemble_false",
    "every fold needs rows of all classes": "test_calibration_less_classes",
    "fit takes no arguments but sample_weight": """
        test_calibration_with_fit_params test_calibration_with_non_sample_aligned_fit_param
    """,
    "weights that the classifier does not accept are an error": "test_calibration_without_sample_weight_estimator",
}
FOREIGN = {
    "a private function of scikit-learn": """
        test_calibration_zero_probability test_sigmoid_calibration test_temperature_scaling_input_validation
        test_sigmoid_calibration_max_abs_prediction_threshold
    """,
    "calibration_curve and CalibrationDisplay, whose place sx.plots takes": """
        test_calibration_curve test_calibration_curve_pos_label_error_str test_calibration_curve_pos_label
        test_calibration_display_compute test_plot_calibration_curve_pipeline test_calibration_display_default_labels
        test_calibration_display_label_class_plot test_calibration_display_name_multiple_calls
        test_calibration_display_ref_line test_calibration_display_kwargs test_calibration_display_pos_label
    """,
    "arrays of the array API": """
        test_temperature_scaling_array_api_compliance test_temperature_scaling_array_api_with_str_y_estimator_not_prefit
    """,
}
SLOW = """
    test_calibration[True-sigmoid] test_calibration[True-isotonic] test_calibration_multiclass[1]
    test_calibration_multiclass[True]
    test_calibrated_classifier_cv_works_with_large_confidence_scores
"""
