# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of one-vs-rest and one-vs-one, around its own binary classifiers."""

from sklearn import multiclass

import separatrix as sx
from peers.suite import Adapter, peer_tests


class OneVsRestClassifier(Adapter, like=multiclass.OneVsRestClassifier):
    def build(self, classes):
        return sx.OneVsRest(self.estimator, n_jobs=self.n_jobs)


class OneVsOneClassifier(Adapter, like=multiclass.OneVsOneClassifier):
    def build(self, classes):
        return sx.OneVsOne(self.estimator, n_jobs=self.n_jobs)


ADAPTERS = {"OneVsRestClassifier": OneVsRestClassifier, "OneVsOneClassifier": OneVsOneClassifier}
globals().update(peer_tests("sklearn.tests.test_multiclass", multiclass=ADAPTERS))

DIFFERENT = {
    "regressors have no scores to compare": """
        test_ovr_ovo_regressor test_ovr_binary test_ovr_single_label_predict_proba
    """,
    "multilabel y is refused: use MultiOutputClassifier": """
        test_ovr_fit_predict_sparse test_ovr_always_present test_ovr_multiclass test_ovr_multilabel
        test_ovr_multilabel_dataset test_ovr_multilabel_predict_proba test_ovr_multilabel_decision_function
    """,
    "probabilities sum to 1, also if every classifier returns 0": "test_ovr_single_label_predict_proba_zero",
    "the classifier of a pair predicts its two labels, not 0 and 1": "test_ovo_decision_function",
    "kernels between all rows are refused by OneVsOne": """
        test_pairwise_indices test_pairwise_n_features_in test_pairwise_cross_val_score[OneVsOneClassifier]
    """,
    "fit needs two classes": "test_constant_int_target",
}
FOREIGN = {
    "OutputCodeClassifier": """
        test_ecoc_exceptions test_ecoc_fit_predict test_ecoc_gridsearch test_ecoc_float_y
        test_ecoc_delegate_sparse_base_estimator
    """,
    "a function of scikit-learn": "test_check_classification_targets",
}
SLOW = ""
