"""How values are written where the format has an opinion: quotes, gaps, formulas, limits."""

import datetime as dt

import pyarrow as pa
import pytest

from separatrix.files import FileWriteError, open_table, open_writer


def write(path, columns):
    with open_writer(path) as writer:
        writer.write(pa.table(columns))
    return path


def test_csv_quotes_only_what_needs_it_and_leaves_gaps_blank(tmp_path):
    times = pa.array([dt.datetime(2024, 1, 1), None], pa.timestamp("ns"))
    columns = {"a,b": ['say "x"', "plain"], "c": [float("nan"), 0.1], "d": [True, None], "e": times}
    text = write(tmp_path / "t.csv", columns).read_text()
    assert text == '"a,b",c,d,e\n"say ""x""",,true,2024-01-01 00:00:00\nplain,0.1,,\n'
    assert write(tmp_path / "t.tsv", {"a,b": ["x\ty"]}).read_text() == 'a,b\n"x\ty"\n'


def test_a_gap_in_the_only_column_is_still_a_row(tmp_path):
    table = open_table(write(tmp_path / "t.csv", {"a": [1, None, 3]}))
    assert table.read()["a"].to_pylist() == [1, None, 3]


def test_json_has_no_nan_but_lists(tmp_path):
    text = write(tmp_path / "t.jsonl", {"a": [float("nan"), 1.5], "b": [[1], None]}).read_text()
    assert text == '{"a": null, "b": [1]}\n{"a": 1.5, "b": null}\n'


def test_small_batches_share_a_row_group(tmp_path):
    import pyarrow.parquet as pq

    with open_writer(tmp_path / "t.parquet") as writer:
        for _ in range(10):
            writer.write(pa.table({"a": [1]}))
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 1


def test_batches_with_categories_of_their_own_go_to_one_arrow_file(tmp_path):
    with open_writer(tmp_path / "t.arrow") as writer:
        for texts in (["x", "y"], ["z"]):
            writer.write(pa.table({"a": pa.array(texts).dictionary_encode()}))
    assert open_table(tmp_path / "t.arrow").read()["a"].to_pylist() == ["x", "y", "z"]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".sqlite"])
def test_lists_have_no_place_in_flat_formats(tmp_path, suffix):
    with pytest.raises(FileWriteError, match=r"column 'a' holds list<.*>, which .* has no place for. Write Parquet"):
        write(tmp_path / f"t{suffix}", {"a": [[1]]})
