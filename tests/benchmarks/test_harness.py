# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark: objectives, timing and memory measurement against known values."""

from __future__ import annotations

import math
import platform
import signal
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter, sleep

import numba
import numpy as np
import pytest
from scipy import linalg, sparse, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from benchmarks import libraries, machine, objectives, report, run
from benchmarks.measure import Effort
from benchmarks.objectives import Answer
from benchmarks.problems import PROBLEMS, Data, Problem
from benchmarks.record import LONGER, SCRATCH, Row, Run, committed_runs, read_run, write_run
from benchmarks.run import EFFORTS

TOY_PROBLEMS = [problem.toy() for problem in PROBLEMS if problem.n and problem.is_here]
MEASURED = (
    "tenth", "float32", "ten classes", "offset 1e7", "small", "wide", "sparse", "sparse 10 000", "missing values",
    "ill-conditioned",
)  # fmt: skip
SMALL = next(problem for problem in PROBLEMS if problem.name == "small")
PASSES = {"gradient_pass", "hessian_pass"}
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


@pytest.mark.parametrize("problem", TOY_PROBLEMS, ids=lambda problem: problem.name)
def test_a_problem_has_the_stated_shape_type_and_classes(problem):
    data = problem.data()
    assert data.X.shape == (problem.n, problem.m)
    assert data.X.dtype == problem.dtype
    assert set(data.y) == set(range(problem.k))
    np.testing.assert_array_equal(dense(data), dense(problem.data()))
    if problem.words:
        assert data.X.nnz == pytest.approx(problem.density * problem.n * problem.m, rel=0.4)
        np.testing.assert_array_equal(np.expm1(data.X.data).round(), np.expm1(data.X.data).round(9))  # counts
    elif problem.density < 1.0:
        assert data.X.nnz == int(problem.density * problem.n * problem.m)
    elif problem.archive:
        assert data.X.min() == 0.0
        assert 0.9 < data.X.max() <= 1.0
    elif problem.missing:
        assert np.isnan(data.X).mean() == pytest.approx(problem.missing, abs=0.02)
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
    run.main(["--toy", "--problems", "fashion_mnist", "--libraries", "zeros"], tmp_path)
    assert read_run(tmp_path / SCRATCH, "toy").rows == []
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


@pytest.mark.parametrize("problem", [p for p in TOY_PROBLEMS if "fisher" in p.tasks], ids=lambda p: p.name)
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


@pytest.mark.parametrize("task", sorted(PASSES))
def test_one_pass_returns_the_derivatives_of_the_benchmarks_own_objective(task):
    problem = Problem("any", 30_000, 4, offset=3.0, tasks=(task,))
    (rows,) = run.measure(problem, [task], libraries.load(), EFFORTS["toy"])
    gaps = {row.library: row.gap for row in rows}
    assert gaps["numpy"] < 1e-13
    assert gaps["separatrix"] < 1e-12
    assert 1e-10 < gaps.get("separatrix single", 1e-6) < 1e-5


def test_a_gap_is_relative_unless_the_best_is_rounding_error():
    values = {"a": 2.0, "b": 3.0, "zeros": 8.0}
    assert objectives.excess(3.0, values) == 0.5
    exact = {"a": 1e-25, "b": 1e-20, "zeros": 8.0}
    assert objectives.excess(1e-20, exact) < 1e-20
    assert objectives.excess(8.0, exact) == pytest.approx(1.0)
    assert objectives.excess(0.0, {"a": 0.0}) == 0.0
    assert objectives.shortfall(1.5, {"a": 1.5, "b": 2.0}) == 0.25


# Clock and meter


TINY = Problem("any", 20, 2, toy_shape=(20, 2), tasks=("import",))
ONCE = Effort(rounds=1, seconds=0.0)


def library(name: str, action, **tasks) -> libraries.Library:
    return libraries.Library(name, "1", {"import": lambda data: libraries.Job(action, lambda _: None), **tasks})


def test_a_slow_fit_is_measured_once():
    calls: list[str] = []
    slow = library("slow", lambda: calls.append("run"))
    ((row,),) = run.measure(TINY, ["import"], [slow], Effort(rounds=3, seconds=0.0, once=0.0))
    assert calls == ["run"]
    assert row.seconds > 0.0
    assert row.peak_mb is None


def test_a_first_run_that_compiles_is_not_the_measurement():
    """A fit to a tiny table compiles; without it, the first run would be too slow to be repeated."""
    compiled: list[str] = []

    def fit() -> None:
        if not compiled:
            sleep(0.3)
        compiled.append("yes")

    problem = replace(TINY, n=200)
    ((row,),) = run.measure(problem, ["import"], [library("jit", fit)], replace(ONCE, once=0.2))
    assert row.seconds < 0.1


