"""Separation as a fit reports it: a table of constructed cases, whose status is known by construction."""

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.exceptions import CollinearWarning, SeparationWarning
from separatrix.separation import certificate, directions, program


class Case(NamedTuple):
    """Rows, labels and their status; ``columns`` are those of every best separating direction, if unique."""

    X: Any
    y: Any
    status: str
    columns: tuple[str, ...] | None = None
    weight: Any = None
    fit_intercept: bool = True
    collinear: bool = False


def rows(n, n_features=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features))


def paired(X, n_classes=2):
    """Every row once in each class, so that the classes overlap in every direction."""
    return np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), len(X))


def plane(n, n_features, gap, seed=0):
    """Rows on both sides of a plane."""
    X = rows(n, n_features, seed)
    w = np.ones(n_features) / np.sqrt(n_features)
    y = (X @ w > 0).astype(int)
    return X + np.outer((2 * y - 1) * gap / 2, w), y


def with_column(X, y, values_of):
    return np.column_stack([X, values_of(y)]), y


def dummy(base, members):
    """Rows that overlap, with a column that is 1 in a few more rows, whose labels are given."""
    X, y = base
    more = rows(len(members), X.shape[1], seed=7)
    table = np.zeros((len(X) + len(members), X.shape[1] + 1))
    table[: len(X), :-1], table[len(X) :, :-1], table[len(X) :, -1] = X, more, 1.0
    return table, np.append(y, members)


def clusters(n_classes, spread, n=20):
    """Classes around the corners of a simplex."""
    t = np.arange(n * n_classes) % n_classes
    return 10.0 * np.eye(n_classes)[t] + spread * rows(len(t), n_classes), t


def one_class_apart(n_classes):
    """Every row once in each class, except for a column that separates class 0 from the others."""
    X, y = paired(rows(15), n_classes)
    return with_column(X, y, lambda y: np.where(y == 0, 1.0, -1.0))


def levels(labels):
    """All levels of a factor as columns, which sum to one, and a number; ``labels`` of the rows of the last level."""
    X, y = paired(np.column_stack([np.eye(3)[np.arange(30) % 3], rows(30, 1)]))
    keep = X[:, 2] == 0
    last = np.column_stack([np.tile([0.0, 0.0, 1.0], (len(labels), 1)), rows(len(labels), 1, 4)])
    return np.vstack([X[keep], last]), np.append(y[keep], labels)


def line(x, y):
    return np.asarray(x, dtype=float)[:, None], np.asarray(y)


