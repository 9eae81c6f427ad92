# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark measures what it says: objectives, clock and memory meter against known values."""

from __future__ import annotations

import csv
import math
import platform
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, sparse, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks import libraries, objectives, report, run
from benchmarks.measure import Effort, gram, median_seconds, peak_bytes
from benchmarks.objectives import Answer
from benchmarks.problems import PROBLEMS, Data, Problem
from benchmarks.record import SCRATCH, Row, Run, committed_runs, read_run, write_run

QUICK_PROBLEMS = [problem.quick() for problem in PROBLEMS if problem.n]
MEASURED = ("small", "wide", "ten classes", "sparse", "offset 1e7")


def dense(data: Data) -> np.ndarray:
    return np.asarray(data.X.toarray() if sparse.issparse(data.X) else data.X, dtype=np.float64)


def scatters(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """S_W and S_B of PRML (4.40), (4.46), by the definition."""
    X = dense(data)
    classes = [X[data.y == k] for k in range(data.k)]
    S_W = sum((Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0)) for Z in classes)
    shifts = [Z.mean(axis=0) - X.mean(axis=0) for Z in classes]
    return S_W, sum(len(Z) * np.outer(shift, shift) for Z, shift in zip(classes, shifts, strict=True))


# Problems


@pytest.mark.parametrize("problem", QUICK_PROBLEMS, ids=lambda problem: problem.name)
def test_a_problem_is_what_its_record_says(problem):
    data = problem.data()
    assert data.X.shape == (problem.n, problem.m)
    assert data.X.dtype == problem.dtype
    assert set(data.y) == set(range(problem.k))
    np.testing.assert_array_equal(dense(data), dense(problem.data()))
    if problem.density < 1.0:
        assert data.X.nnz == int(problem.density * problem.n * problem.m)
    else:
        assert data.X.flags[f"{problem.order}_CONTIGUOUS"]
        centre = 0.5 if problem.binary else problem.offset
        assert dense(data).mean() == pytest.approx(centre, abs=0.5, rel=1e-6)
        assert not problem.binary or set(np.unique(data.X)) == {0.0, 1.0}


def test_the_classes_overlap_as_much_as_promised():
    """The Bayes error of two normals, d apart in standard deviations, is Φ(-d/2)."""
    data = Problem("two normals", 40_000, 4).data()
    error = 1.0 - LinearDiscriminantAnalysis().fit(data.X, data.y).score(data.X, data.y)
    assert error == pytest.approx(stats.norm.cdf(-1.0), abs=0.01)


# Objectives


@pytest.mark.parametrize("k", [2, 4])
def test_the_residual_sum_is_that_of_lstsq_and_least_there(k):
    data = Problem("any", 300, 5, k=k).data()
    T = np.eye(k)[data.y] if k > 2 else data.y[:, None].astype(float)
    B, squares, _, _ = np.linalg.lstsq(np.column_stack([np.ones(300), data.X]), T, rcond=None)
    best = Answer(B[1:].T, B[0])
    moved = replace(best, W=best.W + 0.01)
    assert objectives.residual_sum(data, best) == pytest.approx(squares.sum(), rel=1e-12)
    assert objectives.residual_sum(data, moved) > objectives.residual_sum(data, best)


@pytest.mark.parametrize("problem", [p for p in QUICK_PROBLEMS if p.name != "wide"], ids=lambda p: p.name)
def test_fishers_criterion_is_greatest_along_the_generalised_eigenvectors(problem):
    """max_W J(W) = tr(S_W⁻¹ S_B), the sum of the eigenvalues of S_B w = λ S_W w."""
    data = problem.data()
    S_W, S_B = scatters(data)
    values, V = linalg.eigh(S_B, S_W)
    rank = problem.k - 1
    directions = V[:, -rank:].T
    # K linear functions whose differences span those directions, as a classifier has them
    W = directions if rank == 1 else np.vstack([np.zeros(problem.m), directions])
    J = objectives.fisher_criterion(data, Answer(W, np.zeros(len(W))))
    assert pytest.approx(values[-rank:].sum(), rel=1e-5) == J
    other = objectives.fisher_criterion(
        data, Answer(W + 0.1 * W.std() * np.sin(np.arange(W.size)).reshape(W.shape), np.zeros(len(W)))
    )
    assert other < J