def test_a_run_that_compiles_is_repeated():
    """Code for large tables is not compiled by the fit to a tiny table."""
    calls: list[float] = []

    def fit() -> None:
        start = perf_counter()
        if not calls:
            numba.njit(lambda x: np.linalg.solve(x, x))(np.eye(2))
        calls.append(perf_counter() - start)

    ((row,),) = run.measure(TINY, ["import"], [library("jit", fit)], replace(ONCE, once=1e-9))
    assert len(calls) == 2  # compiled, measured
    assert row.seconds < calls[0] / 10


def test_a_fit_that_takes_too_long_is_interrupted_and_its_time_is_a_bound():
    slow, quick = library("slow", lambda: sleep(60.0)), library("quick", lambda: None)
    start = perf_counter()
    (rows,) = run.measure(TINY, ["import"], [slow, quick], replace(ONCE, longest=0.2))
    assert perf_counter() - start < 5.0
    assert [(row.library, row.note, row.is_bound) for row in rows] == [("slow", LONGER, True), ("quick", "", False)]
    assert rows[0].seconds == 0.2
    assert report.time_of(rows[0]) == "> 0.2"
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_one_failure_does_not_end_the_run():
    def fail() -> None:
        raise ValueError("no such solver\nsecond line")

    (rows,) = run.measure(TINY, ["import"], [library("bad", fail), library("good", lambda: None)], ONCE)
    assert [(row.library, row.note, row.seconds is None) for row in rows] == [
        ("bad", "failed: ValueError: no such solver", True),
        ("good", "", False),
    ]


def test_a_library_that_is_not_installed_gets_a_note_for_each_of_its_tasks(monkeypatch):
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    entries = libraries.load()
    absent = [entry for entry in entries if entry.name in libraries.OPTIONAL]
    assert {entry.name: tuple(entry.tasks) for entry in absent} == libraries.OPTIONAL
    problem = Problem("any", 40, 2, tasks=("probit",))
    (rows,) = run.measure(problem, ["probit"], entries, ONCE)
    assert {row.library: row.note for row in rows} == {"separatrix": "", "statsmodels": "not installed", "zeros": ""}


@pytest.mark.parametrize("name", libraries.OPTIONAL)
def test_the_tasks_of_an_optional_library_are_listed(name):
    pytest.importorskip(name)
    (entry,) = libraries.load([name])
    assert tuple(entry.tasks) == libraries.OPTIONAL[name]


def test_fits_that_take_minutes_are_left_out_of_toy_runs():
    problem = replace(TINY, minutes=("slow",))
    slow = library("slow", lambda: None)
    for each, note in ((problem.quick(), "left out"), (problem, "")):
        ((row,),) = run.measure(each, ["import"], [slow], ONCE)
        assert row.note == note


def test_a_toy_run_covers_every_task_with_the_same_columns():
    for problem in PROBLEMS:
        quick = problem.quick()
        assert (quick.tasks, quick.m, quick.k, quick.dtype) == (problem.tasks, problem.m, problem.k, problem.dtype)
        assert quick.n <= problem.n


# A whole run


