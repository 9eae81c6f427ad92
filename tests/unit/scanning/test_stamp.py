import os

import pytest

from separatrix.files import FileReadError
from separatrix.scanning.stamp import FileStamp


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    return path


def test_a_file_that_stays_the_same_passes(file):
    FileStamp.of(str(file)).require()


def test_what_changed_is_said(file):
    stamp = FileStamp.of(str(file))
    file.write_text("a\n1\n2\n")
    with pytest.raises(FileReadError, match=r"a\.csv has changed since it was opened: it had 4 bytes and has 6"):
        stamp.require()
    file.write_text("a\n2\n")
    os.utime(file, ns=(stamp.changed_ns + 10**9, stamp.changed_ns + 10**9))
    with pytest.raises(FileReadError, match="it was written to, and has as many bytes as before"):
        stamp.require()
    other = file.with_name("b.csv")
    other.write_text("a\n3\n")
    os.replace(other, file)
    with pytest.raises(FileReadError, match="another file of the same size is in its place"):
        stamp.require()
    file.unlink()
    with pytest.raises(FileReadError, match="is gone"):
        stamp.require()
