# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of evidence with cross-validation is fair, and the plain loop computes what the library does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from benchmarks.evidence import __main__ as command
from benchmarks.evidence import duel, tables
from benchmarks.evidence.duel import Bout
from benchmarks.evidence.plain import log_evidence
from benchmarks.evidence.tables import TABLES, Table, encode
from benchmarks.record import SCRATCH
from separatrix import evidence_surface
from separatrix.basis import RBF
from separatrix.datasets import make_overlapping, make_rbf_experiment

BOUT = Bout("a", 0, 100, 3, 2, 0.4, 0.5, 0.02, 0.03, 0.1, 0.5, 1.0, 0.6, "ep")


@pytest.mark.data
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_is_finite_numbers_and_codes_of_at_least_two_classes(table):
    if not table.is_here:
        pytest.skip(f"{table.folder} is not available")
    X, y = table.data()
    assert X.dtype == np.float64
    assert np.isfinite(X.data if sparse.issparse(X) else X).all()
    assert X.shape[0] == len(y) > 100
    assert set(y) == set(range(y.max() + 1)) != {0}


def test_categories_become_indicators_and_missing_numbers_the_mean():
    frame = pd.DataFrame({"colour": ["red", "blue", None, "red"], "size": [1.0, np.nan, 3.0, 5.0]})
    np.testing.assert_array_equal(encode(frame), [[0, 1, 0, 1.0], [1, 0, 0, 3.0], [0, 0, 1, 3.0], [0, 1, 0, 5.0]])


def test_both_methods_are_trained_on_two_thirds_and_scored_on_the_rest():
    X, y = make_overlapping(150, 2)
    table = Table("two normals", "", lambda folder: (X, y))
    bouts = list(duel.fight([table], splits=2))
    assert [bout.split for bout in bouts] == [0, 1]
    for bout in bouts:
        assert (bout.n, bout.m, bout.k) == (100, 2, 2)
        assert bout.log_loss == pytest.approx(bout.log_loss_cv, rel=0.1)  # both methods are equal
        assert min(bout.seconds, bout.seconds_cv) > 0
    assert bouts[0].log_loss != bouts[1].log_loss


def test_a_ratio_of_means_has_no_error_if_all_splits_agree():
    proportional = [replace(BOUT, split=s, log_loss=0.8 * loss, log_loss_cv=loss) for s, loss in enumerate((0.2, 0.6))]
    (verdict,) = duel.verdicts(proportional)
    assert verdict.ratio == pytest.approx(0.8)
    assert verdict.error == pytest.approx(0.0, abs=1e-12)
    (other,) = duel.verdicts([BOUT, replace(BOUT, split=1, log_loss=0.7)])
    assert other.ratio == pytest.approx(1.1)
    assert other.error > 0.1


@pytest.mark.parametrize(("width", "scale"), [(0.3, 1.0), (1.0, 3.0)])
def test_the_plain_loop_and_the_library_compute_the_same_evidence(width, scale, rng):
    X, y, _, _ = make_rbf_experiment(60, n_test=0)
    plain = log_evidence(X, y, width, scale, 10.0, rng)
    surface = evidence_surface(X, y, basis_of_width=lambda w: RBF(width=w), widths=[width], scales=[scale])
    assert surface.log_evidence.item() == pytest.approx(plain, abs=1e-3)  # default tolerance of SciPy


def test_the_command_writes_and_prints_both_comparisons(tmp_path, monkeypatch, capsys):
    X, y = make_overlapping(90, 2)
    monkeypatch.setattr(tables, "DATA", tmp_path)
    monkeypatch.setattr(command, "TABLES", (Table("haberman", ".", lambda folder: (X, y)), Table("lobster", "x", None)))
    command.main(["--quick", "--only", "haberman", "lobster"], tmp_path)
    printed = capsys.readouterr()
    assert "haberman" in printed.out
    assert "times faster" in printed.out
    assert "lobster: skipped, x is not kept" in printed.err
    assert len(duel.read_bouts(tmp_path / SCRATCH / "evidence.csv")) == 2
    assert (tmp_path / SCRATCH / "grid.csv").read_text().startswith("rows,side,cells,plain,surface,tuned")
