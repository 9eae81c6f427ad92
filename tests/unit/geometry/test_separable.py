import doctest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from problems import STORAGES, blobs, separable
from separatrix.exceptions import DataError
from separatrix.solvers import directions, separation


def test_the_report_reads_as_an_answer():
    X, y = separable(40)
    report = sx.is_separable(X, np.where(y, "sick", "well"))
    assert report
    assert report.status == "complete"
    assert "separates the classes completely, along 'x" in str(report)
    assert "alpha > 0" in str(report)
    overlapping = sx.is_separable(*blobs(60, distance=0.1))
    assert not overlapping
    assert str(overlapping) == "No hyperplane separates the classes: they overlap."


def test_rows_on_the_plane_are_counted_in_the_report():
    report = sx.is_separable([[0.0], [1.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b", "b"])
    assert (report.status, report.n_on_plane) == ("quasi-complete", 2)
    assert "except for 2 of 5 rows, which lie on it (quasi-complete), along 'x0'" in str(report)


def test_the_direction_separates_in_the_users_units():
    X, y = separable(60)
    X = 1e4 + 1e3 * X
    report = sx.is_separable(X, y)
    a = X @ report.coef[0] + report.intercept[0]
    assert ((a > 0) == (y == 1)).all()


@pytest.mark.parametrize("storage", STORAGES)
def test_any_table_will_do(storage):
    X, y = separable(30)
    assert sx.is_separable(STORAGES[storage](X), y).status == "complete"


def test_margin_bound_and_what_they_need():
    X, y = separable(60, gap=0.3)
    report = sx.is_separable(X, y)
    assert report.margin >= 0.3 - 1e-9  # the gap it was made with
    assert report.novikoff_bound >= (report.novikoff.radius / report.margin) ** 2 * (1 - 1e-9)
    with pytest.raises(DataError, match="completely separable; these are overlapping"):
        _ = sx.is_separable(*blobs(60, n_classes=2, distance=0.1)).margin
    with pytest.raises(DataError, match="two classes, but y has 3: 0, 1, 2"):
        _ = sx.is_separable(np.eye(3), [0, 1, 2]).novikoff


def test_rows_of_weight_zero_do_not_count():
    X, y = separable(60, gap=0.3)
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])  # one row with both labels
    weight = np.append(np.ones(60), 0.0)
    assert not sx.is_separable(X, y)
    report = sx.is_separable(X, y, sample_weight=weight)
    assert report.status == "complete"
    assert report.margin == pytest.approx(sx.is_separable(X[:60], y[:60]).margin, rel=1e-6)


def test_a_class_without_weight_is_no_class():
    X, y = separable(20)
    with pytest.raises(DataError, match="Every row of class 1 has weight 0"):
        sx.is_separable(X, y, sample_weight=1.0 * (y == 0))
    with pytest.raises(DataError, match="Every sample_weight is zero"):
        sx.is_separable(X, y, sample_weight=np.zeros(20))


def test_a_stream_that_can_be_read_once():
    X, y = separable(30)
    stream = pa.RecordBatchReader.from_batches(*_batches(STORAGES["pyarrow"](X)))
    report = sx.is_separable(stream, y)
    assert report.status == "complete"
    assert report.margin == pytest.approx(sx.is_separable(X, y).margin)


def _batches(table):
    return table.schema, table.to_batches(max_chunksize=7)


def test_the_report_is_printed_in_one_line_and_compared_by_identity():
    X, y = separable(40)
    report, again = sx.is_separable(X, y), sx.is_separable(X, y)
    assert report == report
    assert len({report, again}) == 2
    assert repr(report) == "SeparabilityReport(status='complete', classes=[0, 1], columns=['x2'])"
    assert report.widest != again.widest  # records with arrays have no truth value to compare by
    wide = sx.is_separable(np.eye(200), np.arange(200) % 2)
    assert len(repr(wide)) < 200
    assert len(str(wide)) < 300


def test_bad_input():
    X, y = separable(20)
    with pytest.raises(DataError, match="only one class is present: every label is 0"):
        sx.is_separable(X, np.zeros(20))
    with pytest.raises(DataError, match="X has 20 rows but y has 19"):
        sx.is_separable(X, y[1:])
    X[3, 1] = np.nan
    with pytest.raises(DataError, match=r"column 'x1' \(1 of 20 rows\)"):
        sx.is_separable(X, y)


def test_the_page_about_geometry_runs():
    page = Path(__file__).parents[3] / "docs" / "geometry.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 20
    assert failed == 0


def test_what_rounding_hides_is_said_to_be_unknown(monkeypatch):
    monkeypatch.setattr(directions, "PATIENCE", 0)
    monkeypatch.setattr(separation, "SECONDS", -np.inf)
    report = sx.is_separable(*blobs(60, distance=0.1))
    assert not report
    assert report.status == "unknown"
    assert str(report).startswith("Whether a hyperplane separates the classes is lost in rounding")
