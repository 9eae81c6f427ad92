"""Problems that were once solved badly: columns of all sizes, weights on few rows, square tables, limits of steps."""

import numpy as np
import pytest
from scipy import sparse

from posteriors import Problem, overlapping
from separatrix import LogisticRegression
from separatrix.exceptions import ConvergenceWarning, DataError
from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian
from separatrix.rows import as_source
from separatrix.solvers import LBFGS, Auto, GradientDescent, Newton, StochasticGradient, auto
from separatrix.solvers.posterior import pose
from separatrix.solvers.result import SLACK, Solution, Status, at_rest


def posed(X, t, prior=None, weight=None, fit_intercept=True):
    n_classes = int(t.max()) + 1
    likelihood = Logit() if n_classes == 2 else Softmax(n_classes)
    return pose(as_source(X, t, weight), likelihood, prior or Flat(), fit_intercept=fit_intercept)


def size_at(objective, solution):
    return objective.gradient_size(objective.value_grad(solution.value).grad)


# Columns of all sizes


@pytest.mark.parametrize("scale", [1e18, 1e-25, 1e30])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n", [1_500, 40_000], ids=["few", "many"])
def test_the_size_of_a_column_changes_nothing(scale, n_classes, n):
    """Hessians in single precision end at 1e38; the fit must not."""
    M = 150 if n < 10_000 else 60
    X, t = overlapping(n, M, n_classes)
    plain = posed(X, t)
    expected = Auto(tol=1e-9).minimise(plain, np.zeros(plain.shape))
    units = np.ones(M)
    units[[0, 2]] = scale
    scaled = posed(X * units, t)
    found = Auto(tol=1e-9).minimise(scaled, np.zeros(scaled.shape))
    assert found.status is Status.GRADIENT
    assert found.steps <= expected.steps + 2
    np.testing.assert_allclose(found.value[:, :-1] * units, expected.value[:, :-1], atol=1e-6)


@pytest.mark.parametrize("scale", [1e17, 1e-30])
def test_single_precision_rows_of_any_size(scale):
    X, t = overlapping(40_000, 60)
    X = X.astype(np.float32)
    scaled = X.copy()
    scaled[:, 0] *= np.float32(scale)
    first, second = (posed(rows, t) for rows in (X, scaled))
    expected, found = (Auto().minimise(objective, np.zeros(objective.shape)) for objective in (first, second))
    assert found.status is Status.GRADIENT
    assert found.value[0, 0] * scale == pytest.approx(expected.value[0, 0], rel=1e-5)
    np.testing.assert_allclose(found.value[0, 1:], expected.value[0, 1:], atol=1e-6)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_weights_of_rows_of_any_size(size):
    X, t = overlapping(40_000, 60)
    plain, weighted = posed(X, t), posed(X, t, weight=np.full(len(t), size))
    expected, found = (Auto().minimise(objective, np.zeros(objective.shape)) for objective in (plain, weighted))
    assert found.status is Status.GRADIENT
    np.testing.assert_allclose(found.value, expected.value, atol=1e-6)


def mixed(seed):
    """A small table whose columns differ by up to 1e24 in size and lie up to 1e7 standard deviations from zero."""
    rng = np.random.default_rng(seed)
    K, M = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    N = int(rng.integers(K + 1, 40))
    X = rng.normal(size=(N, M)) + (10.0 ** rng.integers(0, 5) if rng.random() < 0.5 else 0.0)
    return X * 10.0 ** rng.integers(-12, 12, size=M), np.append(np.arange(K), rng.integers(0, K, N - K))


@pytest.mark.parametrize("solver", [LBFGS(), Auto()], ids=["lbfgs", "auto"])
def test_columns_of_mixed_sizes_are_no_obstacle(solver):
    for seed in range(60):
        objective = posed(*mixed(seed), prior=Gaussian())
        found = solver.minimise(objective, np.zeros(objective.shape))
        assert found.status in (Status.GRADIENT, Status.PRECISION), seed
        assert size_at(objective, found) < 1e-7, seed


# What a solver says of its end


