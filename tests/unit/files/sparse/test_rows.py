"""A file as a source: every model has the same answers as from memory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.files.sparse import LibsvmFile, lines
from separatrix.files.sparse.lines import Chunk
from separatrix.files.sparse.parsing import IndexRange, joined, parse
from separatrix.files.sparse.rows import cut
from separatrix.rows import LabelRules, as_source, watched

N, D = 700, 12


def problem(rng, classes=(-1, 1), counts=False):
    X = sparse.random_array((N, D), density=0.3, rng=rng, format="csr")
    X.data = rng.poisson(1.5, X.nnz) + 1.0 if counts else np.round(rng.normal(size=X.nnz), 4)
    X = sparse.csr_array(X)
    A = X @ rng.normal(size=(D, len(classes))) + rng.gumbel(size=(N, len(classes)))
    return X, np.array(classes)[A.argmax(axis=1)]


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 1000)  # many chunks, and no two alike

    def written(X, y, name="train.svm"):
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=False)
        file = LibsvmFile(tmp_path / name)
        assert sum(1 for _ in file.chunks()) > 10
        return file

    return written


def in_blocks(file, height):
    return replace(file.open_rows(None), height=height)


MODELS = {
    "logistic": (lambda: sx.LogisticRegression(alpha=0.5, tol=1e-11), False),
    "softmax": (lambda: sx.LogisticRegression(alpha=0.5, tol=1e-11), False),
    "lbfgs": (lambda: sx.LogisticRegression(alpha=0.5, solver="lbfgs", tol=1e-11), False),
    "probit": (lambda: sx.ProbitRegression(alpha=0.5, tol=1e-11), False),
    "bayesian": (lambda: sx.BayesianLogisticRegression(), False),
    "evidence": (lambda: sx.BayesianLogisticRegression(tune="evidence"), False),
    "least squares": (lambda: sx.LeastSquaresClassifier(alpha=0.1), False),
    "lda": (lambda: sx.LinearDiscriminantAnalysis(), False),
    "bernoulli": (lambda: sx.NaiveBayes("bernoulli"), True),
    "poisson": (lambda: sx.NaiveBayes("poisson"), True),
    "multinomial": (lambda: sx.ExponentialFamilyClassifier("multinomial"), True),
    "perceptron": (lambda: sx.Perceptron(max_epochs=5), False),
}


@pytest.mark.filterwarnings("ignore::separatrix.exceptions.NotSeparableWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_the_file_is_that_of_memory(name, rng, write):
    make, counts = MODELS[name]
    X, y = problem(rng, (1, 2, 5) if name == "softmax" else (-1, 1), counts)
    if name == "bernoulli":
        X.data[:] = 1.0
    file = write(X, y)
    there, here = make().fit(file), make().fit(X, y)
    np.testing.assert_array_equal(there.classes_, here.classes_)
    assert there.classes_.dtype == here.classes_.dtype
    assert there.n_features_in_ == D
    for method in {"decision_function", "predict_proba"} & set(dir(here)):
        np.testing.assert_allclose(getattr(there, method)(file), getattr(here, method)(X), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(there.predict(file), here.predict(X))


def test_weights_and_labels_may_come_from_memory(rng, write):
    X, y = problem(rng)
    weight = rng.integers(0, 4, N).astype(float)
    other = np.where(rng.random(N) < 0.5, "a", "b")
    file = write(X, y)
    for target in (None, other):
        there = sx.LogisticRegression(tol=1e-11).fit(file, target, weight)
        here = sx.LogisticRegression(tol=1e-11).fit(X, y if target is None else target, weight)
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8)


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
def test_blocks_are_cut_by_rows_and_carry_what_belongs_to_them(rng, write, rows):
    X, y = problem(rng, (0, 3))
    weight = rng.random(N)
    source = in_blocks(write(X, y), rows).with_numbers(y, weight, -weight)
    blocks = source.fold(lambda seen, block: [*seen, block], [])
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert np.concatenate([block.row for block in blocks]).tolist() == list(range(N))
    np.testing.assert_array_equal(sparse.vstack([block.X for block in blocks]).toarray(), X.toarray())
    for name, whole in (("t", y), ("weight", weight), ("offset", -weight)):
        np.testing.assert_array_equal(np.concatenate([getattr(block, name) for block in blocks]), whole)


def test_whoever_watches_is_told_of_every_pass(rng, write):
    source = in_blocks(write(*problem(rng)), 300)
    told = []
    with watched(lambda *progress: told.append(progress)):
        source.reduce(lambda block: block.X.sum(axis=0))
        source.map(lambda X: X.sum(axis=1))
    assert told == [(300, N, 1), (600, N, 1), (N, N, 1), (600, N, 2), (N, N, 2)]


def test_sums_are_bit_identical_from_run_to_run(rng, write):
    file = write(*problem(rng))
    sums = [in_blocks(file, 13).reduce(lambda block: block.X.sum(axis=0)) for _ in range(5)]
    assert all((total == sums[0]).all() for total in sums)


def test_a_shuffled_fold_sees_every_row_once_in_the_order_of_memory(rng, write):
    X, y = problem(rng)
    rows = [
        source.fold(lambda seen, block: [*seen, *block.row], [], np.random.default_rng(5))
        for source in (in_blocks(write(X, y), 50), replace(as_source(X), height=50))
    ]
    assert rows[0] == rows[1]
    assert sorted(rows[0]) == list(range(N))


def test_a_label_can_mark_rows_without_one(rng, write):
    file = write(*problem(rng, (0, 1, 2)))
    found = file.open_rows(None).with_labels(None, None, LabelRules(unlabelled=0))
    assert found.classes.tolist() == [1, 2]
    assert found.n_unlabelled == file.label_counts[0]
    t = found.reduce(lambda block: np.bincount(block.t + 1, minlength=3))
    assert t.tolist() == file.label_counts.tolist()


def test_labels_that_are_no_classes_are_refused(rng, write):
    X, y = problem(rng)
    with pytest.raises(DataError, match=r"train.svm: label -0.5 is not a whole number.*fit\(file, y\)"):
        sx.LogisticRegression().fit(write(X, y / 2))
    with pytest.raises(DataError, match="only one class is present: every label is 3"):
        sx.LogisticRegression().fit(write(X, np.full(N, 3)))
    with pytest.raises(DataError, match="Every row of class -1 has weight 0"):
        sx.LogisticRegression().fit(write(X, y), sample_weight=(y > 0).astype(float))


def test_rows_to_predict_need_the_number_of_features_of_the_model(rng, write):
    X, y = problem(rng)
    model = sx.LogisticRegression().fit(X, y)
    file = write(X[:, : D - 2], y, "narrow.svm")
    with pytest.raises(ValueError, match=f"X has {D - 2} features, but LogisticRegression is expecting {D}"):
        model.predict(file)
    full = X.toarray()
    full[:, D - 2 :] = 0
    np.testing.assert_array_equal(model.predict(LibsvmFile(file.path, n_features=D)), model.predict(full))


@given(st.lists(st.integers(0, 9), max_size=4), st.integers(1, 12))
def test_cutting_keeps_every_row(cuts, size):
    text = "".join(f"{n} {n}:{n}.5 20:1\n" for n in range(9)).encode()
    rows = parse(Chunk(text, 1, 0), IndexRange(), "x")
    edges = [0, *sorted(cuts), 9]
    parts = list(cut((rows.span(a, b) for a, b in pairwise(edges)), size))
    assert [len(part) for part in parts] == [size] * (9 // size) + [9 % size] * (9 % size > 0)
    np.testing.assert_array_equal(joined(parts).matrix(21).toarray(), rows.matrix(21).toarray())
