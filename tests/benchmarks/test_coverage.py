"""The simulation of coverage: it runs, and its exact posterior covers as often as it says."""

import csv

import numpy as np
import pytest

from benchmarks.coverage import CASES, Case, exactly_covered, main


def test_the_simulation_runs(tmp_path):
    main(["--only", "large weights", "--weights", "8"], tmp_path)
    (line,) = csv.DictReader((tmp_path / "coverage.csv").read_text().splitlines())
    assert line["case"] == "large weights"
    assert 0.5 < float(line["weights"]) <= 1


def test_cases_have_different_names():
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.slow
def test_an_exact_posterior_covers_all_weights_as_often_as_it_says():
    """This holds on average over the prior, whatever the coverage of the useful weights alone."""
    case = Case("some useful columns", 150, 6, scale=1.0, n_useful=3)
    found = np.mean([exactly_covered(case, seed).weights for seed in range(40)])
    assert 0.91 <= found <= 0.985
