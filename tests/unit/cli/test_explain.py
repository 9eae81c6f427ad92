import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.study import PriorOnly, TableClassifier
from separatrix.study import explain as weights_of


def test_weights_are_listed_strongest_first_as_the_posterior_has_them(folder, run_json, fitted):
    found = run_json("explain", "model.sx", "--level", "0.9")
    assert (found["target"], found["classes"], found["level"]) == ("outcome", ["defaulted", "repaid"], 0.9)
    weights = found["coefficients"]
    strength = [abs(w["per_spread"]) for w in weights]
    assert strength == sorted(strength, reverse=True)
    found_by_name = {w["name"]: [w["weight"], w["lower"], w["upper"]] for w in weights}
    expected = {w.name: [w.weight, w.lower, w.upper] for w in weights_of(fitted, 0.9)}
    assert found_by_name.keys() == expected.keys()
    assert all(found_by_name[name] == pytest.approx(expected[name]) for name in expected)
    number = fitted.encoder_.schema_.columns.index("amount")
    assert found_by_name["amount"][0] == pytest.approx(fitted.estimator_.coef_[0, number])
    assert found["evidence"]["log_evidence"] == pytest.approx(fitted.estimator_.log_evidence_)


def test_a_person_sees_the_strongest_and_how_to_see_all(folder, run, monkeypatch):
    from separatrix.cli import explain

    monkeypatch.setattr(explain, "SHOWN", 3)
    text = run("explain", "model.sx").stdout
    assert "Occam factor" in text
    assert "more: --all" in text
    assert "currency was dropped" in text
    assert "more: --all" not in run("explain", "model.sx", "--all").stdout
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("content", [b"", b"not a zip", "cut"])
def test_a_file_that_is_no_model(folder, run, content):
    whole = (folder / "model.sx").read_bytes()
    (folder / "bad.sx").write_bytes(whole[: len(whole) // 2] if content == "cut" else content)
    result = run("explain", "bad.sx")
    assert result.exit_code == 3
    assert "bad.sx" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_file_at_all_and_a_model_of_numbers(folder, run, rng):
    assert run("explain", "nothing.sx").exit_code == 3
    sx.save(sx.LinearDiscriminantAnalysis().fit(rng.normal(size=(9, 2)), np.arange(9) % 2), "numbers.sx")
    result = run("explain", "numbers.sx")
    assert result.exit_code == 3
    assert "TableClassifier" in result.stderr


def test_the_class_of_interest_turns_the_weights_and_is_named(folder, run, run_json, fitted):
    one, other = (run_json("explain", "model.sx", "--positive", label) for label in ("defaulted", "repaid"))
    assert (one["positive"], other["positive"]) == ("defaulted", "repaid")
    for a, b in zip(one["coefficients"], other["coefficients"], strict=True):
        assert (a["name"], a["weight"], a["lower"], a["upper"]) == (b["name"], -b["weight"], -b["upper"], -b["lower"])
    said = " ".join(run("explain", "model.sx", "--positive", "defaulted").stdout.split())
    assert "the log-odds of defaulted against repaid" in said
    assert run("explain", "model.sx", "--positive", "lost").exit_code == 2


def test_a_model_remembers_its_class_of_interest_and_its_name(folder, run, fitted):
    about = {"target": "outcome", "positive": "defaulted", "model": "logistic (Bayesian)"}
    sx.save(fitted, "named.sx", about=about)
    said = " ".join(run("explain", "named.sx").stdout.split())
    assert "the log-odds of defaulted against repaid" in said
    assert said.startswith("named.sx: logistic (Bayesian), predicts outcome")


def test_weights_of_many_classes_are_against_their_geometric_mean(folder, run, run_json):
    X, y = sx.datasets.make_overlapping(120, n_classes=3, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(table, y)
    sx.save(model, "three.sx")
    assert "its class against the geometric mean of all classes" in " ".join(run("explain", "three.sx").stdout.split())
    weights = run_json("explain", "three.sx")["coefficients"]
    assert sum(w["weight"] for w in weights if w["name"] == "a") == pytest.approx(0.0, abs=1e-9)


def test_shares_alone_have_no_weights(folder, run, loans):
    model = TableClassifier(PriorOnly()).fit(loans.drop(["outcome"]), loans["outcome"].to_pylist())
    sx.save(model, "prior.sx")
    assert "it says the shares of the classes" in " ".join(run("explain", "prior.sx").stdout.split())
