"""Weights of classes: the same fit as with sample weights, wherever rows are stored; and their correction."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError, NotSeparableWarning

X, y = blobs(400, distance=1.0)
LABELS = np.array(["a", "b", "c"])
FACTORS = {"a": 0.5, "c": 4.0}  # "b" keeps its weight
MODELS = {
    "least_squares": sx.LeastSquaresClassifier(),
    "fisher": sx.FisherDiscriminant(),
    "perceptron": sx.Perceptron(max_epochs=3),
    "lda": sx.LinearDiscriminantAnalysis(),
    "qda": sx.QuadraticDiscriminantAnalysis(),
    "naive_bayes": sx.NaiveBayes(),
    "exponential_family": sx.ExponentialFamilyClassifier(),
    "logistic": sx.LogisticRegression(),
    "sparse_logistic": sx.LogisticRegression(prior=sx.ElasticNet(2.0, 0.5)),
    "rbf": sx.LogisticRegression(basis=sx.basis.RBF("kmeans", n_centres=4)),
    "label_noise": sx.LabelNoiseLogisticRegression(noise=0.05),
    "probit": sx.OneVsRest(sx.ProbitRegression()),
    "bayesian": sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
PROBABILISTIC = {
    "lda": sx.LinearDiscriminantAnalysis(),
    "qda": sx.QuadraticDiscriminantAnalysis(),
    "naive_bayes": sx.NaiveBayes("normal", temper=0.8),
    "exponential_family": sx.ExponentialFamilyClassifier(),
    "logistic": sx.LogisticRegression(),
    "logistic_diagonal": sx.LogisticRegression(prior=sx.ElasticNet(2.0, 0.5)),
    "probit": sx.ProbitRegression(),
}
STORES = {
    "memory": lambda X: X,
    "sparse": sparse.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=list("pqrs")),
    "dask": lambda X: da.from_array(X, chunks=(90, 4)),
}


def scores(model):
    return getattr(model, "predict_proba", model.decision_function)(X)


def weighted(model, class_weight, **arguments):
    name = "estimator__class_weight" if isinstance(model, sx.OneVsRest) else "class_weight"
    return clone(model).set_params(**{name: class_weight}, **arguments)


@every_model
@pytest.mark.parametrize("kind", ["mapping", "balanced"])
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
def test_a_fit_with_class_weights_is_the_fit_with_these_sample_weights(model, kind, rng):
    sample_weight = rng.integers(0, 3, len(y)).astype(float)
    if isinstance(model, sx.OneVsRest):  # the models inside have classes 0 and 1
        t, class_weight = (y == 0).astype(int), "balanced" if kind == "balanced" else {1: 3.0}
    else:
        t, class_weight = LABELS[y], "balanced" if kind == "balanced" else FACTORS
    classes = np.unique(t)
    expected = (
        compute_class_weight("balanced", classes=classes, y=t, sample_weight=sample_weight)
        if kind == "balanced"
        else np.array([class_weight.get(label, 1.0) for label in classes.tolist()])
    )
    ours = weighted(model, class_weight).fit(X, t, sample_weight=sample_weight)
    plain = model.fit(X, t, sample_weight=sample_weight * expected[np.searchsorted(classes, t)])
    assert_allclose(scores(ours), scores(plain), rtol=1e-9, atol=1e-9)
    inner = ours.estimators_[0] if isinstance(ours, sx.OneVsRest) else ours
    assert_allclose(inner.class_weight_, expected, rtol=1e-12)


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("class_weight", [FACTORS, "balanced"], ids=["mapping", "balanced"])
def test_class_weights_work_wherever_rows_are_stored(store, class_weight):
    model = sx.LogisticRegression(class_weight=class_weight, tol=1e-11)
    there, here = (
        model.fit(store(X), LABELS[y]).coef_,
        sx.LogisticRegression(tol=1e-11)
        .fit(
            X,
            LABELS[y],
            sample_weight=compute_sample_weight({"b": 1.0} | FACTORS, LABELS[y])
            if class_weight != "balanced"
            else compute_sample_weight("balanced", y),
        )
        .coef_,
    )
    assert_allclose(there, here, rtol=1e-8)


def test_class_weights_of_dates():
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    model = sx.LogisticRegression(class_weight={dates[1]: 3.0}).fit(X, dates[(y > 0).astype(int)])
    assert model.class_weight_.tolist() == [1.0, 3.0]


def test_labels_of_a_scan(tmp_path):
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(label=LABELS[y], weight=np.arange(len(y)) % 3)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = sx.LinearDiscriminantAnalysis(class_weight="balanced")
    means, priors = (model.fit(X, LABELS[y], sample_weight=frame["weight"]).means_, model.priors_)
    scanned = model.fit(sx.scan(tmp_path / "rows.parquet", target="label", weight="weight"))
    assert_allclose(scanned.means_, means, rtol=1e-10)
    assert_allclose(scanned.priors_, priors, rtol=1e-12)


@pytest.mark.parametrize("model", [sx.LinearDiscriminantAnalysis(), sx.LogisticRegression(tol=1e-11)], ids=str)
def test_rows_and_labels_on_a_device(model):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.set_params(class_weight="balanced")
    expected = model.fit(X, y).coef_
    for dtype, tolerance in ((torch.float64, 1e-8), (torch.float32, 1e-3)):
        there = model.fit(torch.from_numpy(X).to(device, dtype), torch.from_numpy(y).to(device)).coef_
        assert_allclose(there, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_of_soft_targets_is_a_row_of_each_class(n_classes, rng):
    T = rng.dirichlet(np.ones(n_classes), len(X))
    for class_weight in ({0: 3.0, 1: 0.5}, "balanced"):
        soft = sx.LogisticRegression(class_weight=class_weight, tol=1e-11).fit(X, T)
        hard = sx.LogisticRegression(class_weight=class_weight, tol=1e-11).fit(
            np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), len(X)), sample_weight=T.ravel()
        )
        assert_allclose(soft.coef_, hard.coef_, rtol=1e-7)
        assert_allclose(soft.class_weight_, hard.class_weight_, rtol=1e-12)


@pytest.mark.parametrize("model", PROBABILISTIC.values(), ids=PROBABILISTIC)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_corrected_probabilities_are_divided_by_the_factors(model, n_classes):
    if isinstance(model, sx.ProbitRegression) and n_classes == 3:
        pytest.skip("two classes only")
    rows, t = X[y < n_classes], y[y < n_classes]
    factors = np.array([0.5, 3.0, 8.0])[:n_classes]
    plain = weighted(model, dict(enumerate(factors))).fit(rows, t)
    corrected = weighted(model, dict(enumerate(factors)), prior_correction=True).fit(rows, t)
    P = plain.predict_proba(rows) / factors
    P /= P.sum(axis=1, keepdims=True)
    assert_allclose(corrected.predict_proba(rows), P, atol=1e-12)
    assert_allclose(corrected.predict_log_proba(rows), np.log(P), atol=1e-9)
    assert (corrected.predict(rows) == P.argmax(axis=1)).all()
    a = corrected.decision_function(rows)
    assert ((a > 0) == (P[:, 1] > 0.5)).all() if n_classes == 2 else (a.argmax(axis=1) == P.argmax(axis=1)).all()


@pytest.mark.parametrize("approximation", ["laplace", "importance"])
def test_a_bayesian_model_shifts_activations_before_it_averages(approximation):
    rows, t = X[y < 2][:60], y[y < 2][:60]
    class_weight = {0: 1.0, 1: 6.0}
    arguments = {"class_weight": class_weight, "approximation": approximation}
    plain = sx.BayesianLogisticRegression(**arguments).fit(rows, t)
    corrected = sx.BayesianLogisticRegression(**arguments, prior_correction=True).fit(rows, t)
    before, after = plain.decision_distribution(rows), corrected.decision_distribution(rows)
    assert_allclose(after.mean, before.mean - np.log(6.0), rtol=1e-10)
    assert_allclose(after.variance, before.variance, rtol=1e-10)
    assert_allclose(corrected.posterior_.mean[-1], corrected.intercept_[0], rtol=1e-12)
    # The oracle is an average over draws of the weights, each with its activation shifted.
    draws = plain.posterior_.sample(20_000, rng=0)
    a = rows @ draws[:, :-1].T + draws[:, -1] - np.log(6.0)
    assert_allclose(corrected.predict_proba(rows)[:, 1], (1 / (1 + np.exp(-a))).mean(axis=1), atol=0.02)
    ratio = plain.predict_proba(rows) / [1.0, 6.0]
    assert np.abs(corrected.predict_proba(rows) - ratio / ratio.sum(axis=1, keepdims=True)).max() > 1e-3


def test_batches_of_a_corrected_bayesian_model_do_not_repeat_the_shift():
    arguments = {"class_weight": {0: 1.0, 1: 6.0}, "approximation": "laplace"}
    plain, corrected = (sx.BayesianLogisticRegression(**arguments, prior_correction=c) for c in (False, True))
    for model in (plain, corrected):
        for part in (slice(150), slice(150, None)):
            model.partial_fit(X[y < 2][part], y[y < 2][part], classes=[0, 1])
    assert_allclose(corrected.intercept_, plain.intercept_ - np.log(6.0), rtol=1e-9)
    assert_allclose(corrected.coef_, plain.coef_, rtol=1e-9)


def test_a_path_is_corrected_as_a_fit():
    t = y > 0
    for model in (sx.LogisticRegression(), sx.ProbitRegression()):
        model.set_params(prior=sx.ElasticNet(2.0), class_weight="balanced", prior_correction=True)
        path = sx.regularization_path(model, X, t, alphas=[5.0, 2.0])
        assert_allclose(path.intercept[-1], model.fit(X, t).intercept_, atol=1e-6)


@pytest.mark.parametrize("model", [sx.LogisticRegression(alpha=0), sx.LinearDiscriminantAnalysis()], ids=str)
def test_a_corrected_model_recovers_the_true_probabilities(model):
    rng = np.random.default_rng(5)
    t = (rng.random(40_000) < 0.03).astype(int)
    rows = rng.normal(size=(len(t), 2)) + np.outer(t, [1.0, -0.5])
    true = 1 / (1 + np.exp(-(rows @ [1.0, -0.5] - 0.625 + np.log(0.03 / 0.97))))
    error = {
        correction: np.abs(
            model.set_params(class_weight="balanced", prior_correction=correction)
            .fit(rows, t)
            .predict_proba(rows)[:, 1]
            - true
        ).mean()
        for correction in (False, True)
    }
    assert error[True] < 0.003 < 0.2 < error[False]


def test_generative_models_in_parts():
    model = sx.LinearDiscriminantAnalysis(class_weight=FACTORS, prior_correction=True)
    whole = model.fit(X, LABELS[y])
    parts = sx.LinearDiscriminantAnalysis(class_weight=FACTORS, prior_correction=True)
    first = y < 2
    parts.partial_fit(X[first][:50], LABELS[y[first]][:50]).partial_fit(X[first][50:], LABELS[y[first]][50:])
    parts.add_class(X[~first], "c")
    assert_allclose(parts.class_weight_, whole.class_weight_)
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
    left, right = (sx.LinearDiscriminantAnalysis(class_weight=FACTORS).fit(X[i::2], LABELS[y[i::2]]) for i in (0, 1))
    assert_allclose(
        left.merge(right).coef_, model.set_params(prior_correction=False).fit(X, LABELS[y]).coef_, rtol=1e-8
    )
    with pytest.raises(DataError, match="class_weight"):
        left.merge(sx.LinearDiscriminantAnalysis().fit(X, LABELS[y]))


def test_saved_and_exported_models_keep_the_correction(tmp_path):
    bayesian = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace", predictive="probit")
    for model in (sx.LogisticRegression(), sx.LinearDiscriminantAnalysis(), bayesian, sx.ProbitRegression()):
        t = np.where(y == 0, "a", "c") if isinstance(model, sx.ProbitRegression) else LABELS[y]
        fitted = model.set_params(class_weight=FACTORS, prior_correction=True).fit(X, t)
        again = sx.load(sx.save(fitted, tmp_path / f"{type(model).__name__}.sx"))
        assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
        runtime = pytest.importorskip("onnxruntime")
        path = tmp_path / f"{type(model).__name__}.onnx"
        sx.to_onnx(fitted, path)
        session = runtime.InferenceSession(path)
        names = [output.name for output in session.get_outputs()]
        feeds = {session.get_inputs()[0].name: X.astype(np.float32)}
        found = dict(zip(names, session.run(None, feeds), strict=True))
        assert_allclose(found["probabilities"], fitted.predict_proba(X.astype(np.float32)), atol=1e-5)


# A class whose rows all have weight zero


@pytest.mark.parametrize("n_classes", [2, 3])
@every_model
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_class_without_weight_stays_a_class_that_is_never_predicted(model, n_classes):
    if isinstance(model, sx.OneVsRest):
        model = sx.ProbitRegression()
        n_classes = 2
    rows, t = X[y < n_classes], y[y < n_classes]
    fitted = model.fit(rows, t, sample_weight=(t > 0).astype(float))
    assert fitted.classes_.tolist() == list(range(n_classes))
    assert (fitted.predict(rows) > 0).all()
    zero_factor = weighted(model, {0: 0.0}).fit(rows, t)
    assert (zero_factor.predict(rows) > 0).all()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (sx.LogisticRegression(tol=1e-10), LogisticRegression(solver="newton-cholesky", tol=1e-8)),
        (sx.NaiveBayes("normal", estimate="ml"), GaussianNB()),
    ],
    ids=["logistic", "naive_bayes"],
)
def test_probabilities_with_a_class_without_weight_agree_with_scikit_learn(ours, theirs):
    weight = (y > 0).astype(float)
    with np.errstate(all="ignore"):
        expected = theirs.fit(X, y, sample_weight=weight).predict_proba(X)
    assert_allclose(ours.fit(X, y, sample_weight=weight).predict_proba(X), expected, atol=1e-4)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 2.0, 1: 1.0, 2: 0.3}], ids=["balanced", "mapping"])
def test_weights_agree_with_scikit_learn(class_weight):
    peer = LogisticRegression(class_weight=class_weight, tol=1e-12, solver="newton-cholesky").fit(X, y)
    ours = sx.LogisticRegression(class_weight=class_weight, tol=1e-11).fit(X, y)
    assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    ridge = RidgeClassifier(alpha=2.0, class_weight=class_weight).fit(X, y)  # targets -1 and 1
    least_squares = sx.LeastSquaresClassifier(alpha=2.0, class_weight=class_weight).fit(X, y)
    assert_allclose(2 * least_squares.coef_, ridge.coef_, atol=1e-9)
    perceptron = Perceptron(class_weight=class_weight, shuffle=False, tol=None, max_iter=3)
    t = y == 0
    two = {False: 2.0, True: 0.5} if class_weight != "balanced" else class_weight
    with pytest.warns(NotSeparableWarning):
        mine = sx.Perceptron(class_weight=two, max_epochs=3).fit(X, t)
    assert_allclose(mine.coef_, perceptron.set_params(class_weight=two).fit(X, t).coef_, rtol=1e-9)
