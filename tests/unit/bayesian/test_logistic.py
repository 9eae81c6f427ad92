"""The model as scikit-learn, a pipeline and a careless user meet it."""

import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, special
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from posteriors import overlapping
from separatrix.bayesian import logistic
from separatrix.bayesian.predictive import interval
from separatrix.exceptions import ApproximationWarning, ConvergenceWarning, DataError

X, Y = overlapping(90)
X3, Y3 = overlapping(120, n_classes=3)
NAMED = pd.DataFrame(X, columns=["age", "income", "height", "weight"])


def model(**arguments):
    return sx.BayesianLogisticRegression(**arguments)


# -- shapes, names, copies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"approximation": "importance"}, {"predictive": "qmc"}, {"basis": "rbf"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shapes(n_classes, arguments):
    rows, y = (X, Y) if n_classes == 2 else (X3, Y3)
    if arguments.get("basis") == "rbf":
        arguments = {"basis": sx.basis.RBF(centres="kmeans", n_centres=5), "approximation": "laplace"}
    fitted = model(**arguments).fit(rows, y)
    C, P = (1, fitted.coef_.shape[1] + 1) if n_classes == 2 else (3, fitted.coef_.shape[1] + 1)
    n = 7
    assert fitted.coef_.shape == (C, P - 1)
    assert fitted.intercept_.shape == (C,)
    assert fitted.predict_proba(rows[:n]).shape == (n, n_classes)
    assert_allclose(fitted.predict_proba(rows).sum(axis=1), 1.0, rtol=1e-6)
    assert_allclose(np.exp(fitted.predict_log_proba(rows)), fitted.predict_proba(rows), rtol=1e-9)
    assert fitted.predict_interval(rows[:n]).shape == ((n, 2) if C == 1 else (n, 3, 2))
    assert fitted.decision_distribution(rows[:n]).mean.shape == ((n,) if C == 1 else (n, 3))
    assert fitted.decision_distribution(rows[:n]).variance.shape == ((n,) if C == 1 else (n, 3))
    assert fitted.posterior_.mean.shape == fitted.posterior_.std.shape == ((P,) if C == 1 else (3, P))
    assert fitted.posterior_.covariance.shape == (C * P, C * P)
    assert fitted.posterior_.sample(4, rng=0).shape == ((4, P) if C == 1 else (4, 3, P))
    P_error = fitted.predict_with_error(rows[:n], n=256)
    assert P_error[0].shape == P_error[1].shape == (n, n_classes)
    assert fitted.n_passes_ == fitted.solution_.passes > 0


def test_attributes_agree_with_one_another():
    fitted = model().fit(X, Y)
    assert_allclose(fitted.log_likelihood_ + fitted.occam_factor_, fitted.log_evidence_)
    assert_allclose(fitted.coef_[0], fitted.posterior_.mean[:4])
    assert_allclose(fitted.intercept_[0], fitted.posterior_.mean[4])
    assert fitted.prior_.scale == 1.0
    assert fitted.prior_.intercept_scale == 10.0  # not flat, where nothing was said
    assert np.array_equal(fitted.predict(X), fitted.classes_[fitted.predict_proba(X).argmax(axis=1)])
    assert 0 < fitted.effective_parameters_ < 5
    assert fitted.tuning_ is None
    assert fitted.notes_ == ()
    assert model(likelihood="label_noise", noise=0.2).fit(X, Y).likelihood_.eps0 == 0.2


