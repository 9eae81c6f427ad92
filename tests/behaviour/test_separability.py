"""Separability of constructed and real tables; every direction that is returned is checked on the rows themselves."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import separatrix as sx
from problems import blobs, separable
from separatrix.rows import as_source
from separatrix.separation import separability

COMPLETE, QUASI, OVERLAPPING = "complete", "quasi-complete", "overlapping"


def margins(found, X, t):
    """a_t - max_j a_j of each row, in the user's units."""
    a = X @ found.coef.T + found.intercept
    if a.shape[1] == 1:
        return np.where(t == 1, a[:, 0], -a[:, 0])
    own = a[np.arange(len(t)), t]
    a[np.arange(len(t)), t] = -np.inf
    return own - a.max(axis=1)


def check(X, t, status, weight=None, **options):
    """Check the status, and that the returned direction proves it."""
    t = np.asarray(t)
    found = separability(as_source(X, t, weight), t.max() + 1, **options)
    assert found.status == status
    assert bool(found) == (status != OVERLAPPING)
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    keep = np.ones(len(t), bool) if weight is None else weight > 0
    own = margins(found, X[keep], t[keep])
    rounding = 1e-13 * (np.abs(X) @ np.abs(found.coef).T).max() + 1e-13
    if status == COMPLETE:
        assert own.min() > rounding
        assert found.n_on_plane == 0
    elif status == QUASI:
        assert own.min() >= -rounding
        assert own.max() > rounding
        assert found.n_on_plane > 0
    else:
        assert not found.coef.any()
        assert found.columns == ()
    return found


rng = np.random.default_rng(4)
ONE = np.array([[0.0], [1.0], [2.0], [3.0]])
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
CLOUD = rng.normal(size=(60, 3))
COIN = rng.integers(0, 2, 60)
RARE = np.column_stack([CLOUD, np.arange(60) < 3])  # a dummy that is 1 in three rows ...
RARE_T = np.where(np.arange(60) < 3, 1, COIN)  # ... all of one class
LINE3 = np.arange(9.0)[:, None]
BLOB3 = rng.normal(size=(90, 2)) * 0.3 + np.repeat([[0, 0], [4, 0], [0, 4]], 30, axis=0)
BLOB3_T = np.repeat([0, 1, 2], 30)

CASES = {
    # two classes, one column
    "gap": (ONE, [0, 0, 1, 1], COMPLETE),
    "touching": (np.array([[0.0], [1.0], [1.0], [2.0]]), [0, 0, 1, 1], QUASI),
    "alternating": (ONE, [0, 1, 0, 1], OVERLAPPING),
    "the same rows in both classes": (np.vstack([ONE, ONE]), [0] * 4 + [1] * 4, OVERLAPPING),
    "one row per class": (ONE[:2], [0, 1], COMPLETE),
    "one row twice, both labels": (np.ones((2, 1)), [0, 1], OVERLAPPING),
    # two classes, two columns
    "and": (SQUARE, [0, 0, 0, 1], COMPLETE),
    "exclusive or": (SQUARE, [0, 1, 1, 0], OVERLAPPING),
    "oblique touching": (np.array([[0.0, 2], [1, 1], [2, 0], [1, 1], [2, 2]]), [0, 0, 0, 1, 1], QUASI),
    "overlap on a line, one class beside it": (
        np.array([[0.0, 0], [1, 1], [2, 2], [0, 1], [1, 2]]),
        [0, 1, 0, 1, 1],
        QUASI,
    ),
    "a point inside a triangle": (np.array([[0.0, 0], [4, 0], [0, 4], [1, 1]]), [0, 0, 0, 1], OVERLAPPING),
    # typical separation in logistic regressions
    "a column that is the label": (np.column_stack([CLOUD, COIN]), COIN, COMPLETE),
    "rare dummy": (RARE, RARE_T, QUASI),
    "rare dummy, and its complement": (np.column_stack([RARE, 1 - RARE[:, 3]]), RARE_T, QUASI),
    "no event in one group": (  # as in the endometrial cancer data: no patient with NV = 1 has HG = 0
        np.column_stack([CLOUD[:, :2], (COIN == 1) & (np.arange(60) % 3 == 0)]).astype(float),
        COIN,
        QUASI,
    ),
    "overlap": (CLOUD, COIN, OVERLAPPING),
    # columns without information
    "constant column": (np.column_stack([CLOUD, np.full(60, 7.0)]), COIN, OVERLAPPING),
    "only a constant column": (np.full((4, 1), 3.0), [0, 1, 0, 1], OVERLAPPING),
    "duplicate columns": (np.column_stack([CLOUD, CLOUD]), COIN, OVERLAPPING),
    "collinear, with rounding": (np.column_stack([CLOUD, CLOUD @ [0.1, 0.2, 0.3]]), COIN, OVERLAPPING),
    "a full set of dummies": (np.eye(3)[np.arange(60) % 3], COIN, OVERLAPPING),
    # few rows
    "fewer rows than columns": (rng.normal(size=(10, 40)), np.arange(10) % 2, COMPLETE),
    # three classes
    "three intervals": (LINE3, np.repeat([0, 1, 2], 3), COMPLETE),
    "three intervals out of order": (LINE3, np.repeat([1, 0, 2], 3), COMPLETE),
    "three corners": (BLOB3, BLOB3_T, COMPLETE),
    "three corners, one row between": (np.vstack([BLOB3, BLOB3[:1]]), np.append(BLOB3_T, 1), QUASI),
    "three, two of them alike": (np.vstack([BLOB3, BLOB3[30:60]]), np.append(BLOB3_T, [2] * 30), QUASI),
    "three, touching in a chain": (np.array([[0.0], [1], [1], [2], [2], [3]]), [0, 0, 1, 1, 2, 2], QUASI),
    "three at random": (np.vstack([CLOUD, CLOUD]), rng.integers(0, 3, 120), OVERLAPPING),
    "three, the middle one in two places": (LINE3, [1, 0, 0, 1, 1, 2, 2, 0, 2], OVERLAPPING),
}


