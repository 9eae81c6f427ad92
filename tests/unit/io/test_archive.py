"""The outer form of a file: bytes that are not a model are an error, whatever they are."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

import separatrix as sx
from problems import blobs
from separatrix.io.archive import FORMAT, REVISION, FileError, archive_of, parse_json, read_archive

MEMBERS = {"model.json": b"{}", "arrays/0.npy": b"numbers" * 40}


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "a.sx").write_bytes(archive_of(MEMBERS, {"version": "1.2", "model": "Thing"}))
    return tmp_path / "a.sx"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, y = blobs(40, n_features=2, n_classes=2)
    path = sx.save(sx.LinearDiscriminantAnalysis().fit(X, y), tmp_path_factory.mktemp("io") / "lda.sx")
    return path.read_bytes(), X, sx.load(path).predict_proba(X)


def rewrite(path, members, **manifest):
    """An archive with a right checksum for every member."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    content = {"magic": "separatrix model", "format": FORMAT, "sha256": sums} | manifest
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("manifest.json", json.dumps(content))
        for name, data in members.items():
            file.writestr(name, data)


def test_what_is_written_is_read(archive):
    manifest, members = read_archive(archive)
    assert members == MEMBERS
    assert (manifest["format"], manifest["revision"], manifest["version"]) == (FORMAT, REVISION, "1.2")


def test_a_file_cut_off_anywhere_is_an_error(model, tmp_path):
    data, _, _ = model
    path = tmp_path / "cut.sx"
    for end in np.unique(np.linspace(0, len(data) - 1, 200).astype(int)):
        path.write_bytes(data[:end])
        with pytest.raises(FileError):
            sx.load(path)


def test_a_changed_byte_is_an_error_or_means_nothing(model, tmp_path):
    """A time stamp means nothing; then the model is the same. Never another exception, never another model."""
    data, X, P = model
    path, rng, refused = tmp_path / "changed.sx", np.random.default_rng(0), 0
    for position in rng.choice(len(data), size=300, replace=False):
        broken = bytearray(data)
        broken[position] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            again = sx.load(path)
        except FileError:
            refused += 1
        else:
            np.testing.assert_array_equal(again.predict_proba(X), P)
    assert refused > 150


def test_noise_is_an_error(tmp_path):
    path, rng = tmp_path / "noise.sx", np.random.default_rng(0)
    for size in (0, 1, 22, 100, 5000):
        path.write_bytes(rng.bytes(size))
        with pytest.raises(FileError, match="damaged or not a model file"):
            read_archive(path)


def test_a_wrong_checksum(archive):
    _, members = read_archive(archive)
    rewrite(archive, members | {"model.json": b"[]"}, sha256=dict.fromkeys(members, "0" * 64))
    with pytest.raises(FileError, match="checksum of model.json is wrong"):
        read_archive(archive)


def test_a_bomb_is_not_opened(tmp_path):
    """Many members that are each of a modest size, together beyond what so small a file can be."""
    path = tmp_path / "bomb.sx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", "{}")
        for i in range(12):
            file.writestr(f"arrays/{i}.npy", bytes(2**23))
    with pytest.raises(FileError, match=r"claims to hold 100663298, more than any model of that size"):
        read_archive(path)


def test_a_tree_that_would_become_a_forest(tmp_path):
    """Objects of Python take many times the memory of the text they are read from."""
    path = tmp_path / "tree.sx"
    path.write_bytes(archive_of({"model.json": b"[" + b"{}," * 3_000_000 + b"1]"}, {}))
    assert path.stat().st_size < 50_000
    with pytest.raises(FileError, match="more than any model of that size"):
        read_archive(path)


def test_a_member_that_stands_twice(archive):
    with zipfile.ZipFile(archive, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("model.json", b"[]")
    with pytest.raises(FileError, match=r"model.json more than once"):
        read_archive(archive)


def test_other_ways_of_packing(tmp_path):
    path = tmp_path / "lzma.sx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("manifest.json", "{}")
    with pytest.raises(FileError, match="compressed in a way that models are not"):
        read_archive(path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "arrays/../x.npy", "arrays/01.npy", "notes.txt"])
def test_members_with_other_names_are_not_looked_at(archive, name):
    """A later version may have more to say; a hostile one may say it of another place."""
    rewrite(archive, MEMBERS | {name: b"boo"})
    assert read_archive(archive)[1] == MEMBERS


def test_symbolic_links_are_bytes_like_any_other(archive):
    entry = zipfile.ZipInfo("arrays/1.npy")
    entry.external_attr = 0o120777 << 16
    rewrite(archive, MEMBERS)
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(entry, "/etc/passwd")
    assert read_archive(archive)[1] == MEMBERS


def test_a_missing_member(archive):
    rewrite(archive, {"model.json": b"{}"}, sha256={"model.json": "", "arrays/0.npy": ""})
    with pytest.raises(FileError, match=r"There is no item named 'arrays/0.npy'"):
        read_archive(archive)


@pytest.mark.parametrize("manifest", [{"magic": "other"}, {"sha256": []}, {"sha256": None}])
def test_another_zip(archive, manifest):
    rewrite(archive, MEMBERS, **manifest)
    with pytest.raises(FileError, match="is a zip file, but not one of a model"):
        read_archive(archive)


@pytest.mark.parametrize("number", [0, -1, "2", 2.0, None, True])
def test_a_format_that_is_none(archive, number):
    rewrite(archive, MEMBERS, format=number)
    with pytest.raises(FileError, match="its format is"):
        read_archive(archive)


def test_a_later_format_says_what_to_do(archive):
    rewrite(archive, MEMBERS, format=FORMAT + 1, version="9.0")
    with pytest.raises(FileError, match=rf"by separatrix 9.0 in format {FORMAT + 1}; .* Upgrade separatrix"):
        read_archive(archive)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', '{"a": 1, "a": 2}', "[" * 100_000, "{"])
def test_json_that_is_none(text):
    with pytest.raises((ValueError, RecursionError)):
        parse_json(text.encode())


def test_json_of_the_first_format_may_have_constants():
    assert parse_json(b"[Infinity, -Infinity]", finite=False) == [np.inf, -np.inf]