def test_fishers_criterion_has_no_scale_and_no_origin():
    data = Problem("any", 200, 3).data()
    w = np.array([[1.0, -2.0, 0.5]])
    J = objectives.fisher_criterion(data, Answer(w, np.zeros(1)))
    assert objectives.fisher_criterion(data, Answer(-1e6 * w, np.array([7.0]))) == pytest.approx(J, rel=1e-12)
    assert objectives.fisher_criterion(data, Answer(0 * w, np.zeros(1))) == 0.0


def test_fishers_criterion_of_separated_points_is_the_ceiling_not_a_division_by_zero():
    data = Data(np.array([[0.0], [0.0], [1.0]]), np.array([0, 0, 1]), 2)
    assert objectives.fisher_criterion(data, Answer(np.ones((1, 1)), np.zeros(1))) == objectives.CEILING


def test_error_rate_and_disagreement_count_rows():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    data = Data(X, np.array([0, 1, 1, 1]), 2)
    rule = Answer(np.ones((1, 1)), np.zeros(1), codes=np.array([0, 0, 1, 0]))
    assert objectives.error_rate(data, rule) == 0.25
    assert objectives.disagreement(data, rule) == 0.25


def test_a_gap_is_relative_until_the_best_is_nothing_but_rounding():
    values = {"a": 2.0, "b": 3.0, "zeros": 8.0}
    assert objectives.excess(3.0, values) == 0.5
    exact = {"a": 1e-25, "b": 1e-20, "zeros": 8.0}
    assert objectives.excess(1e-20, exact) < 1e-20
    assert objectives.excess(8.0, exact) == pytest.approx(1.0)
    assert objectives.excess(0.0, {"a": 0.0}) == 0.0
    assert objectives.shortfall(1.5, {"a": 1.5, "b": 2.0}) == 0.25


# Clock and meter


def test_rounds_are_interleaved_and_each_starts_with_the_next():
    calls: list[str] = []
    actions = {name: (lambda name=name: calls.append(name)) for name in "abc"}
    assert set(median_seconds(actions, Effort(rounds=3, seconds=0.0))) == set("abc")
    assert "".join(calls) == "abcbcacab"


def test_fast_actions_get_more_rounds_up_to_the_limit():
    calls: list[int] = []
    median_seconds({"a": lambda: calls.append(1)}, Effort(rounds=2, seconds=60.0, limit=5))
    assert len(calls) == 5


def test_the_memory_meter_sees_an_array_and_only_what_is_new():
    held = np.ones(10**6)
    assert 8e6 <= peak_bytes(lambda: held + 1.0) < 8.1e6
    assert peak_bytes(lambda: held[::2]) < 1e4


def test_a_gram_is_the_product_where_there_is_one():
    X = np.arange(6.0).reshape(3, 2)
    unit = gram(X)
    assert unit is not None
    np.testing.assert_array_equal(unit(), X.T @ X)
    assert gram(np.empty((0, 0))) is None
    assert gram(sparse.csr_array((5, 10**6))) is None
    assert gram(np.broadcast_to(1.0, (1, 10**6))) is None


# A whole run


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("results")
    run.main(["--quick", "--problems", *MEASURED], folder)
    return read_run(folder / SCRATCH)


def test_a_run_writes_every_column_and_only_finite_numbers(quick_run):
    header = "problem task library version seconds grams passes peak_mb peak_ratio gap n m k dtype"
    assert " ".join(field.name for field in fields(Row)) == header
    for row in quick_run.rows:
        numbers = (row.seconds, row.grams, row.peak_mb, row.peak_ratio, row.gap)
        assert all(value is not None and math.isfinite(value) and value >= 0.0 for value in numbers), row


def test_the_time_of_an_import_has_no_gram_and_no_gap(tmp_path):
    run.main(["--quick", "--only", "import", "--libraries", "zeros"], tmp_path)
    (row,) = read_run(tmp_path / SCRATCH).rows
    assert row.seconds > 0.0
    assert (row.grams, row.passes, row.peak_mb, row.peak_ratio, row.gap) == (None,) * 5


