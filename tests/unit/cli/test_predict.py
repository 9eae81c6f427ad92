import numpy as np
import pandas as pd
import pytest

import separatrix as sx


def test_a_file_of_predictions_is_what_the_model_says_in_memory(folder, run, loans, fitted):
    result = run("predict", "model.sx", "loans.csv", "-o", "out.csv", "--keep", "application,debts", "--level", "0.8")
    assert result.exit_code == 0, result.output
    out, X = pd.read_csv("out.csv"), loans.drop(["outcome"])
    assert list(out.columns[:3]) == ["application", "debts", "predicted"]
    np.testing.assert_array_equal(out["application"], loans["application"].to_pylist())
    np.testing.assert_allclose(out[["p_defaulted", "p_repaid"]], fitted.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(out[["lower_repaid", "upper_repaid"]], fitted.predict_interval(X, 0.8), rtol=1e-12)


def test_batches_do_not_change_the_answer(folder, run, monkeypatch):
    from separatrix.cli import predict

    run("predict", "model.sx", "loans.csv", "-o", "whole.csv")
    monkeypatch.setattr(predict, "ROWS", 7)
    run("predict", "model.sx", "loans.csv", "-o", "parts.csv")
    pd.testing.assert_frame_equal(pd.read_csv("whole.csv"), pd.read_csv("parts.csv"), rtol=1e-12)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "csv.gz", "tsv"])
def test_any_format_out_and_in_again(folder, run, ending):
    assert run("predict", "model.sx", "loans.csv", "-o", f"a.{ending}", "--keep-all").exit_code == 0
    again = run("predict", "model.sx", f"a.{ending}", "-o", "b.parquet")
    assert again.exit_code == 0, again.output
    run("predict", "model.sx", "loans.csv", "-o", "c.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("b.parquet"), pd.read_parquet("c.parquet"), rtol=1e-12)


def test_labels_in_the_table_are_a_bonus(folder, run, run_json, loans, fitted):
    found = run_json("predict", "model.sx", "loans.csv", "-o", "out.csv")
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    assert found["scores"]["log_loss"] == pytest.approx(-np.log(P[np.arange(300), codes]).mean())
    assert found["scores"]["accuracy"] == pytest.approx((P.argmax(axis=1) == codes).mean())
    assert set(found) == {
        *(
            "rows",
            "target",
            "predicted",
            "columns",
            "level",
            "unseen",
            "outside",
            "missing",
            "scores",
            "notes",
            "files",
        ),
    }
    pd.read_csv("loans.csv").drop(columns="outcome").to_csv("new.csv", index=False)
    assert run_json("predict", "model.sx", "new.csv", "-o", "new_out.csv")["scores"] is None


def test_reordered_columns_gaps_and_new_categories(folder, run, loans):
    frame = pd.read_csv("loans.csv")
    frame.loc[:4, "purpose"] = "yacht"
    frame[frame.columns[::-1]].to_csv("new.csv", index=False)
    result = run("predict", "model.sx", "new.csv", "-o", "out.csv", "--no-intervals")
    assert result.exit_code == 0
    said = " ".join(result.stdout.split())
    assert "purpose: 5 rows hold what training never saw: 'yacht' 5." in said
    assert f"income {loans['income'].null_count}" in said
    assert list(pd.read_csv("out.csv").columns) == ["predicted", "p_defaulted", "p_repaid"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["model.sx", "short.csv", "-o", "out.csv"],
            3,
            "has no column 'income', which the model needs. Did you mean 'incme'",
        ),
        (["model.sx", "nothing.csv", "-o", "out.csv"], 3, "nothing.csv"),
        (["model.sx", "loans.csv", "-o", "clash.csv"], 4, "exists"),
        (["model.sx", "loans.csv", "-o", "model.sx"], 4, "what this command reads"),
        (["model.sx", "loans.csv", "-o", "./loans.csv", "--force"], 4, "what this command reads"),
        (["modl.sx", "loans.csv", "-o", "out.csv"], 3, "Did you mean model.sx?"),
        (["model.sx", "loans.csv", "-o", "out.xyz"], 4, "out.xyz"),
        (["model.sx", "loans.csv", "-o", "out.csv", "--keep", "agee"], 3, "Did you mean 'age'?"),
        (["model.sx", "loans.csv", "-o", "out.csv", "--target", "outcom"], 3, "Did you mean 'outcome'?"),
        (["model.sx", "clash.csv", "-o", "out.csv", "--keep-all"], 3, "'predicted'"),
        (["loans.csv", "model.sx", "-o", "out.csv"], 3, "A saved model comes first"),
        (["model.sx", "loans.csv", "-o", "-", "--json"], 2, "name a file"),
        (["model.sx", "text.csv", "-o", "out.csv"], 3, "age"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_written(folder, run, words, code, said):
    frame = pd.read_csv("loans.csv")
    frame.rename(columns={"income": "incme"}).to_csv("short.csv", index=False)
    frame.assign(predicted=1).to_csv("clash.csv", index=False)
    frame.assign(age="old").to_csv("text.csv", index=False)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run("predict", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.output.split())
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_said_of_rows_without_gaps(folder, run):
    pd.read_csv("loans.csv").dropna().to_csv("whole.csv", index=False)
    lines = run("predict", "model.sx", "whole.csv", "-o", "out.csv").stdout.splitlines()
    assert "rows predicted" in lines[0]
    assert "labels: log-loss" in lines[1]
    assert lines[2:] == ["Written: out.csv"]


def test_force_replaces(folder, run):
    (folder / "out.csv").write_text("old")
    assert run("predict", "model.sx", "loans.csv", "-o", "out.csv", "--force").exit_code == 0
    assert len(pd.read_csv("out.csv")) == 300


def test_a_full_disk_leaves_nothing(folder, run, monkeypatch):
    from separatrix.cli.scoring import Scorer

    def full(self, batch):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Scorer, "score", full)
    result = run("predict", "model.sx", "loans.csv", "-o", "out.csv")
    assert result.exit_code == 4
    assert "out.csv could not be written: No space left on device" in " ".join(result.stderr.split())
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]


