import pytest

from separatrix.data.scan import QueryError, RowsChangedError
from separatrix.exceptions import DataError


@pytest.mark.parametrize("kind", [QueryError, RowsChangedError])
def test_every_error_of_a_scan_is_caught_as_one_of_data(kind):
    assert issubclass(kind, DataError)
