# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tests of logistic regression. Its `LogisticRegressionCV` stays, and is compared with our fits.

`make test` compares weights, weighted rows, starts and priors with scikit-learn in tests/oracles and tests/behaviour.
"""

import numpy as np
import pytest
from sklearn import linear_model

import separatrix as sx
from peers.suite import Adapter, peer_tests

pytestmark = pytest.mark.slow
SOLVERS = {
    "lbfgs": "lbfgs",
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "auto",
    "sag": "stochastic",
    "saga": "stochastic",
}
L1_RATIO = {"l1": 1.0, "l2": 0.0}


class LogisticRegression(Adapter, like=linear_model.LogisticRegression):
    def build(self, classes):
        alpha = 0.0 if self.penalty is None else 1 / self.C
        l1_ratio = L1_RATIO.get(self.penalty, self.l1_ratio)
        return sx.LogisticRegression(
            alpha=alpha,
            prior=sx.ElasticNet(alpha, l1_ratio) if l1_ratio else None,
            fit_intercept=self.fit_intercept,
            solver="auto" if l1_ratio else SOLVERS[self.solver],
            tol=min(self.tol, 1e-8),  # our default
            max_steps=self.max_iter,
            rng=self.random_state if isinstance(self.random_state, int) and not l1_ratio else None,
            class_weight=self.class_weight,
            warm_start=self.warm_start,
        )

    n_iter_ = property(lambda self: np.array([self.model_.n_steps_]))


ADAPTERS = {"LogisticRegression": LogisticRegression}
globals().update(peer_tests("sklearn.linear_model.tests.test_logistic", linear_model=ADAPTERS))

DIFFERENT = {
    "which of scikit-learn's solvers support what": """
        test_check_solver_option[LogisticRegression] test_elasticnet_l1_ratio_err_helpful[LogisticRegression]
        test_large_sparse_matrix[liblinear] test_large_sparse_matrix[sag] test_large_sparse_matrix[saga]
        test_liblinear_with_large_values test_liblinear_multiclass_raises[LogisticRegression]
        test_newton_cholesky_fallback_to_lbfgs
    """,
    "results do not depend on the seed": "test_liblinear_dual_random_state",
    "coef_ stays dense": "test_sparsify",
    "LogisticRegressionCV stops at a tolerance of 1e-4, and 6 digits are compared": """
        test_logistic_cv test_logistic_cv_multinomial_score[neg_log_loss]
    """,
    "a private method": "test_logreg_predict_proba_multinomial",
    "coef_ of float32 rows is float32 with every solver, also in place of liblinear": "test_dtype_match[liblinear]",
    "warnings about parameters that separatrix does not have": """
        test_l1_ratio_non_elasticnet test_penalty_none test_penalty_deprecated[LogisticRegression]
        test_l1_ratio_None_deprecated test_logisticregression_warns_with_n_jobs test_lr_penalty_l1ratio_incompatible
    """,
    "separable classes without a prior give a SeparationWarning": "test_c_inf_no_warning",
    "max_steps is at least 1": "test_zero_max_iter",
    "callbacks; trace=True keeps every step": """
        test_logistic_regression_callback_support test_logistic_regression_callback_fitted_estimator
        test_logistic_regression_callback_support_warning
    """,
}
FOREIGN = {
    "LogisticRegressionCV, whose place sx.regularization_path takes": """
        test_check_solver_option[LogisticRegressionCV] test_elasticnet_l1_ratio_err_helpful[LogisticRegressionCV]
        test_logistic_cv_refit_false_non_elasticnet test_logistic_cv_mock_scorer test_logistic_cv_sparse
        test_logistic_regressioncv_class_weights test_logistic_regression_sample_weights[cv]
        test_LogisticRegressionCV_no_refit test_LogisticRegressionCV_elasticnet_attribute_shapes
        test_lr_cv_scores_differ_when_sample_weight_is_requested test_lr_cv_scores_without_enabling_metadata_routing
        test_passing_params_without_enabling_metadata_routing test_liblinear_multiclass_raises[LogisticRegressionCV]
        test_penalty_deprecated[LogisticRegressionCV] test_logisticregressioncv_warns_with_use_legacy_attributes
        test_lr_scoring_warns test_get_default_scorer
    """,
    "a private function of scikit-learn": """
        test_logistic_regression_path_convergence_fail test_logistic_regression_path_coefs_multinomial
        test_logistic_regression_path_init_coefs
    """,
}
SLOW = """
    test_sample_and_class_weight_equivalence_liblinear
    test_LogisticRegressionCV_GridSearchCV_elastic_net test_multinomial_cv_iris test_elastic_net_vs_l1_l2
    test_logistic_regression_solvers_multiclass test_n_iter[True] test_logistic_regression_class_weights[csr_array]
    test_elastic_net_l1_l2_equivalence[10] test_elastic_net_l1_l2_equivalence[100]
    test_elastic_net_l1_l2_equivalence[1000] test_elastic_net_l1_l2_equivalence[0.1]
    test_elastic_net_versus_sgd[0.1] test_elastic_net_versus_sgd[0.9] test_saga_vs_liblinear[csr_array-1]
    test_scores_attribute_layout_elasticnet
"""
