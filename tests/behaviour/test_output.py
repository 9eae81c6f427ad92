import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest

import separatrix as sx
from separatrix._output import atomic_file, write_atomically
from separatrix.exceptions import FileError
from separatrix.files import FileWriteError, open_writer


def test_a_file_has_the_rights_that_any_file_has(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "new") as file:
        file.write(b"content")
        assert not (tmp_path / "new").exists()
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "new")]
    assert rights[0] == rights[1]


MODEL = sx.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])


def write_bytes(path, *, force):
    write_atomically(path, b"content")


def write_model(path, *, force):
    sx.save(MODEL, path, force=force)


def write_table(path, *, force):
    with open_writer(path, force=force) as out:
        out.write(pa.table({"a": [1]}))


WRITERS = [write_bytes, write_model, write_table]


@pytest.mark.parametrize("write", WRITERS)
def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path, write):
    pipe = tmp_path / "t.csv"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe, force=True)
    reader.join(timeout=20)
    assert len(read[0]) > 3
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("dangling", [True, False])
def test_a_link_is_followed_and_stays_a_link(tmp_path, write, dangling):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "real.csv", tmp_path / "t.csv"
    link.symlink_to(target)
    if not dangling:
        target.write_bytes(b"old")
    write(link, force=True)
    assert link.is_symlink()
    assert target.read_bytes() not in (b"", b"old")
    assert sorted(os.listdir(tmp_path)) == ["far", "t.csv"]
    assert os.listdir(tmp_path / "far") == ["real.csv"]


def test_a_dangling_link_counts_as_existing(tmp_path):
    link = tmp_path / "t.csv"
    link.symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(FileError, match="t.csv exists.*force=True"):
        sx.save(MODEL, link)
    with pytest.raises(FileWriteError, match="t.csv exists"):
        open_writer(link)


BAD_PATHS = {
    "a missing folder": ("nowhere/model.sx", r"nowhere does not exist. Create it: mkdir -p"),
    "a folder": (".", "is a folder. Name a file in it"),
    "a file as a folder": ("file/model.sx", "file does not exist|Not a directory"),
    "a zero byte": ("a\0b.sx", "null (byte|character).*Choose another place"),
    "a long name": ("x" * 300, "too long.*Choose another place"),
    "not a path": (None, "path=None is not a path"),
}


@pytest.mark.parametrize("name", BAD_PATHS)
def test_saving_to_a_bad_path_names_the_problem_and_a_remedy(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    path, words = BAD_PATHS[name]
    with pytest.raises(FileError, match=words):
        sx.save(MODEL, path)
    assert os.listdir(tmp_path) == ["file"]


KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from separatrix._output import atomic_file
from separatrix.files import open_writer
if sys.argv[2] == "file":
    with atomic_file(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
with open_writer(sys.argv[1]) as out:
    out.write(pa.table({"a": [1]}))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "table"])
def test_the_next_writer_removes_what_a_killed_process_left(tmp_path, kind):
    path = tmp_path / "t.csv"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), kind], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1  # a draft, but no file
    (tmp_path / ".t.csv.of-the-user").mkdir()
    with atomic_file(path) as running:  # another writer of the same file, which still runs
        running.write(b"first")
        running.flush()
        write_table(path, force=False)
        assert len(os.listdir(tmp_path)) == 3
    assert sorted(os.listdir(tmp_path)) == [".t.csv.of-the-user", "t.csv"]
    assert path.read_bytes() == b"first"


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path, write, mode):
    path = tmp_path / "t.csv"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path, force=True)
    assert path.read_bytes() != b"old"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("has_links", [True, False])  # some file systems have no hard links
def test_of_two_writers_of_one_new_file_the_second_fails_and_changes_nothing(tmp_path, monkeypatch, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", Mock(side_effect=OSError(errno.EPERM, "not permitted")))
    path = tmp_path / "new.csv"

    def write_twice():
        with atomic_file(path, exclusive=True) as slow:
            slow.write(b"second")
            write_atomically(path, b"first", exclusive=True)

    with pytest.raises(FileExistsError, match="another program has just created this file"):
        write_twice()
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["new.csv"]


def created_meanwhile(target, *_, **__):
    """Stand-in for a check of the path, after which another program creates the file."""
    Path(target).write_bytes(b"of the other program")
    return ""


def test_a_model_does_not_replace_a_file_that_appears_while_it_is_saved(tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.export.saving.output_problem", created_meanwhile)
    with pytest.raises(FileError, match="another program has just created this file"):
        sx.save(MODEL, tmp_path / "m.sx")
    assert (tmp_path / "m.sx").read_bytes() == b"of the other program"


def test_a_table_does_not_replace_a_file_that_appears_while_it_is_written(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    out = open_writer(path)
    monkeypatch.setattr(out, "_refuse_existing", lambda: created_meanwhile(path))
    with pytest.raises(FileWriteError, match="another program has just created this file"), out:
        out.write(pa.table({"a": [1]}))
    assert path.read_bytes() == b"of the other program"
    assert os.listdir(tmp_path) == ["t.csv"]
