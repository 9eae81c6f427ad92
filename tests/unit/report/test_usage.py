from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.report.facts import facts_of
from separatrix.report.interest import facing
from separatrix.report.usage import usage_of

WHEN = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)


@pytest.mark.parametrize("name", ["study_of_two", "study_without_weights"])
def test_the_python_snippet_runs_as_it_stands(name, request, tmp_path, monkeypatch):
    study = request.getfixturevalue(name)
    sx.save(study.model, tmp_path / "model.sx")
    table, _ = make_mixed_types(20, as_frame=True, rng=3)
    table.assign(joined="2021-03-04").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(usage_of(study, facts_of(study), WHEN).python, made)
    assert made["P"].shape == (20, 2)
    assert len(made["decisions"]) == 20


def test_snippets_name_the_file_of_the_model_and_read_files_like_the_table(study_of_two):
    renamed = replace(study_of_two, question=replace(study_of_two.question, name="c.parquet"))
    used = usage_of(renamed, facts_of(study_of_two), WHEN, "my models/a.sx")
    assert "sx.load('my models/a.sx')" in used.python
    assert 'read_parquet("new.parquet")' in used.python
    assert used.shell.startswith("separatrix predict 'my models/a.sx' new.parquet ")


def test_the_order_of_columns_is_that_of_the_model(study_of_two):
    turned = facing(replace(study_of_two, counts=np.array([1, 9])))
    assert turned.classes.tolist() == ["stays", "leaves"]
    assert "model.classes_: leaves, stays" in usage_of(turned, facts_of(turned), WHEN).python


def test_intervals_are_offered_by_models_that_have_them(study_of_two, study_without_weights):
    assert "predict_interval(rows, 0.95)" in usage_of(study_of_two, facts_of(study_of_two), WHEN).python
    assert "predict_interval" not in usage_of(study_without_weights, facts_of(study_without_weights), WHEN).python


def test_provenance_names_what_is_needed_to_make_it_again(study_of_two):
    found = dict(usage_of(study_of_two, facts_of(study_of_two), WHEN).provenance)
    assert found["Table"] == "customers.csv"
    assert found["Written"] == "2024-05-06 07:08 UTC"
    assert sx.__version__ in found["Versions"]
    assert "600" in found["Rows"]
    assert found["Seed"] == "0"
    assert "20\N{NO-BREAK SPACE}%" in found["Rows"]
    assert found["Model"] == "logistic (Bayesian)"
    assert len(found["Estimator"]) < 200
    typed = replace(study_of_two, question=replace(study_of_two.question, types={"zip": "categorical"}, seed=None))
    assert dict(usage_of(typed, facts_of(typed), WHEN).provenance)["Types"] == "zip=categorical"
    assert "Seed" not in dict(usage_of(typed, facts_of(typed), WHEN).provenance)
    assert "Time taken" in found
    unknown = replace(study_of_two, seconds=float("nan"))
    assert "Time taken" not in dict(usage_of(unknown, facts_of(unknown), WHEN).provenance)
