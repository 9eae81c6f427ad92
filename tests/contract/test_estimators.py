"""scikit-learn's checks of every estimator, and further properties of all estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import separatrix as sx
from problems import MODELS, blobs
from separatrix import table

WEIGHT_CHECKS = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]
IN_PIECES = dict.fromkeys(
    ["check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_estimators_partial_fit_n_features"],
    "the check calls partial_fit, which needs a given exponent: an error by design",
)
CLASS_WEIGHT = "check_class_weight_classifiers"  # a weight of 1e7 for class 0 must give class 0 for 87 % of noisy rows
THROUGH_THE_MEAN = {CLASS_WEIGHT: "the boundary passes through the mean of all rows; threshold='normal' passes"}
ONE_CLASS_FITS_ANY_EXPONENT = {CLASS_WEIGHT: "rows of one class alone determine the exponent, and any large one fits"}
NO_MISTAKE_IS_ENOUGH = {CLASS_WEIGHT: "84 % for three classes: without a mistake in class 0, the weights do not change"}
WEIGHT_IS_A_STEP = "a perceptron sees rows in order; a weight scales a row's step and does not repeat the row"
AVERAGED = {
    "check_decision_proba_consistency": "averaged over the posterior, a probability depends on the variance of the "
    "activation too: of two rows the one with the larger mean may be the less probable",
}

ESTIMATORS = {
    "least_squares": (sx.LeastSquaresClassifier(), {}),
    "fisher": (sx.FisherDiscriminant(), THROUGH_THE_MEAN),
    "fisher_normal": (sx.FisherDiscriminant(threshold="normal"), {}),
    "fisher_shrunk": (sx.FisherDiscriminant(shrinkage=0.1), THROUGH_THE_MEAN),
    "lda": (sx.LinearDiscriminantAnalysis(), {}),
    "lda_evidence": (sx.LinearDiscriminantAnalysis(shrinkage="evidence"), {}),
    "lda_predictive": (sx.LinearDiscriminantAnalysis(estimate="predictive"), {}),
    "qda": (sx.QuadraticDiscriminantAnalysis(), {}),
    "qda_shrunk": (sx.QuadraticDiscriminantAnalysis(shrinkage=0.1), {}),
    "naive_bayes": (sx.NaiveBayes(), {}),
    "naive_bayes_tempered": (sx.NaiveBayes(temper=True), IN_PIECES | ONE_CLASS_FITS_ANY_EXPONENT),
    "exponential_family": (sx.ExponentialFamilyClassifier(), {}),
    "logistic": (sx.LogisticRegression(), {}),
    "logistic_lbfgs": (sx.LogisticRegression(solver="lbfgs"), {}),
    "logistic_stochastic": (sx.LogisticRegression(solver="stochastic", tol=1e-10), {}),
    "probit": (sx.ProbitRegression(), {}),
    "label_noise": (sx.LabelNoiseLogisticRegression(), {}),
    "bayesian_laplace": (sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace"), {}),
    "bayesian": (sx.BayesianLogisticRegression(sx.Gaussian(1.0)), {}),
    "bayesian_default": (sx.BayesianLogisticRegression(), AVERAGED),
    "bayesian_probit": (sx.BayesianLogisticRegression(likelihood="probit"), AVERAGED),
    "bayesian_tuned": (sx.BayesianLogisticRegression(approximation="laplace", tune="evidence"), AVERAGED),
    "perceptron": (sx.Perceptron(), dict.fromkeys(WEIGHT_CHECKS, WEIGHT_IS_A_STEP) | NO_MISTAKE_IS_ENOUGH),
    "gaussian": (sx.GeneralizedLinearModel(), {}),
    "gaussian_penalised": (sx.GeneralizedLinearModel(alpha=1.0), {}),
    "poisson": (sx.GeneralizedLinearModel("poisson", alpha=1.0), {}),
    "calibrated": (sx.Calibrated(sx.LogisticRegression()), {}),
    "calibrated_platt": (sx.Calibrated(sx.LeastSquaresClassifier(), "platt", cv=2), {}),
    "gamma_log": (sx.GeneralizedLinearModel("gamma", "log", alpha=1.0), {}),
}


# Models like those that are checked in every run; only `make test-all` checks these.
VARIANTS = (
    "bayesian",
    "bayesian_default",
    "calibrated",
    "lda_evidence",
    "lda_predictive",
    "naive_bayes_tempered",
    "fisher_normal",
    "fisher_shrunk",
    "qda_shrunk",
    "gaussian_penalised",
    "gamma_log",
    "bayesian_tuned",
    "bayesian_probit",
    "logistic_stochastic",
    "logistic_lbfgs",
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.CollinearWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in VARIANTS)) for n in ESTIMATORS])
def test_scikit_learn_checks(name):
    estimator, expected = ESTIMATORS[name]
    with np.errstate(divide="warn", over="warn", invalid="warn"):
        results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    failed = [result for result in results if result["status"] == "failed"]
    for result in failed:
        result["exception"].add_note(result["check_name"])
    if failed:
        raise ExceptionGroup(f"checks of {estimator}", [result["exception"] for result in failed])
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == expected.keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_reports_passes_steps_and_status(name):
    X, y = blobs(80, distance=40.0)
    model = MODELS[name]().fit(X, y)
    assert model.n_passes_ >= 1
    assert model.n_steps_ >= 1
    assert model.solution_.passes == model.n_passes_
    assert model.solution_.status.value


def test_fisher_is_a_transformer_with_feature_names():
    X, y = blobs(80)
    model = sx.FisherDiscriminant().set_output(transform="pandas").fit(X, y)
    assert list(model.transform(X).columns) == ["fisherdiscriminant0", "fisherdiscriminant1"]
    assert sx.FisherDiscriminant(n_components=1).fit(X, y).transform(X).shape == (80, 1)


TRANSFORMERS = [
    sx.FisherDiscriminant(),
    sx.basis.Polynomial(2),
    sx.basis.Linear(),
    sx.basis.RBF(),
    sx.basis.RandomFourier(4),
    sx.basis.Spline(3),
    sx.basis.Union([sx.basis.Linear(), sx.basis.Spline(3)]),
]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("transformer", [*TRANSFORMERS, table.TableEncoder()], ids=lambda each: type(each).__name__)
def test_transformers_return_data_frames_if_the_configuration_asks_for_them(transformer, library):
    X, y = blobs(80)
    for rows in (X, pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        plain = clone(transformer).fit(rows, y)
        with config_context(transform_output=library):
            found = clone(transformer).fit(rows, y).transform(rows)
        assert type(found).__module__.partition(".")[0] == library
        assert list(found.columns) == plain.get_feature_names_out().tolist()
        np.testing.assert_allclose(found.to_numpy(), plain.transform(rows), rtol=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_models_with_a_basis_do_not_depend_on_the_frames_that_the_configuration_asks_for(library):
    X, y = blobs(80)
    for rows in (X, pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        with config_context(transform_output=library):
            assert sx.LogisticRegression(basis=sx.basis.Spline(3)).fit(rows, y).predict(rows).shape == (80,)


def test_warnings_and_errors_are_subclasses_of_those_of_scikit_learn():
    assert issubclass(sx.exceptions.NotSeparableWarning, ConvergenceWarning)
    assert issubclass(sx.exceptions.DataError, ValueError)


def test_an_unknown_argument_names_the_class_that_was_called():
    for model in [table.TableEncoder, *(getattr(module, name) for module in (sx, sx.basis) for name in module.__all__)]:
        if isinstance(model, type) and issubclass(model, BaseEstimator):
            with pytest.raises(TypeError, match=model.__name__):
                model(C=1.0)