def test_every_library_answers_every_task_that_it_has(quick_run):
    measured = {(row.problem, row.task, row.library) for row in quick_run.rows}
    tasks = {library.name: library.tasks for library in libraries.load(libraries.LIBRARIES)}
    expected = {
        (problem.name, task, library)
        for problem in PROBLEMS
        if problem.name in MEASURED
        for task in problem.tasks
        for library in libraries.LIBRARIES
        if task in tasks[library]
    }
    assert expected - measured == {("sparse", "fisher", "sklearn")}  # its LDA takes no sparse rows
    assert measured <= expected


def test_the_best_has_no_gap_and_doing_nothing_has_one(quick_run):
    groups = {(row.problem, row.task) for row in quick_run.rows}
    for group in groups:
        gaps = {row.library: row.gap for row in quick_run.rows if (row.problem, row.task) == group}
        assert min(gaps.values()) == 0.0
        if group[1] in {"least_squares", "fisher"}:
            assert gaps["zeros"] > 0.1


def test_libraries_with_the_same_objective_reach_the_same_value(quick_run):
    for row in quick_run.rows:
        if row.task in {"least_squares", "fisher", "predict_linear"} and row.library != "zeros":
            assert row.gap < 1e-6, row


def test_the_record_of_a_run_does_not_say_whose_machine_it_was(quick_run, tmp_path):
    place = write_run(quick_run, tmp_path)
    text = (place / "config.toml").read_text(encoding="utf-8")
    keys = "date cpu cores memory_gb python numpy scipy sklearn numba blas threads"
    assert " ".join(tomllib.loads(text)) == keys
    for secret in filter(None, (platform.node(), str(Path.cwd()))):
        assert secret not in text


# Records and reports

ROW = Row("default", "fisher", "separatrix", "1.0", 0.5, 1.25, 1, 12.5, 0.03125, 0.0, 500, 10, 2, "float64")
ROWS = [
    ROW,
    replace(ROW, library="sklearn", seconds=2.0, grams=5.0, passes=None),
    replace(ROW, library="zeros", seconds=0.001, grams=None, gap=1.0),
    replace(ROW, task="perceptron_epoch"),
]


def test_a_run_read_back_is_the_run_written(tmp_path):
    original = Run("here", {"date": "2000-01-01", "cpu": 'a "b" \\ c', "cores": 2, "memory_gb": 1.5}, ROWS)
    assert read_run(write_run(original, tmp_path)) == original


def test_scratch_runs_are_not_kept(tmp_path):
    for name in ("b", SCRATCH, "a"):
        write_run(Run(name, {}, ROWS), tmp_path)
    assert [kept.name for kept in committed_runs(tmp_path)] == ["a", "b"]


def test_the_ratio_is_to_the_fastest_other_library_and_never_to_doing_nothing():
    assert report.ratio_to_best_peer(ROWS[0], ROWS) == 0.25
    assert report.ratio_to_best_peer(ROWS[1], ROWS) == 4.0
    assert report.ratio_to_best_peer(ROWS[2], ROWS) is None
    assert report.ratio_to_best_peer(ROWS[3], ROWS) is None  # nobody else did this task


def test_the_text_table_is_aligned_and_has_every_row():
    lines = report.text_table(ROWS).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert {line.index("separatrix") for line in (lines[1], lines[4])} == {lines[0].index("library")}
    assert lines[1].endswith(" 0.25")
    assert len(lines[1]) == len(lines[0])


def test_the_page_has_a_table_for_each_task_and_says_that_it_is_generated():
    page = report.markdown([Run("here", {"cores": 2}, ROWS)])
    assert page.startswith("<!-- Generated by")
    assert page.count("\n### ") == 2
    cells = [next(csv.reader([line.strip("|")], delimiter="|")) for line in page.splitlines() if line[:1] == "|"]
    assert {len(line) for line in cells} == {len(report.HEADER)}
    assert len(cells) == len(ROWS) + 2 * 2


def test_the_page_in_the_documentation_is_made_from_the_results_that_are_kept():
    assert report.DOCS.read_text(encoding="utf-8") == report.markdown(committed_runs())


def test_a_missing_library_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "separatrix", None)
    monkeypatch.delitem(sys.modules, "benchmarks.libraries.separatrix_", raising=False)
    with pytest.raises(SystemExit, match=r"needs the module 'separatrix'.*--libraries sklearn numpy zeros"):
        libraries.load(["separatrix"])
