import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.rows.pairing import LabelRules, check_weight, pair, require_classes


def test_weights_of_one_are_no_weights():
    assert check_weight(None, 3) is None
    assert check_weight([1, 1, 1], 3) is None
    assert check_weight(1.0, 3) is None
    assert check_weight(2, 3).tolist() == [2, 2, 2]


def test_labels_become_codes_among_the_classes_known():
    known = np.array(["b", "c", "a"])
    targets = pair(["a", "b", "a"], None, 3, LabelRules(known=known))
    assert targets.classes.tolist() == ["b", "c", "a"]
    assert targets.t.tolist() == [2, 0, 2]
    with pytest.raises(DataError, match="Label 'z' is not one of the classes"):
        pair(["z", "b", "a"], None, 3, LabelRules(known=known))


def test_soft_targets_of_two_classes_are_those_of_the_second():
    targets = pair(np.array([[0.25, 0.75], [1.0, 0.0]]), None, 2, LabelRules(soft=True))
    assert targets.is_soft
    assert targets.t.tolist() == [0.75, 0.0]


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([0, 1], None, "X has 3 rows but y has 2 labels"),
        ([0, 0, 0], None, "only one class is present"),
        ([0, 1, 1], [1, 0, 0], "Every row of class 1 has weight 0"),
        ([0, 1, 1], [0, 0, 0], "Every sample_weight is zero"),
        ([0, 1, 1], [1, -1, 0], r"sample_weight\[1\] is -1"),
    ],
)
def test_what_does_not_pair_up_is_said(y, weight, message):
    with pytest.raises(DataError, match=message):
        pair(y, weight, 3, LabelRules())


def test_no_label_at_all_is_an_error():
    with pytest.raises(DataError, match="no labels"):
        require_classes(np.array([]))