@pytest.mark.parametrize("arguments", [{}, {"approximation": "importance"}, {"tune": "evidence"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pickle_clone_and_joblib(arguments, n_classes, tmp_path):
    rows, y = (X, Y) if n_classes == 2 else (X3, Y3)
    fitted = model(prior=sx.Gaussian(2.0), **arguments).fit(rows, y)
    again = pickle.loads(pickle.dumps(fitted))
    joblib.dump(fitted, tmp_path / "model.joblib")
    stored = joblib.load(tmp_path / "model.joblib")
    for other in (again, stored, clone(fitted).fit(rows, y)):
        assert np.array_equal(other.predict_proba(rows), fitted.predict_proba(rows))
        assert str(other.summary()) == str(fitted.summary())
    copy = clone(fitted)
    assert copy.get_params()["prior"].scale == 2.0
    with pytest.raises(NotFittedError):
        copy.predict(rows)


def test_a_stored_model_does_not_hold_the_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 4))
    fitted = model(tune="evidence").fit(rows, (rows[:, 0] + rng.logistic(size=20_000) > 0).astype(int))
    assert len(pickle.dumps(fitted)) < rows.nbytes / 10


def test_search_pipelines_and_parallel_folds():
    grid = {"prior": [sx.Gaussian(0.01), sx.Gaussian(1.0)], "approximation": ["laplace", "auto"]}
    search = GridSearchCV(model(), grid, scoring="neg_log_loss", cv=3).fit(X, Y)
    assert search.best_params_["prior"].scale == 1.0
    piped = make_pipeline(StandardScaler(), model(standardize=False)).fit(X, Y)
    plain = model().fit(X, Y)
    assert_allclose(piped.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    with joblib.parallel_config("threading"):
        scores = cross_val_score(model(), X, Y, cv=3, scoring="neg_log_loss", n_jobs=2)
    assert_allclose(scores, cross_val_score(model(), X, Y, cv=3, scoring="neg_log_loss"), rtol=1e-6)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_interval", "decision_distribution"])
def test_before_it_is_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(model(), method)(X)
    with pytest.raises(NotFittedError):
        model().summary()


# -- what a user learns ------------------------------------------------------------------------------------------------


def test_columns_that_are_all_noise(rng):
    with pytest.warns(ApproximationWarning, match="ran to the boundary: 'x0', 'x1', 'x2' are irrelevant") as caught:
        fitted = model(tune="evidence").fit(rng.normal(size=(200, 3)), rng.integers(2, size=200))
    assert caught[0].filename == __file__
    assert fitted.tuning_.boundary[0].limit.name == "NARROW"
    assert "are irrelevant" in str(fitted.summary())
    assert_allclose(fitted.predict_proba(X[:, :3] - 1000)[:, 1], 0.5, atol=0.3)


def test_one_column_of_noise_among_others_is_in_the_summary_and_no_warning(rng):
    rows = rng.normal(size=(300, 6))
    y = (1.5 * rows[:, 0] - rows[:, 1] + rng.logistic(size=300) > 0).astype(int)
    fitted = model(tune="evidence", groups="columns").fit(rows, y)
    off = [name for limit in fitted.tuning_.boundary for name in limit.columns]
    assert off
    assert not {"x0", "x1"} & set(off)
    assert all(f"Tuning ran to the boundary: {name!r} is irrelevant" in str(fitted.summary()) for name in off)


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize("approximation", ["laplace", "auto"])
def test_separable_classes(approximation):
    """A prior bounds the weights; the evidence has nothing to bound the prior by, and says so."""
    separable = (X[:, 0] > np.median(X[:, 0])).astype(int)
    assert model().fit(X, separable).score(X, separable) > 0.95
    with pytest.warns(ApproximationWarning, match="the classes are separable"):
        fitted = model(tune="evidence", approximation=approximation).fit(X, separable)
    assert "separable" in str(fitted.summary())
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert np.isfinite(fitted.log_evidence_)


def test_a_mode_that_was_not_found(monkeypatch):
    from dataclasses import replace

    from separatrix.solvers import Status

    whole = logistic.infer
    stopped = Status.MAX_STEPS

    def cut_short(*arguments):
        found = whole(*arguments)
        return replace(found, solution=replace(found.solution, status=stopped))

    monkeypatch.setattr(logistic, "infer", cut_short)
    with pytest.warns(ConvergenceWarning, match="search for the mode stopped at the limit of steps") as caught:
        model().fit(X, Y)
    assert caught[0].filename == __file__


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batches_keep_the_prior_of_the_first_and_the_classes():
    fitted = model(prior=sx.Gaussian(0.5)).partial_fit(X[:30], Y[:30], classes=[1, 0])
    prior = fitted.prior_
    fitted.partial_fit(X[30:31], Y[30:31])
    fitted.partial_fit(X[31:], Y[31:], classes=[0, 1])
    assert fitted.prior_ is prior
    assert fitted.classes_.tolist() == [0, 1]


def test_fit_after_batches_starts_afresh():
    fitted = model().partial_fit(X[:30], Y[:30]).fit(X, Y)
    assert_allclose(fitted.coef_, model().fit(X, Y).coef_)
    assert_allclose(fitted.log_evidence_, model().fit(X, Y).log_evidence_)


def test_one_row_at_a_time():
    """What a row adds to the log evidence is the log of the probability that was predicted for its label."""
    fitted = model(prior=sx.Gaussian(1.0, intercept_scale=1.0), standardize=False, approximation="ep")
    fitted.partial_fit(X[:1], Y[:1], classes=[0, 1])
    for n in range(1, 40):
        before, p = fitted.log_evidence_, fitted.predict_proba(X[n : n + 1])[0, Y[n]]
        fitted.partial_fit(X[n : n + 1], Y[n : n + 1])
        assert_allclose(fitted.log_evidence_ - before, np.log(p), atol=1e-6)
    joint = clone(fitted).fit(X[:40], Y[:40])
    assert abs(fitted.log_evidence_ - joint.log_evidence_) < 1.0  # forty posteriors taken for Gaussians
    assert np.abs((fitted.posterior_.mean - joint.posterior_.mean) / joint.posterior_.std).max() < 0.3


def test_batches_that_do_not_fit():
    fitted = model().partial_fit(X, Y)
    with pytest.raises(DataError, match=r"Label 2 is not one of the classes: 0, 1\. Name all classes"):
        fitted.partial_fit(X3, Y3)
    with pytest.raises(DataError, match=r"first batch named other classes, \[0, 1\]"):
        fitted.partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="3 features, but .* is expecting 4"):
        fitted.partial_fit(X[:, :3], Y)
    with pytest.raises(DataError, match="only one class is present"):
        model().partial_fit(X, np.zeros(90, dtype=int))
    with pytest.raises(DataError, match="kept as 'diagonal' cannot become the prior"):
        model(structure="diagonal").partial_fit(X, Y).partial_fit(X, Y)


def test_tuning_has_no_batches():
    tuned = model(tune="evidence")
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as raised:
        tuned.partial_fit(X, Y)
    assert "tuning needs all rows at once. Set tune=None, or fit all rows" in str(raised.value.__cause__)
    assert "partial_fit" in dir(model())


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (sx.Gaussian([1.0, 2.0]), r"scale=.* has shape \(2,\), but there are 4 columns"),
        (sx.Gaussian(-1.0), "is -1 for age; a standard deviation must be greater than 0"),
        (sx.Gaussian(mean=[0.0, np.nan, 0.0, 0.0]), "is nan for income"),
        (sx.Gaussian(covariance=np.eye(3)), r"covariance=.* has shape \(3, 3\), but there are 4 columns"),
        (sx.Gaussian(covariance=np.diag([1.0, 1.0, -1.0, 1.0])), "not positive definite.*'height'"),
        (sx.Gaussian(covariance=np.triu(np.ones((4, 4)))), "must be symmetric"),
        (sx.Gaussian(2.0, covariance=np.eye(4)), "give one of the two"),
        (sx.Gaussian(np.inf), "prior of 'age' has an infinite scale.*logarithm minus infinity"),
        (sx.Gaussian([1.0, 1.0, np.inf, 1.0]), "prior of 'height' has an infinite scale"),
        (sx.Flat(), "under a flat prior the evidence of any data is zero.*LogisticRegression"),
        (1.0, r"prior=1.0\): give Gaussian"),
    ],
)
def test_priors_that_are_none(prior, message):
    with pytest.raises(ValueError, match=message):
        model(prior=prior).fit(NAMED, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"likelihood": "normal"}, "choose one of 'logit', 'probit', 'label_noise'"),
        ({"approximation": "mcmc"}, "choose one of 'auto', 'laplace', 'variational', 'ep', 'importance'"),
        ({"predictive": "mean"}, "choose one of 'exact', 'qmc', 'probit', 'map'"),
        ({"structure": "sparse"}, r"BayesianLogisticRegression\(structure='sparse'\): choose one of 'full', 'dual'"),
        ({"tune": "cv"}, "choose one of 'evidence', or None"),
        ({"tol": 0}, "greater than 0"),
        ({"noise": 0.7}, "between 0 and 0.5"),
        ({"groups": "columns"}, "Set tune='evidence' as well, or groups=None"),
        ({"tune": "evidence", "groups": [0, 1]}, "groups has 2 labels, but there are 4 columns"),
        ({"tune": "evidence", "groups": "column"}, "choose None, 'columns', or a label for each of 4 columns"),
        (
            {"tune": "evidence", "groups": "columns", "prior": sx.Gaussian(covariance=np.eye(4) + 0.5)},
            "one scale to tune, that of the whole, and groups= asks for 4",
        ),
        ({"structure": "dual"}, "fewer rows than columns"),
        ({"structure": "by class"}, "needs more than two classes"),
    ],
)
def test_arguments_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        model(**arguments).fit(X, Y)


