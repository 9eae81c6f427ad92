from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix.exceptions import DataError
from separatrix.families import FactsError, Normal, Poisson
from separatrix.families.record import Record


@dataclass(frozen=True)
class Pair(Record):
    scalar: np.ndarray
    vector: np.ndarray
    event: ClassVar = (0, 1)


def test_fields_broadcast_over_the_batch_and_keep_their_event_axes():
    pair = Pair(np.ones((3, 1)), np.zeros((4, 5)))
    assert pair.batch == (3, 4)
    assert pair.scalar.shape == (3, 4)
    assert pair.vector.shape == (3, 4, 5)


def test_indexing_takes_classes_and_concatenating_puts_them_back():
    normal = Normal([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [1.0, 2.0])
    assert_array_equal(normal[[2, 0, 0]].mean, [[4, 5], [0, 1], [0, 1]])
    assert_array_equal(normal[[2, 0, 0]].sd, [[1, 2]] * 3)
    again = Normal.concatenate([normal[:1], normal[1:]])
    assert_array_equal(again.mean, normal.mean)


def test_records_are_frozen():
    with pytest.raises(AttributeError):
        Poisson(1.0).rate = 2.0


def test_a_parameter_out_of_range_is_named_with_its_value():
    with pytest.raises(ValueError, match=r"Normal: sd must be positive, got .*-2\.0"):
        Normal([0.0, 0.0], [1.0, -2.0])
    with pytest.raises(ValueError, match="Poisson: rate must be zero or positive, got .*nan"):
        Poisson(np.nan)


def test_facts_error_is_a_data_error_that_counts_and_names():
    error = FactsError([(0, d) for d in range(7)], "all values are equal", "drop the column")
    assert isinstance(error, DataError)
    assert str(error).startswith("all values are equal in class 0, column 0, class 0, column 1,")
    assert "and 2 more; drop the column." in str(error)
    overall = FactsError([(None, 1)], "no values at all", "drop the column")
    assert overall.describe(("a", "b"), ("x", "y")) == "no values at all in column 'y'; drop the column."
