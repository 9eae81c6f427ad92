# SPDX-License-Identifier: BSD-3-Clause
"""The benchmarks of files and partitions: generated rows, counted reads, and the cost model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.scale import child, cluster, report, simulate, workers
from benchmarks.scale.constants import Effort, from_rows, to_rows
from benchmarks.scale.model import Constants, Place, Problem, Recipe, Work, predict, sample_rows
from benchmarks.scale.record import Circumstances
from benchmarks.scale.tables import TARGET, Shape, make, make_dask, partition_sizes, write_parquet
from benchmarks.scale.tasks import FITS
from benchmarks.scale.witness import LABELS, Witness
from separatrix.files import scan
from separatrix.likelihoods import Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers.posterior import pose

ABOUT = Circumstances("2000-01-01", 'a "b", 2 cores', "numpy 1, dask 2")
EXACT = Constants(
    work={LABELS: Work(row=1e-8), "gradient": Work(1e-8, 2e-9), "hessian": Work(pair=1e-10)},
    sample={"fit": Work(number=1e-7)},
    recipes={"fit": (Recipe(10, {"gradient": 4, "hessian": 1}), Recipe(1000, {"gradient": 9}))},
    bandwidth=1e10,
    decoding=5e-9,
    reading=4e-9,
    label_reading=3e-8,
    graph={"threads": 1e-3},
    task={"threads": 1e-4},
    pace={"threads": {"gradient": 1.0, "hessian": 2.0}},
    network=1e9,
    solve=1e-11,
)
ALONE = Place("here", cores=2, bandwidth=1e12)


# Tables


def test_rows_are_the_same_in_memory_in_files_and_on_workers(tmp_path):
    shape = Shape(3000, 3)
    X, y = make(shape)
    assert write_parquet(shape, tmp_path, files=1) == sum(p.stat().st_size for p in tmp_path.iterdir())
    rows = scan(tmp_path, target=TARGET)
    np.testing.assert_array_equal(np.column_stack([rows.column(f"x{m}") for m in range(3)]), X)
    np.testing.assert_array_equal(rows.column(TARGET), y)
    sizes = partition_sizes(3000, 7)
    assert sum(sizes) == 3000
    assert max(sizes) - min(sizes) <= 1
    with workers.SCHEDULERS["threads"]():
        lazy = [each.compute() for each in make_dask(shape, 7)]
    for here, there in zip(make(shape, sizes), lazy, strict=True):
        np.testing.assert_array_equal(here, there)


def test_labels_follow_a_logistic_model_with_weights_of_length_two():
    X, y = make(Shape(200_000, 5))
    model = FITS["logistic"]().fit(X, y)
    assert np.linalg.norm(model.coef_) == pytest.approx(2.0, rel=0.03)
    assert abs(model.intercept_[0]) < 0.03


# The witness


@pytest.mark.parametrize("fit", FITS)
def test_counting_reads_changes_no_bit_and_sees_every_pass(fit, tmp_path):
    shape = Shape(120_000, 20)
    X, y = make(shape)
    plain = FITS[fit]().fit(X, y)
    rows = Witness(X)
    watched = FITS[fit]().fit(rows, y)
    assert watched.coef_.tobytes() == plain.coef_.tobytes()
    assert [read.kind for read in rows.log].count(LABELS) == 1
    assert len(rows.log) == 1 + plain.n_passes_
    assert all(read.seconds > 0 for read in rows.log)
    write_parquet(shape, tmp_path, files=2)
    from_file = Witness(scan(tmp_path, target=TARGET))
    FITS[fit]().fit(from_file)
    assert {read.kind for read in from_file.log} == {read.kind for read in rows.log}


# The model


def test_the_predicted_time_of_one_process_is_the_sum_of_its_parts():
    """The sum by hand of 4 gradients, a Hessian, labels on one core, the sample and two solves."""
    N, M = 1e6, 10
    found = predict(Problem("fit", N, M), ALONE, EXACT)
    passes = 4 * N * (1e-8 + 2e-9 * M) / 2 + N * 1e-10 * M**2 / 2
    sample = N / (N // 16_500) * 1e-7 * M / 2  # fifteen hundred rows for each of eleven weights
    assert found.passes == 5
    assert found.seconds == pytest.approx(passes + 1e-8 * N + sample + 2 * 1e-11 * M**3, rel=1e-12)
    assert found.bound == "arithmetic"


def test_a_pass_takes_at_least_the_time_to_read_its_bytes():
    problem = Problem("fit", 1e8, 10)
    slow = replace(ALONE, bandwidth=1e8)
    assert predict(problem, slow, EXACT).parts["memory"] == pytest.approx(5 * 8e9 / 1e8)
    disk = predict(problem, replace(ALONE, disk=1e8), EXACT)
    assert disk.bound == "disk"
    halved = predict(replace(problem, itemsize=4), replace(ALONE, disk=1e8), EXACT)
    assert halved.parts["disk"] == pytest.approx(disk.parts["disk"] / 2)
    reading = replace(EXACT, reading=1e-6)
    files_alone = predict(problem, replace(ALONE, disk=math.inf), reading)
    labels = EXACT.label_reading * 1e8 / 2
    assert files_alone.parts["decoding"] + files_alone.parts["arithmetic"] == pytest.approx(
        5 * 1e-6 * 1e8 * 11 / 2 + labels
    )


@pytest.mark.parametrize(("rows", "columns"), [(200_000, 20), (600_000, 4), (30_000, 80)])
def test_the_cost_model_samples_as_many_rows_as_the_library(rows, columns):
    X, y = make(Shape(rows, columns))
    objective = pose(as_source(X, y.astype(np.intp)), Logit(), Gaussian(), fit_intercept=True)
    assert objective.sample is not None
    assert objective.sample.n_rows == pytest.approx(sample_rows(rows, columns), rel=0.01)


# The runs


def test_a_child_process_reads_once_for_lda_and_reports_its_memory(tmp_path):
    write_parquet(Shape(20_000, 4), tmp_path, files=2)
    found = child.run_child("lda", tmp_path)
    assert found.passes == 1
    assert found.seconds > 0
    assert 50 < found.peak_mb < 2000


@pytest.mark.parametrize("task", child.READINGS)
def test_bare_reading_decodes_every_row(task, tmp_path):
    write_parquet(Shape(2000, 3), tmp_path, files=2)
    assert child.READINGS[task](tmp_path)() == 1
    next(iter(tmp_path.glob("*.parquet"))).write_bytes(b"PAR1 this is no table PAR1")
    with pytest.raises(Exception, match=r"(?i)parquet"):
        child.READINGS[task](tmp_path)()


@pytest.fixture
def threads_alone(monkeypatch):
    """Run without a cluster, which takes seconds to start."""
    only = {"threads": workers.SCHEDULERS["threads"]}
    for module in (cluster, simulate):
        monkeypatch.setattr(module, "SCHEDULERS", only)


@pytest.mark.usefixtures("threads_alone")
def test_partitions_give_the_coefficients_of_memory_and_fit_three_classes(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    rows = list(cluster.measure(Shape(20_000, 5), partitions=3, repeats=1))
    fits, (iris,) = rows[:-1], rows[-1:]
    assert [(row.task, row.place) for row in fits] == [
        (task, place) for place in ("memory", "threads") for task in cluster.MEASURED
    ]
    assert all(row.difference < 1e-10 for row in fits)
    assert iris.accuracy > 0.95
    assert "threads" in cluster.text(rows)


@pytest.mark.usefixtures("threads_alone")
def test_every_case_is_predicted_and_measured():
    cases = [simulate.Case(place, 20_000, 6) for place in ("memory", "files", "threads")]
    effort = Effort(widths=(4, 8), numbers=200_000, rounds=1, solve=50)
    found, rows = simulate.simulate(cases, effort)
    assert [(row.place, row.task) for row in rows] == [(case.place, fit) for case in cases for fit in FITS]
    assert all(0 < row.predicted < 60 and row.ratio == row.predicted / row.measured for row in rows)
    assert {row.passes for row in rows if row.task == "lda"} == {1}
    assert from_rows(to_rows(found)) == found


# The page


def test_the_page_in_the_documentation_is_made_from_the_committed_results():
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.fill(page) == page
    assert [found[2] for found in report.MARKS.finditer(page)] == list(report.TABLES)
