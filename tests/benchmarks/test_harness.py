# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark: objectives, timing and memory measurement against known values."""

from __future__ import annotations

import math
import platform
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, sparse, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from benchmarks import libraries, objectives, report, run
from benchmarks.measure import Effort
from benchmarks.objectives import Answer
from benchmarks.problems import PROBLEMS, Data, Problem
from benchmarks.record import SCRATCH, Row, Run, committed_runs, read_run, write_run

QUICK_PROBLEMS = [problem.quick() for problem in PROBLEMS if problem.n and problem.is_here]
MEASURED = (
    "tenth", "float32", "ten classes", "offset 1e7", "small", "wide", "sparse", "sparse 10 000", "ill-conditioned",
)  # fmt: skip
IMPROVABLE = {"least_squares", "fisher", "logistic", "softmax", "flat_logistic", "probit", "posterior", "tuned"}
EXACT = {"least_squares", "fisher", "predict_linear", "logistic", "logistic_hessian", "flat_logistic", "probit"}


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
def test_a_problem_has_the_stated_shape_type_and_classes(problem):
    data = problem.data()
    assert data.X.shape == (problem.n, problem.m)
    assert data.X.dtype == problem.dtype
    assert set(data.y) == set(range(problem.k))
    np.testing.assert_array_equal(dense(data), dense(problem.data()))
    if problem.density < 1.0:
        assert data.X.nnz == int(problem.density * problem.n * problem.m)
    elif problem.archive:
        assert data.X.min() == 0.0
        assert 0.9 < data.X.max() <= 1.0
    elif not problem.ill_conditioned:
        assert data.X.flags[f"{problem.order}_CONTIGUOUS"]
        centre = 0.5 if problem.binary else problem.offset
        assert dense(data).mean() == pytest.approx(centre, abs=0.5, rel=1e-6)
        assert not problem.binary or set(np.unique(data.X)) == {0.0, 1.0}


def test_two_normal_classes_have_the_stated_bayes_error():
    """The Bayes error of two normals, d apart in standard deviations, is Φ(-d/2)."""
    data = Problem("two normals", 40_000, 4).data()
    error = 1.0 - LinearDiscriminantAnalysis().fit(data.X, data.y).score(data.X, data.y)
    assert error == pytest.approx(stats.norm.cdf(-1.0), abs=0.01)


def test_an_ill_conditioned_table_has_the_stated_scales_and_correlations():
    problem = Problem("bad", 50_000, 6, ill_conditioned=True)
    data = problem.data()
    within = data.X - np.vstack([data.X[data.y == k].mean(axis=0) for k in (0, 1)])[data.y]
    np.testing.assert_allclose(within.std(axis=0), np.geomspace(1e-4, 1e4, 6), rtol=0.02)
    np.testing.assert_allclose(np.corrcoef(within.T)[np.triu_indices(6, 1)], 0.999, atol=1e-4)


def test_new_rows_have_the_same_distribution_and_do_not_change_the_table():
    plain = Problem("any", 3000, 4, k=3)
    data = replace(plain, n_new=2000).data()
    np.testing.assert_array_equal(data.X, plain.data().X)
    assert plain.data().new is None
    model = LinearDiscriminantAnalysis().fit(data.X, data.y)
    assert model.score(data.new.X, data.new.y) == pytest.approx(model.score(data.X, data.y), abs=0.04)  # 3 sd