def test_no_step_down_is_convergence_only_where_the_gradient_is_small():
    assert at_rest(1e-7, 1e-8) is Status.PRECISION
    assert at_rest(1e-3, 1e-2) is Status.PRECISION
    assert at_rest(10 * SLACK, 1e-8) is Status.STALLED
    assert at_rest(np.nan, 1e-8) is Status.STALLED
    assert Solution(None, Status.PRECISION, 1, 1).is_converged
    assert not Solution(None, Status.STALLED, 1, 1).is_converged


class Uphill:
    """An inverse Hessian of the wrong sign, or of no number."""

    def __init__(self, factor):
        self.factor = factor

    def solve(self, grad):
        return self.factor * grad


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_a_direction_that_leads_nowhere_is_no_convergence(factor):
    objective = Problem(*overlapping()).posterior()
    with np.errstate(invalid="ignore", over="ignore"):
        found = LBFGS().minimise(objective, np.zeros(objective.shape), inverse=Uphill(factor))
    assert found.status is Status.STALLED
    np.testing.assert_array_equal(found.value, 0.0)


@pytest.mark.parametrize("kind", [Newton, LBFGS, GradientDescent])
def test_an_objective_that_no_step_lowers_is_reported_as_such(kind, monkeypatch):
    """The gradient says that there is a way down, the value says that there is none."""
    problem = Problem(*overlapping())
    objective = problem.posterior()
    start = np.zeros(objective.shape)
    value = objective.value_grad(start).value
    for name in ("value_grad", "value_grad_hess"):
        honest = getattr(type(objective), name)

        def lying(self, theta, *, honest=honest, **options):
            here = honest(self, theta, **options)
            return here if not theta.any() else type(here)(value + 1.0, *(getattr(here, f) for f in _parts(here)))

        monkeypatch.setattr(type(objective), name, lying)
    found = kind().minimise(objective, start)
    assert found.status is Status.STALLED
    assert not found.is_converged


def _parts(record):
    return tuple(type(record).__slots__)[1:]


def test_a_model_that_stalled_warns(monkeypatch):
    X, t = overlapping()
    solver = LBFGS()

    class Stalling:
        def minimise(self, objective, start):
            return Solution(start, Status.STALLED, 0, 1)

    assert LogisticRegression(solver=solver).fit(X, t).solution_.is_converged
    with pytest.warns(ConvergenceWarning, match="no step lowers the objective"):
        LogisticRegression(solver=Stalling()).fit(X, t)


# Arguments


@pytest.mark.parametrize("kind", [Newton, LBFGS, Auto, GradientDescent])
@pytest.mark.parametrize("wrong", [{"tol": -1e-3}, {"tol": np.nan}, {"tol": "small"}, {"max_steps": -1}])
def test_a_wrong_argument_is_named(kind, wrong):
    name = next(iter(wrong))
    with pytest.raises(ValueError, match=rf"{kind.__name__}\({name}="):
        kind(**wrong)
    with pytest.raises(ValueError, match="memory"):
        LBFGS(memory=0)
    assert StochasticGradient(tol=0.0).tol == 0.0


# Weights on few rows


@pytest.mark.parametrize("n_live", [12, 100, 5_000])
def test_rows_without_weight_are_not_there(n_live):
    """Half a million rows, a few of which count: the fit is that of those few."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500_000, 5))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    t[:2] = 0, 1
    weight = np.zeros(len(X))
    weight[:n_live] = 1.0
    model = LogisticRegression().fit(X, t, weight)
    few = LogisticRegression().fit(X[:n_live], t[:n_live])
    assert model.solution_.is_converged
    np.testing.assert_allclose(model.coef_, few.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, few.intercept_, atol=1e-6)


def test_a_few_rows_with_most_of_the_weight_are_not_missed():
    """They are in no sample of one in sixteen, so none is taken."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200_000, 12))
    t = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    weight = np.ones(len(X))
    weight[5:9] = 1e9
    objective = posed(X, t, Gaussian(), weight)
    assert objective.sample is None
    assert objective.units.total == pytest.approx(weight.sum(), rel=1e-12)
    assert posed(X, t, Gaussian(), np.full(len(X), 3.0)).sample is not None
    found = Auto().minimise(objective, np.zeros(objective.shape))
    assert found.is_converged
    assert size_at(objective, found) < 1e-7


