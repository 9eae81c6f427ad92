"""Errors of files are errors of data, so that one clause catches both."""

import pytest

from separatrix.data.files import FileReadError, FileWriteError
from separatrix.exceptions import DataError


@pytest.mark.parametrize("kind", [FileReadError, FileWriteError])
def test_they_are_data_errors(kind):
    with pytest.raises(DataError):
        raise kind("t.csv: wrong")
