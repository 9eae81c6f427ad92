import numpy as np
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.scanning import scan
from separatrix.scanning.columns import weights_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], np.array([1, 2, 3])),
        ([1, None, 3], np.array([1.0, np.nan, 3.0])),
        ([0.5, 1.5, 2.5], np.array([0.5, 1.5, 2.5])),
        ([True, False, True], np.array([True, False, True])),
        (["u", "v", None], np.array(["u", "v", None], dtype=object)),
    ],
    ids=str,
)
def test_a_column_in_memory_is_its_values_in_order(values, expected):
    table = pa.Table.from_batches([pa.record_batch({"a": pa.array(values)}).slice(i, 1) for i in range(3)])
    found = scan(table).column("a")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype.kind == expected.dtype.kind


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, None])
def test_a_weight_that_is_none_is_named_with_its_row(bad):
    with pytest.raises(DataError, match="column 'w' is (-1|nan|inf) in row 102; weights must be finite"):
        weights_of(pa.array([1.0, 0.0, bad]), 100, "w")


def test_weights_are_numbers():
    assert weights_of(pa.array([0, 2]), 0, "w").tolist() == [0.0, 2.0]
    with pytest.raises(DataError, match="column 'w' are of type string"):
        weights_of(pa.array(["2"]), 0, "w")
