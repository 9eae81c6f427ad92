import numpy as np
import pytest
from scipy import sparse

from problems import STORAGES, blobs
from separatrix.comparison.split import given_split, random_split
from separatrix.exceptions import DataError

X, Y = blobs(n=120)


def dense(table):
    return table.toarray() if sparse.issparse(table) else np.asarray(table, dtype=float)


def test_a_split_keeps_the_shares_of_the_classes_and_loses_no_row():
    split = random_split(X, Y, None, 0.25, None)
    rows = np.concatenate([split.train.rows, split.test.rows])
    assert np.array_equal(np.sort(rows), np.arange(120))
    assert len(split.test.rows) == 30
    shares = [np.bincount(part.codes) / len(part.codes) for part in (split.train, split.test)]
    np.testing.assert_allclose(*shares, atol=1 / 30)


def test_each_part_has_its_own_rows_labels_and_weights(rng):
    weight = rng.random(120) + 0.5
    split = random_split(X, Y, weight, 0.3, 1)
    for part in (split.train, split.test):
        assert np.array_equal(part.X, X[part.rows])
        assert np.array_equal(split.classes[part.codes], Y[part.rows])
        assert np.array_equal(part.weight, weight[part.rows])


def test_the_same_seed_gives_the_same_split_and_another_another():
    one, same, other = (random_split(X, Y, None, 0.25, rng).test.rows for rng in (7, np.random.default_rng(7), 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("storage", STORAGES)
def test_every_kind_of_table_is_split_in_kind(storage):
    table = STORAGES[storage](X)
    split = random_split(table, Y, None, 0.25, None)
    expected = random_split(X, Y, None, 0.25, None)
    assert sparse.issparse(split.test.X) == sparse.issparse(table)
    np.testing.assert_allclose(dense(split.test.X), expected.test.X)


def test_rows_of_weight_zero_are_left_out():
    weight = np.ones(120)
    weight[Y == 1] = 0
    split = random_split(X, Y, weight, 0.25, None)
    assert split.classes.tolist() == [0, 2]
    assert 1 not in Y[np.concatenate([split.train.rows, split.test.rows])]
    assert np.array_equal(split.classes[split.test.codes], Y[split.test.rows])


def test_a_test_table_may_lack_classes():
    split = given_split(X, Y, None, X[Y == 2], Y[Y == 2])
    assert set(split.test.codes) == {2}
    assert len(split.train.rows) == 120


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, Y, None, X[:3], None), "needs y_test too"),
        ((X, Y, None, None, Y[:3]), "needs X_test too"),
        ((X, Y, None, X[:2], [0, 7]), "y_test has the label 7, which y has not"),
        ((X, Y, None, X[:2], ["a", "b"]), "y_test has the label 'a'"),
        ((X, Y[:5], None, X, Y), "inconsistent numbers of samples"),
        ((X, np.zeros(120), None, X, Y), "only one class"),
    ],
)
def test_a_test_table_that_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        given_split(*arguments)


def test_classes_too_small_to_split():
    y = np.where(np.arange(120) == 5, 9, Y)
    with pytest.raises(DataError, match=r"Class 9 has one row only.*X_test"):
        random_split(X, y, None, 0.25, None)
    y = np.where(np.arange(120) < 2, 9, 0)
    with pytest.raises(DataError, match=r"test_size=0.9 leaves no row of class 9"):
        random_split(X, y, None, 0.9, None)


@pytest.mark.parametrize("test_size", [0.0, 1.5, 120, -1])
def test_a_part_that_is_none(test_size):
    with pytest.raises(ValueError, match="test_size"):
        random_split(X, Y, None, test_size, None)
