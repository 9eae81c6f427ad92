"""Labels and weights of one partition."""

import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.rows.dask import tasks
from separatrix.rows.dask.part import Beside


def test_labels_of_a_partition_become_codes_among_its_own_classes():
    coded = tasks.encode(np.array(["b", "a", "b"]), 0, "error", False)
    assert coded.classes.tolist() == ["a", "b"]
    assert coded.t.tolist() == [1, 0, 1]


def test_one_column_of_labels_is_a_vector():
    assert tasks.encode(np.array([[3], [5]]), 0, "error", False).classes.tolist() == [3, 5]


@pytest.mark.parametrize("labels", [np.array([]), np.array([-1, -1])])
def test_a_partition_need_not_have_a_label(labels):
    coded = tasks.encode(labels, 0, -1, False)
    assert len(coded.classes) == 0
    assert tasks.facts(coded)[1:] == (len(labels), len(labels))
    assert tasks.place(coded, np.array([-1])).tolist() == [-1] * len(labels)


def test_codes_find_their_place_among_all_classes_and_no_label_stays_none():
    coded = tasks.encode(np.array([7, -1, 9]), 0, -1, False)
    assert tasks.place(coded, np.array([4, 6, -1])).tolist() == [4, -1, 6]


def test_errors_name_the_partition():
    with pytest.raises(DataError, match="In partition 3 of y: 1 of 2 labels are missing.*row 1"):
        tasks.encode(np.array([1.0, np.nan]), 3, "error", False)
    with pytest.raises(DataError, match=r"In partition 2 of sample_weight: sample_weight\[1\] is -1"):
        tasks.weigh(np.array([1.0, -1.0]), 2)
    with pytest.raises(DataError, match="In partition 1 of y: Row 0 of y sums to 1.5"):
        tasks.encode(np.array([[0.5, 1.0]]), 1, "error", True)


def test_real_valued_labels_are_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        tasks.encode(np.array([0.5, 1.0]), 0, "error", False)


def test_shares_of_two_classes_are_those_of_the_second():
    coded = tasks.encode(np.array([[0.25, 0.75], [1.0, 0.0]]), 0, "error", True)
    assert tasks.place_shares(coded, np.arange(2), 2).tolist() == [0.75, 0.0]
    assert tasks.place_shares(coded, np.array([2, 0]), 3).tolist() == [[0.75, 0, 0.25], [0, 0, 1.0]]


def test_weights_are_float64_and_known_to_be_one_or_not():
    assert tasks.weigh(np.array([[1], [2]]), 0).dtype == np.float64
    assert tasks.weight_facts(np.array([1.0, 1.0])) == (2, True)
    assert tasks.weight_facts(np.array([1.0, 0.0])) == (2, False)


def test_stretches_are_joined_in_order():
    assert tasks.join([np.arange(4), np.arange(10, 14)], [slice(2, 4), slice(0, 1)]).tolist() == [2, 3, 10]


def test_the_weight_of_each_class_leaves_out_rows_without_a_label():
    beside = Beside(np.array([0, 1, -1, 1]), np.array([1.0, 2.0, 4.0, 8.0]))
    assert tasks.class_weight(beside, 3).tolist() == [1, 10, 0]
    assert tasks.class_weight(beside, 0).tolist() == [15]


@pytest.mark.parametrize(("largest", "dtype"), [(1, np.int8), (127, np.int8), (128, np.int16), (70_000, np.int32)])
def test_codes_take_few_bytes_and_keep_their_value(largest, dtype):
    codes = tasks.narrow(np.array([-1, 0, largest]))
    assert codes.tolist() == [-1, 0, largest]
    assert codes.dtype == dtype
