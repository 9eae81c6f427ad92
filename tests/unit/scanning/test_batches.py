import pytest

from separatrix.scanning.batches import BATCH_BYTES, LEAST, MOST, batch_rows


@pytest.mark.parametrize("width", [1, 20, 1000, 10**6])
def test_a_batch_is_as_tall_as_its_bytes_allow_within_bounds(width):
    rows = batch_rows(width)
    assert LEAST <= rows <= MOST
    assert rows == LEAST or 8 * width * rows <= BATCH_BYTES


def test_no_columns_at_all_are_no_reason_to_divide_by_zero():
    assert batch_rows(0) == MOST
