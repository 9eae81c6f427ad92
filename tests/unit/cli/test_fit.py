import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.export import read_about

FAST = ("--models", "prior,bayes,linear")
KEYS = {
    *("name", "rows", "target", "positive", "classes", "columns", "models", "chosen", "figures", "coefficients"),
    *("effects", "level", "notes", "files", "seconds"),
}


def test_from_a_file_to_a_model_and_a_report(folder, run):
    result = run("fit", "loans.csv", "--target", "outcome", *FAST, "-o", "new.sx", "--report", "new.html")
    assert result.exit_code == 0, result.output
    said = result.stdout
    assert "300 rows, 10 columns. Predicting outcome" in said
    assert "nearly all values are distinct" in said
    assert said.index("Chosen: ") < said.index("Models compared") < said.index("Columns") < said.index("Notes")
    assert all(line == line.rstrip() for line in said.splitlines())
    assert "separatrix predict new.sx" in said
    assert max(map(len, said.splitlines())) <= 80
    assert "Warning" not in result.output
    assert "<html" in (folder / "new.html").read_text()


def test_the_model_saved_predicts_and_knows_its_target(folder, run, run_json, loans):
    found = run_json("fit", "loans.csv", "-t", "outcome", *FAST, "-o", "new.sx", "--no-report")
    assert set(found) == KEYS
    assert found["files"] == {"model": "new.sx"}
    assert {entry["label"]: entry["rows"] for entry in found["classes"]} == dict(
        pd.Series(loans["outcome"].to_pylist()).value_counts()
    )
    assert found["chosen"]["name"] in [model["name"] for model in found["models"]]
    model = sx.load("new.sx")
    P = model.predict_proba(loans.drop(["outcome"]))
    scores = run_json("predict", "new.sx", "loans.csv", "-o", "out.csv")["scores"]
    codes = np.searchsorted(model.classes_, loans["outcome"].to_pylist())
    assert scores["log_loss"] == pytest.approx(-np.log(P[np.arange(300), codes]).mean())


def test_the_seed_and_the_share_decide_which_rows_are_held_out(folder, run_json):
    fit = ("fit", "loans.csv", "-t", "outcome", "--models", "bayes,prior", "--no-report", "--force", "-o", "new.sx")
    first, again, other = (run_json(*fit, "--seed", seed)["models"] for seed in ("1", "1", "2"))
    assert first[0]["test_log_likelihood"] == again[0]["test_log_likelihood"]
    assert first[0]["test_log_likelihood"] != other[0]["test_log_likelihood"]


def _bad_tables(frame):
    text = frame.to_csv(index=False)
    lines = text.splitlines()
    return {
        "constant.csv": frame.assign(outcome="repaid").to_csv(index=False),
        "continuous.csv": frame.assign(outcome=np.linspace(0, 1, len(frame))).to_csv(index=False),
        "twice.csv": text.replace("debts", "age", 1),
        "ragged.csv": "\n".join([*lines[:57], lines[57] + ",extra", *lines[58:]]),
        "empty.csv": "",
        "header.csv": lines[0] + "\n",
        "alone.csv": frame[["outcome"]].to_csv(index=False),
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("nothing.csv", "There is no file nothing.csv"),
        ("constant.csv", "constant.csv: 'outcome' has 1 distinct value"),
        ("continuous.csv", "looks continuous"),
        ("twice.csv", "both called 'age'"),
        ("ragged.csv", "line 58"),
        ("empty.csv", "empty.csv is empty"),
        ("header.csv", "but no rows"),
        ("alone.csv", "nothing to predict it from"),
    ],
)
def test_a_table_that_cannot_be_learnt_from_is_named_with_the_reason(folder, run, data, said):
    for name, text in _bad_tables(pd.read_csv("loans.csv")).items():
        (folder / name).write_text(text)
    before = sorted(folder.iterdir())
    result = run("fit", data, "--target", "outcome", "-o", "new.sx")
    assert result.exit_code == 3, result.output
    assert result.stderr.startswith("Error: ")
    assert said in " ".join(result.stderr.split())
    assert data in result.stderr
    assert "Traceback" not in result.output
    assert sorted(folder.iterdir()) == before


def test_mixed_encodings_are_placed(folder, run):
    (folder / "mixed.csv").write_bytes("a,y\né,1\né,0\n".encode() + b"\xe9,1\n")
    result = run("fit", "mixed.csv", "-t", "y", "--no-report", "-o", "new.sx")
    assert result.exit_code == 3
    assert "line 4" in result.stderr


def test_odd_columns_are_dropped_with_a_note(folder, run_json):
    frame = pd.read_csv("loans.csv").assign(empty=np.nan, many=[f"c{i}" for i in range(300)])
    frame.to_csv("odd.csv", index=False)
    notes = run_json("fit", "odd.csv", "-t", "outcome", "--models", "prior,bayes", "--no-report", "-o", "new.sx")[
        "notes"
    ]
    assert any(note.startswith("empty was dropped: every value is missing") for note in notes)
    assert any(note.startswith("many was dropped") for note in notes)


