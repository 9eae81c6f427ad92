# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix effects``: the numbers are those of `separatrix.effects`, and mistakes are named with a remedy."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import separatrix as sx


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with a table, and models of two and three classes; the first has 'late' as its positive class."""
    path = tmp_path_factory.mktemp("effects")
    rng = np.random.default_rng(0)
    age, city = rng.integers(18, 80, 300), rng.choice(["Ulm", "Bonn"], 300)
    paid = np.where(0.05 * (age - 45) + (city == "Ulm") + rng.logistic(size=300) > 0, "on time", "late")
    table = pd.DataFrame({"age": age, "city": city, "region": rng.choice(["north", "south"], 300), "paid": paid})
    table["stars"] = np.where(age > 60, 3, np.where(paid == "late", 1, 2))
    table.to_csv(path / "table.csv", index=False)
    model = sx.TableClassifier(sx.LogisticRegression()).fit(table[["age", "city"]], table["paid"])
    sx.save(model, path / "model.sx", about={"target": "paid", "positive": "late"})
    sx.save(sx.TableClassifier(sx.LogisticRegression()).fit(table[["age", "city"]], table["stars"]), path / "three.sx")
    sx.save(sx.LogisticRegression().fit(table[["age"]], table["paid"]), path / "plain.sx")
    return path


@pytest.fixture
def table(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    return pd.read_csv("table.csv")


def run(*words):
    from separatrix.cli.app import app

    result = CliRunner().invoke(app, ["effects", *words])
    return result.exit_code, result.output


def lines(*words):
    code, text = run(*words, "--json")
    assert code == 0, text
    return json.loads(text)["effects"]


def test_numbers_are_those_of_python(table):
    model = sx.load("model.sx")
    options = {"by": ["region"], "positive": "late", "level": 0.9, "comparison": "ratio", "at": {"city": "Ulm"}}
    expected = sx.effects.comparisons(model, table, {"age": 10}, **options)
    found = lines(
        "model.sx", "table.csv", "-v", "age", "--step", "10", "--by", "region", "--level", "0.9", "--at", "city=Ulm",
        "--comparison", "ratio",
    )  # fmt: skip
    assert [line["region"] for line in found] == ["north", "south"]
    for name in ("estimate", "standard_error", "lower", "upper", "probability_of_sign"):
        assert_allclose([line[name] for line in found], expected[name], rtol=1e-9)


def test_the_positive_class_is_that_of_the_fit_or_of_the_option(table):
    late, on_time = (lines("model.sx", "table.csv", *more) for more in ((), ("--positive", "on time")))
    assert [line["estimate"] for line in late] == pytest.approx([-line["estimate"] for line in on_time])
    code, text = run("model.sx", "table.csv")
    assert code == 0
    assert "Change of the average probability of 'late'" in text
    assert "P(sign)" in text
    three = lines("three.sx", "table.csv", "-k", "predictions")
    assert sum(line["estimate"] for line in three) == pytest.approx(1)
    only = lines("three.sx", "table.csv", "-k", "predictions", "--positive", "3")
    assert only[0]["estimate"] == pytest.approx(three[2]["estimate"])


def test_values_are_compared_with_the_first_and_pairwise(table):
    found = lines("model.sx", "table.csv", "-v", "age", "--values", "20,40,60")
    assert [line["contrast"] for line in found] == ["40 vs. 20", "60 vs. 20"]
    groups = lines("model.sx", "table.csv", "-v", "age", "--by", "region", "--pairwise")
    assert [line["region"] for line in groups] == ["south vs. north"]
    assert [line["variable"] for line in lines("plain.sx", "table.csv", "-k", "slopes")] == ["age"]


def test_a_table_or_a_picture_is_written(table, tmp_path):
    words = ("model.sx", "table.csv", "-k", "predictions", "-v", "age", "-o")
    assert run(*words, str(tmp_path / "age.csv"))[0] == 0
    written = pd.read_csv(tmp_path / "age.csv")
    assert list(written.columns) == ["class", "age", "estimate", "standard_error", "lower", "upper"]
    assert len(written) > 5
    assert run(*words, str(tmp_path / "age.png"))[0] == 0
    assert (tmp_path / "age.png").read_bytes().startswith(b"\x89PNG")
    code, text = run(*words, str(tmp_path / "age.png"))
    assert code == 4
    assert "--force" in text


def test_importance_uses_the_labels_if_the_table_has_them(table, tmp_path):
    code, text = run("model.sx", "table.csv", "--kind", "importance")
    assert code == 0
    assert "Increase of the log-loss" in text
    table.drop(columns="paid").to_csv(tmp_path / "new.csv", index=False)
    code, text = run("model.sx", str(tmp_path / "new.csv"), "--kind", "importance", "-v", "age")
    assert code == 0
    assert "Spread of the part of the log-odds" in text


def test_whole_numbers_are_written_as_such(table):
    code, text = run("model.sx", "table.csv", "--kind", "predictions", "-v", "age", "--values", "30,40.5")
    assert code == 0
    lines = [line.split() for line in text.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["late"]] == ["30", "40.5"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-v", "agee"), 3, "Did you mean 'age'?"),
        (("-v", "age", "--step", "ten"), 2, "'ten' is neither a number nor sd"),
        (("-v", "age", "--values", "30"), 2, "give two values or more to compare, not only 30"),
        (("--step", "10"), 2, "one --variable"),
        (("-v", "age", "--step", "5", "--values", "3,4"), 2, "not both"),
        (("-v", "city", "--step", "5"), 3, "--variable city --values VALUE,VALUE"),
        (("-v", "city", "--values", "Ulm,Bon"), 3, "Did you mean 'Bonn'?"),
        (("--by", "regio"), 3, "Did you mean 'region'?"),
        (("--at", "city"), 2, "'city' is not COL=VALUE"),
        (("--kind", "slope"), 2, "Did you mean 'slopes'?"),
        (("--kind", "slopes", "-v", "age", "--step", "5"), 2, "--kind slopes has no such option"),
        (("--comparison", "ration"), 2, "Did you mean 'ratio' or 'odds ratio'?"),
        (("--kind", "importance", "--by", "region"), 2, "importance refers to all rows"),
        (("--kind", "importance", "--target", "payd"), 3, "Did you mean 'paid'?"),
        (("--positive", "lat"), 2, "there is no such class"),
    ],
)
def test_a_mistake_is_named_with_its_remedy(table, words, code, message):
    found, text = run("model.sx", "table.csv", *words)
    assert found == code, text
    assert message in " ".join(text.split())
