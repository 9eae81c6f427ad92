# SPDX-License-Identifier: BSD-3-Clause
"""The examples run, print and draw; the gallery has them all; the page on posteriors is correct."""

from __future__ import annotations

import ast
import doctest
import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib as mpl
import matplotlib.image as mpimg
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
GALLERY = ROOT / "docs" / "gallery"
MAX_PICTURE_BYTES = 200_000
SMALL = {"rbf_evidence": ["--rows", "80", "--side", "3"]}  # smaller than in the gallery, to save time


def load(name):
    with mpl.rc_context():  # examples set a backend
        spec = spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_numbers_and_saves_its_picture(name, tmp_path, monkeypatch, capsys):
    script = ROOT / "examples" / f"{name}.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), f"{name}.png", *SMALL.get(name, [])])
    with mpl.rc_context():
        runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert sum(character.isdigit() for character in printed) > 10
    height, width = mpimg.imread(tmp_path / f"{name}.png").shape[:2]
    assert width > 400
    assert height > 200
    assert {path.stem for path in tmp_path.iterdir()} == {name}  # some examples also save an animation


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_a_description_and_is_in_the_gallery(name):
    said = ast.get_docstring(ast.parse((ROOT / "examples" / f"{name}.py").read_text()))
    assert said is not None
    assert len(said.split()) > 25
    picture = GALLERY / f"{name}.png"
    assert picture.is_file(), f"python examples/{name}.py docs/gallery/{name}.png"
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert f"(gallery/{name}.png)" in page
    assert f"(../examples/{name}.py)" in page


def test_the_pictures_of_the_gallery_are_small_and_come_from_examples():
    assert {path.stem for path in GALLERY.iterdir()} <= set(EXAMPLES)
    assert [path.name for path in GALLERY.iterdir() if path.stat().st_size > MAX_PICTURE_BYTES] == []


@pytest.fixture(scope="module")
def rbf_evidence():
    return load("rbf_evidence")


@pytest.fixture(scope="module")
def findings(rbf_evidence):
    return rbf_evidence.experiment(rows=200, side=5)


def test_narrow_functions_overfit_and_tuned_ones_do_not(rbf_evidence, findings):
    train, test, _ = rbf_evidence.scores(findings.narrow, findings.data, "map")
    assert train > test + 0.2
    tuned_train, tuned_test, _ = rbf_evidence.scores(findings.tuned.model, findings.data, "map")
    assert tuned_test > test + 0.1
    assert abs(tuned_train - tuned_test) < 0.5 * (train - test)


def test_averaging_makes_probabilities_less_extreme_and_keeps_the_boundary(rbf_evidence, findings):
    grid = np.random.default_rng(0).uniform(-2, 2, size=(2000, 2))
    for model in (findings.narrow, findings.tuned.model):
        mode, averaged = (rbf_evidence.probabilities(model, grid, rule) - 0.5 for rule in ("map", "exact"))
        # The tuned model is also averaged over scales, so its theorem holds only up to the shift of the mean.
        slack = 0.0 if model is findings.narrow else 1e-4
        assert (np.abs(averaged) < np.abs(mode) + slack).all()
        clear = np.abs(mode) > slack
        np.testing.assert_array_equal(mode[clear] > 0, averaged[clear] > 0)


def test_the_search_ends_above_every_cell_of_the_grid(findings):
    assert findings.tuned.model.log_evidence_ > findings.surface.log_evidence.max()


def test_the_page_on_posteriors_is_correct():
    page = ROOT / "docs" / "bayesian.md"
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 20
    assert found.failed == 0
