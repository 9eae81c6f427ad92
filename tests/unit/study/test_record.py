"""The records of a study cannot be changed after the fact."""

from dataclasses import FrozenInstanceError

import pytest

from separatrix.study import Choice, Coefficient


def test_records_are_frozen_and_compare_by_value():
    weight = Coefficient("age", "age", "yes", 0.5, 0.1, 0.9, 1.2)
    assert weight == Coefficient("age", "age", "yes", 0.5, 0.1, 0.9, 1.2)
    with pytest.raises(FrozenInstanceError):
        weight.weight = 0.0
    with pytest.raises(FrozenInstanceError):
        Choice("prior only", ()).name = "another"
