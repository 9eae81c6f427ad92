"""Results agree with scikit-learn and SciPy if they minimise the same objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg, sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.linear_model import RidgeClassifier

import separatrix as sx
from problems import blobs
from separatrix.exceptions import CollinearWarning, ConvergenceWarning
from separatrix.solvers import conjugate_gradients


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_classifier(n_classes, alpha, fit_intercept, weighted, rng):
    X, y = blobs(200, n_classes=n_classes)
    X += 3.0
    weight = rng.random(200) + 0.1 if weighted else None
    ours = sx.LeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept)
    ours.fit(X, y, sample_weight=weight)
    theirs = RidgeClassifier(alpha=alpha, fit_intercept=fit_intercept, solver="cholesky")
    theirs.fit(X, y, sample_weight=weight)
    # scikit-learn codes a class as +1 and the rest as -1: twice our indicator minus the regression on 1 = Σ_k t_k.
    W = ours.coef_ if n_classes == 2 else 2 * ours.coef_ - ours.coef_.sum(axis=0)
    assert_allclose(W, np.atleast_2d(theirs.coef_), rtol=1e-7, atol=1e-9)
    if fit_intercept:
        assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("weighted", [True, False])
def test_wide_rows_give_the_minimum_norm_interpolation(weighted, rng):
    X, y = rng.normal(size=(20, 60)), np.arange(20) % 3
    weight = rng.random(20) + 0.5 if weighted else np.ones(20)
    model = sx.LeastSquaresClassifier().fit(X, y, sample_weight=weight)
    assert_allclose(model.outputs(X), np.eye(3)[y], atol=1e-10)
    # The norm is the least in units of each column's standard deviation.
    m = weight @ X / weight.sum()
    sd = np.sqrt(weight @ (X - m) ** 2)
    T = np.eye(3)[y] - weight @ np.eye(3)[y] / weight.sum()
    root = np.sqrt(weight)[:, None]
    W = np.linalg.lstsq(root * (X - m) / sd, root * T, rcond=None)[0] / sd[:, None]
    assert_allclose(model.coef_, W.T, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [0.5, 20.0])
def test_wide_ridge_equals_the_full_normal_equations(storage, alpha, rng):
    X, y = rng.normal(size=(15, 40)), np.arange(15) % 2
    model = sx.LeastSquaresClassifier(alpha=alpha).fit(storage(X), y)
    Xc, t = X - X.mean(axis=0), 2.0 * y - 1
    w = np.linalg.solve(Xc.T @ Xc + alpha * np.eye(40), Xc.T @ (t - t.mean()))
    assert_allclose(model.coef_[0], w, rtol=1e-8, atol=1e-10)


@pytest.fixture
def few_columns_are_many(monkeypatch):
    monkeypatch.setattr("separatrix.rules.least_squares.MIN_SPARSE_COLUMNS", 30)
    monkeypatch.setattr("separatrix.rules.least_squares.OPERATIONS_PER_SPARSE_ENTRY", 0.01)
    monkeypatch.setattr("separatrix.rules.least_squares.FEW_OPERATIONS", 0.0)


def sparse_rows(rng, n_rows, n_classes=2, n_columns=60):
    X = sparse.random_array((n_rows, n_columns), density=0.1, rng=rng, format="csr")
    X.data = X.data * (1 + X.indices % 7)
    A = X @ rng.normal(size=(n_columns, n_classes))
    return X, (A + A.std() * rng.gumbel(size=A.shape)).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n_rows", "alpha"), [(500, 0.0), (500, 1.0), (500, 1e-6), (40, 1.0)])
@pytest.mark.usefixtures("few_columns_are_many")
def test_sparse_rows_of_many_columns_solve_the_normal_equations(n_classes, fit_intercept, n_rows, alpha, rng):
    X, y = sparse_rows(rng, n_rows, n_classes)
    weight = rng.random(n_rows) + 0.1
    model = sx.LeastSquaresClassifier(alpha=alpha, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    assert 5 < model.n_passes_ < 100  # conjugate gradients
    Phi = np.column_stack([X.toarray(), np.ones(n_rows)])[:, : X.shape[1] + fit_intercept]
    A = Phi.T @ (weight[:, None] * Phi) + np.diag([alpha] * X.shape[1] + [0.0] * fit_intercept)
    theta = linalg.solve(A, Phi.T @ (weight[:, None] * np.eye(n_classes)[y])).T
    W = model.solution_.value.W
    assert_allclose(W, theta[:, : X.shape[1]], atol=1e-7 * np.abs(W).max())
    if fit_intercept:
        assert_allclose(model.solution_.value.w0, theta[:, -1], rtol=1e-7)
        assert_allclose(model.outputs(X).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.usefixtures("few_columns_are_many")
@pytest.mark.parametrize("alpha", [0.0, 1e-9])
def test_sparse_rows_with_collinear_columns_give_the_answer_of_dense_rows(alpha, rng):
    X, y = sparse_rows(rng, 400)
    X = sparse.csr_array(sparse.hstack([X, 10 * X[:, :3] + X[:, 3:6]]))
    sparse_model, dense_model = (sx.LeastSquaresClassifier(alpha=alpha) for _ in range(2))
    if alpha == 0:
        with pytest.warns(CollinearWarning, match="is a combination of"):
            sparse_model.fit(X, y)
        with pytest.warns(CollinearWarning, match="is a combination of"):
            dense_model.fit(X.toarray(), y)
    else:
        sparse_model.fit(X, y)
        dense_model.fit(X.toarray(), y)
    assert_allclose(sparse_model.coef_, dense_model.coef_, atol=1e-8)


@pytest.mark.usefixtures("few_columns_are_many")
@pytest.mark.parametrize("twin", range(1, 9))
def test_a_sparse_column_that_is_twice_in_the_table_is_found(twin, rng):
    X, y = sparse_rows(rng, 400)
    X = sparse.csr_array(sparse.hstack([X[:, :twin], X[:, :1], X[:, twin:]]))
    with pytest.warns(CollinearWarning, match=f"'x{twin}'|'x0'"):
        sx.LeastSquaresClassifier().fit(X, y)


@pytest.mark.usefixtures("few_columns_are_many")
def test_constant_columns_of_sparse_rows_are_named(rng):
    X, y = sparse_rows(rng, 400)
    X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((400, 1))]))
    with pytest.warns(CollinearWarning, match="'x60' is constant"):
        model = sx.LeastSquaresClassifier().fit(X, y)
    assert model.n_passes_ > 5
    assert model.coef_[0, -1] == 0
    assert_allclose(model.coef_[:, :-1], sx.LeastSquaresClassifier().fit(X[:, :-1].toarray(), y).coef_, atol=1e-8)


@pytest.mark.usefixtures("few_columns_are_many")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_fewer_sparse_rows_than_columns_give_the_solution_of_minimum_norm(n_classes, fit_intercept, rng):
    X, y = sparse_rows(rng, 45, n_classes)
    model = sx.LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y)
    assert model.n_passes_ > 5  # conjugate gradients
    Phi = X.toarray() - (X.toarray().mean(axis=0) if fit_intercept else 0.0)
    T = np.eye(n_classes)[y] - (np.eye(n_classes)[y].mean(axis=0) if fit_intercept else 0.0)
    unit = np.sqrt((Phi**2).mean(axis=0))
    expected = linalg.pinv(np.divide(Phi, unit, out=np.zeros_like(Phi), where=unit > 0)) @ T
    assert_allclose(model.solution_.value.W * unit, expected.T, atol=1e-6 * np.abs(expected).max())


@pytest.mark.usefixtures("few_columns_are_many")
def test_large_sparse_tables_keep_the_iterate_if_no_dense_factor_is_affordable(rng, monkeypatch):
    monkeypatch.setattr("separatrix.rules.least_squares.MANY_OPERATIONS", 0.0)
    X, y = sparse_rows(rng, 400)
    X = sparse.csr_array(sparse.hstack([X, 10 * X[:, :3] + X[:, 3:6]]))
    with pytest.warns(CollinearWarning, match="Some of the 63 columns are collinear"):
        model = sx.LeastSquaresClassifier().fit(X, y)
    with pytest.warns(CollinearWarning):
        dense = sx.LeastSquaresClassifier().fit(X.toarray(), y)
    assert_allclose(model.decision_function(X), dense.decision_function(X), atol=1e-6)


@pytest.mark.usefixtures("few_columns_are_many")
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_too_few_steps_on_a_large_sparse_table_give_a_warning(alpha, rng, monkeypatch):
    monkeypatch.setattr("separatrix.rules.least_squares.MANY_OPERATIONS", 0.0)
    monkeypatch.setattr("separatrix.rules.least_squares.OPERATIONS_PER_SPARSE_ENTRY", 10.0)
    X, y = sparse_rows(rng, 400)
    with pytest.warns(ConvergenceWarning, match=r"limit of steps .* Set a larger alpha, or drop columns"):
        model = sx.LeastSquaresClassifier(alpha=alpha).fit(X, y)
    assert not model.solution_.is_converged


def test_conjugate_gradients_find_the_solution_of_minimum_norm(rng):
    F, scale = rng.normal(size=(7, 12)), 10.0 ** rng.integers(-3, 4, 12)
    F *= scale
    A, B = F.T @ F, (F.T @ rng.normal(size=(7, 3))).T
    unit = np.sqrt(np.diag(A))
    found = conjugate_gradients(lambda V: V @ A, B, np.diag(A), tol=np.full(3, 1e-13), max_steps=100)
    assert found.is_converged
    expected = linalg.pinv(A / np.outer(unit, unit), rtol=1e-10) @ (B / unit).T
    assert_allclose(found.value * unit, expected.T, rtol=1e-7, atol=1e-9)
    stopped = conjugate_gradients(lambda V: V @ A, B, np.diag(A), tol=np.full(3, 1e-13), max_steps=2)
    assert not stopped.is_converged


def test_wide_fisher_with_shrinkage_equals_the_full_matrix(rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 2
    X[y == 1, :5] += 1.0
    model = sx.FisherDiscriminant(shrinkage=0.2).fit(X, y)
    Xc = X - np.stack([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    S = Xc.T @ Xc / 20
    S = 0.8 * S + 0.2 * np.diag(np.diag(S))
    w = np.linalg.solve(S, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    assert_allclose(model.coef_[0], w, rtol=1e-8, atol=1e-10)


def test_two_class_direction_of_lda():
    X, y = blobs(200, n_classes=2)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    assert_allclose(sx.FisherDiscriminant().fit(X, y).coef_, theirs.coef_, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_projection_and_labels_of_lda(n_classes):
    X, y = blobs(400, n_classes=n_classes)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours = sx.FisherDiscriminant(threshold="normal").fit(X, y)
    Q = min(n_classes - 1, 4)
    a, b = ours.transform(X), theirs.transform(X)[:, :Q]
    assert_allclose(np.abs(np.corrcoef(a.T, b.T)[:Q, Q:]), np.eye(Q), atol=1e-6)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_generalised_eigenvalues_agree_with_scipy():
    X, y = blobs(300, n_features=5, n_classes=4)
    m = X.mean(axis=0)
    means = np.stack([X[y == k].mean(axis=0) for k in range(4)])
    S_W = (X - means[y]).T @ (X - means[y])
    S_B = sum((y == k).sum() * np.outer(means[k] - m, means[k] - m) for k in range(4))
    values = linalg.eigh(S_B, S_W, eigvals_only=True)[::-1][:3]
    assert_allclose(sx.FisherDiscriminant().fit(X, y).ratio_, values, rtol=1e-9)


def test_one_perceptron_epoch_makes_the_updates_of_scikit_learn():
    X, y = blobs(300, n_classes=2, distance=0.5)
    theirs = SklearnPerceptron(max_iter=1, tol=None, shuffle=False).fit(X, y)
    with pytest.warns(sx.exceptions.NotSeparableWarning):
        ours = sx.Perceptron(max_epochs=1).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