def test_weights_that_add_up_to_nothing_or_too_much_are_named():
    X, t = overlapping()
    with np.errstate(over="ignore"), pytest.raises(DataError, match="add up to inf"):
        posed(X, t, weight=np.full(len(t), 1e308))


# Square tables: what a Hessian costs, and what it is worth


def tall_or_wide(n, n_features, n_classes=2, decay=0.0):
    """Rows whose principal components fall off like m^-decay."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, n_features)) * np.arange(1, n_features + 1) ** -decay
    X = X @ np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    W = rng.normal(size=(n_classes, n_features)) / X.std() / np.sqrt(n_features)
    return X, (X @ W.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


@pytest.fixture
def ran(monkeypatch):
    """Which minimisers ran, with which limits of steps, and how many steps they took."""
    calls = []
    for kind in (Newton, LBFGS):

        def recorded(self, *args, honest=kind.minimise, **options):
            solution = honest(self, *args, **options)
            calls.append((type(self), self.max_steps, solution.steps))
            return solution

        monkeypatch.setattr(kind, "minimise", recorded)
    return calls


@pytest.mark.parametrize(("n", "n_features"), [(1000, 800), (1000, 1010)])
def test_a_square_table_is_fitted_by_gradients(n, n_features, ran, monkeypatch):
    """Eight Hessians of N P² operations would cost a hundred times as much as all gradients together."""
    monkeypatch.setattr(auto, "GRAM", 1e9)
    objective = posed(*tall_or_wide(n, n_features), prior=Gaussian())
    found = Auto().minimise(objective, np.zeros(objective.shape))
    assert found.status is Status.GRADIENT
    assert [kind for kind, *_ in ran] == [LBFGS]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("n", "n_features"), [(150, 40), (600, 40), (40, 60)])
@pytest.mark.parametrize("decay", [0.0, 2.0])
@pytest.mark.parametrize("patience", [3, 25])
def test_every_chain_of_preconditioners_ends_at_the_optimum(n_classes, n, n_features, decay, patience, monkeypatch):
    for name, value in {"FLOPS": 0, "GRAM": 0, "PATIENCE": patience, "PER_HESSIAN": 10**9}.items():
        monkeypatch.setattr(auto, name, value)
    X, t = tall_or_wide(n, n_features, n_classes, decay)
    objective = posed(X, t, Gaussian(10.0))
    found = Auto(tol=1e-9).minimise(objective, np.zeros(objective.shape))
    assert found.is_converged
    assert size_at(objective, found) < 1e-8
    sure = Newton(tol=1e-11).minimise(objective, np.zeros(objective.shape))
    A, expected = (X @ objective.design.in_user_units(s.value)[0].T for s in (found, sure))
    np.testing.assert_allclose(A - A.mean(axis=0), expected - expected.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("limit", [0, 1, 4, 30, 150])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("paths", [{}, {"FLOPS": 0, "PATIENCE": 3, "PER_HESSIAN": 10**9}], ids=["newton", "chain"])
def test_the_limit_of_steps_is_that_of_all_minimisers_together(limit, n_classes, paths, ran, monkeypatch):
    for name, value in paths.items():
        monkeypatch.setattr(auto, name, value)
    X, t = tall_or_wide(150, 40, n_classes, decay=2.0)
    objective = posed(X, t, Gaussian(30.0))
    found = Auto(tol=1e-9, max_steps=limit).minimise(objective, np.zeros(objective.shape))
    left = limit
    for kind, given, taken in ran:
        assert given == left if kind is Newton else given <= left
        left -= taken
    assert found.steps == limit - left <= limit
    assert found.is_converged or found.steps == limit


def test_columns_of_zeros_more_than_rows():
    for X in (np.zeros((6, 20)), np.full((6, 20), 3.0)):
        model = LogisticRegression().fit(X, [0, 1, 0, 1, 1, 1])
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.intercept_[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_more_sparse_columns_than_rows_with_one_of_them_far_from_zero(offset):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 90)), 3) * (rng.random((60, 90)) < 0.3)
    X[:, 0] = np.round(rng.normal(size=60), 3)
    t = (2 * X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    near = LogisticRegression().fit(X, t)
    X[:, 0] += offset
    far = LogisticRegression().fit(sparse.csr_array(X), t)
    assert far.solution_.is_converged
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)
