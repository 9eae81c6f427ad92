"""Models fitted on files and databases: the numbers of memory, whoever reads the rows."""

import os
import pickle
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from decimal import Decimal
from multiprocessing import get_context

import dask
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.files import FileReadError, Scan, open_writer, scan
from separatrix.rows import Batches, encode_labels, watched
from separatrix.rows.batches import ColumnTargets, Piece, codes_of, count_labels

N = 900
FEATURES = ["x0", "x1", "x2", "x3"]
RNG = np.random.default_rng(4)
CODES = RNG.integers(0, 3, N)
X = (RNG.normal(size=(N, 4)) + np.eye(3, 4)[CODES] * 1.5) * [1.0, 20.0, 0.1, 3.0] + [0.0, 100.0, 5.0, -2.0]
KIND = np.array(["ash", "elm", "oak"])[CODES]
WEIGHT = RNG.integers(1, 5, N) / 2
TABLE = pa.table(
    {
        **{name: X[:, d] for d, name in enumerate(FEATURES)},
        "kind": KIND,
        "is_oak": CODES == 2,
        "weight": WEIGHT,
        "count": RNG.poisson(1.0 + CODES),
    }
)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "trees.parquet"
    pq.write_table(TABLE, path, row_group_size=170)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files, each of several row groups; one of them has no rows."""
    folder = tmp_path_factory.mktemp("parts")
    for name, rows in {"a": TABLE[:380], "b": TABLE[:0], "c": TABLE[380:]}.items():
        pq.write_table(rows, folder / f"{name}.parquet", row_group_size=100)
    return folder


# -- fits


def test_every_kind_of_file_gives_the_same_fit(tmp_path):
    model, some = sx.LogisticRegression(tol=1e-11), TABLE.select([*FEATURES, "kind"])
    expected = model.fit(TABLE.select(FEATURES), KIND).coef_
    for suffix in ("csv", "jsonl", "arrow", "sqlite", "duckdb"):
        path = tmp_path / f"t.{suffix}"
        with open_writer(path) as writer:
            writer.write(some)
        np.testing.assert_allclose(model.fit(scan(path, target="kind")).coef_, expected, rtol=1e-8, err_msg=suffix)
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as lite:
        rows = scan("SELECT * FROM data", connection=lite, target="kind")
        np.testing.assert_allclose(model.fit(rows).coef_, expected, rtol=1e-8)


def test_labels_and_weights_may_come_from_columns_or_from_memory(parquet):
    model, columns = sx.LinearDiscriminantAnalysis(), {"columns": FEATURES}
    expected = model.fit(TABLE.select(FEATURES), KIND, WEIGHT).coef_
    for rows, y, weight in (
        (scan(parquet, target="kind", weight="weight", **columns), None, None),
        (scan(parquet, target="kind", **columns), None, WEIGHT),
        (scan(parquet, weight="weight", **columns), KIND, None),
        (scan(parquet, **columns), KIND, WEIGHT),
    ):
        np.testing.assert_allclose(model.fit(rows, y, weight).coef_, expected, rtol=1e-8)
    with pytest.raises(DataError, match="twice"):
        model.fit(scan(parquet, target="kind", weight="weight", **columns), None, WEIGHT)
    with pytest.raises(DataError, match=r"no target.*target="):
        model.fit(scan(parquet, **columns))


def test_selected_rows_and_missing_values(parquet):
    some = TABLE.filter(pa.compute.greater(TABLE["x1"], 100.0))
    inside = sx.LinearDiscriminantAnalysis().fit(some.select(FEATURES), some["kind"].to_pylist())
    outside = sx.LinearDiscriminantAnalysis().fit(scan(parquet, target="kind", columns=FEATURES, where="x1 > 100"))
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8)
    holes = TABLE.set_column(0, "x0", pa.array([None, *TABLE["x0"].to_pylist()[1:]]))
    rows = scan(holes.append_column("gone", pa.nulls(N)), target="kind", columns=["x0", "gone"])
    with pytest.raises(DataError, match=r"'x0' \(1 of 900 rows\), column 'gone' \(900 of 900 rows\)"):
        sx.LogisticRegression().fit(rows)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("client", [None, True])
def test_a_table_of_any_columns_is_encoded_as_it_is_read(client, curved, tmp_path):
    frame, y = make_mixed_types(700, as_frame=True, rng=0)
    table = pa.Table.from_pandas(frame).append_column("label", pa.array(y))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=90)
    rows = scan(tmp_path / "a.parquet", target="label", client=client)
    inside = sx.TableClassifier(sx.LogisticRegression(tol=1e-11), curved=curved).fit(table.drop(["label"]), y)
    outside = sx.TableClassifier(sx.LogisticRegression(tol=1e-11), curved=curved).fit(rows)
    assert outside.encoder_.schema_.columns == inside.encoder_.schema_.columns
    np.testing.assert_allclose(outside.predict_proba(rows), inside.predict_proba(table), rtol=1e-8)


def test_partial_fit_and_score_read_the_labels_of_a_scan(parquet):
    rows = scan(parquet, target="kind", columns=FEATURES)
    model = sx.LinearDiscriminantAnalysis().partial_fit(rows, classes=["ash", "elm", "oak"])
    assert model.score(rows) == model.score(TABLE.select(FEATURES), KIND)


def test_a_model_finds_its_columns_by_name(parquet):
    model = sx.LinearDiscriminantAnalysis().fit(scan(parquet, target="kind", columns=["x3", "x1"]))
    expected = model.predict_proba(TABLE.select(["x3", "x1"]))
    np.testing.assert_allclose(model.predict_proba(scan(parquet)), expected, rtol=1e-12)
    with pytest.raises(DataError, match="has no column 'x3'"):
        model.predict(scan(TABLE.drop(["x3"])))


def test_the_remedy_for_labels_that_are_nan_works(tmp_path):
    rows = pa.table({"a": [1.0, 2.0, 3.0, 5.0, 4.0], "y": [0.0, 1.0, np.nan, 1.0, np.inf]})
    pq.write_table(rows, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="are missing") as said:
        sx.LinearDiscriminantAnalysis().fit(scan(rows, target="y"))
    where = str(said.value).partition("where='")[2].removesuffix("').")
    for source in (rows, tmp_path / "a.parquet"):
        assert scan(source, where=where).column("a").tolist() == [1.0, 2.0, 5.0]


# -- arguments and errors


def test_a_scan_describes_itself(parquet):
    rows = scan(parquet, target="kind", columns=["x0", "x1"], weight="weight")
    assert repr(rows) == f"<Scan of {parquet}: 900 rows x 2 columns (x0, x1); target 'kind'; weight 'weight'>"
    assert rows.shape == (N, 2)
    assert isinstance(rows, Scan)


@pytest.mark.parametrize("client", [None, True])
def test_a_table_without_rows_is_an_error(folder, client):
    rows = scan(folder, target="kind", columns=FEATURES, where="x0 > 1000", client=client)
    with pytest.raises(DataError, match="rows|sample"):
        sx.LinearDiscriminantAnalysis().fit(rows)
    with pytest.raises(DataError, match="rows|sample"):
        sx.LinearDiscriminantAnalysis().fit(scan(TABLE, target="kind", columns=FEATURES)).predict(rows)


def test_an_edit_that_keeps_size_and_time_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    rows, before = scan(path), path.stat()
    assert rows.column("a").tolist() == [1, 2]
    with path.open("r+") as file:
        file.write("a\n3")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        rows.column("a")


def test_a_file_that_changes_is_an_error_and_leaves_the_model_as_it_was(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    rows = scan(path, target="kind", columns=FEATURES)
    model = sx.LinearDiscriminantAnalysis().fit(rows)
    coef = model.coef_
    pq.write_table(TABLE.slice(0, 500), path)
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        model.fit(rows)
    assert model.coef_ is coef


# -- files


def test_files_with_other_columns_or_types_are_named(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for columns, said in (
        ([{"x": [1]}, {"z": [1]}], "Column 'x' is in .*a.parquet but not in .*b.parquet"),
        ([{"x": [1]}, {"x": [b"w"]}], "Field x has incompatible types: int64 vs binary in .*a.parquet and .*b.parquet"),
    ):
        for path, column in zip(paths, columns, strict=True):
            pq.write_table(pa.table(column), path)
        with pytest.raises(FileReadError, match=said):
            scan(paths).column("x")


@pytest.mark.parametrize(
    "cells",
    [
        [["1", "2"], ["12O0", "3"], ["4", "5"]],
        [["1", "2"], ["", ""], []],
        [["1", "2"], ["123456789012345678901", "3"]],
        [["1", "2"], ["2.5", ""]],
        [["true", "false"], ["1", "0"]],
        [["2024-01-01", ""], ["2024-01-02 10:00:00", "2024-01-03"]],
        [["", "NA"], ["2024-01-02", "x"]],
    ],
    ids=str,
)
def test_files_of_text_have_the_types_of_one_file(tmp_path, cells):
    """An odd cell, or a column without values, in one of the files changes nothing."""
    paths, whole = [tmp_path / f"{number}.csv" for number in range(len(cells))], tmp_path / "all.csv"
    texts = ["".join(f"{cell},0\n" for cell in column) for column in cells]
    for path, text in zip([*paths, whole], [*texts, "".join(texts)], strict=True):
        path.write_text(f"a,b\n{text}")
    for source in (paths, f"{tmp_path}/[0-9].csv"):
        found, expected = (pa.Table.from_batches(scan(rows).batches()) for rows in (source, whole))
        assert found.equals(expected)


@pytest.mark.parametrize(
    ("suffix", "contents", "expected"),
    [
        ("parquet", ([2**53 + 1, 1], [0.5, 1.5]), [float(2**53), 1.0, 0.5, 1.5]),
        ("jsonl", ('{"a": 1}\n', '{"a": "x"}\n'), ["1", "x"]),
        ("csv", ("a;b\n1,5;0\n", "a,b\n2.5,0\n"), [1.5, 2.5]),  # decimal marks of two countries
    ],
)
def test_types_of_several_files_are_widened(tmp_path, suffix, contents, expected):
    paths = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    for path, content in zip(paths, contents, strict=True):
        if suffix == "parquet":
            pq.write_table(pa.table({"a": content}), path)
        else:
            path.write_text(content)
    assert scan(paths).column("a").tolist() == expected


def test_an_odd_cell_in_one_of_several_files_is_missing(tmp_path):
    price = [f"{number}.5" for number in range(60)]
    for name, cells in {"a": price, "b": [*price[:7], "12O0", *price[8:]]}.items():
        lines = (f"{cell},{'yes' if n % 3 else 'no'}\n" for n, cell in enumerate(cells))
        (tmp_path / f"{name}.csv").write_text("price,y\n" + "".join(lines))
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(f"{tmp_path}/*.csv", "y")
    assert [plan.kind for plan in model.encoder_.schema_.plans] == ["number"]
    assert any(f"'12O0' in row 8 of {tmp_path}/b.csv (line 9)" in plan.note for plan in model.encoder_.schema_.plans)


# -- rows without a label


@pytest.mark.parametrize("place", ["file", "files", "scan", "stream", "workers", "numbers"])
def test_rows_without_a_label_are_left_out_as_in_memory(tmp_path, place):
    labels = [np.nan, 0.0, 1.0] if place == "numbers" else [None, "no", "yes"]
    y = [labels[0 if n % 50 == 7 else 1 + (code == 2)] for n, code in enumerate(CODES.tolist())]
    table = TABLE.select(FEATURES).append_column("y", pa.array(y))
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0, tol=1e-11))
    with pytest.warns(UserWarning, match=r"18 of 900 labels are missing, the first in row 8\."):
        expected = model.fit(table, "y").coef_
    with open_writer(tmp_path / "t.csv") as whole, open_writer(tmp_path / "a.csv") as writer:
        whole.write(table)
        writer.write(table[:5])
    with open_writer(tmp_path / "b.csv") as writer:
        writer.write(table[5:])
    rows, y, said = {
        "file": (tmp_path / "t.csv", "y", r"row 8 \(line 9\)"),
        "files": ([tmp_path / "a.csv", tmp_path / "b.csv"], "y", r"row 3 of .*b.csv \(line 4\)"),
        "scan": (scan(tmp_path / "t.csv", target="y"), None, r"row 8 \(line 9\)"),
        "stream": (scan(table.to_reader(), target="y"), None, r"row 8 \(counted from 1\)"),
        "workers": (scan(tmp_path / "t.csv", target="y", client=True), None, r"row 8 \(line 9\)"),
        "numbers": (scan(table, target="y"), None, r"row 8 \(counted from 1\)"),
    }[place]
    with pytest.warns(UserWarning, match=f"18 of 900 labels in column 'y' are missing, the first in {said}\\."):
        model.fit(rows, y)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)


# -- passes over text


def bytes_read(action):
    with open("/proc/self/io") as file:
        before = int(file.read().split()[1])
    result = action()
    with open("/proc/self/io") as file:
        return int(file.read().split()[1]) - before, result


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count bytes")
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_csv_file_is_read_once_to_open_it_once_for_types_and_labels_and_once_per_pass(tmp_path, quote):
    path = tmp_path / "trees.csv"
    lines = (f"{a!r},{b!r},{quote}{kind}{quote}\n" for a, b, *_, kind in zip(*X.T.tolist(), KIND, strict=True))
    path.write_text("a,b,kind\n" + 40 * "".join(lines))
    size, sample = path.stat().st_size, 2**18 + 2**16  # to find the dialect, some lines are read twice
    model = sx.LinearDiscriminantAnalysis()
    model.fit(scan(path, target="kind"))  # imports what it needs
    n_open, rows = bytes_read(lambda: scan(path, target="kind"))
    n_fit, _ = bytes_read(lambda: model.fit(rows))
    n_predict, _ = bytes_read(lambda: model.predict(scan(path)))
    (part,) = rows.rows.parts(("a", "b", "kind"))
    sent = pickle.dumps(part)
    n_sent, n_rows = bytes_read(lambda: sum(b.num_rows for b in pickle.loads(sent).batches(("a", "kind"), N)))
    assert n_rows == 40 * N == rows.n_rows
    assert n_open < size + sample
    assert n_fit < (1 + model.n_passes_) * size + sample
    assert n_predict < 3 * size + sample
    assert n_sent < size + sample


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count bytes")
def test_a_pass_with_a_condition_reads_the_footer_of_a_parquet_file_no_more_often_than_duckdb(tmp_path):
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"column {d}": [1, 2, 3] for d in range(500)}), path)
    rows, query = scan(path, columns=["column 0"], where='"column 1" > 1'), f"SELECT 1 FROM read_parquet('{path}')"
    assert rows.column("column 0").tolist() == [2, 3]
    n_scan, _ = bytes_read(lambda: rows.column("column 0"))
    n_query, _ = bytes_read(lambda: duckdb.sql(query).fetchall())
    assert n_scan < 2.5 * n_query


@pytest.mark.parametrize(
    "labels",
    [
        [["yes", "no", "yes"], ["no", "maybe", "yes"]],
        [["1", "2", "1.0"], ["3.0", "1e0", "2"]],
        [["true", "false", "true"], ["false", "true", "false"]],
        [["a", "NA", "b"], ["b", "", "a"]],
        [["1", "2", "1"], ["nan", "2", "NA"]],
        [["3", "3", "3"], ["3", "3", "3"]],
        [["1", "2", "1"], ["no", "1", "no"]],
    ],
    ids=str,
)
def test_labels_that_are_counted_with_their_types_are_those_of_a_pass(tmp_path, labels):
    """A condition that all rows meet needs a pass of its own to count labels."""
    paths = [tmp_path / f"{number}.csv" for number in range(len(labels))]
    for path, column in zip(paths, labels, strict=True):
        path.write_text("a,y\n" + "".join(f"{a},{label}\n" for a, label in enumerate(column)))

    def found(**how):
        try:
            labelled = scan(paths, target="y", **how).open_rows(None).with_labels(None)
            return labelled.classes.dtype, labelled.classes.tolist()
        except DataError as error:
            return str(error).partition(", the first")[0]  # lines are unknown after a condition

    assert found() == found(where="a < 9")


# -- labels in a column


COLUMNS = {
    "text": pa.array(["b", "a", "b", "c"]),
    "dictionary": pa.array(["b", "a", "b", "c"]).dictionary_encode(),
    "view": pa.array(["b", "a", "b", "c"], pa.string_view()),
    "integers": pa.array([7, -3, 7, 2], pa.int8()),
    "far integers": pa.array([2**40, -3, 2**40, 2]),
    "whole floats": pa.array([1.0, 0.0, 1.0, 2.0]),
    "booleans": pa.array([True, False, True, True]),
    "signed zeros": pa.array([-0.0, 0.0, 1.0, -0.0]),
    "half": pa.array(np.array([1.0, -0.0, 1.0, 0.0], np.float16)),
    "unsigned": pa.array([7, 3, 7, 2**64 - 1], pa.uint64()),
    "bytes": pa.array([b"b", b"a", b"b", b"ccc"]),
}
TEXT = (pa.string(), pa.string_view(), pa.binary())


def counted(column, start=0, weight=None):
    columns = {"y": column} if weight is None else {"y": column, "w": weight}
    return count_labels(Piece(start, start + len(column), [pa.record_batch(columns)]), "y", weight and "w")


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_classes_and_codes_of_a_column_are_those_of_memory(column):
    kind = None if pa.types.is_dictionary(column.type) or column.type in TEXT else column.type.to_pandas_dtype()
    classes, codes = encode_labels(np.array(column.to_pylist(), kind))
    found = counted(column).classes("error")
    np.testing.assert_array_equal(found, classes)
    assert found.dtype == classes.dtype
    np.testing.assert_array_equal(codes_of(column, found), codes)


def test_classes_are_converted_once_for_all_blocks():
    class Counted(np.ndarray):
        n_calls = 0

        def tolist(self):
            Counted.n_calls += 1
            return super().tolist()

    targets = ColumnTargets("kind", np.unique(KIND).view(Counted))
    for start in range(0, N, 100):
        piece = Piece(start, start + 100, TABLE.slice(start, 100).to_batches())
        assert targets.block(X[start : start + 100], piece, 0).t.tolist() == CODES[start : start + 100].tolist()
    assert Counted.n_calls == 1


def test_missing_and_marked_labels():
    missing = counted(pa.array([1.0, 0.0, None, np.nan, 1.0]), 100)
    with pytest.raises(DataError, match=r"2 of 5 labels in column 'y' are missing, the first in row 103"):
        missing.classes("error")
    assert (missing.classes("missing").tolist(), missing.n_unlabelled("missing")) == ([0.0, 1.0], 2)
    marked = pa.array([0, 1, -1, 1])
    assert (counted(marked).classes(-1).tolist(), counted(marked).n_unlabelled(-1)) == ([0, 1], 1)
    assert codes_of(marked, np.array([0, 1]), -1).tolist() == [0, 1, -1, 1]
    decimals = pa.array([Decimal("2.00"), Decimal("1.00"), None], pa.decimal128(9, 2))
    assert codes_of(decimals, counted(decimals).classes("missing"), "missing").tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("column", "classes", "said"),
    [
        (pa.array([1], pa.date32()), None, "date32"),
        (pa.array([0.5, 1.5, 2.5]), None, "continuous"),
        (pa.array([None, None], pa.string()), None, "2 rows has a label"),
        (pa.array(np.arange(2**16 + 1)), None, "more than 65536 different values"),
        (pa.array(["a", "z"]), ["a", "b"], "is not one of the classes"),
        (pa.array([0, 5]), [0, 1], "is not one of the classes"),
        (pa.array([0, None]), [0, 1], "is not one of the classes"),
    ],
)
def test_columns_that_are_not_labels_or_have_other_labels_are_refused(column, classes, said):
    with pytest.raises(ValueError, match=said):
        codes_of(column, counted(column).classes("missing") if classes is None else np.array(classes))


@pytest.mark.parametrize(
    ("weight", "said"), [([1.0, -1.0], "is -1 in row 2"), ([1.0, None], "nan"), (["a", "b"], "type")]
)
def test_weights_in_a_column_must_be_finite_and_not_negative(weight, said):
    rows = pa.table({"x": [1.0, 2.0], "y": [0, 1], "w": weight})
    with pytest.raises(DataError, match=f"'w'.*{said}"):
        sx.LinearDiscriminantAnalysis().fit(scan(rows, target="y", weight="w"))


# -- workers


def both(rows, **settings):
    settings = {"target": "kind", "columns": FEATURES} | settings
    return scan(rows, **settings), scan(rows, **settings, client=True)


@pytest.mark.parametrize("place", ["files", "memory"])
@pytest.mark.parametrize("settings", [{"weight": "weight"}, {"where": "x0 > 0"}, {"target": None}])
def test_workers_give_the_fit_of_one_reader(folder, settings, place):
    model, y = sx.LogisticRegression(basis=sx.basis.Polynomial(2)), KIND if "target" in settings else None
    alone, shared = both(folder if place == "files" else TABLE, **settings)
    expected = model.fit(alone, y)
    coef, passes, P = expected.coef_, expected.n_passes_, expected.predict_proba(alone)
    found = model.fit(shared, y)
    np.testing.assert_allclose(found.coef_, coef, rtol=1e-8)
    np.testing.assert_allclose(found.predict_proba(shared), P, rtol=1e-8)
    assert found.n_passes_ == passes


def test_workers_find_the_row_of_a_missing_label(tmp_path):
    for i, (low, high) in enumerate([(0, 300), (300, 500)]):
        labels = np.where(np.arange(low, high) == 333, None, KIND[low:high])
        pd.DataFrame(X[low:high], columns=FEATURES).assign(y=labels).to_parquet(tmp_path / f"{i}.parquet")
    with pytest.raises(DataError, match=r"1 of 500 labels in column 'y' .* the first in row 34 of .*1.parquet"):
        sx.LinearDiscriminantAnalysis().fit(scan(tmp_path, target="y", client=True))


@pytest.mark.slow  # another interpreter starts
def test_other_processes_read_the_rows_and_the_client_reads_none(folder, monkeypatch):
    alone, shared = both(folder)
    expected = sx.LinearDiscriminantAnalysis().fit(alone).coef_
    for name in ("pieces", "batches"):
        monkeypatch.setattr(Batches, name, lambda *_, **__: pytest.fail("the client has read rows"))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, dask.config.set(scheduler="processes", pool=pool):
        np.testing.assert_allclose(sx.LinearDiscriminantAnalysis().fit(shared).coef_, expected, rtol=1e-10)


def test_progress_of_workers_counts_every_part(folder):
    told = []
    with watched(lambda *call: told.append(call)):
        sx.LinearDiscriminantAnalysis().fit(both(folder)[1])
    for number in (1, 2):  # the classes, the moments
        done = [rows for rows, _, n in told if n == number]
        assert done == sorted(done)
        assert done[-1] == N
