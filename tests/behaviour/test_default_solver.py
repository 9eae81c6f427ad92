"""Every stage of the default solver ends where Newton's method on every row does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from posteriors import Problem, identified, overlapping
from separatrix.priors import Flat, Gaussian
from separatrix.solvers import LBFGS, MAX_JOINT_WEIGHTS, Auto, Newton
from separatrix.stats import collect_sample

UNIT = Gaussian(1.0)
FLAT = Flat()


#: The stages that tables of different shapes go through, as functions of the solver and the objective.
STAGES = {
    "newton": lambda auto, _: [auto._newton],
    "joint Hessian": lambda auto, _: [auto._hessian(is_joint=True, limit=25), auto._newton],
    "Hessian by class": lambda auto, _: [auto._hessian(is_joint=False, limit=25), auto._newton],
    "diagonal": lambda auto, _: [auto._gradients(), auto._newton],
    "sample": lambda auto, objective: [
        auto._hessian(is_joint=True, limit=25, sample=replace(objective, source=collect_sample(objective.source, 200))),
        auto._newton,
    ],
}


def fit(problem, stages, store=np.asarray, **options):
    objective, auto = problem.posed(store), Auto(**{"tol": 1e-10} | options)
    names = "joint Hessian" if stages == "Hessian by class" and problem.n_outputs == 1 else stages
    return objective, auto._run(objective, np.zeros(objective.shape), STAGES[names](auto, objective))


def reference(problem):
    """Newton's method on all rows in double precision."""
    objective = replace(problem, X=problem.X.astype(np.float64)).posterior()
    solution = Newton(tol=1e-12, max_steps=300).minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    return identified(objective.design.in_user_units(solution.value), problem)


def assert_optimal(problem, stages, store=np.asarray, atol=1e-6):
    objective, solution = fit(problem, stages, store)
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
    shorter = min(np.bincount(t))
    alternating = np.column_stack([part[:shorter] for part in np.split(by_class, [np.sum(t == 0)])]).ravel()
    rare = np.where(t3 == 2, 0, t3)
    rare[[700, 1203]] = 2  # a class without rows in the sample
    few = np.zeros(len(t), dtype=int)
    few[[5, 701, 1204]] = 1
    seldom = np.arange(len(t)) == 700  # a column that is constant in the sample
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
every_stage = pytest.mark.parametrize("stages", STAGES)


@every_stage
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_stage_reaches_the_optimum(name, stages):
    assert_optimal(PROBLEMS[name], stages)


@every_stage
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", [FLAT, Gaussian(1e3)], ids=["flat", "weak"])
def test_ill_conditioned_columns(n_classes, prior, stages):
    problem = Problem(*ill_conditioned(n_classes), prior)
    objective, solution = fit(problem, stages, tol=1e-9)
    assert solution.is_converged
    assert objective.gradient_size(objective.value_grad(solution.value).grad) < 1e-9


@every_stage
@pytest.mark.parametrize("name", ["logit_given", "softmax_flat"])
@pytest.mark.parametrize("store", [sparse.csr_array, np.float32], ids=["csr", "float32"])
def test_sparse_rows_and_single_precision(name, store, stages):
    problem = PROBLEMS[name]
    problem = replace(problem, X=problem.X.astype(np.float32).astype(np.float64))  # exact in both stores
    assert_optimal(problem, stages, store)


@every_stage
@pytest.mark.parametrize("name", ["logit_given", "softmax_mean"])
def test_the_objective_never_rises_and_the_trace_is_complete(name, stages):
    objective, solution = fit(PROBLEMS[name], stages, trace=True)
    values = np.array([step.value for step in solution.trace])
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert len(values) == solution.steps + 1
    np.testing.assert_array_equal(solution.trace[-1].theta, solution.value)
    assert values[-1] == pytest.approx(objective.value_grad(solution.value).value, rel=1e-14)


def test_many_rows_are_fitted_in_few_passes_after_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 60))
    t = (X @ rng.normal(size=60) / 4 + rng.logistic(size=len(X)) > 0).astype(int)
    objective = Problem(X, t, UNIT).posed()
    assert objective.sample is not None
    solution = Auto().minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    assert solution.steps <= 8  # each costs a gradient
    assert objective.source.passes <= 12


def test_a_joint_prior_on_all_classes():
    """The posterior of an earlier fit as prior: a precision (CP, CP) that ties the classes to each other."""
    objective = PROBLEMS["softmax"].posed()
    rng = np.random.default_rng(0)
    size = np.prod(objective.shape)
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    precision = 30 * (root @ root.T + 0.1 * np.eye(size))
    prior = replace(objective.prior, mean=rng.normal(size=objective.shape), precision=precision)
    objective, auto = replace(objective, prior=prior), Auto(tol=1e-10)
    plain = Newton(tol=1e-12).minimise(objective, np.zeros(objective.shape))
    for stages in STAGES.values():
        solution = auto._run(objective, np.zeros(objective.shape), stages(auto, objective))
        np.testing.assert_allclose(solution.value, plain.value, atol=1e-6)


def test_sparse_rows_of_many_classes_need_no_hessian(rng, monkeypatch):
    X = sparse.random_array((600, 90), density=0.1, rng=rng, format="csr")
    A = X @ rng.normal(size=(90, 18))
    problem = Problem(X.toarray(), (A + rng.gumbel(size=A.shape)).argmax(axis=1), prior=UNIT)
    objective = problem.posed(sparse.csr_array)
    assert objective.shape[0] * objective.shape[1] > MAX_JOINT_WEIGHTS
    monkeypatch.setattr("separatrix.solvers.auto.by_class", None)  # its use would raise an error
    solution = Auto().minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    assert solution.passes < 60


def test_frequent_and_rare_words_that_nearly_separate_the_classes_need_few_passes():
    """Curvatures end far below their bound of 1/4, so that the prior decides the weights of rare words."""
    rng = np.random.default_rng(1)
    frequency = np.minimum(8 / (10 + np.arange(1000)), 0.7)
    entries = (rng.random((1000, 1000)) < frequency) * rng.exponential(size=(1000, 1000)) * 10 * frequency
    X = sparse.csr_array(entries)
    t = (X @ rng.normal(size=1000) > 0).astype(int)
    objective = Problem(entries, t, Gaussian(3.0)).posed(sparse.csr_array)
    solution = LBFGS(tol=1e-8).minimise(objective, np.zeros(objective.shape))
    assert solution.is_converged
    assert solution.passes < 100  # 300 with the bound as preconditioner


def test_the_first_step_leads_to_the_weights_of_lda(rng):
    """Least squares divided by 1 - R², exactly LDA with N in place of N - 2 for balanced classes."""
    t = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + np.outer(t, [1.0, -0.5, 0.2])
    objective = Problem(X, t).posed()
    solution = Auto(trace=True).minimise(objective, np.zeros(objective.shape))
    first = objective.design.in_user_units(solution.trace[1].theta)[0][0]
    means = np.stack([X[t == 0].mean(axis=0), X[t == 1].mean(axis=0)])
    within = sum((X[t == k] - means[k]).T @ (X[t == k] - means[k]) for k in (0, 1)) / len(X)
    np.testing.assert_allclose(first, np.linalg.solve(within, means[1] - means[0]), rtol=1e-10)
    plain = Newton().minimise(objective, np.zeros(objective.shape))
    assert solution.passes < plain.passes