def test_how_many_rows_to_expect_is_read_off_the_first_lines(folder):
    from separatrix.cli.files import open_data
    from separatrix.cli.predict import _expected_rows

    assert abs(_expected_rows(open_data("loans.csv")) - 300) <= 2


def test_a_table_without_rows_has_predictions_without_rows(folder, run):
    (folder / "header.csv").write_text((folder / "loans.csv").read_text().partition("\n")[0] + "\n")
    result = run("predict", "model.sx", "header.csv", "-o", "out.csv", "--keep", "age")
    assert result.exit_code == 0, result.output
    assert "names of columns, but no rows" in " ".join(result.stdout.split())
    found = pd.read_csv("out.csv")
    assert len(found) == 0
    assert list(found.columns)[:3] == ["age", "predicted", "p_defaulted"]


def test_what_is_odd_about_the_rows_is_told(folder, run, run_json):
    frame = pd.read_csv("loans.csv").head(40)
    frame.loc[0, "age"] = np.nan
    frame.loc[1:3, "age"] = 9999
    frame.to_csv("odd.csv", index=False)
    said = " ".join(run("predict", "model.sx", "odd.csv", "-o", "out.csv").stdout.split())
    assert "age: 1 missing, and none was in training" in said
    assert "age: 3 rows hold numbers far outside the range of training: '9999' 3" in said
    found = run_json("predict", "model.sx", "odd.csv", "-o", "again.csv")
    assert found["outside"] == {"age": {"rows": 3, "values": {"9999": 3}}}
    assert found["unseen"] == {}


def test_a_bad_value_is_named_with_its_row_in_the_file_and_no_python(folder, run, monkeypatch):
    monkeypatch.setattr("separatrix.cli.predict.ROWS", 64)
    frame = pd.read_csv("loans.csv").astype({"age": object})
    frame.loc[199, "age"] = "n.k."
    frame.to_csv("bad.csv", index=False)
    result = run("predict", "model.sx", "bad.csv", "-o", "out.csv")
    assert result.exit_code == 3
    said = " ".join(result.stderr.split())
    assert "'n.k.' in row 200" in said
    assert "types=" not in said
    assert not (folder / "out.csv").exists()


def test_a_rule_without_probabilities_has_no_log_loss(folder, run, run_json, rng):
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    rule = sx.LeastSquaresClassifier().fit(frame, np.arange(40) % 2)
    rule.target_name_ = "y"
    sx.save(rule, "rule.sx")
    frame.assign(y=np.arange(40) % 2).to_csv("rows.csv", index=False)
    assert "log-loss" not in run("predict", "rule.sx", "rows.csv", "-o", "out.csv").stdout
    assert run_json("predict", "rule.sx", "rows.csv", "-o", "again.csv")["scores"]["log_loss"] is None
