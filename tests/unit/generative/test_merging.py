"""Facts of several sets of rows: one sum over the classes of all of them, and a refusal of what does not add up."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.generative.merging import among, united

X, Y = blobs(240, n_classes=3)


class Counts:
    """The simplest facts there are."""

    def __init__(self, count):
        self.count = np.asarray(count)

    def __add__(self, other):
        return Counts(self.count + other.count)

    def on_classes(self, position, n_classes):
        count = np.zeros(n_classes)
        count[position] = self.count
        return Counts(count)


def test_facts_meet_class_by_class_whatever_classes_each_side_knows():
    rng = np.random.default_rng(0)
    a, b = rng.choice(["ash", "beech", "cedar"], 50), rng.choice(["cedar", "beech", "date"], 70)
    sides = [np.unique(labels, return_counts=True) for labels in (a, b)]
    facts, classes = united(Counts(sides[0][1]), sides[0][0], Counts(sides[1][1]), sides[1][0])
    expected, count = np.unique(np.concatenate([a, b]), return_counts=True)
    assert_array_equal(classes, expected)
    assert_array_equal(facts.count, count)


def test_classes_named_in_advance_are_empty():
    facts, classes = among(Counts([3, 4]), np.array([1, 5]), [0, 5, 9])
    assert (classes.tolist(), facts.count.tolist()) == ([0, 1, 5, 9], [0, 3, 4, 0])
    assert among(facts, classes, None) == (facts, classes)


@pytest.mark.parametrize("other", [np.array(["1"]), np.array([True])], ids=["words", "booleans"])
def test_numbers_never_become_words(other, request):
    kind = request.node.callspec.id
    with pytest.raises(DataError, match=rf"classes so far are numbers \(\[1, 2\].*the new ones {kind}"):
        united(Counts([1, 1]), np.array([1, 2]), Counts([1]), other)


def test_merging_what_does_not_fit_together():
    lda, qda = sx.LinearDiscriminantAnalysis().fit(X, Y), sx.QuadraticDiscriminantAnalysis().fit(X, Y)
    with pytest.raises(TypeError, match="Cannot merge LinearDiscriminantAnalysis with QuadraticDiscriminantAnalysis"):
        lda.merge(qda)
    with pytest.raises(DataError, match="4 and 3 columns"):
        lda.merge(sx.LinearDiscriminantAnalysis().fit(X[:, :3], Y))


def test_a_model_fitted_by_em_is_not_continued():
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    model = sx.LinearDiscriminantAnalysis().fit(gaps, Y)
    for more in (lambda: model.partial_fit(X, Y), lambda: model.add_class(X, 9), lambda: model.merge(model)):
        with pytest.raises(DataError, match="fitted by EM cannot be merged or continued"):
            more()


def test_labels_of_another_kind_are_not_mixed_in():
    model = sx.LinearDiscriminantAnalysis().fit(X, Y)
    with pytest.raises(DataError, match=r"classes so far are numbers .* the new ones words"):
        model.add_class(X, "new")
    with pytest.raises(DataError, match="the new ones words"):
        model.partial_fit(X, Y, classes=["a"])


def test_models_that_see_different_basis_functions_are_not_merged():
    basis = sx.basis.RBF(centres="kmeans", n_centres=5, width=1.0)
    a, b = (sx.LinearDiscriminantAnalysis(basis=basis).fit(X[i::2], Y[i::2]) for i in (0, 1))
    with pytest.raises(DataError, match="different basis functions"):
        a.merge(b)


def test_columns_in_another_order_are_not_merged():
    import pandas as pd

    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    one = sx.LinearDiscriminantAnalysis().fit(table, Y)
    other = sx.LinearDiscriminantAnalysis().fit(table[["b", "a", "c", "d"]], Y)
    with pytest.raises(DataError, match=r"columns are \['a', 'b', 'c', 'd'\] in one model and \['b', 'a', 'c', 'd'\]"):
        one.merge(other)
