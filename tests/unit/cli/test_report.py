import pandas as pd

import separatrix as sx


def test_a_report_of_a_saved_model_on_labelled_rows(folder, run_json):
    found = run_json("report", "model.sx", "loans.csv", "-o", "r.html")
    assert (found["target"], found["rows"], found["models"], found["chosen"]) == ("outcome", 300, [], None)
    assert "<html" in (folder / "r.html").read_text()


def test_labels_must_be_there_and_may_have_another_name(folder, run, fitted):
    frame = pd.read_csv("loans.csv")
    frame.rename(columns={"outcome": "label"}).to_csv("other.csv", index=False)
    result = run("report", "model.sx", "other.csv", "-o", "r.html")
    assert result.exit_code == 3
    assert "no column 'outcome', which is the target" in " ".join(result.stderr.split())
    assert run("report", "model.sx", "other.csv", "-t", "label", "-o", "r.html").exit_code == 0


def test_a_model_that_does_not_know_its_target_asks(folder, run, fitted, monkeypatch):
    monkeypatch.delattr(fitted, "target_name_")
    sx.save(fitted, "plain.sx")
    result = run("report", "plain.sx", "loans.csv", "-o", "r.html")
    assert result.exit_code == 3
    assert "--target COL" in result.stderr


def test_a_report_that_exists_stays(folder, run):
    (folder / "r.html").write_text("precious")
    assert run("report", "model.sx", "loans.csv", "-o", "r.html").exit_code == 4
    assert (folder / "r.html").read_text() == "precious"
