"""Properties of every display: settings of matplotlib are kept, notebooks show it, names are drawn as written."""

import json
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.datasets import make_overlapping
from separatrix.plots import drawing

POINTS, CODES = make_overlapping(40)


def rows(name="x"):
    """Rows of two columns and two classes; all names begin with ``name``."""
    return pd.DataFrame(POINTS, columns=[name, f"{name}b"]), np.array([name, f"{name}b"], dtype=object)[CODES]


def fitted(display, model, *, n_columns=2, **options):
    """Function that fits the model and draws the display."""

    def draw(X, y, title=None):
        X = X.iloc[:, :n_columns]
        return getattr(sx.plots, display).from_estimator(model.fit(X, y), X, y, title=title, **options)

    return draw


def coefficients(X, y, title=None):
    return sx.plots.CoefficientDisplay.from_estimator(sx.LogisticRegression().fit(X, y), X, title=title)


def comparison(X, y, title=None):
    models = dict(zip(X.columns, (sx.LogisticRegression(), sx.LinearDiscriminantAnalysis()), strict=True))
    return sx.compare(models, X, y).plot(title=title)


def effect(X, y, title=None):
    model = sx.LogisticRegression().fit(X, y)
    return sx.plots.EffectDisplay.from_table(sx.effects.comparisons(model, X), title=title)


def evidence(X, y, title=None):
    surface = sx.evidence_surface(
        X, y, basis_of_width=lambda width: sx.basis.RBF([[0.0, 0.0]], width=width), widths=[0.5, 2.0], scales=[0.5, 2.0]
    )
    marks = dict.fromkeys(X.columns, (1.0, 1.0))
    return sx.plots.EvidenceSurfaceDisplay.from_surface(surface, marks=marks, title=title)


def path(X, y, title=None):  # each frame has its own title
    return sx.plots.FitPathDisplay.from_estimator(sx.LogisticRegression(solver="newton"), X, y, frames=2)


def explanation(X, y, title=None):
    return sx.LogisticRegression().fit(X, y).explain(X.iloc[:1], X).plot(title=title)


LOGISTIC = sx.LogisticRegression()
ELASTIC_NET = sx.LogisticRegression(prior=sx.ElasticNet())
DRAW = {
    "ClassDensityDisplay": fitted("ClassDensityDisplay", sx.LinearDiscriminantAnalysis(), n_columns=1),
    "CoefficientDisplay": coefficients,
    "ComparisonDisplay": comparison,
    "DecisionBoundaryDisplay": fitted("DecisionBoundaryDisplay", LOGISTIC, response="probability", resolution=20),
    "EffectDisplay": effect,
    "EvidenceSurfaceDisplay": evidence,
    "ExplanationDisplay": explanation,
    "FitPathDisplay": path,
    "LikelihoodSurfaceDisplay": fitted("LikelihoodSurfaceDisplay", LOGISTIC, resolution=11),
    "ProjectionDisplay": fitted("ProjectionDisplay", LOGISTIC),
    "RegularizationPathDisplay": fitted("RegularizationPathDisplay", ELASTIC_NET, folds=2),
    "ReliabilityDisplay": fitted("ReliabilityDisplay", LOGISTIC),
    "ThresholdDisplay": fitted("ThresholdDisplay", LOGISTIC, kind="net benefit"),
}
every_display = pytest.mark.parametrize("display", DRAW)


def test_the_table_has_every_display():
    assert list(DRAW) == sx.plots.__all__


@every_display
def test_the_settings_of_matplotlib_are_kept(display):
    was_interactive = plt.isinteractive()
    plt.ion()
    try:
        with mpl.rc_context({"axes.linewidth": 3.0}):
            before = dict(mpl.rcParams)
            DRAW[display](*rows())
            assert dict(mpl.rcParams) == before
            assert plt.isinteractive()
    finally:
        plt.interactive(was_interactive)


def test_settings_are_restored_after_an_error():
    before = dict(mpl.rcParams)
    with pytest.raises(KeyError), drawing.look():
        raise KeyError
    assert dict(mpl.rcParams) == before


def test_settings_that_change_while_a_display_is_drawn_are_kept():
    with mpl.rc_context():
        with drawing.look():  # as the backend of a notebook does when it is loaded
            mpl.interactive(True)
            mpl.rcParams["figure.dpi"] = 72.0
        assert mpl.is_interactive()
        assert mpl.rcParams["figure.dpi"] == 72.0


