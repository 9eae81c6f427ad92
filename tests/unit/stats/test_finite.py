import numpy as np
import pytest

from separatrix.data import as_source
from separatrix.exceptions import DataError
from separatrix.stats.finite import require_finite, require_squares


def test_columns_and_counts_are_named_up_to_eight():
    X = np.zeros((10, 12))
    require_finite(as_source(X))
    X[2:5] = np.nan
    with pytest.raises(DataError, match=r"'x0' \(3 of 10 rows\), .*'x7' \(3 of 10 rows\) and 4 more columns\. Drop"):
        require_finite(as_source(X))


def test_too_large_to_square():
    X = np.zeros((10, 2))
    X[0, 1] = -1e180
    with pytest.raises(DataError, match=r"column 'x1' \(up to 1e\+180\)\. Divide"):
        require_squares(as_source(X))
