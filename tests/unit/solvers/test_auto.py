"""Whatever path the solver takes, it ends where Newton's method on every row does."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from posteriors import Problem, identified, overlapping
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import LBFGS, Auto, Newton, auto, posterior
from separatrix.solvers.posterior import pose
from separatrix.solvers.result import Status

#: Constants under which small tables take the paths of large ones.
PATHS = {
    "newton": {},
    "sample": {"MIN_SAMPLED_ENTRIES": 1000, "FLOPS": 0},
    "by_class": {"JOINT": 0},
    "by_class_sample": {"MIN_SAMPLED_ENTRIES": 1000, "JOINT": 0},
    "diagonal": {"JOINT": 0, "BLOCK": 0},
    "diagonal_many": {"MIN_SAMPLED_ENTRIES": 1000, "JOINT": 0, "BLOCK": 0},
}
UNIT = Gaussian(1.0)
FLAT = Flat()


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """Force a path; a record of which minimisers ran."""
    ran = SimpleNamespace(name=request.param, newton=0, lbfgs=0)
    for name, value in PATHS[request.param].items():
        monkeypatch.setattr(posterior if name == "MIN_SAMPLED_ENTRIES" else auto, name, value)
    for kind, label in ((Newton, "newton"), (LBFGS, "lbfgs")):
        monkeypatch.setattr(kind, "minimise", _counting(kind.minimise, ran, label))
    return ran


def _counting(minimise, ran, label):
    def counted(self, *args, **options):
        setattr(ran, label, getattr(ran, label) + 1)
        return minimise(self, *args, **options)

    return counted


def posed(problem, store=np.asarray):
    source = as_source(store(problem.X)).with_numbers(problem.t, problem.weight, problem.offset)
    likelihood = Logit() if problem.n_outputs == 1 else Softmax(problem.n_outputs)
    return pose(source, likelihood, problem.prior, fit_intercept=problem.fit_intercept)


def fit(problem, store=np.asarray, **options):
    objective = posed(problem, store)
    solution = Auto(**{"tol": 1e-10} | options).minimise(objective, np.zeros(objective.shape))
    return objective, solution


def reference(problem):
    """Newton's method on all rows in double precision."""
    objective = replace(problem, X=problem.X.astype(np.float64)).posterior()
    solution = Newton(tol=1e-12, max_steps=300).minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    return identified(objective.design.in_user_units(solution.value), problem)


def assert_optimal(problem, store=np.asarray, atol=1e-6):
    objective, solution = fit(problem, store)
    assert solution.is_converged
    W, w0 = identified(objective.design.in_user_units(solution.value), problem)
    W_all, w0_all = reference(problem)
    X = problem.X.astype(np.float64)
    spread, shift = X.std(axis=0), X.mean(axis=0)
    np.testing.assert_allclose(W * spread, W_all * spread, atol=atol)
    if problem.fit_intercept:
        moved = (W - W_all) @ shift
        np.testing.assert_allclose(w0[:, 0] - w0_all[:, 0] + moved, 0.0, atol=atol * (1 + 1e-10 * np.abs(shift).max()))
    return solution


