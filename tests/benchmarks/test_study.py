# SPDX-License-Identifier: BSD-3-Clause
"""Studies against gradient boosting: generated tables, ratios, and scores that are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import study as command
from benchmarks.evidence.tables import Table


def test_there_are_many_small_large_and_many_class_tables_in_two_parts():
    tables = (*command.TUNING, *command.FINAL)
    assert len({table.name for table in tables}) == len(tables) >= 20
    assert not {table.name for table in command.TUNING} & {table.name for table in command.FINAL}
    sizes = {t.name: (len(t.read(Path())[1]), len(np.unique(t.read(Path())[1]))) for t in tables if not t.folder}
    assert sum(n > 20_000 for n, _ in sizes.values()) >= 4
    assert sum(k > 2 for _, k in sizes.values()) >= 6
    assert sum(n < 300 for n, _ in sizes.values()) >= 3


def small(name, read):
    return Table(name, "", read)


@pytest.fixture
def one_table(monkeypatch):
    def read(_):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(240, 3))
        return X, X[:, 0] + rng.logistic(size=240) > 0

    monkeypatch.setattr(command, "PARTS", {"tuning": (small("made here", read),)})


@pytest.mark.usefixtures("one_table")
def test_a_split_has_scores_of_all_models_on_the_same_new_rows():
    found = command.score("made here", "tuning", 0, limit=60.0, rows=160)
    assert (found.rows, found.columns, found.classes, found.limit) == (160, 3, 2, 60.0)
    assert found.best <= found.chosen
    losses = [found.chosen, found.best, found.boosting, found.linear, found.printed]
    assert all(0.3 < loss < 1.2 for loss in losses)
    assert abs(found.chosen - found.linear) < 0.1  # both are linear, or hardly curved


def test_scores_are_kept_and_summarised_as_ratios_of_means_over_splits(tmp_path):
    one = command.Score("t", "final", 0, 9, 2, 2, 60.0, 5.0, "logistic", 0.5, 0.1, 0.4, "logistic", 0.4, 0.5, 0.4)
    scores = {("t", 0): one, ("t", 1): one._replace(split=1, chosen=0.6, printed=0.7, boosting=0.75)}
    command.write_scores(scores, tmp_path / "study.csv")
    assert command.read_scores(tmp_path / "study.csv") == scores
    text = command.summary(scores)
    assert "final: chosen over boosting: geometric mean 0.800, largest 0.800, 1 tables." in text
    assert "final: printed minus new rows, in standard errors: mean +1.00 ± 0.00." in text
    command.main(["--report", "--file", str(tmp_path / "study.csv")])