def long_with_rare_dummy(labels):
    """Many rows, and a column that is 1 in three of them, which samples of the rows miss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 100))
    y = (X[:, :5].sum(axis=1) + rng.logistic(size=len(X)) > 0).astype(int)
    X[:, 7] = 0.0
    X[[100, 5_000, 15_000], 7] = 1.0
    y[[100, 5_000, 15_000]] = labels
    return X, y


SCALES = 10.0 ** np.array([-6, 6, 3])
PAIRS, LABELS = paired(rows(25))
PAIRS3, LABELS3 = paired(rows(20), 3)
NEAR = plane(200, 20, 0.1)
TRIPLE = dummy((PAIRS, LABELS), [1, 1, 1])
BOTH = dummy((PAIRS, LABELS), [1, 0, 1])
OUTLIER = np.append(plane(60, 3, 0.5)[0], [[-9.0, -9.0, -9.0]], axis=0), np.append(plane(60, 3, 0.5)[1], 1)

CASES = {
    # complete
    "two rows": Case(*line([0, 1], [0, 1]), "complete", ("x0",)),
    "a plane in five dimensions": Case(*plane(80, 5, 0.5), "complete"),
    "a gap of a millionth": Case(*line([0, 1, 1 + 1e-6, 2], [0, 0, 1, 1]), "complete", ("x0",)),
    "a separating column": Case(*with_column(PAIRS, LABELS, lambda y: 2.0 * y), "complete", ("x2",)),
    "twin columns": Case(np.repeat(plane(40, 1, 1.0)[0], 2, axis=1), plane(40, 1, 1.0)[1], "complete"),
    "through the origin": Case(*plane(50, 4, 0.3), "complete", fit_intercept=False),
    "an outlier of no weight": Case(*OUTLIER, "complete", weight=np.append(np.ones(60), 0.0)),
    "far from zero": Case(plane(60, 3, 0.5)[0] + 1e7, plane(60, 3, 0.5)[1], "complete"),
    "columns of any size": Case(plane(60, 3, 0.5)[0] * SCALES, plane(60, 3, 0.5)[1], "complete"),
    "sparse": Case(sparse.csr_array(with_column(PAIRS, LABELS, lambda y: 1.0 * y)[0]), LABELS, "complete", ("x2",)),
    "fewer rows than columns": Case(rows(12, 40), np.arange(12) % 2, "complete"),
    "almost collinear": Case(
        np.column_stack([rows(40, 1, 5)[:, 0], rows(40, 1, 5)[:, 0] + 1e-7 * np.repeat([-1.0, 1.0], 20)]),
        np.repeat([0, 1], 20),
        "complete",
        ("x0", "x1"),
    ),
    "three clusters": Case(*clusters(3, 0.5), "complete"),
    "four classes, fewer rows than columns": Case(rows(12, 30), np.arange(12) % 4, "complete"),
    # quasi-complete
    "a rare dummy of one class": Case(*TRIPLE, "quasi-complete", ("x2",)),
    "both labels at the boundary": Case(*line([0, 1, 2, 2, 3, 4], [0, 0, 0, 1, 1, 1]), "quasi-complete", ("x0",)),
    "a dummy whose other class has no weight": Case(
        *BOTH, "quasi-complete", ("x2",), weight=np.append(np.ones(len(PAIRS)), [1.0, 0.0, 1.0])
    ),
    "a dummy, far from zero": Case(TRIPLE[0] + [1e7, -1e7, 0.0], TRIPLE[1], "quasi-complete", ("x2",)),
    "a dummy, sparse": Case(sparse.csr_array(TRIPLE[0]), TRIPLE[1], "quasi-complete", ("x2",)),
    "a level of a factor with all its levels": Case(*levels([1, 1, 1, 1]), "quasi-complete", ("x2",)),
    "three rows of 20 000": Case(*long_with_rare_dummy([1, 1, 1]), "quasi-complete", ("x7",)),
    "one class of three apart": Case(*one_class_apart(3), "quasi-complete", ("x2",)),
    "a rare dummy of one class of three": Case(*dummy((PAIRS3, LABELS3), [2, 2]), "quasi-complete", ("x2",)),
    "one class of three apart, sparse, no bias": Case(
        sparse.csr_array(one_class_apart(3)[0]), one_class_apart(3)[1], "quasi-complete", ("x2",), fit_intercept=False
    ),
    # overlapping
    "the same rows in both classes": Case(PAIRS, LABELS, "overlapping"),
    "a single outlier": Case(*OUTLIER, "overlapping"),
    "an overlap of a millionth": Case(*line([0, 1, 1 - 1e-6, 2], [0, 0, 1, 1]), "overlapping"),
    "one row beyond the plane": Case(
        np.vstack([NEAR[0], NEAR[0][NEAR[1] == 1].mean(axis=0)]), np.append(NEAR[1], 0), "overlapping"
    ),
    "a rare dummy of both classes": Case(*BOTH, "overlapping"),
    "weights of any size": Case(*BOTH, "overlapping", weight=10.0 ** np.linspace(-4, 4, len(BOTH[1]))),
    "a bias would separate": Case(*line([1, 2, 3, 4], [0, 0, 1, 1]), "overlapping", fit_intercept=False),
    "twin columns that overlap": Case(np.repeat(PAIRS, 2, axis=1), LABELS, "overlapping", collinear=True),
    "a constant column": Case(np.column_stack([PAIRS, np.full(50, 3.7)]), LABELS, "overlapping", collinear=True),
    "all levels of a factor": Case(*levels([1, 0, 1, 0]), "overlapping", collinear=True),
    "paired rows, fewer than columns": Case(*paired(rows(6, 30)), "overlapping", collinear=True),
    "three rows of 20 000 in both classes": Case(*long_with_rare_dummy([1, 0, 1]), "overlapping"),
    "the same rows in three classes": Case(PAIRS3, LABELS3, "overlapping"),
    "a rare dummy of three classes": Case(*dummy((PAIRS3, LABELS3), [0, 1, 2]), "overlapping"),
    "three classes, twin columns": Case(np.repeat(PAIRS3, 2, axis=1), LABELS3, "overlapping", collinear=True),
    "three classes, sparse, far from zero": Case(sparse.csr_array(PAIRS3 + 50.0), LABELS3, "overlapping"),
}

every_case = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "three rows of 20 000 in both classes")) for n in CASES]
)


def caught(fit):
    """The result of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        return fit(), found


