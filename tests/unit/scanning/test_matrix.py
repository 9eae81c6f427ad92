import numpy as np
import pyarrow as pa
import pytest

from separatrix.scanning.matrix import is_number, numbers, precision, to_matrix

KINDS = [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(30, 2), pa.null()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_numbers_of_every_type_arrive_with_gaps_as_nan(kind):
    column = pa.array([1, 0, 1], pa.int64()).cast(kind) if kind != pa.null() else pa.nulls(3)
    gapped = pa.concat_arrays([column, pa.nulls(1, kind)])
    assert is_number(kind)
    if kind != pa.null():
        np.testing.assert_array_equal(numbers(column).astype(float), [1.0, 0.0, 1.0])
    assert np.isnan(numbers(gapped)[3])


@pytest.mark.parametrize("kind", [pa.string(), pa.date32(), pa.timestamp("us"), pa.list_(pa.int8())], ids=str)
def test_what_is_no_number_is_none(kind):
    assert not is_number(kind)


def test_single_precision_stays_where_every_column_has_it():
    assert precision([pa.float32(), pa.float16()]) == np.float32
    assert precision([pa.float32(), pa.int8()]) == np.float64
    assert precision([]) == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_matrix_is_the_columns_side_by_side_and_stays_by_column(dtype, rng):
    X = rng.normal(size=(37, 3)).astype(dtype)
    made = to_matrix([pa.array(x) for x in X.T], len(X), dtype)
    np.testing.assert_array_equal(made, X)
    assert made.flags.f_contiguous
    assert made.dtype == dtype


def test_a_slice_of_a_batch_is_read_from_its_own_rows():
    batch = pa.record_batch({"a": [1, None, 3, 4]}).slice(1, 2)
    np.testing.assert_array_equal(to_matrix([batch.column("a")], 2, "float64"), [[np.nan], [3.0]])


def test_whole_numbers_too_large_for_a_float_are_rounded_as_numpy_rounds_them():
    large = [2**53 + 1, 2**62 + 3, 5]
    np.testing.assert_array_equal(numbers(pa.array([*large, None])), [*np.array(large).astype(float), np.nan])
