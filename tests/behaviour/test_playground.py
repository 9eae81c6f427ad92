"""The playground of the site: its models, written in JavaScript, equal those of the library."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special

import separatrix as sx
from browsing import is_without_sideways_scroll, show, start

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


PAGE = """<!doctype html><html data-theme="{theme}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>play</title><link rel="stylesheet" href="{folder}/play.css"><link rel="icon" href="data:,">
<script src="{folder}/engine.js"></script><script src="{folder}/page.js" defer></script>
<body><div class="play" {attributes}></div></body></html>"""
SETTLED = "await new Promise(resolve => setTimeout(resolve, 250));"  # the address follows the state after 0.15 s


@pytest.fixture
def page(browser, tmp_path):
    """Show a playground; returns the canvas."""

    def open_page(attributes="data-hash", address="", *, width=1000, theme="light"):
        path = tmp_path / "play.html"
        path.write_text(PAGE.format(theme=theme, folder=PLAY.as_uri(), attributes=attributes), encoding="utf-8")
        browser.get_log("browser")
        show(browser, "about:blank", width=width)  # an address that differs in its hash alone would not be loaded again
        browser.get(path.as_uri() + address)
        return browser.find_element("css selector", "canvas.play-canvas")

    yield open_page
    assert browser.get_log("browser") == []


def state(browser):
    return browser.execute_script("return document.querySelector('.play').playground.state")


def text(browser, part):
    return browser.find_element("css selector", f".play-{part}").text


def test_rows_are_moved_added_changed_and_removed_by_keys(browser, page):
    canvas = page(address="#model=lda&rows=-100.0.0_-50.120.0_100.0.1_150.-100.1")
    canvas.send_keys("n", "\ue014")  # the next row, arrow to the right
    assert text(browser, "status") == "Row 1 of 4: (−0.90, 0.00), class 0"
    canvas.send_keys("p")
    assert text(browser, "status") == "Row 4 of 4: (1.50, −1.00), class 1"
    canvas.send_keys(" ", "a")
    assert [(row["x"], row["t"]) for row in state(browser)["rows"][3:]] == [([1.5, -1.0], 0), ([1.8, -0.7], 1)]
    canvas.send_keys("\ue017")  # delete
    assert len(state(browser)["rows"]) == 4
    browser.execute_async_script(f"(async done => {{ {SETTLED} done(); }})(arguments[0])")
    assert browser.execute_script("return location.hash") == "#model=lda&rows=-90.0.0_-50.120.0_100.0.1_150.-100.0"


def test_a_row_is_dragged_and_a_press_on_an_empty_place_adds_one(browser, page):
    from selenium.webdriver import ActionChains

    canvas = page(address="#model=fisher&rows=-100.0.0_-50.120.0_100.0.1_150.-100.1")
    size = canvas.size["width"]
    to_pixels = size / 8
    drag = ActionChains(browser).move_to_element_with_offset(canvas, round(1.0 * to_pixels), 0).click_and_hold()
    drag.move_by_offset(round(to_pixels), round(-to_pixels)).release().perform()
    assert state(browser)["rows"][2]["x"] == pytest.approx([2.0, 1.0], abs=0.05)
    ActionChains(browser).move_to_element_with_offset(canvas, 0, round(3 * to_pixels)).click().perform()
    assert state(browser)["rows"][4]["x"] == pytest.approx([0.0, -3.0], abs=0.05)


@pytest.mark.parametrize(
    "address",
    [
        "#model=none&scale=x&rows=1.2",
        "#rows=9999.0.0_0.NaN.1_0.0.7",
        "#model=bayes&basis=rbf&scale=1e9&width=-1",
        "#%%%",
    ],
)
def test_an_address_that_makes_no_sense_shows_rows_and_a_model(browser, page, address):
    page(address=address)
    found = state(browser)
    assert len(found["rows"]) >= 1
    assert 0.1 <= found["scale"] <= 30
    assert 0.25 <= found["width"] <= 4


def test_steps_of_the_perceptron_are_shown_one_by_one(browser, page):
    page(address="#model=perceptron&data=separable&step=0")
    following = browser.find_element("xpath", "//button[text()='Next']")
    following.click()
    following.click()
    n_updates = browser.execute_script("return document.querySelector('.play').playground.model.steps.length") - 1
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert f"Update 2 of {n_updates}" in text(browser, "panel")
    assert n_updates > 5


def test_the_button_goes_to_the_largest_evidence_of_the_surface(browser, page):
    page(address="#model=bayes&basis=rbf&data=ring&scale=0.5&width=3")
    playground = "document.querySelector('.play').playground"
    browser.set_script_timeout(20)
    browser.execute_async_script(
        f"const done = arguments[0]; (function wait() {{ {playground}.best ? done() : setTimeout(wait, 50); }})()"
    )
    before = browser.execute_script(f"return {playground}.model.evidence")
    browser.find_element("xpath", "//button[text()='Go to the largest evidence']").click()
    after = browser.execute_script(f"return {playground}.model.evidence")
    assert after == pytest.approx(browser.execute_script(f"return Math.max(...{playground}.surface.flat())"), abs=1e-9)
    assert after > before


def test_a_part_of_a_page_shows_only_the_controls_it_names(browser, page):
    page('data-state="model=perceptron&data=separable&step=0" data-show="steps data"')
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert len(browser.find_elements("css selector", ".play select")) == 1
    link = browser.find_element("css selector", ".play-link").get_attribute("href")
    assert link.endswith("start/play.html#model=perceptron&step=0&data=separable")


@pytest.mark.parametrize("width", [320, 400, 1280])
@pytest.mark.parametrize("model", ["logistic", "bayes&basis=rbf"])
def test_the_playground_fits_the_screen(browser, page, width, model):
    page(address=f"#model={model}", width=width)
    assert is_without_sideways_scroll(browser)


def test_the_picture_has_the_colours_of_the_theme(browser, page):
    corner = "return [...document.querySelector('canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
    found = {}
    for theme in ("light", "dark"):
        page(address="#model=fisher&rows=0.0.0", theme=theme)  # one class: the picture has no model
        browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        found[theme] = browser.execute_script(corner)
        assert "A fit needs rows of both classes." in text(browser, "problem")
    assert found == {"light": [255, 255, 255, 255], "dark": [21, 24, 28, 255]}
