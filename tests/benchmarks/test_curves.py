# SPDX-License-Identifier: BSD-3-Clause
"""Scores of curves and interactions against explainable boosting: tables made by rules, ratios, and kept results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.curves import __main__ as command
from benchmarks.curves.rules import RULES
from benchmarks.evidence.tables import Table
from benchmarks.problems import DATA


def test_tables_made_by_rules_have_the_known_numbers_of_rows_and_classes():
    sizes = {table.name: (table.read(DATA)[0].shape, np.unique(table.read(DATA)[1]).size) for table in RULES}
    assert sizes["tic-tac-toe"] == ((958, 9), 2)
    assert sizes["balance scale"] == ((625, 4), 3)
    assert sizes["monks 1"] == sizes["monks 2"] == ((864, 6), 2)
    assert RULES[0].read(DATA)[1].sum() == 626  # boards that x wins
    assert np.unique(RULES[1].read(DATA)[1], return_counts=True)[1].tolist() == [288, 49, 288]


def test_scores_are_kept_and_not_computed_again(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    table = Table("made here", "", lambda folder: (X, X[:, 0] + rng.logistic(size=300) > 0))
    monkeypatch.setattr(command, "TABLES", ())
    monkeypatch.setattr(command, "RULES", (table,))
    monkeypatch.setitem(command.MODELS, "ebm", command.MODELS["curved"])  # EBM itself takes minutes
    command.main(["--models", "ebm", "curved"], tmp_path / "scores.csv")
    kept = command.read_scores(tmp_path / "scores.csv")
    assert set(kept) == {("made here", 0, "ebm"), ("made here", 0, "curved")}
    assert command.ratios(kept)["made here"]["curved"] == pytest.approx(1.0)
    monkeypatch.setitem(command.MODELS, "curved", lambda: pytest.fail("computed again"))
    command.main(["--models", "curved"], tmp_path / "scores.csv")
    assert "geometric mean 1.000" in capsys.readouterr().out


def test_ratios_use_the_splits_that_both_models_have():
    score = {"table": "t", "rows": 1, "columns": 1, "classes": 2}
    losses = {(0, "ebm"): 0.4, (1, "ebm"): 0.2, (0, "curved"): 0.3, (1, "curved"): 0.3, (2, "curved"): 9.0}
    scores = {
        ("t", split, model): {**score, "split": split, "model": model, "log_loss": loss}
        for (split, model), loss in losses.items()
    }
    assert command.ratios(scores) == {"t": {"curved": pytest.approx(1.0)}}


def test_kept_scores_cover_curves_and_interactions_of_every_table_with_ebm():
    kept = command.read_scores(command.KEPT)
    for table, split, model in kept:
        if model == "ebm":
            assert {(table, split, "curved"), (table, split, "interactions")} <= set(kept)