@pytest.fixture(scope="module")
def toy_run(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("results")
    with threadpool_limits(1):  # on tiny tables, waiting for threads dominates the time
        run.main(["--toy", "--problems", *MEASURED], folder)
    return read_run(folder / SCRATCH, "toy")


def test_a_run_writes_every_column_and_only_finite_numbers(toy_run):
    header = (
        "problem task library version seconds grams reads passes peak_mb peak_ratio gap gradient gradient_sd "
        "n m k dtype date note"
    )
    assert " ".join(field.name for field in fields(Row)) == header
    for row in toy_run.rows:
        assert row.note == ""
        numbers = [row.seconds, row.grams, row.reads, row.peak_mb, row.peak_ratio, row.gap]
        if objectives.OBJECTIVES[row.task].gradient is not None:
            numbers += [row.gradient, row.gradient_sd]
        assert all(value is not None and math.isfinite(value) and value >= 0.0 for value in numbers), row


def test_every_library_runs_every_task_that_it_has(toy_run):
    measured = {(row.problem, row.task, row.library) for row in toy_run.rows}
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


def test_the_best_library_has_no_gap_and_zeros_have_one(toy_run):
    groups = {(row.problem, row.task) for row in toy_run.rows}
    for group in groups:
        gaps = {row.library: row.gap for row in toy_run.rows if (row.problem, row.task) == group}
        assert min(gaps.values()) == 0.0 or group[1] in PASSES
        if group[1] in IMPROVABLE:
            assert gaps["zeros"] > 0.1


def test_libraries_with_the_same_objective_reach_the_same_value(toy_run):
    for row in toy_run.rows:
        own_rule = row.library in {"sklearn saga", "sklearn liblinear"}  # a solver that stops by another criterion
        loose = own_rule or (row.dtype == "float32" and row.library != "separatrix")
        if row.task in EXACT and row.library != "zeros" and not loose:
            assert row.gap < 1e-6, row


def test_this_library_reaches_the_requested_gradient(toy_run):
    asked = dict.fromkeys(("logistic", "logistic_hessian", "flat_logistic", "probit"), objectives.TOL)
    for row in toy_run.rows:
        if row.library == "separatrix" and row.gradient_sd is not None:
            assert row.gradient_sd <= asked.get(row.task, objectives.SOFTMAX_TOL), row


def test_the_record_of_a_run_does_not_name_the_machine(toy_run, tmp_path):
    place = write_run(toy_run, tmp_path)
    text = (place / "toy.toml").read_text(encoding="utf-8")
    keys = (
        "date vendor cpu cpu_family vectors l1 l2 l3 cores memory_gb load python commit "
        "numpy scipy sklearn numba glum skglm statsmodels blas threads"
    )
    assert set(tomllib.loads(text)) - {"l1", "l2", "l3", "l4"} == set(keys.split()) - {"l1", "l2", "l3"}
    for secret in filter(None, (platform.node(), str(Path.cwd()))):
        assert secret not in text


# Records and reports

ROW = Row(
    "default", "fisher", "separatrix", "1.0", 0.5, 1.25, 9.5, 1, 12.5, 0.03125, 0.0, None, None, 500, 10, 2, "float64",
    "2000-01-01",
)  # fmt: skip
ROWS = [
    ROW,
    replace(ROW, library="sklearn", seconds=2.0, grams=5.0, passes=None),
    replace(ROW, library="zeros", seconds=0.001, grams=None, gap=1.0),
    replace(ROW, task="perceptron_epoch"),
]


def test_a_run_read_back_is_the_run_written(tmp_path):
    original = Run("here", "quick", {"date": "2000-01-01", "cpu": 'a "b" \\ c', "cores": 2, "memory_gb": 1.5}, ROWS)
    assert read_run(write_run(original, tmp_path), "quick") == original


def test_new_rows_replace_those_of_the_same_task_in_the_order_of_the_problems():
    faster = replace(ROW, seconds=0.1)
    run = Run("here", "quick", {}, ROWS).with_rows([faster])
    assert run.rows == [faster, ROWS[3]]  # fisher comes before perceptron_epoch
    small = replace(ROW, problem="small")
    assert run.with_rows([small]).rows == [faster, ROWS[3], small]


def test_the_newest_run_of_each_machine_is_shown(tmp_path):
    days = {("amd", "full"): "2000-01-02", ("amd", "quick"): "2000-01-03", ("intel", "quick"): "2000-01-01"}
    for (name, mode), date in days.items():
        write_run(Run(name, mode, {"date": date}, ROWS), tmp_path)
    write_run(Run(SCRATCH, "full", {"date": "2000-01-09"}, ROWS), tmp_path)
    assert [(run.name, run.mode) for run in committed_runs(tmp_path)] == [("amd", "quick"), ("intel", "quick")]
    write_run(Run("amd", "full", {"date": "2000-01-03"}, ROWS), tmp_path)
    assert [run.mode for run in committed_runs(tmp_path)] == ["full", "quick"]


def test_an_interrupted_run_is_resumed_and_a_part_replaces_its_rows(tmp_path, capsys):
    part = ["--toy", "--problems", "small", "--libraries", "zeros", "--name", "here"]
    run.main([*part, "--only", "fisher", "logistic"], tmp_path)
    before = read_run(tmp_path / "here", "toy")
    assert {row.task for row in before.rows} == {"fisher", "logistic"}
    run.main([*part, "--resume"], tmp_path)
    after = read_run(tmp_path / "here", "toy")
    assert [row for row in after.rows if row.task in {"fisher", "logistic"}] == list(before.rows)
    assert {row.task for row in after.rows} == {task for task in SMALL.tasks if task != "predict_linear"}
    run.main([*part, "--only", "fisher"], tmp_path)
    again = read_run(tmp_path / "here", "toy")
    assert [row for row in again.rows if row.task != "fisher"] == [row for row in after.rows if row.task != "fisher"]
    assert [row for row in again.rows if row.task == "fisher"] != [row for row in after.rows if row.task == "fisher"]


def test_results_of_another_processor_are_not_overwritten(tmp_path):
    write_run(Run("here", "toy", {"cpu": "another"}, ROWS), tmp_path)
    with pytest.raises(SystemExit, match="here has results of a processor with cpu another, .*Choose another --name"):
        run.main(["--toy", "--problems", "small", "--name", "here"], tmp_path)


@pytest.mark.parametrize(
    ("vendor", "model", "name"),
    [
        ("AMD", "AMD EPYC", "amd-epyc"),
        ("AMD", "AMD EPYC 7B13 64-Core Processor", "amd-epyc"),
        ("Intel", "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "intel-xeon"),
        ("Intel", "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.10GHz", "intel-xeon"),
        ("Intel", "Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", "intel-core"),
        ("", "arm", "arm"),
    ],
)
def test_a_machine_is_named_by_its_processor_and_cores(monkeypatch, vendor, model, name):
    monkeypatch.setattr(machine, "_vendor", lambda: vendor)
    monkeypatch.setattr(machine, "_cpu_model", lambda: model)
    monkeypatch.setattr(machine.joblib, "cpu_count", lambda: 2)
    assert machine.machine_name() == f"{name}-2-cores"


def test_caches_are_read_from_the_system(monkeypatch, tmp_path):
    levels = [
        ("1", "Data", "48K", "1"),
        ("1", "Instruction", "32K", "1"),
        ("2", "Unified", "2048K", "1"),
        ("3", "Unified", "105M", "3"),
    ]
    for i, values in enumerate(levels):
        (tmp_path / f"index{i}").mkdir()
        for file, value in zip(("level", "type", "size", "shared_cpu_map"), values, strict=True):
            (tmp_path / f"index{i}" / file).write_text(f"{value}\n")
    monkeypatch.setattr(machine, "CACHES", tmp_path)
    assert machine._caches() == {"l1": "48K", "l2": "2048K", "l3": "105M for 2 cores"}


def test_the_speed_of_a_machine_is_that_of_two_products():
    speeds = machine.speeds(rows=2000, columns=50)
    assert 0.0 < speeds["xw_seconds"] < speeds["gram_seconds"] < 1.0


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


def test_a_peer_that_was_interrupted_gives_a_bound():
    slow = replace(ROW, library="sklearn", seconds=30.0, gap=None, note=LONGER)
    absent = replace(ROW, library="glum", seconds=None, gap=None, note="not installed")
    assert report.best_peer(ROW, [ROW, slow, absent]) == slow
    assert report.ratio_to_best_peer(slow, [ROW, slow]) is None
    table = report.text_table([ROW, slow, absent])
    assert "< 0.0167" in table
    assert "> 30" in table
    assert "not installed" in table
    done = replace(slow, library="other", seconds=40.0, note="")
    assert report.best_peer(ROW, [ROW, slow, done]) == done


def test_machines_stand_side_by_side(tmp_path):
    config = {
        "cpu": "AMD EPYC",
        "cores": 2,
        "memory_gb": 1.5,
        "date": "2000-01-01",
        "l2": "1024K",
        "gram_seconds": 0.147,
    }
    other = {**config, "cpu": "Intel", "l2": "2048K"}
    sklearn = replace(ROW, library="sklearn", seconds=2.0, gap=1e-9)
    rows = [ROW, sklearn], [replace(ROW, grams=0.75), replace(sklearn, seconds=4.0, gap=None, note=LONGER)]
    runs = [Run("amd", "quick", config, rows[0]), Run("intel", "quick", other, rows[1])]
    page = report.markdown(runs, gpu=tmp_path / "none.csv")
    assert "| L2 cache | 1024K | 2048K |" in page
    assert "| `X.T @ X`, 500 000 x 100 | 147.0 ms | 147.0 ms |" in page
    assert (
        "| Fisher | default: 500 x 10 | 1.25 | 4x: sklearn, gap 1.0e-09 | 0.0e+00 | 0.75 | >8x: sklearn | 0.0e+00 |"
        in page
    )
    assert "| default | 500 x 10, K = 2, float64 | sklearn | 2 | 1.25 | 4 | > 4 | 1.25 |  |" in page


def test_the_page_in_the_documentation_is_made_from_the_committed_results():
    assert report.DOCS.read_text(encoding="utf-8") == report.markdown(committed_runs())
