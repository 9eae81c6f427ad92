"""Errors of files are errors of data, so that one clause catches both."""

import pytest

from separatrix.exceptions import DataError
from separatrix.files import FileReadError, FileWriteError


@pytest.mark.parametrize("kind", [FileReadError, FileWriteError])
def test_they_are_data_errors(kind):
    with pytest.raises(DataError):
        raise kind("t.csv: wrong")
