import os

import pytest

from separatrix.cli.errors import CommandError
from separatrix.cli.outputs import require_ending, require_free


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
    with pytest.raises(CommandError, match=r"a picture can be written as \.png, \.svg"):
        require_ending("a.jpeg", [".png", ".svg"], what="a picture")