def test_a_missing_table_is_skipped_with_a_message(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.problems.DATA", tmp_path)
    run.main(["--quick", "--problems", "fashion_mnist", "--libraries", "zeros"], tmp_path)
    assert read_run(tmp_path / SCRATCH).rows == []
    assert "fashion_mnist: skipped, because fashion_mnist/fashion_mnist.npz was not found" in capsys.readouterr().err


# Objectives


@pytest.mark.parametrize("k", [2, 4])
def test_the_residual_sum_agrees_with_lstsq(k):
    data = Problem("any", 300, 5, k=k).data()
    T = np.eye(k)[data.y] if k > 2 else data.y[:, None].astype(float)
    B, squares, _, _ = np.linalg.lstsq(np.column_stack([np.ones(300), data.X]), T, rcond=None)
    best = Answer(B[1:].T, B[0])
    moved = replace(best, W=best.W + 0.01)
    assert objectives.residual_sum(data, best) == pytest.approx(squares.sum(), rel=1e-12)
    assert objectives.residual_sum(data, moved) > objectives.residual_sum(data, best)


@pytest.mark.parametrize("problem", [p for p in QUICK_PROBLEMS if "fisher" in p.tasks], ids=lambda p: p.name)
def test_fishers_criterion_is_greatest_along_the_generalised_eigenvectors(problem):
    """max_W J(W) = tr(S_W⁻¹ S_B), the sum of the eigenvalues of S_B w = λ S_W w."""
    data = problem.data()
    S_W, S_B = scatters(data)
    values, V = linalg.eigh(S_B, S_W)
    rank = problem.k - 1
    directions = V[:, -rank:].T
    # K linear functions whose differences span those directions, as in a classifier
    W = directions if rank == 1 else np.vstack([np.zeros(problem.m), directions])
    J = objectives.fisher_criterion(data, Answer(W, np.zeros(len(W))))
    assert pytest.approx(values[-rank:].sum(), rel=1e-5) == J
    turned = W + 0.1 * W.std() * np.sin(np.arange(W.size)).reshape(W.shape)
    assert objectives.fisher_criterion(data, Answer(turned, np.zeros(len(W)))) < J


def test_a_gap_is_relative_unless_the_best_is_rounding_error():
    values = {"a": 2.0, "b": 3.0, "zeros": 8.0}
    assert objectives.excess(3.0, values) == 0.5
    exact = {"a": 1e-25, "b": 1e-20, "zeros": 8.0}
    assert objectives.excess(1e-20, exact) < 1e-20
    assert objectives.excess(8.0, exact) == pytest.approx(1.0)
    assert objectives.excess(0.0, {"a": 0.0}) == 0.0
    assert objectives.shortfall(1.5, {"a": 1.5, "b": 2.0}) == 0.25


# Clock and meter


def test_a_slow_fit_is_measured_once():
    calls: list[str] = []
    job = libraries.Job(lambda: calls.append("run"), lambda _: None)
    slow = libraries.Library("slow", "1", {"import": lambda data: job})
    problem = Problem("any", 20, 2, tasks=("import",))
    (row,) = run.measure([problem], ["import"], [slow], Effort(rounds=3, seconds=0.0, once=0.0))
    assert calls == ["run"]
    assert row.seconds > 0.0
    assert row.peak_mb is None


# A whole run


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("results")
    with threadpool_limits(1):  # on tiny tables, waiting for threads dominates the time
        run.main(["--quick", "--problems", *MEASURED], folder)
    return read_run(folder / SCRATCH)


def test_a_run_writes_every_column_and_only_finite_numbers(quick_run):
    header = "problem task library version seconds grams passes peak_mb peak_ratio gap gradient gradient_sd n m k dtype"
    assert " ".join(field.name for field in fields(Row)) == header
    for row in quick_run.rows:
        numbers = [row.seconds, row.grams, row.peak_mb, row.peak_ratio, row.gap]
        if objectives.OBJECTIVES[row.task].gradient is not None:
            numbers += [row.gradient, row.gradient_sd]
        assert all(value is not None and math.isfinite(value) and value >= 0.0 for value in numbers), row


def test_every_library_runs_every_task_that_it_has(quick_run):
    measured = {(row.problem, row.task, row.library) for row in quick_run.rows}
    expected = {
        (problem.name, task, entry.name)
        for problem in PROBLEMS
        if problem.name in MEASURED
        for task in problem.tasks
        for entry in libraries.load()
        if task in entry.tasks
    }
    declined = {(problem, library) for problem, task, library in expected - measured}
    only_sparse = {(name, f"sklearn {solver}") for name in MEASURED for solver in ("newton-cg", "saga")}
    only_dense = {("sparse", "sklearn"), ("sparse 10 000", "sklearn newton-cholesky"), ("sparse 10 000", "glum")}
    assert declined <= only_sparse | only_dense
    assert {("sparse", "sklearn"), ("small", "sklearn saga")} <= declined
    assert measured <= expected


def test_the_best_library_has_no_gap_and_zeros_have_one(quick_run):
    groups = {(row.problem, row.task) for row in quick_run.rows}
    for group in groups:
        gaps = {row.library: row.gap for row in quick_run.rows if (row.problem, row.task) == group}
        assert min(gaps.values()) == 0.0
        if group[1] in IMPROVABLE:
            assert gaps["zeros"] > 0.1


def test_libraries_with_the_same_objective_reach_the_same_value(quick_run):
    for row in quick_run.rows:
        own_rule = row.library in {"sklearn saga", "sklearn liblinear"}  # a solver that stops by another criterion
        loose = own_rule or (row.dtype == "float32" and row.library != "separatrix")
        if row.task in EXACT and row.library != "zeros" and not loose:
            assert row.gap < 1e-6, row


def test_this_library_reaches_the_requested_gradient(quick_run):
    asked = dict.fromkeys(("logistic", "logistic_hessian", "flat_logistic", "probit"), objectives.TOL)
    for row in quick_run.rows:
        if row.library == "separatrix" and row.gradient_sd is not None:
            assert row.gradient_sd <= asked.get(row.task, objectives.SOFTMAX_TOL), row


def test_the_record_of_a_run_does_not_name_the_machine(quick_run, tmp_path):
    place = write_run(quick_run, tmp_path)
    text = (place / "config.toml").read_text(encoding="utf-8")
    keys = "date cpu cores memory_gb python numpy scipy sklearn numba glum skglm statsmodels blas threads"
    assert " ".join(tomllib.loads(text)) == keys
    for secret in filter(None, (platform.node(), str(Path.cwd()))):
        assert secret not in text


# Records and reports

ROW = Row("default", "fisher", "separatrix", "1.0", 0.5, 1.25, 1, 12.5, 0.03125, 0.0, None, None, 500, 10, 2, "float64")
ROWS = [
    ROW,
    replace(ROW, library="sklearn", seconds=2.0, grams=5.0, passes=None),
    replace(ROW, library="zeros", seconds=0.001, grams=None, gap=1.0),
    replace(ROW, task="perceptron_epoch"),
]


def test_a_run_read_back_is_the_run_written(tmp_path):
    original = Run("here", {"date": "2000-01-01", "cpu": 'a "b" \\ c', "cores": 2, "memory_gb": 1.5}, ROWS)
    assert read_run(write_run(original, tmp_path)) == original


def test_the_ratio_is_to_the_fastest_other_library_except_zeros():
    assert report.ratio_to_best_peer(ROWS[0], ROWS) == 0.25
    assert report.ratio_to_best_peer(ROWS[1], ROWS) == 4.0
    assert report.ratio_to_best_peer(ROWS[2], ROWS) is None
    assert report.ratio_to_best_peer(ROWS[3], ROWS) is None  # no other library has this task


def test_a_solver_that_stopped_early_is_not_the_best_peer():
    row = replace(ROW, gradient=1e-9, gradient_sd=1e-9)
    stalled = replace(row, library="other", seconds=0.1, gap=0.5, gradient=0.1)
    done = replace(row, library="another", seconds=2.0, gap=1e-5, gradient=1e-5)
    assert report.ratio_to_best_peer(row, [row, stalled, done]) == 0.25
    assert report.ratio_to_best_peer(row, [row, stalled]) is None


def test_the_page_in_the_documentation_is_made_from_the_committed_results():
    assert report.DOCS.read_text(encoding="utf-8") == report.markdown(committed_runs())
