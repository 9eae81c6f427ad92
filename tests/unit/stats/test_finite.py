import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.rows import as_source
from separatrix.scanning import scan
from separatrix.stats.finite import require_finite, require_squares


def test_columns_and_counts_are_named_up_to_eight():
    X = np.zeros((10, 12))
    require_finite(as_source(X))
    X[2:5] = np.nan
    with pytest.raises(DataError, match=r"'x0' \(3 of 10 rows\), .*'x7' \(3 of 10 rows\) and 4 more columns\. Drop"):
        require_finite(as_source(X))


@pytest.mark.parametrize(("allow_nan", "n_kept"), [(False, 6), (True, 8)])
def test_the_condition_that_is_advised_keeps_the_rows_that_are_taken(allow_nan, n_kept):
    pa, _ = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    table = pa.table({'a "b"': [1.0, 2.0, np.inf, np.nan, None, -np.inf, 3.0, 4.0, 5.0, 6.0]})

    def source(where):
        return scan(table, where=where).open_rows(None).rows()

    with pytest.raises(DataError, match="of a scan with where='") as raised:
        require_finite(source(None), allow_nan=allow_nan)
    kept = source(str(raised.value).split("where='")[1].split("'), or")[0])
    require_finite(kept, allow_nan=allow_nan)
    assert kept.n_rows == n_kept


def test_too_large_to_square():
    X = np.zeros((10, 2))
    X[0, 1] = -1e180
    with pytest.raises(DataError, match=r"column 'x1' \(up to 1e\+180\)\. Divide"):
        require_squares(as_source(X))
