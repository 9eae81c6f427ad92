import pytest

from separatrix.exceptions import DataError
from separatrix.scanning import QueryError, RowsChangedError


@pytest.mark.parametrize("kind", [QueryError, RowsChangedError])
def test_every_error_of_a_scan_is_caught_as_one_of_data(kind):
    assert issubclass(kind, DataError)
