"""The playground of the site: its models, written in JavaScript, equal those of the library."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special

import separatrix as sx
from browsing import start

PLAY = Path(__file__).parents[2] / "docs" / "_static" / "play"
X = np.array(
    [
        [-2.1, 0.4], [-1.3, -0.8], [-0.6, 1.9], [-1.8, -2.2], [0.3, -1.1], [-0.2, 0.6], [1.1, -0.3],
        [0.4, 1.2], [1.9, 0.7], [-0.9, 0.2], [2.4, -1.5], [1.2, 2.3], [0.1, -0.4], [2.2, 1.8], [-0.4, 2.6],
    ]
)  # fmt: skip
Y = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
SEPARABLE = (X @ [1.0, 0.6] > 0.5).astype(int)
NEW = np.array([[0.0, 0.0], [1.5, -2.0], [-3.0, 3.0], [4.0, 0.5], [-0.1, 0.7]])


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def engine(browser, expression):
    """The value of an expression of JavaScript that uses the engine."""
    source = (PLAY / "engine.js").read_text(encoding="utf-8")
    return browser.execute_script(f"{source}\nreturn {expression};")


def rows_of(labels):
    return json.dumps([{"x": list(x), "t": int(t)} for x, t in zip(X, labels, strict=True)])


def fit(browser, name, labels=Y, **options):
    """A model of the engine: its numbers, and its activations and probabilities at new rows."""
    return engine(
        browser,
        f"""(() => {{
            const model = engine.fit({json.dumps(name)}, {rows_of(labels)}, {json.dumps(options)});
            const at = f => f && {json.dumps(NEW.tolist())}.map(x => f(x));
            return {{...model, activations: at(model.activation), probabilities: at(model.probability)}};
        }})()""",
    )


def test_least_squares_has_the_boundary_of_the_library(browser):
    found, model = fit(browser, "leastSquares"), sx.LeastSquaresClassifier().fit(X, Y)
    outputs = model.outputs(NEW)
    np.testing.assert_allclose(found["activations"], outputs[:, 1] - outputs[:, 0], rtol=1e-9)
    assert found["correct"] == round(15 * model.score(X, Y))


def test_fishers_direction_boundary_and_criterion_are_those_of_the_library(browser):
    found, model = fit(browser, "fisher"), sx.FisherDiscriminant().fit(X, Y)
    w = np.array(found["weights"])
    factor = w[1] / model.coef_[0, 0]
    np.testing.assert_allclose(w, factor * np.r_[model.intercept_, model.coef_[0]], rtol=1e-9)
    means = [X[k == Y].mean(axis=0) for k in (0, 1)]
    S_W = sum((X[k == Y] - means[k]).T @ (X[k == Y] - means[k]) for k in (0, 1))
    J = (w[1:] @ (means[1] - means[0])) ** 2 / (w[1:] @ S_W @ w[1:])
    assert found["criterion"] == pytest.approx(J, rel=1e-12)


def test_the_perceptron_makes_the_updates_of_the_library(browser):
    found, model = fit(browser, "perceptron", SEPARABLE), sx.Perceptron().fit(X, SEPARABLE)
    assert found["ended"]
    assert found["criterion"] == 0
    assert len(found["steps"]) - 1 == model.n_mistakes_ > 2
    np.testing.assert_allclose(found["weights"], np.r_[model.intercept_, model.coef_[0]], rtol=1e-9)
    w = np.zeros(3)
    for step in found["steps"][1:]:
        row = np.r_[1.0, X[step["row"]]]
        t = 2 * SEPARABLE[step["row"]] - 1
        assert t * (w @ row) <= 0  # only mistakes are corrected
        w = w + t * row
        np.testing.assert_allclose(step["weights"], w, atol=1e-12)


def test_the_perceptron_stops_at_its_limit_if_classes_overlap(browser):
    found = fit(browser, "perceptron", limit=50)
    assert not found["ended"]
    assert len(found["steps"]) == 51


@pytest.mark.parametrize(
    ("name", "model"), [("lda", sx.LinearDiscriminantAnalysis()), ("qda", sx.QuadraticDiscriminantAnalysis())]
)
def test_normal_classes_have_the_log_odds_of_the_library(browser, name, model):
    found = fit(browser, name)
    model.fit(X, Y)
    np.testing.assert_allclose(found["activations"], model.decision_function(NEW), rtol=1e-9)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW)[:, 1], atol=1e-12)
    assert found["logLikelihood"] == pytest.approx(np.log(model.predict_proba(X)[np.arange(15), Y]).sum(), rel=1e-9)


def test_newtons_steps_reach_the_maximum_likelihood(browser):
    found = fit(browser, "logistic")
    model = sx.LogisticRegression(alpha=0, tol=1e-12).fit(X, Y)
    assert not found["isSeparable"]
    np.testing.assert_allclose(found["weights"], np.r_[model.intercept_, model.coef_[0]], atol=1e-7)
    first = fit(browser, "logistic", step=1)["weights"]  # from w = 0: least squares on 4 t - 2
    np.testing.assert_allclose(first, np.linalg.lstsq(np.c_[np.ones(15), X], 4.0 * Y - 2, rcond=None)[0], atol=1e-12)


def test_separable_rows_have_no_maximum_likelihood(browser):
    found = fit(browser, "logistic", SEPARABLE)
    assert found["isSeparable"]
    assert np.linalg.norm(found["weights"]) > 10


def bayesian(options):
    basis = sx.basis.RBF(width=options["width"]) if options.get("basis") == "rbf" else None
    scale = options["scale"]
    return sx.BayesianLogisticRegression(
        prior=sx.Gaussian(scale, intercept_scale=scale),
        tune=None,
        standardize=False,
        approximation="laplace",
        predictive="exact" if options.get("averaged", True) else "map",
        basis=basis,
        tol=1e-12,
    ).fit(X, Y)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"scale": 1.0},
        {"scale": 5.0},
        {"scale": 1.0, "averaged": False},
        {"basis": "rbf", "width": 0.7, "scale": 2.0},
        {"basis": "rbf", "width": 1.5, "scale": 5.0},
        {"basis": "rbf", "width": 1.5, "scale": 5.0, "averaged": False},
    ],
)
def test_the_posterior_its_predictions_and_its_evidence_are_those_of_the_library(browser, options):
    found, model = fit(browser, "bayes", **options), bayesian(options)
    np.testing.assert_allclose(found["activations"], model.decision_function(NEW), atol=1e-7)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW)[:, 1], atol=1e-7)
    parts = [model.log_likelihood_, model.occam_factor_, model.log_evidence_]
    np.testing.assert_allclose([found["fit"], found["occam"], found["evidence"]], parts, atol=1e-7)


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.ApproximationWarning")
def test_the_surface_of_the_evidence_is_that_of_the_library(browser):
    widths, scales = [0.5, 2.0], [0.5, 2.0, 8.0]
    found = engine(browser, f"engine.evidenceSurface({rows_of(Y)}, 'rbf', {widths}, {scales})")
    expected = [[bayesian({"basis": "rbf", "width": w, "scale": s}).log_evidence_ for s in scales] for w in widths]
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("s", [0.01, 1.0, 7.9, 8.1, 40.0])
def test_the_average_of_the_sigmoid_is_its_integral(browser, s):
    for mu in (-3.0, 0.0, 1.0, 12.0):
        expected, _ = integrate.quad(
            lambda z, mu=mu: special.expit(mu + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi),
            -12, 12, points=[-mu / s] if mu < 12 * s else None, epsabs=1e-12, limit=500,
        )  # fmt: skip
        assert engine(browser, f"engine.average({mu}, {s})") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 0, 1], [1, 1, 1]], "A fit needs rows of both classes."),
        ([[0, 0, 1], [1, 1, 0], [2, 2, 0]], "The rows lie on a line."),
    ],
)
def test_rows_that_determine_no_fit_raise_an_error(browser, rows, message):
    rows = json.dumps([{"x": [a, b], "t": t} for a, b, t in rows])
    caught = f"(() => {{ try {{ engine.fit('fisher', {rows}); }} catch (error) {{ return error.message; }} }})()"
    assert engine(browser, caught) == message
