import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from separatrix.files import FileReadError, open_writer
from separatrix.scanning import groups
from separatrix.scanning.files import open_files
from separatrix.scanning.where import make_condition

NAMES = ("x0", "kind")
SUFFIXES = ["csv", "csv.gz", "tsv", "jsonl", "parquet", "parquet.gz", "arrow", "xlsx", "sqlite", "duckdb"]


def written(table, path):
    with open_writer(path) as writer:
        writer.write(table)
    return str(path)


def rows(parts):
    return pa.Table.from_batches([batch for part in parts for batch in part.batches()])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_its_rows_here_and_after_a_pickle(suffix, table, tmp_path):
    origin = open_files(written(table.select(NAMES), tmp_path / f"a.{suffix}"), None)
    (part,) = origin.parts(("kind", "x0"))
    for one in (part, pickle.loads(pickle.dumps(part))):
        found = rows([one])
        # a workbook keeps 16 digits, every other format all of them
        rtol = 1e-15 if suffix == "xlsx" else 0
        np.testing.assert_allclose(found["x0"].to_numpy(), table["x0"].to_numpy(), rtol=rtol)
        assert found["kind"].to_pylist() == table["kind"].to_pylist()
        assert found.column_names == ["kind", "x0"]


@pytest.mark.parametrize("how", ["list", "pattern", "folder"])
def test_several_files_are_one_table_in_the_order_of_their_names(how, table, tmp_path):
    paths = [written(table.slice(300 * i, 300), tmp_path / f"part-{i}.parquet") for i in range(3)]
    source = {"list": paths, "pattern": str(tmp_path / "part-*.parquet"), "folder": tmp_path}[how]
    origin = open_files(source, None)
    assert origin.n_rows == 900
    assert rows(origin.parts(["x1"]))["x1"].to_pylist() == table["x1"].to_pylist()
    assert "and 2 more" in origin.title


def test_a_pattern_of_csv_files_is_one_table(table, tmp_path):
    for i in range(2):
        written(table.select(["x0"]).slice(450 * i, 450), tmp_path / f"{i}.csv")
    assert rows(open_files(str(tmp_path / "*.csv"), None).parts(["x0"])).num_rows == 900


def test_row_groups_are_shares_that_make_up_the_file(table, tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=100)
    monkeypatch.setattr(groups, "SHARE_ROWS", 250)
    shares = open_files(path, None).shares(["x0"])
    assert [share.n_rows for share in shares] == [300, 300, 300]
    assert [share.groups for share in shares] == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    assert rows(pickle.loads(pickle.dumps(shares)))["x0"].to_pylist() == table["x0"].to_pylist()


def test_types_widen_to_what_all_files_hold(tmp_path):
    written(pa.table({"a": [1, 2], "b": pa.nulls(2)}), tmp_path / "0.parquet")
    written(pa.table({"b": ["u", "v"], "a": [0.5, 1.5]}), tmp_path / "1.parquet")
    found = rows(open_files(tmp_path, None).parts(["a", "b"]))
    assert found.schema.types == [pa.float64(), pa.string()]
    assert found["a"].to_pylist() == [1.0, 2.0, 0.5, 1.5]


def test_dictionaries_of_files_may_differ(tmp_path):
    for i, words in enumerate((["u", "v"], ["w", "u"])):
        pq.write_table(pa.table({"a": pa.array(words).dictionary_encode()}), tmp_path / f"{i}.parquet")
    assert rows(open_files(tmp_path, None).parts(["a"]))["a"].to_pylist() == ["u", "v", "w", "u"]


def test_drift_of_types_names_the_column_both_files_and_both_types(tmp_path):
    written(pa.table({"a": [1.0], "b": [1.0]}), tmp_path / "0.parquet")
    written(pa.table({"a": [2.0], "b": ["x"]}), tmp_path / "1.parquet")
    origin = open_files(tmp_path, None)
    with pytest.raises(
        FileReadError, match=r"'b' is of type double in \S+0.parquet and of type string in \S+1.parquet"
    ):
        origin.schema(["b"])
    assert rows(origin.parts(["a"]))["a"].to_pylist() == [1.0, 2.0]  # the other columns can be used


@pytest.mark.parametrize("other", [{"a": [1]}, {"a": [1], "bb": [1]}, {"a": [1], "b": [1], "c": [1]}], ids=str)
def test_drift_of_columns_names_the_column_and_both_files(other, tmp_path):
    written(pa.table({"a": [1], "b": [1]}), tmp_path / "0.parquet")
    written(pa.table(other), tmp_path / "1.parquet")
    with pytest.raises(FileReadError, match=r"Column '[bc]' is in \S+ but not in \S+"):
        open_files(tmp_path, None)


