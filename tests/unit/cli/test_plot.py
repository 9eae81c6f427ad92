import numpy as np
import onnx
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.cli.plot import PICTURES, SURFACES
from separatrix.study import TableClassifier

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def two(folder):
    """A model of two columns, saved, and its table; and one of the first column alone."""
    import pyarrow.csv

    X, y = sx.datasets.make_overlapping(80, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    pyarrow.csv.write_csv(table.append_column("y", pa.array(y)), "two.csv")
    saved = {"two.sx": (["a", "b"], None), "one.sx": (["a"], None), "rbf.sx": (["a", "b"], sx.basis.RBF(width=1.0))}
    for name, (columns, basis) in saved.items():
        estimator = sx.BayesianLogisticRegression(approximation="laplace", basis=basis)
        model = TableClassifier(estimator).fit(table.select(columns), y)
        model.target_name_ = "y"
        sx.save(model, name)
    return folder


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_draws_something(two, run, kind):
    model = "rbf.sx" if kind == "evidence" else "one.sx" if PICTURES[kind].n_columns == 1 else "two.sx"
    result = run("plot", model, "two.csv", "--kind", kind, "-o", "p.png")
    assert result.exit_code == 0, result.output
    assert len((two / "p.png").read_bytes()) > 5000


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_says_the_format(folder, run, run_json, ending):
    found = run_json("plot", "model.sx", "-o", f"p.{ending}")
    assert found["files"] == {"picture": f"p.{ending}"}
    assert (folder / f"p.{ending}").read_bytes().startswith(STARTS[ending])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--kind", "coeficients"], 2, "Did you mean 'coefficients'"),
        (["--kind", "reliability"], 2, "needs labelled rows"),
        (["-o", "p.jpeg"], 4, ".png or .svg or .pdf"),
        (["loans.csv", "--kind", "boundary"], 3, "models of 2 columns of numbers"),
        (["loans.csv", "--kind", "likelihood"], 3, "models of 2 columns of numbers"),
        (["loans.csv", "--kind", "evidence"], 3, "has no such functions. separatrix explain tells its evidence"),
        (
            ["loans.csv", "--kind", "reliability", "-t", "purpose"],
            3,
            "no row of 'purpose' is one of the model's classes",
        ),
    ],
)
def test_what_cannot_be_drawn(folder, run, words, code, said):
    result = run("plot", "model.sx", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]


def test_a_model_for_other_languages(folder, run_json):
    assert run_json("export", "model.sx", "-o", "m.onnx")["files"] == {"onnx": "m.onnx"}
    onnx.checker.check_model(onnx.load("m.onnx"))


def test_only_onnx_and_nothing_replaced(folder, run):
    assert run("export", "model.sx", "-o", "m.txt").exit_code == 4
    (folder / "m.onnx").write_text("precious")
    assert run("export", "model.sx", "-o", "m.onnx").exit_code == 4
    assert (folder / "m.onnx").read_text() == "precious"


def test_force_replaces_an_export(folder, run):
    (folder / "m.onnx").write_text("old")
    assert run("export", "model.sx", "-o", "m.onnx", "--force").exit_code == 0
    onnx.checker.check_model(onnx.load("m.onnx"))


@pytest.fixture
def drawn(monkeypatch):
    """The displays that were drawn, in order."""
    from separatrix.plots import CoefficientDisplay, ReliabilityDisplay

    seen = []
    for kind, maker in ((CoefficientDisplay, "from_values"), (ReliabilityDisplay, "from_predictions")):
        make = getattr(kind, maker)

        def keep(*words, make=make, **options):
            seen.append(make(*words, **options))
            return seen[-1]

        monkeypatch.setattr(kind, maker, keep)
    return seen


def test_weights_keep_their_names_with_and_without_rows(folder, run, fitted, drawn):
    for words in ([], ["loans.csv"]):
        result = run("plot", "model.sx", *words, "-o", "p.png", "--force")
        assert result.exit_code == 0, result.output
    assert drawn[0].names[0] in fitted.encoder_.schema_.columns
    assert set(drawn[0].names) <= set(fitted.encoder_.schema_.columns)
    assert set(drawn[1].names) <= set(fitted.encoder_.schema_.columns)
    assert (drawn[0].per_spread, drawn[1].per_spread) == (False, True)


def test_the_class_of_interest_turns_weights_and_calibration(folder, run, drawn):
    for kind in ("coefficients", "reliability"):
        for label in ("defaulted", "repaid"):
            words = ("plot", "model.sx", "loans.csv", "--kind", kind, "--positive", label, "-o", "p.png", "--force")
            assert run(*words).exit_code == 0
    one, other, low, high = drawn
    assert (one.labels, other.labels) == (("defaulted",), ("repaid",))
    np.testing.assert_allclose(one.weight, -other.weight)
    assert "defaulted" in low.event
    assert "repaid" in high.event
    assert run("plot", "model.sx", "loans.csv", "--kind", "projection", "--positive", "repaid").exit_code == 2


def test_a_class_that_is_false_is_remembered_as_the_one_of_interest(two, run, drawn):
    import pyarrow.csv

    table = pyarrow.csv.read_csv("two.csv")
    label = [value == 1 for value in table.column("y").to_pylist()]
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(table.drop(["y"]), label)
    model.target_name_, model.positive_ = "y", False
    sx.save(model, "truth.sx")
    pyarrow.csv.write_csv(table.set_column(2, "y", pa.array(label)), "truth.csv")
    assert run("plot", "truth.sx", "truth.csv", "--kind", "reliability", "-o", "p.png").exit_code == 0
    assert "False" in drawn[0].event


def test_of_many_rows_a_surface_is_drawn_from_some_and_says_so(two, run_json, monkeypatch):
    monkeypatch.setitem(SURFACES, "likelihood", 50)
    found = run_json("plot", "two.sx", "two.csv", "--kind", "likelihood", "-o", "p.png")
    assert found["notes"] == ["Drawn from 50 of the 80 rows, evenly spread: with all of them it is steeper."]


@pytest.fixture
def irises(tmp_path, monkeypatch):
    """A saved model of three classes, and its table."""
    import pyarrow.csv

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=150)
    labels = np.array(["setosa", "versicolor", "virginica"])[codes]
    table = pa.table({"length": codes + rng.normal(size=150), "width": rng.normal(size=150) - 0.5 * codes})
    pyarrow.csv.write_csv(table.append_column("species", pa.array(labels)), "irises.csv")
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(table, labels)
    model.target_name_ = "species"
    sx.save(model, "irises.sx")
    return model, table, labels


def test_one_of_three_classes_has_weights_and_a_calibration_of_its_own(irises, run, drawn):
    from separatrix import metrics

    model, table, labels = irises
    for kind in ("coefficients", "reliability"):
        words = ("plot", "irises.sx", "irises.csv", "--kind", kind, "--positive", "virginica", "-o", "p.png", "--force")
        assert run(*words).exit_code == 0
    weights, curve = drawn
    assert weights.labels == ("virginica",)
    p = model.predict_proba(table)[:, 2]
    expected = metrics.ece(np.stack([1 - p, p], axis=1), (labels == "virginica").astype(int))
    assert curve.ece.value == pytest.approx(expected.value)
    assert "virginica" in curve.event


def test_the_likelihood_of_three_classes_is_refused_with_what_to_draw(irises, run):
    result = run("plot", "irises.sx", "irises.csv", "--kind", "likelihood")
    assert result.exit_code == 3
    assert "has 3, and a w for each. Draw coefficients or reliability" in " ".join(result.stderr.split())
