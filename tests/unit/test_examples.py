# SPDX-License-Identifier: BSD-3-Clause
"""The examples run, and show what they say they show; so does the page on posteriors."""

from __future__ import annotations

import doctest
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def load(name):
    with mpl.rc_context():  # an example chooses a backend
        spec = spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rbf_evidence():
    return load("rbf_evidence")


@pytest.fixture(scope="module")
def findings(rbf_evidence):
    return rbf_evidence.experiment(rows=200, side=5)


def test_narrow_functions_are_over_fitted_and_tuned_ones_are_not(rbf_evidence, findings):
    train, test, _ = rbf_evidence.scores(findings.narrow, findings.data, "map")
    assert train > test + 0.2
    tuned_train, tuned_test, _ = rbf_evidence.scores(findings.tuned.model, findings.data, "map")
    assert tuned_test > test + 0.1
    assert abs(tuned_train - tuned_test) < 0.5 * (train - test)


def test_averaging_makes_probabilities_less_extreme_and_leaves_the_boundary_where_it_was(rbf_evidence, findings):
    grid = np.random.default_rng(0).uniform(-2, 2, size=(2000, 2))
    for model in (findings.narrow, findings.tuned.model):
        mode, averaged = (rbf_evidence.probabilities(model, grid, rule) - 0.5 for rule in ("map", "exact"))
        assert (np.abs(averaged) < np.abs(mode)).all()
        np.testing.assert_array_equal(mode > 0, averaged > 0)


def test_the_search_ends_above_every_cell_of_the_grid(findings):
    assert findings.tuned.model.log_evidence_ > findings.surface.log_evidence.max()


def test_the_table_and_the_picture_are_made(rbf_evidence, findings, tmp_path, capsys):
    rbf_evidence.report(findings)
    rbf_evidence.draw(findings, str(tmp_path / "evidence.png"))
    assert (tmp_path / "evidence.png").stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert printed.count("Laplace") == printed.count("MAP") == 2
    assert f"{findings.tuned.model.log_evidence_:.1f} where the search ended" in printed


def test_the_page_on_posteriors_says_what_happens():
    page = ROOT / "docs" / "bayesian.md"
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 20
    assert found.failed == 0