def damaged(table, path, column=0):
    """Three row groups, the second of which has a column that cannot be read."""
    pq.write_table(table, path, row_group_size=len(table) // 3, compression="zstd")
    at = pq.read_metadata(path).row_group(1).column(column)
    with path.open("r+b") as file:
        file.seek((at.dictionary_page_offset or at.data_page_offset) + 40)
        file.write(b"\xff" * 200)
    return path


def test_a_damaged_row_group_is_named_with_its_file(table, tmp_path):
    path = damaged(table.select(["x0"]), tmp_path / "a.parquet")
    with pytest.raises(FileReadError, match=r"a\.parquet is damaged in row group 1"):
        rows(open_files(path, None).parts(["x0"]))


def narrowed(path, where):
    origin = open_files(path, None)
    return replace(origin, where=make_condition(where, origin))


@pytest.mark.parametrize("where", ["n >= 600", pc.field("n") >= 600], ids=str)
@pytest.mark.parametrize("how", ["parts", "shares"])
def test_a_row_group_that_statistics_exclude_is_not_read(where, how, table, tmp_path):
    table = table.append_column("n", pa.array(np.arange(900)))
    path = damaged(table.select(["x0", "n"]), tmp_path / "a.parquet")
    found = rows(getattr(narrowed(path, where), how)(["x0"]))
    assert found["x0"].to_pylist() == table["x0"].to_pylist()[600:]
    with pytest.raises(FileReadError, match=r"a\.parquet is damaged in row group 1"):  # now one that may count
        rows(getattr(narrowed(path, "n >= 599"), how)(["x0"]))


@pytest.mark.parametrize("where", ["n >= 100", pc.field("n") >= 100], ids=str)
def test_a_column_that_nobody_asked_for_is_not_read(where, table, tmp_path):
    table = table.append_column("n", pa.array(np.arange(900)))
    path = damaged(table.select(["x0", "n", "x1"]), tmp_path / "a.parquet")
    assert rows(narrowed(path, where).parts(["x1"]))["x1"].to_pylist() == table["x1"].to_pylist()[100:]


def test_a_file_of_which_no_row_counts_has_a_part_without_rows(table, tmp_path):
    path = written(table, tmp_path / "a.parquet")
    for how in ("parts", "shares"):
        (part,) = getattr(narrowed(path, "count > 1000"), how)(["x0"])
        assert part.groups == ()
        assert list(part.batches()) == []


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_file_that_changes_is_noticed_before_and_after_it_is_read(when, table, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    (part,) = open_files(path, None).parts(["x0"])
    batches = part.batches()
    if when == "during":
        next(batches)
    pq.write_table(table.slice(0, 10), path.with_name("b"))
    path.with_name("b").replace(path)
    with pytest.raises(FileReadError, match=r"a\.parquet has changed since it was opened: it had \d+ bytes and has"):
        list(batches)


@pytest.mark.parametrize("now", [None, b"PAR1 and no more", "another"])
def test_a_file_that_changes_before_its_statistics_are_read_is_noticed_too(now, table, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    origin = narrowed(path, "x0 < 0")
    if now is None:
        path.unlink()
    elif now == "another":
        pq.write_table(pa.table({"other": [1]}), path)
    else:
        path.write_bytes(now)
    with pytest.raises(FileReadError, match=r"a\.parquet (is gone|has changed since it was opened)"):
        origin.parts(["kind"])


def test_a_condition_needs_no_column_of_the_model(table, tmp_path):
    origin = open_files(written(table, tmp_path / "a.parquet"), None)
    origin = replace(origin, where=make_condition("kind = 'oak'", origin))
    (part,) = origin.parts(["x0"])
    assert (origin.n_rows, part.n_rows) == (None, None)
    assert rows([part]).column_names == ["x0"]
    assert rows([part]).num_rows == table["kind"].to_pylist().count("oak")


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileReadError, match="the list of paths is empty"):
        open_files([], None)
    with pytest.raises(FileReadError, match=r"No file matches \S+\*\.csv"):
        open_files(tmp_path / "*.csv", None)
    with pytest.raises(FileReadError, match="There is no file"):
        open_files(tmp_path / "a.csv", None)


def test_types_of_csv_columns_may_be_given(tmp_path):
    (tmp_path / "a.csv").write_text("code\n1\n2\n")
    assert open_files(tmp_path / "a.csv", {"code": "categorical"}).schema(["code"]).types == [pa.string()]


def test_whole_numbers_in_one_file_and_others_in_another_are_all_floats(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, column in zip(paths, ([2**53 + 1, 1], [0.5, 1.5]), strict=True):
        pq.write_table(pa.table({"a": column}), path)
    origin = open_files(paths, None)
    assert rows(origin.parts(("a",)))["a"].to_pylist() == [float(2**53), 1.0, 0.5, 1.5]


def test_values_that_do_not_fit_the_common_type_are_said_with_file_and_column(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [300]}), path)
    (part,) = open_files(path, None).parts(("a",))
    with pytest.raises(FileReadError, match=r"Column 'a' of .*a\.parquet is of type int64, and does not fit int8"):
        list(replace(part, types={"a": pa.int8()}).batches())