@pytest.mark.parametrize("likelihood", ["probit", "label_noise"])
def test_three_classes_where_two_are_meant(likelihood):
    with pytest.raises(
        DataError, match=rf"Only binary classification.*'{likelihood}', which is for two classes, but y has 3: 0, 1, 2"
    ):
        model(likelihood=likelihood).fit(X3, Y3)


def test_a_posterior_that_does_not_fit_into_memory():
    wide = sparse.random_array((30, 300_000), density=1e-4, rng=0, format="csr")
    y = np.arange(30) % 2
    with pytest.raises(DataError, match=r"'full' for 1 x 300001 weights needs .* TiB of memory.*'dual' fits"):
        model(structure="full").fit(wide, y)
    assert model().fit(wide, y).posterior_.structure == "dual"
    with pytest.raises(DataError, match="needs the whole covariance, and 1 x 300001 weights are kept as 'dual'"):
        model(approximation="ep").fit(wide, y)


def test_one_row_and_one_class():
    with pytest.raises(DataError, match="only one class is present: every label is 1"):
        model().fit(X[:1], [1])
    with pytest.raises(DataError, match="only one class is present: every label is 'a'"):
        model().fit(X, ["a"] * 90)
    alone = model().fit(X[:1], np.array([[0.3, 0.7]]))  # a row may be some of each
    assert 0.5 < alone.predict_proba(X[:1])[0, 1] < 0.7
    only = model().partial_fit(X[:1], [1], classes=[0, 1])
    assert 0.5 < only.predict_proba(X[:1])[0, 1] < 1
    assert_allclose(only.log_evidence_, np.log(0.5), atol=0.01)  # either label is as probable before
    equal = model().partial_fit(X, np.ones(90, dtype=int), classes=[0, 1])
    assert np.all(equal.predict_proba(X)[:, 1] > 0.95)
    assert model().fit(X[:2], [0, 1]).score(X[:2], [0, 1]) == 1


