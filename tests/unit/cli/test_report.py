import numpy as np
import pandas as pd
import pytest

import separatrix as sx


def test_a_report_of_a_saved_model_on_labelled_rows(folder, run_json):
    found = run_json("report", "model.sx", "loans.csv", "-o", "r.html")
    assert (found["target"], found["rows"], found["models"], found["chosen"]) == ("outcome", 300, [], None)
    page = (folder / "r.html").read_text()
    assert "<html" in page
    assert "separatrix explain model.sx" in page


def test_labels_must_be_there_and_may_have_another_name(folder, run, fitted):
    frame = pd.read_csv("loans.csv")
    frame.rename(columns={"outcome": "label"}).to_csv("other.csv", index=False)
    result = run("report", "model.sx", "other.csv", "-o", "r.html")
    assert result.exit_code == 3
    assert "no column 'outcome', which is the target" in " ".join(result.stderr.split())
    assert run("report", "model.sx", "other.csv", "-t", "label", "-o", "r.html").exit_code == 0


def test_a_model_that_does_not_know_its_target_asks(folder, run, fitted):
    sx.save(fitted, "plain.sx")
    result = run("report", "plain.sx", "loans.csv", "-o", "r.html")
    assert result.exit_code == 3
    assert "--target COL" in result.stderr


def test_a_report_that_exists_stays(folder, run):
    (folder / "r.html").write_text("precious")
    assert run("report", "model.sx", "loans.csv", "-o", "r.html").exit_code == 4
    assert (folder / "r.html").read_text() == "precious"


def test_figures_are_those_of_the_rows_judged(folder, run, run_json, loans, fitted):
    from separatrix import metrics

    found = run_json("report", "model.sx", "loans.csv", "-o", "r.html")["figures"]
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    loss, area = metrics.log_likelihood(P, codes), metrics.auc(P, codes)
    assert found["log_loss"] == pytest.approx([-loss.value, loss.standard_error])
    assert found["auc"] == pytest.approx([area.value, area.standard_error])
    assert set(found) == {"log_loss", "accuracy", "auc", "brier", "ece", "ece_if_calibrated"}
    said = run("report", "model.sx", "loans.csv", "-o", "again.html").stdout
    assert f"{-loss.value:.4f}" in said
    assert f"{area.value:.4f}" in said


@pytest.mark.parametrize(("output", "said"), [("loans.csv", "ends in .html"), ("r.txt", "ends in .html")])
def test_a_report_is_no_table_even_by_force(folder, run, output, said):
    before = (folder / "loans.csv").read_bytes()
    result = run("report", "model.sx", "loans.csv", "-o", output, "--force")
    assert result.exit_code == 4
    assert said in result.stderr
    assert (folder / "loans.csv").read_bytes() == before