def fitted(case, **options):
    """The model, and the warnings of its fit."""
    model = sx.LogisticRegression(fit_intercept=case.fit_intercept, **options)
    return caught(lambda: model.fit(case.X, case.y, sample_weight=case.weight))


@cache
def flat_fit(name):
    return fitted(CASES[name], alpha=0.0)


@every_case
def test_without_a_prior_the_status_is_correct_and_the_warning_names_the_columns(name):
    case = CASES[name]
    model, caught = flat_fit(name)
    found = model.separation_
    assert found.status == case.status
    expected = [SeparationWarning] if found else [CollinearWarning] if case.collinear else []
    assert [warning.category for warning in caught] == expected
    if case.columns is not None:
        assert found.columns == case.columns
    if found:
        words = [*map(repr, found.columns[:6]), f"status {case.status!r}", "alpha > 0"]
        assert [word for word in words if word not in str(caught[0].message)] == []
        assert caught[0].filename == __file__


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.status != "overlapping"])
def test_the_direction_separates(name):
    case = CASES[name]
    found = flat_fit(name)[0].separation_
    X = case.X.toarray() if sparse.issparse(case.X) else np.asarray(case.X)
    t = np.unique(case.y, return_inverse=True)[1]
    keep = np.ones(len(t), dtype=bool) if case.weight is None else case.weight > 0
    X, t = X[keep], t[keep]
    shift = X.mean(axis=0)  # about the mean: an intercept at zero of a plane at 1e7 has few digits left
    A = (X - shift) @ found.coef.T + (found.intercept + shift @ found.coef.T)
    A = np.column_stack([np.zeros(len(X)), A]) if A.shape[1] == 1 else A
    lead = A[np.arange(len(t)), t][:, None] - A
    rivals = lead[np.arange(A.shape[1]) != t[:, None]]
    slack = 1e-8 * np.abs(A).max()
    assert rivals.min() > (0 if case.status == "complete" else -slack)
    assert rivals.max() > slack


@every_case
def test_under_a_prior_the_status_is_correct_or_unknown_and_there_is_no_warning(name):
    case = CASES[name]
    for alpha in (1.0, 1e-8):
        model, caught = fitted(case, alpha=alpha)
        assert model.separation_.status in (case.status, "unknown")
        assert caught == []


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient", "stochastic"])
@pytest.mark.parametrize(
    "name",
    ["a separating column", "a rare dummy of one class", "a rare dummy of both classes", "one class of three apart"],
)
def test_every_solver_gives_the_same_status(name, solver):
    case = CASES[name]
    model, caught = fitted(case, alpha=0.0, solver=solver, max_steps=200)
    assert model.separation_.status == case.status
    assert [w.category for w in caught] == [SeparationWarning] * bool(model.separation_)


def test_a_tiny_column_is_not_hidden_by_its_prior():
    """The curvature of the likelihood is 1e-20 and that of the prior is 1, so their difference is rounding error."""
    X, y = with_column(PAIRS, LABELS, lambda y: 1e-10 * y)
    assert fitted(Case(X, y, ""), alpha=1.0)[0].separation_.status in ("complete", "unknown")