def test_outputs_are_asked_about_before_the_table_is_even_opened(folder, run):
    for words in (["-o", "model.sx"], ["-o", "new.sx", "--report", "loans.csv"], ["-o", "no/such/folder.sx"]):
        result = run("fit", "nothing.csv", "-t", "outcome", *words)
        assert result.exit_code == 4, result.output
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]


def test_a_model_that_does_not_suit_the_table_is_no_bug(folder, run):
    frame = pd.read_csv("loans.csv").head(40)
    frame.to_csv("small.csv", index=False)
    result = run("fit", "small.csv", "-t", "outcome", "--models", "curved", "-o", "new.sx", "--no-report")
    assert result.exit_code == 3
    assert "does not suit" in " ".join(result.stderr.split())


def test_the_comparison_alone_and_no_file(folder, run, run_json):
    words = ("compare", "loans.csv", "--target", "outcome", "--models", "prior,linear")
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "Models compared on 60 rows held out" in result.stdout
    found = run_json(*words)
    assert [model["name"] for model in found["models"]] == ["linear discriminant", "prior only"]
    assert found["models"][0]["test_log_likelihood"] > found["models"][1]["test_log_likelihood"]
    assert found["files"] == {}
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-o", "loans.csv", "--force"], 4, "ends in .sx"),
        (["-o", "new.sx", "--report", "loans.csv", "--force"], 4, "ends in .html"),
        (["-o", "new.sx", "--report", "r.html", "--no-report"], 2, "contradict"),
        (["-o", "new.sx", "--positive", "lost", "--no-report"], 2, "The classes are defaulted, repaid"),
        (["-o", "new.sx", "--types", "outcome=number", "--no-report"], 2, "whose values are classes"),
    ],
)
def test_words_that_cannot_be_meant(folder, run, words, code, said):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("fit", "loans.csv", "-t", "outcome", "--models", "prior", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_class_of_interest_is_the_rarer_or_the_one_named(folder, run, run_json):
    fit = ("fit", "loans.csv", "-t", "outcome", *FAST, "--no-report", "--force", "-o", "new.sx")
    assert run_json(*fit)["positive"] == read_about("new.sx")["positive"] == "defaulted"
    assert run_json(*fit, "--positive", "repaid")["positive"] == read_about("new.sx")["positive"] == "repaid"


def test_all_files_or_none(folder, run, monkeypatch):
    """A report that cannot be made leaves no model either."""
    monkeypatch.setattr("separatrix.report.render", lambda *_, **__: 1 / 0)
    result = run("fit", "loans.csv", "-t", "outcome", "--models", "prior", "-o", "new.sx", "--report", "new.html")
    assert result.exit_code == 1
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]


def test_who_stops_reading_at_the_first_line_has_the_model_all_the_same(folder, run, monkeypatch):
    def gone(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("separatrix.cli.studies.say_table", gone)
    result = run("fit", "loans.csv", "-t", "outcome", "--models", "prior", "-o", "new.sx", "--report", "new.html")
    assert result.exit_code == 130
    assert "Written before that: new.sx, new.html." in result.stderr
    assert read_about("new.sx")["target"] == "outcome"
    assert (folder / "new.html").exists()


def test_the_report_names_the_model_where_it_is(folder, run):
    (folder / "kept").mkdir()
    words = ("-o", "kept/churn.sx", "--report", "new.html")
    assert run("fit", "loans.csv", "-t", "outcome", "--models", "prior,linear", *words).exit_code == 0
    assert "kept/churn.sx" in (folder / "new.html").read_text()


def test_a_model_that_cannot_be_fitted_is_a_row_of_the_table_and_the_others_go_on(folder, run, monkeypatch):
    def fail(*_, **__):
        raise AttributeError("'NoneType' object has no attribute 'shape'")

    monkeypatch.setattr("separatrix.NaiveBayes.fit", fail)
    for verb in (["fit", "-o", "new.sx", "--no-report"], ["compare"]):
        result = run(verb[0], "loans.csv", "-t", "outcome", *FAST, *verb[1:])
        assert result.exit_code == 0
        assert "naive Bayes failed. AttributeError: 'NoneType'" in " ".join(result.stdout.split())


def test_ratings_are_classes_where_someone_says_so(folder, run, run_json, rng):
    frame = pd.DataFrame({"price": rng.normal(size=120), "rating": np.tile([1.0, 1.5, 2.0, 4.5], 30)})
    frame.to_csv("ratings.csv", index=False)
    fit = ("fit", "ratings.csv", "-t", "rating", "--models", "prior,bayes", "--no-report", "-o", "new.sx")
    result = run(*fit)
    assert result.exit_code == 3
    assert "--types rating=categorical" in " ".join(result.stderr.split())
    found = run_json(*fit, "--types", "rating=categorical")
    assert [entry["label"] for entry in found["classes"]] == ["1", "1.5", "2", "4.5"]
    scores = run_json("predict", "new.sx", "ratings.csv", "-o", "out.csv")["scores"]
    assert scores["rows"] == 120