@pytest.mark.parametrize("name", CASES)
def test_constructed_cases_in_every_storage(name):
    X, t, status = CASES[name]
    check(np.asarray(X, dtype=np.float64), t, status)
    check(sparse.csr_array(X), t, status)
    if name != "collinear, with rounding":  # single precision is not collinear
        check(np.asarray(X, dtype=np.float32), t, status)


def test_rows_of_weight_zero_do_not_count():
    X, t = np.vstack([ONE, [[0.5]], [[9.0]]]), np.array([0, 0, 1, 1, 1, 0])
    check(X, t, OVERLAPPING)
    check(X, t, COMPLETE, weight=np.array([1.0, 2.0, 0.5, 1.0, 0.0, 0.0]))
    check(X, t, COMPLETE, weight=np.array([1e-9, 2.0, 0.5, 1e9, 0.0, 0.0]))  # other weights make no difference


def test_without_an_intercept_planes_pass_through_the_origin():
    check(ONE + 1, [0, 0, 1, 1], OVERLAPPING, fit_intercept=False)
    check(ONE - 1.5, [0, 0, 1, 1], COMPLETE, fit_intercept=False)
    check(ONE - 1, [0, 0, 1, 1], QUASI, fit_intercept=False)  # one row is the origin itself
    constant = np.column_stack([ONE, np.full(4, 5.0)])
    check(constant, [0, 0, 1, 1], COMPLETE, fit_intercept=False)  # a constant column is an intercept
    found = check(BLOB3 - 1, BLOB3_T, COMPLETE, fit_intercept=False)
    assert not found.intercept.any()


@pytest.mark.parametrize(
    ("load", "status"), [(load_iris, QUASI), (load_wine, COMPLETE), (load_breast_cancer, COMPLETE)]
)
def test_real_tables(load, status):
    check(*load(return_X_y=True), status)  # iris: setosa apart, the other two overlap


def test_the_overlap_of_a_large_table_is_found_in_a_few_passes(rng):
    X = rng.normal(size=(100_000, 20))
    t = (X @ rng.normal(size=20) + rng.logistic(size=100_000) > 0).astype(int)
    found = check(X, t, OVERLAPPING)
    assert found.n_passes <= 6
    assert found.n_cuts < 500


def test_a_narrow_gap_in_a_large_table_is_found(rng):
    X = rng.normal(size=(50_000, 10))
    assert check(X, (X @ rng.normal(size=10) > 0).astype(int), COMPLETE).n_passes <= 30


def test_wide_tables(rng):
    X = rng.normal(size=(80, 3000))
    assert check(X, rng.integers(0, 2, 80), COMPLETE).n_passes <= 5
    check(np.vstack([X, X[:1]]), np.append(np.arange(80) % 2, 1), QUASI)  # the first row has both labels
    check(rng.normal(size=(1500, 420)), rng.integers(0, 2, 1500), OVERLAPPING)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_numbers_near_the_limits_of_floating_point(size):
    found = separability(as_source(ONE * size, np.array([0, 0, 1, 1])), 2)
    assert found.status == COMPLETE
    a = ONE[:, 0] * size * found.coef[0, 0] + found.intercept[0]
    assert ((a > 0) == [False, False, True, True]).all()
    assert separability(as_source(ONE * size, np.array([0, 1, 0, 1])), 2).status == OVERLAPPING