@pytest.mark.parametrize(("seed", "fit_intercept"), [(21, False), (36, True), (111, False), (126, True), (173, True)])
def test_a_program_that_presolve_calls_infeasible_is_solved_otherwise(seed, fit_intercept):
    """Columns that agree to seven digits or more."""
    rng = np.random.default_rng(seed)
    n = rng.integers(4, 12)
    x = rng.integers(-2, 3, n).astype(float)
    X = np.column_stack([x, x + 10.0 ** -rng.integers(7, 11) * rng.integers(-1, 2, n)]) * 10.0 ** rng.integers(-4, 5, 2)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    model, _ = fitted(Case(X, y, "", fit_intercept=fit_intercept), alpha=0.0)
    assert model.separation_.status != "unknown"


def test_with_a_flat_prior_on_one_column_only_that_column_can_separate():
    X, y = TRIPLE
    with pytest.warns(SeparationWarning, match="'x2'"):
        sx.LogisticRegression(prior=sx.Gaussian(scale=[1.0, 1.0, np.inf])).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_collinear_columns_are_named_once_whatever_the_number_of_classes(n_classes):
    X, y = paired(rows(40, 4), n_classes)
    X = np.column_stack([X, X[:, 0] + 2 * X[:, 1], np.full(len(X), 7.0), -3 * X[:, 2]])
    with pytest.warns(CollinearWarning) as caught:
        model = sx.LogisticRegression(alpha=0.0).fit(X, y)
    said = str(caught[0].message).split(". ")[0].removeprefix("Collinear columns: ").split("; ")
    assert said[0] == "'x5' is constant"
    assert len(said) == 3
    assert any(clause in ("'x2' is a linear function of 'x6'", "'x6' is a linear function of 'x2'") for clause in said)
    assert any("is a combination of" in clause and clause.count("'x") == 3 for clause in said)
    assert np.abs(model.coef_[:, 5]).max() == 0


def test_many_columns_are_abbreviated():
    with pytest.warns(SeparationWarning, match="and .* more"):
        sx.LogisticRegression(alpha=0.0).fit(rows(20, 40), np.arange(20) % 2)