NAMES = {
    "formula": "$x^2$",
    "broken formula": "$x^{$",
    "dollar": "$",
    "two dollars": "$$",
    "escaped dollar": r"\$a\$",
    "command": r"\frac $\frac$",
    "underscores": "_a_",
    "caret": "^{",
    "line break": "a\nb\r\n$",
    "tab": "a\tb",
    "control characters": "a\x00\x07\x1b\x7f",
    "blank": " ",
    "long": "$a_very_long_name " * 30,
    "emoji": "\U0001f600 $\U0001f600$",
    "right to left": "\u05e9\u05dc\u05d5\u05dd $x^{$",
    "markup": "<b>&amp;%s{}",
}
# PNG pictures of all names take 20 s.
QUICK_NAMES = ("broken formula", "underscores", "long")
names = pytest.mark.parametrize(
    "name",
    [pytest.param(text, id=key, marks=[] if key in QUICK_NAMES else pytest.mark.slow) for key, text in NAMES.items()],
)


@names
@every_display
def test_any_name_is_drawn(display, name):
    drawn = DRAW[display](*rows(name), title=name)
    drawn.figure_.savefig(BytesIO(), format="png")  # warnings are errors, such as axes without room or missing glyphs


@names
@every_display
def test_legends_have_the_same_entries_for_any_name(display, name):
    def entries(text):
        axes = DRAW[display](*rows(text)).figure_.axes
        return [len(ax.get_legend_handles_labels()[1]) for ax in axes]

    assert entries(name) == entries("x")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_never_a_formula_and_keeps_its_letters(name):
    text = drawing.in_text(name, 10**6)
    assert not mpl.cbook.is_math_text(text)
    assert "".join(c for c in name if c.isprintable() and c != " ") in text.replace(r"\$", "$").replace(" ", "")


def test_names_are_shortened_in_the_middle():
    assert drawing.in_text("income of the household", 11) == "incom…ehold"
    assert drawing.in_text("\u6536\u5165" * 10, 9) == "\u6536\u5165…\u6536\u5165"  # wide characters count twice
    assert drawing.in_text("a" * drawing.MAX_NAME_LETTERS) == "a" * drawing.MAX_NAME_LETTERS
    assert drawing.in_text("$" * 50, 5) == r"\$\$…\$\$"


def test_control_characters_are_spelled_out():
    assert drawing.in_text("a\x07\udc80") == r"a\x07\udc80"  # fonts have no glyphs for them
    assert drawing.in_text("a\r\n\tb\u2028c\u00a0d") == "a   b c d"
    assert drawing.in_text("") == "''"


def test_titles_may_contain_formulas():
    assert drawing.in_title(r"$\alpha = 1$") == r"$\alpha = 1$"
    assert drawing.in_title("first $\\alpha$\nsecond $x^{$") == "first $\\alpha$\nsecond \\$x^{\\$"
    assert drawing.in_title("costs $5") == r"costs \$5"
    assert drawing.in_title(None) == ""
    _, ax = plt.subplots()
    for title in NAMES.values():
        ax.set_title(drawing.in_title(title))
        ax.figure.canvas.draw()


NOTEBOOK = [  # code of a cell, number of pictures that it shows
    (
        "import separatrix as sx\n"
        "from separatrix.datasets import make_overlapping\n"
        "X, y = make_overlapping(40)\n"
        "model = sx.LogisticRegression().fit(X, y)\n"
        "sx.plots.ProjectionDisplay.from_estimator(model, X, y)",
        1,
    ),
    ("import matplotlib.pyplot as plt\nplt.plot([1, 2])", 1),
    ("_, ax = plt.subplots()\nsx.plots.ProjectionDisplay.from_estimator(model, X, y, ax=ax)", 1),
    (
        "sx.plots.ReliabilityDisplay.from_estimator(model, X, y)\n"
        "sx.plots.DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=10)",
        2,
    ),
    ("model", 0),
    ("plt.plot([1, 2])", 1),
]
# Another process executes the notebook, so that warnings and event loops of Jupyter stay outside pytest.
EXECUTE = """
import json, sys
import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(code) for code in json.load(sys.stdin)]
notebook = NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", timeout=120).execute()
print(json.dumps([sum("image/png" in output.get("data", {}) for output in cell.outputs) for cell in notebook.cells]))
"""


@pytest.mark.slow
def test_a_notebook_shows_every_picture_once(tmp_path):
    places = {"HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"}
    own = dict.fromkeys(places, str(tmp_path)) | {"PYTHONPATH": str(Path(sx.__file__).parents[1])}
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"} | own
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE],
        input=json.dumps([code for code, _ in NOTEBOOK]),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [count for _, count in NOTEBOOK]
