import os
from types import SimpleNamespace

import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.errors import CommandError
from separatrix.cli.files import (
    load_model,
    name_of,
    open_data,
    require_columns,
    require_ending,
    require_free,
    require_of_tables,
    write_together,
)

TABLE = SimpleNamespace(path="t.csv", columns=("age", "income", "outcome"))


def test_one_missing_column_is_named_with_the_nearest():
    with pytest.raises(
        CommandError, match=r"t\.csv has no column 'incme', which the model needs\. Did you mean 'income'"
    ):
        require_columns(TABLE, ["age", "incme"], why="the model needs")
    require_columns(TABLE, ["outcome", "age"], why="the model needs")


def test_many_missing_columns_are_all_named():
    with pytest.raises(CommandError, match=r"lacks 2 columns that the model needs: 'Age' \('age'\?\), 'zzz'\."):
        require_columns(TABLE, ["Age", "zzz"], why="the model needs")
    with pytest.raises(CommandError, match="and 5 more"):
        require_columns(TABLE, [f"column {i}" for i in range(15)], why="the model needs")


@pytest.mark.parametrize(
    ("data", "name"),
    [("a/b.csv.gz", "b"), ("shop.db::orders", "orders"), ("-", "standard input"), ("plain", "plain"), (".csv", "data")],
)
def test_what_a_table_is_called(data, name):
    assert name_of(data) == name


def test_names_are_read_from_the_header_of_a_file_or_from_the_models_of_earlier_versions(folder, fitted):
    assert load_model("model.sx")[1] == {"target": "outcome"}
    fitted.positive_ = "repaid"
    sx.save(fitted, "earlier.sx")
    del fitted.positive_
    assert load_model("earlier.sx")[1] == {"positive": "repaid"}


def test_a_table_in_place_of_a_model(folder):
    with pytest.raises(CommandError, match="name of a table. A saved model comes first"):
        load_model("loans.csv")


def test_postal_codes_stay_text(folder):
    (folder / "zip.csv").write_text("zip,y\n1234,a\n5678,b\n")
    assert open_data("zip.csv", {"zip": "categorical"}).read().column("zip").to_pylist() == ["1234", "5678"]


def test_a_model_of_numbers_has_no_table(folder, rng):
    X = rng.normal(size=(20, 2))
    model = sx.LinearDiscriminantAnalysis().fit(X, np.arange(20) % 2)
    with pytest.raises(CommandError, match="LinearDiscriminantAnalysis of numbers"):
        require_of_tables(model, "m.sx")


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["there.sx"], "there.sx exists. Choose another name, or pass --force"),
        (["there.sx::table"], "there.sx exists"),
        (["none/model.sx"], "mkdir -p none"),
        (["a.sx", "a.sx"], "named for two outputs"),
        (["."], "is a folder"),
    ],
)
def test_what_is_in_the_way_is_named_before_any_work(tmp_path, monkeypatch, paths, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.sx").write_text("precious")
    with pytest.raises(CommandError, match=message) as raised:
        require_free(paths, force=False)
    assert raised.value.code == 4
    assert (tmp_path / "there.sx").read_text() == "precious"
    assert os.listdir(tmp_path) == ["there.sx"]


def test_force_may_replace_a_file_but_not_a_folder(tmp_path):
    (tmp_path / "there.sx").write_text("old")
    require_free([tmp_path / "there.sx", None, "-"], force=True)
    with pytest.raises(CommandError, match="is a folder"):
        require_free([tmp_path], force=True)


def test_a_place_where_nothing_can_be_written():
    with pytest.raises(CommandError, match="cannot be written"):
        require_free(["/proc/model.sx"], force=False)


def test_endings():
    require_ending("a/B.PNG", [".png", ".svg"], what="a picture")
    with pytest.raises(CommandError, match=r"the name of a picture ends in \.png or \.svg"):
        require_ending("a.jpeg", [".png", ".svg"], what="a picture")


def test_what_is_read_is_not_replaced_by_whatever_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("precious")
    (tmp_path / "link.csv").symlink_to("t.csv")
    for output in ("t.csv", "./t.csv", str(tmp_path / "t.csv"), "link.csv"):
        with pytest.raises(CommandError, match="what this command reads"):
            require_free([output], force=True, inputs=["t.csv", None, "-"])
    require_free(["t.csv"], force=True, inputs=["other.csv", "shop.db::orders"])


def test_files_are_written_together_or_not_at_all(tmp_path):
    write_together({str(tmp_path / "a"): b"1", str(tmp_path / "b"): b"2"})
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"1", b"2"]
    with pytest.raises(CommandError, match="could not be written") as raised:
        write_together({str(tmp_path / "c"): b"1", str(tmp_path / "no" / "d"): b"2"})
    assert raised.value.code == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_table_is_large_by_what_it_takes_unpacked(tmp_path, monkeypatch):
    import pyarrow as pa

    from separatrix import files
    from separatrix.cli.files import is_large, open_data, spread_rows

    rows = pa.table({"x": [float(i) for i in range(1000)], "y": ["a", "b"] * 500})
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        with files.open_writer(tmp_path / name) as writer:
            writer.write(rows)
    sizes = {name: open_data(str(tmp_path / name)).n_bytes for name in ("t.csv", "t.csv.gz", "t.parquet")}
    for name, times in (("t.csv", 1), ("t.csv.gz", 4), ("t.parquet", 4)):
        table = open_data(str(tmp_path / name))
        for memory, expected in ((4 * times * sizes[name] + 4, False), (4 * times * sizes[name] - 4, True)):
            monkeypatch.setattr(files, "available_memory", lambda memory=memory: memory)
            assert is_large(table) is expected
        assert spread_rows(table).num_rows == 1000
