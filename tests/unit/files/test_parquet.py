"""Parquet: parts that make one table, and damage by file and row group."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from separatrix.files import FileReadError, open_table


def test_parts_make_one_table_of_the_wider_types(tmp_path):
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "p1.parquet")
    pq.write_table(pa.table({"b": ["z"], "a": [2.5]}), tmp_path / "p2.parquet")
    for path in (tmp_path, tmp_path / "*.parquet"):
        table = open_table(path)
        assert (table.n_rows, table.columns) == (3, ("a", "b"))
        assert table.read().to_pydict() == {"a": [1.0, 2.0, 2.5], "b": ["x", "y", "z"]}
        assert len(table.fingerprint()) == 2


def test_parts_with_other_columns_or_types_are_an_error(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "p1.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "p2.parquet")
    with pytest.raises(FileReadError, match=r"Column 'b' is in .*p1.parquet but not in .*p2.parquet"):
        open_table(tmp_path)
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), tmp_path / "p2.parquet")
    with pytest.raises(FileReadError, match="different types"):
        open_table(tmp_path)


def test_folders_that_name_values_are_noted(tmp_path):
    (tmp_path / "year=2024").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "year=2024" / "p.parquet")
    assert "column=value" in open_table(tmp_path).notes[0]


def test_categories_stay_categories_across_row_groups(tmp_path):
    texts = pa.chunked_array([["x", "y"], ["z", "x"]]).dictionary_encode()
    pq.write_table(pa.table({"a": texts}), tmp_path / "t.parquet", row_group_size=2)
    read = open_table(tmp_path / "t.parquet").read()
    assert pa.types.is_dictionary(read.schema.field("a").type)
    assert read["a"].to_pylist() == ["x", "y", "z", "x"]


def test_damage_is_named_by_file_and_row_group(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(i * i) for i in range(4000)]}), path, row_group_size=2000, use_dictionary=False)
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)
    table = open_table(path)
    with pytest.raises(FileReadError, match=r"t.parquet is damaged in row group 1"):
        table.read()
    path.write_bytes(data[:100])
    with pytest.raises(FileReadError, match="t.parquet is damaged, or no Parquet file"):
        open_table(path)