def wide_bumps(n_centres, width):
    """Two clouds that overlap, through radial functions so wide that columns agree to many digits."""
    rng = np.random.default_rng(0)
    t = rng.integers(0, 2, 200)
    x = rng.normal(size=(200, 2)) + np.where(t == 1, 0.5, -0.5)[:, None]
    return np.exp(-0.5 * ((x[:, None] - x[:n_centres]) ** 2).sum(axis=-1) / width**2), t


@pytest.mark.parametrize(("n_centres", "width"), [(60, 3), (100, 10), (200, 100)])
def test_nearly_collinear_columns_are_decided(n_centres, width):
    """Without a limit on its steps, HiGHS does not stop here."""
    X, t = wide_bumps(n_centres, width)
    assert separability(as_source(X, t), 2).status == OVERLAPPING


def test_ten_classes_are_decided_without_a_linear_program():
    assert separability(as_source(*load_digits(return_X_y=True)), 10).status == COMPLETE


def factors(seed, *, drop, pure, n=400):
    """Two factors (5 and 3 levels) as dummies, and a number; the rows of the ``pure`` levels all have label 0."""
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, 5, n), rng.integers(0, 3, n)
    y = (rng.random(n) < 0.4).astype(int)
    for column, level in pure:
        y[(g if column == "g" else h) == level] = 0
    tables = [np.eye(5)[g][:, drop:], np.eye(3)[h][:, drop:], rng.normal(size=(n, 1))]
    names = [f"g{k}" for k in range(drop, 5)] + [f"h{k}" for k in range(drop, 3)] + ["z"]
    return np.hstack(tables), y, names


@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("pure", [[("g", 4)], [("g", 2)], [("h", 1)], [("g", 1), ("g", 4)], [("g", 3), ("h", 2)]])
def test_only_the_levels_of_a_factor_at_fault_are_named(drop, pure):
    X, y, names = factors(0, drop=drop, pure=pure)
    found = separability(as_source(X, y), 2)
    assert found.status == QUASI
    assert tuple(names[int(column[1:])] for column in found.columns) == tuple(f"{c}{k}" for c, k in pure)
    a = X @ found.coef[0] + found.intercept[0]
    assert (np.where(y == 1, a, -a) >= -1e-9).all()
    at_fault = X[:, [names.index(f"{c}{k}") for c, k in pure]].any(axis=1)
    assert (a[at_fault] < -1e-3).all()
    assert found.n_on_plane == (~at_fault).sum()


def test_of_a_column_and_its_complement_the_one_without_an_intercept_is_named():
    rng = np.random.default_rng(0)
    rare = np.arange(60) < 4
    y = np.where(rare, 1, rng.integers(0, 2, 60))
    found = separability(as_source(np.column_stack([rng.normal(size=60), 1.0 - rare, rare]), y), 2)
    assert found.columns == ("x2",)


# The report of `sx.is_separable`


def test_the_report_is_a_sentence_with_a_remedy():
    X, y = separable(40)
    report = sx.is_separable(X, np.where(y, "sick", "well"))
    assert report
    assert "separates the classes completely, along 'x" in str(report)
    assert "alpha > 0" in str(report)
    overlapping = sx.is_separable(*blobs(60, distance=0.1))
    assert not overlapping
    assert "overlap" in str(overlapping)
    touching = sx.is_separable([[0.0], [1.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b", "b"])
    assert (touching.status, touching.n_on_plane) == (QUASI, 2)
    assert "2 of 5 rows" in str(touching)


def test_the_margin_of_a_report_is_that_of_the_widest_plane():
    X, y = separable(60, gap=0.3)
    report = sx.is_separable(X, y)
    assert report.margin >= 0.3 - 1e-9  # the margin of the generated data
    assert report.novikoff_bound >= (report.novikoff.radius / report.margin) ** 2 * (1 - 1e-9)


def test_reports_are_printed_in_one_line_and_compared_by_identity():
    X, y = separable(40)
    report, again = sx.is_separable(X, y), sx.is_separable(X, y)
    assert len({report, again}) == 2
    assert repr(report) == "SeparabilityReport(status='complete', classes=[0, 1], columns=['x2'])"
    assert len(repr(sx.is_separable(np.eye(60), np.arange(60) % 2))) < 200