def test_an_unknown_status_is_a_warning_without_a_prior_only(monkeypatch):
    monkeypatch.setattr(directions, "MAX_STEPS_PER_SIDE", 0)  # neither programs ...
    monkeypatch.setattr(program, "MAX_SECONDS", -np.inf)  # ... nor Newton's method find an answer
    touching, y = np.array([[0.0], [1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    with pytest.warns(SeparationWarning, match=r"could not be decided.*alpha > 0"):
        model = sx.LogisticRegression(alpha=0.0, tol=1e-4).fit(touching, y)
    assert model.separation_.status == "unknown"
    assert sx.LogisticRegression(alpha=1.0).fit(touching, y).separation_.status == "unknown"
    apart = sx.LogisticRegression(alpha=1.0).fit(*plane(40, 2, 1.0))
    assert apart.separation_.status == "complete"  # as the weights show by themselves


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_radial_functions_of_several_widths_are_decided(alpha):
    """In their columns the simplex method cycles: it takes minutes, and does not end."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) + np.where(y == 1, 0.5, -0.5)[:, None]
    model, _ = fitted(Case(X, y, ""), alpha=alpha, basis=sx.basis.MultiScaleRBF(5, 3), tol=1e-5)
    assert model.separation_.status == "overlapping"


# Soft targets and counts

RNG = np.random.default_rng(0)
GROUP = np.repeat([0.0, 1.0], 50)
NOISE = RNG.normal(size=(100, 2))


def separated(fit):
    """The model and the only warning of its fit."""
    model, found = caught(fit)
    assert [w.category for w in found] == [SeparationWarning]
    assert found[0].filename == __file__
    return model, str(found[0].message)


def test_counts_that_are_zero_in_a_whole_group():
    y = np.where(GROUP == 1, 0, RNG.poisson(3, 100))
    table = np.column_stack([NOISE, GROUP])
    _, message = separated(lambda: sx.GeneralizedLinearModel("poisson").fit(table, y))
    assert all(words in message for words in ("Every count", "50 rows", "'x2'"))
    exposure = RNG.uniform(0.5, 2, 100)
    separated(lambda: sx.GeneralizedLinearModel("poisson").fit(table, y, exposure=exposure))
    y[-1] = 1
    assert caught(lambda: sx.GeneralizedLinearModel("poisson").fit(table, y))[1] == []
    assert caught(lambda: sx.GeneralizedLinearModel("poisson", alpha=1.0).fit(table, y * GROUP))[1] == []


def test_successes_and_failures_of_which_a_group_has_no_failure():
    x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[5, 5], [4, 6], [10, 0], [8, 0]])
    for link in ("logit", "probit", "cloglog"):
        _, message = separated(lambda link=link: sx.GeneralizedLinearModel("binomial", link).fit(x, y))
        assert "2 rows that lie on it), along 'x0'" in message
    assert caught(lambda: sx.GeneralizedLinearModel("binomial").fit(x, y + 1))[1] == []


@pytest.mark.parametrize("kind", [sx.LogisticRegression, sx.ProbitRegression])
def test_soft_targets_of_probability_one_in_a_whole_group(kind):
    p = np.where(GROUP == 1, 1.0, 0.3)
    table = np.column_stack([NOISE, GROUP])
    model, message = separated(lambda: kind(alpha=0.0).fit(table, np.column_stack([1 - p, p])))
    assert (model.separation_.status, model.separation_.columns) == ("quasi-complete", ("x2",))
    assert "50 rows that lie on it" in message
    p[-1] = 0.99
    model, found = caught(lambda: kind(alpha=0.0).fit(table, np.column_stack([1 - p, p])))
    assert (model.separation_.status, found) == ("overlapping", [])


def test_soft_targets_of_three_classes():
    """In one group only the first two classes occur, mixed; in the other, all."""
    T = RNG.dirichlet(np.ones(3), 100)
    T[GROUP == 1, 2] = 0.0
    T /= T.sum(axis=1, keepdims=True)
    model, _ = separated(lambda: sx.LogisticRegression(alpha=0.0).fit(np.column_stack([NOISE, GROUP]), T))
    assert (model.separation_.status, model.separation_.columns) == ("quasi-complete", ("x2",))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("dtype", [float, int, bool])
def test_a_table_of_zeros_and_ones_is_labels(K, dtype):
    t = RNG.integers(0, K, 100)
    for alpha in (0.0, 1.0):
        hard = sx.LogisticRegression(alpha=alpha).fit(NOISE, t)
        model = sx.LogisticRegression(alpha=alpha).fit(NOISE, np.eye(K)[t].astype(dtype))
        np.testing.assert_array_equal(model.coef_, hard.coef_)
        assert model.separation_.status == hard.separation_.status == "overlapping"
    table = np.column_stack([NOISE, t])
    model, _ = separated(lambda: sx.LogisticRegression(alpha=0.0).fit(table, np.eye(K)[t]))
    assert model.separation_.status == "complete"


def test_a_table_of_labels_keeps_its_class_names_even_without_rows():
    t = np.array([2, 0])[RNG.integers(0, 2, 100)]
    y = pd.DataFrame(np.eye(3)[t], columns=["zebra", "newt", "ape"])
    model = sx.LogisticRegression().fit(NOISE + t[:, None], y)
    assert model.classes_.tolist() == ["zebra", "newt", "ape"]
    assert set(model.predict(NOISE + t[:, None])) == {"zebra", "ape"}
    overlapping = NOISE[np.arange(100) % 50]
    found, message = separated(
        lambda: sx.LogisticRegression(alpha=0.0).fit(overlapping, np.eye(3)[(np.arange(100) >= 50) * 2])
    )
    assert found.separation_.columns == ()
    assert "along the bias" in message  # of the class without rows


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_costly_proof_of_overlap_is_left_out_if_every_weight_of_k_classes_has_a_prior(alpha, rng, monkeypatch):
    X, y = rng.normal(size=(3000, 80)), rng.integers(3, size=3000)
    model = sx.LogisticRegression(alpha, solver="lbfgs")  # which has no Hessian for a proof
    assert model.fit(X, y).separation_.status == "overlapping"
    monkeypatch.setattr(certificate, "MAX_PROOF_OPERATIONS", 0)
    assert model.fit(X, y).separation_.status == ("unknown" if alpha else "overlapping")