@pytest.mark.parametrize("predictive", ["exact", "qmc", "probit", "map"])
@pytest.mark.parametrize("approximation", ["laplace", "importance"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_at_prediction(predictive, approximation, bad):
    rows = NAMED.copy()
    rows.loc[[3, 8], "income"] = bad
    fitted = model(predictive=predictive, approximation=approximation).fit(NAMED, Y)
    for method in ("predict", "predict_proba", "predict_interval", "decision_distribution", "predict_with_error"):
        with pytest.raises(DataError, match=r"NaN or infinity in column 'income' \(2 of 90 rows\)"):
            getattr(fitted, method)(rows)


def test_single_precision_is_not_too_small_for_what_is_known():
    fitted = model().fit(X, Y)
    large = np.full((1, 4), 1e30, dtype=np.float32)
    assert_allclose(fitted.predict_proba(large), fitted.predict_proba(large.astype(np.float64)), rtol=1e-6)


def test_constant_and_repeated_columns_are_the_priors_business():
    table = np.column_stack([X, np.full(90, 7.0), X[:, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model().fit(table, Y)
    assert_allclose(fitted.posterior_.std[4], 1.0, rtol=1e-6)  # nothing was learned of it
    assert_allclose(fitted.coef_[0, 4], 0.0, atol=1e-9)
    assert_allclose(fitted.coef_[0, 0], fitted.coef_[0, 5], rtol=1e-6)  # twins share alike
    assert fitted.posterior_.covariance[0, 5] < 0


def test_intervals_of_k_classes_are_quantiles_over_the_draws_whatever_is_held_at_once(monkeypatch):
    fitted = model(rng=3, approximation="laplace").fit(X3, Y3)
    theta = fitted.posterior_.approximation.sample(interval.N_DRAWS, np.random.default_rng(3))
    A = np.einsum("np,skp->snk", fitted.posterior_.design.regressors(X3), theta)
    P = special.softmax(A, axis=2)
    expected = np.moveaxis(np.quantile(P, [0.05, 0.95], axis=0), 0, -1)
    assert_allclose(fitted.predict_interval(X3, 0.9), expected, rtol=1e-12)
    monkeypatch.setattr(interval, "AT_ONCE", 7 * 3 * interval.N_DRAWS)  # seven rows, which do not divide the table
    assert_allclose(fitted.predict_interval(X3, 0.9), expected, rtol=1e-12)


def test_intervals_of_k_classes_need_memory_for_few_rows_at_a_time():
    fitted = model(approximation="laplace").fit(X3, Y3)
    rows = np.tile(X3, (60, 1))
    tracemalloc.start()
    fitted.predict_interval(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6 < 8 * len(rows) * 3 * interval.N_DRAWS