def ill_conditioned(n_classes=2, n=1500):
    """Columns of size 1e-4 to 1e4 with correlation 0.999."""
    rng = np.random.default_rng(0)
    Z = np.sqrt(0.999) * rng.normal(size=(n, 1)) + np.sqrt(0.001) * rng.normal(size=(n, 6))
    t = (2 * Z @ rng.normal(size=(6, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return Z * 10.0 ** np.linspace(-4, 4, 6), t


def many(n_classes=2, n=1500):
    return overlapping(n, 5, n_classes)


def problems():
    rng = np.random.default_rng(3)
    X, t = many()
    X3, t3 = many(3)
    weight = rng.integers(0, 4, size=len(t)).astype(float)
    root = rng.normal(size=(5, 5))
    by_class, by_class3 = np.argsort(t, kind="stable"), np.argsort(t3, kind="stable")
    alternating = np.column_stack(
        [part[: min(np.bincount(t))] for part in np.split(by_class, [np.sum(t == 0)])]
    ).ravel()
    rare = np.where(t3 == 2, 0, t3)
    rare[[700, 1203]] = 2  # a class that the sample has no row of
    few = np.zeros(len(t), dtype=int)
    few[[5, 701, 1204]] = 1
    seldom = np.arange(len(t)) == 700  # a column that the sample takes for a constant
    given = {"prior": Gaussian(0.5), "weight": weight, "offset": rng.normal(size=len(t))}
    columns = Gaussian(scale=[0.1, 1.0, 2.0, 0.5, 3.0], mean=[1.0, 0.0, -1.0, 0.5, 0.0])
    return {
        "logit": Problem(X, t, UNIT),
        "logit_flat": Problem(X, t),
        "logit_given": Problem(X, t, **given),
        "logit_mean": Problem(X, t, columns),
        "logit_covariance": Problem(X, t, Gaussian(covariance=root @ root.T + np.eye(5))),
        "logit_no_intercept": Problem(X, t, UNIT, fit_intercept=False),
        "logit_sorted": Problem(X[by_class], t[by_class]),
        "logit_periodic": Problem(X[alternating], t[alternating]),
        "logit_rare_class": Problem(X, few, UNIT),
        "logit_seldom": Problem(np.column_stack([X, seldom]), t, UNIT),
        "logit_twins": Problem(np.column_stack([X, X[:, 0]]), t, UNIT),
        "logit_far": Problem(X + 1e8, t),
        "softmax": Problem(X3, t3, UNIT),
        "softmax_flat": Problem(X3, t3),
        "softmax_given": Problem(X3, t3, **given),
        "softmax_mean": Problem(X3, t3, columns),
        "softmax_covariance": Problem(X3, t3, Gaussian(covariance=root @ root.T + np.eye(5))),
        "softmax_soft": Problem(X3, rng.dirichlet([0.4, 0.5, 0.6], size=len(t)), UNIT),
        "softmax_sorted": Problem(X3[by_class3], t3[by_class3]),
        "softmax_rare_class": Problem(X3, rare, UNIT),
        "softmax_seldom": Problem(np.column_stack([X3, seldom]), t3, UNIT),
        "softmax_far": Problem(X3 + 1e8, t3),
    }


PROBLEMS = problems()


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_path_reaches_the_optimum(name, path):
    problem = PROBLEMS[name]
    assert_optimal(problem)
    if path.name == "newton":
        assert path.lbfgs == 0
    elif path.name.startswith("diagonal") or problem.n_outputs > 1:
        assert path.lbfgs >= 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [FLAT, UNIT, Gaussian(1e3)], ids=["flat", "unit", "weak"])
def test_ill_conditioned_columns(n_classes, prior, path):
    problem = Problem(*ill_conditioned(n_classes), prior)
    objective, solution = fit(problem, tol=1e-9)
    assert solution.is_converged
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-9
    X = problem.X - problem.X.mean(axis=0)
    A, A_all = (
        X @ (W - W.mean(axis=0) * (n_classes > 2)).T  # what is added to every class is all but undetermined here
        for W in (objective.design.in_user_units(solution.value)[0], reference(problem)[0])
    )
    np.testing.assert_allclose(A, A_all, atol=1e-5)


@pytest.mark.parametrize("name", ["logit", "logit_given", "softmax", "softmax_flat", "softmax_rare_class"])
@pytest.mark.parametrize("store", [sparse.csr_array, np.float32], ids=["csr", "float32"])
def test_sparse_rows_and_single_precision(name, store, path):
    problem = PROBLEMS[name]
    problem = replace(problem, X=problem.X.astype(np.float32).astype(np.float64))  # what both stores hold exactly
    assert_optimal(problem, store)


@pytest.mark.parametrize("name", ["logit_flat", "logit_given", "softmax", "softmax_mean"])
def test_the_objective_never_rises_and_the_trace_is_whole(name, path):
    objective, solution = fit(PROBLEMS[name], trace=True)
    values = np.array([step.value for step in solution.trace])
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert len(values) == solution.steps + 1
    np.testing.assert_array_equal(solution.trace[-1].theta, solution.value)
    assert values[-1] == pytest.approx(objective.value_grad(solution.value).value, rel=1e-14)


def test_a_sample_saves_passes_and_few_steps_are_left(monkeypatch):
    monkeypatch.setattr(posterior, "MIN_SAMPLED_ENTRIES", 1000)
    monkeypatch.setattr(auto, "FLOPS", 0)
    problem = Problem(*overlapping(12_000, 6))
    objective, solution = fit(problem, tol=1e-8)
    assert objective.sample is not None
    assert objective.sample.n_rows < 2_000
    assert solution.steps <= 8  # each costs a gradient
    assert objective.source.passes <= 12  # two of them for the sample and a Hessian


def test_where_the_first_hessian_leads_on_too_slowly_it_is_renewed(monkeypatch, path):
    monkeypatch.setattr(auto, "PATIENCE", 2)
    for name in ("logit_rare_class", "softmax_rare_class", "softmax_seldom"):
        assert_optimal(PROBLEMS[name])


@pytest.mark.parametrize("steps", [1, 3])
def test_a_limit_of_steps_is_kept_and_reported(steps, path):
    for name in ("logit_flat", "softmax_flat"):
        _, solution = fit(PROBLEMS[name], max_steps=steps, trace=True)
        assert solution.steps <= steps
        if solution.steps == steps:
            assert solution.status is Status.MAX_STEPS


def test_equal_calls_give_equal_bits(path):
    first, second = (fit(PROBLEMS["softmax_given"])[1] for _ in range(2))
    np.testing.assert_array_equal(first.value, second.value)


def test_a_start_at_the_optimum_leads_back_to_it(path):
    for name in ("logit", "softmax"):
        objective, solution = fit(PROBLEMS[name], tol=1e-12)
        again = Auto(tol=1e-10).minimise(objective, solution.value)
        assert again.steps <= solution.steps
        np.testing.assert_allclose(again.value, solution.value, atol=1e-7)


def test_a_joint_prior_on_all_classes(path):
    """Yesterday's posterior as today's prior: a precision (CP, CP) that ties the classes to each other."""
    problem = PROBLEMS["softmax"]
    objective = posed(problem)
    rng = np.random.default_rng(0)
    size = np.prod(objective.shape)
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    prior = replace(
        objective.prior, mean=rng.normal(size=objective.shape), precision=30 * (root @ root.T + 0.1 * np.eye(size))
    )
    objective = replace(objective, prior=prior)
    solution = Auto(tol=1e-10).minimise(objective, np.zeros(objective.shape))
    plain = Newton(tol=1e-12).minimise(replace(objective, sample=None), np.zeros(objective.shape))
    np.testing.assert_allclose(solution.value, plain.value, atol=1e-6)
