"""The file as a user sees it: what is found in it, in any packing, and scikit-learn's loader as the oracle."""

import bz2
import gzip
import lzma
import pathlib
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.files import scan
from separatrix.files.errors import FileReadError
from separatrix.files.sparse import LibsvmFile, is_libsvm, libsvm, lines
from separatrix.rows import RowStore


@pytest.fixture
def write(tmp_path):
    def written(text, name="x.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_it_holds_what_scikit_learn_loads(tmp_path, rng, zero_based, suffix, pack):
    X = sparse.csr_array(sparse.random_array((200, 30), density=0.2, rng=rng))
    plain, packed = tmp_path / "plain.svm", tmp_path / f"x.svm{suffix}"
    dump_svmlight_file(X, rng.integers(4, size=200), str(plain), zero_based=zero_based)
    packed.write_bytes(pack(plain.read_bytes()))
    expected, y = load_svmlight_file(str(plain))
    file = LibsvmFile(packed)
    found, labels = file.read()
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(file.read_labels(), y)
    assert (file.n_rows, file.n_features, file.n_entries) == (*expected.shape, expected.nnz)
    assert file.shape == expected.shape
    assert file.zero_based is zero_based
    assert file.label_counts.tolist() == np.unique(y, return_counts=True)[1].tolist()
    assert isinstance(file, RowStore)


def test_blocks_have_codes_and_can_be_read_again(write):
    file = LibsvmFile(write("5 1:1\n-2 2:2\n5 3:3\n"))
    for _ in range(2):
        first, second = file.blocks(2)
        assert [first.t.tolist(), second.t.tolist()] == [[1, 0], [1]]
        assert second.X.toarray().tolist() == [[0, 0, 3]]
        assert [list(first.row), list(second.row)] == [[0, 1], [2]]
    assert file.classes.tolist() == [-2, 5]


def test_where_indices_start_can_be_said(write):
    path = write("1 1:1\n0 2:1\n")
    assert LibsvmFile(path).read()[0].toarray().tolist() == [[1, 0], [0, 1]]
    assert LibsvmFile(path, zero_based=True).read()[0].toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert LibsvmFile(path, n_features=4).n_features == 4
    with pytest.raises(FileReadError, match="line 2: index 0 comes before 1"):
        LibsvmFile(write("1 1:1\n0 0:1\n", "zero.svm"), zero_based=False)


def test_too_few_features_are_told_wherever_indices_start(write):
    with pytest.raises(FileReadError, match="line 2: index 3 is beyond n_features=2"):
        LibsvmFile(write("1 1:1\n0 3:1\n"), n_features=2, zero_based=False)
    with pytest.raises(FileReadError, match=r"indices 0 to 2, one more than n_features=2. Give n_features=3"):
        LibsvmFile(write("1 0:1\n0 2:1\n"), n_features=2)
    assert LibsvmFile(write("1 1:1\n0 2:1\n"), n_features=2).n_features == 2


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n  \n"])
def test_a_file_without_rows_is_refused(write, text):
    with pytest.raises(FileReadError, match=r"x.svm has no rows. Write each row as: label index:value"):
        LibsvmFile(write(text))


def test_rows_without_entries_are_rows(write):
    file = LibsvmFile(write("1\n0\n"))
    assert file.read()[0].toarray().tolist() == [[0], [0]]
    assert LibsvmFile(write("1\n0\n"), n_features=3).read()[0].shape == (2, 3)


def test_queries_are_noted(write):
    file = LibsvmFile(write("1 qid:1 1:1\n0 qid:1 2:1\n"))
    assert file.notes == ("2 rows have a query (qid:), which classifiers have no use for: it was left out.",)
    assert LibsvmFile(write("1 1:1\n")).notes == ()


@pytest.mark.parametrize("name", ["a.svm", "a.LIBSVM", "b/c.d.svmlight.gz", "a.svm.xz"])
def test_files_are_known_by_their_names(name):
    assert is_libsvm(name)
    assert is_libsvm(pathlib.Path(name))


@pytest.mark.parametrize("other", ["a.csv", "svm", "a.svm.csv", "a.gz", 3, ["a.csv"], None])
def test_others_are_not(other):
    assert not is_libsvm(other)


def test_arguments_are_checked(write):
    path = write("1 1:1\n")
    with pytest.raises(ValueError, match="zero_based"):
        LibsvmFile(path, zero_based="yes")
    with pytest.raises(ValueError, match="n_features must be an integer"):
        LibsvmFile(path, n_features=0)
    with pytest.raises(ValueError, match="rows_per_block must be an integer"):
        LibsvmFile(path).blocks(0)


def test_labels_that_are_all_different_are_not_all_kept(write, monkeypatch):
    monkeypatch.setattr(libsvm, "MOST_LABELS", 10)
    file = LibsvmFile(write("".join(f"{i} 1:1\n" for i in range(40))))
    assert file.has_more_labels
    assert len(file.labels) == 10
    assert file.read_labels().tolist() == list(range(40))


def test_rows_in_between_are_read_without_those_before(tmp_path, write, monkeypatch):
    text = "".join(f"{i % 2} {i + 1}:{i}\n" for i in range(200))
    monkeypatch.setattr(lines, "CHUNK", 100)
    file = LibsvmFile(write(text))
    whole = file.read()[0].toarray()
    for first, last in ((0, 1), (0, 200), (37, 41), (199, 200), (3, 150)):
        np.testing.assert_array_equal(file.rows_between(first, last).matrix(200).toarray(), whole[first:last])
    packed = LibsvmFile(write(gzip.compress(text.encode()), "x.svm.gz"))
    with pytest.raises(FileReadError, match="is packed, so that rows cannot be taken in a random order"):
        packed.rows_between(0, 1)


def test_it_travels_to_another_process(write):
    file = pickle.loads(pickle.dumps(LibsvmFile(write("1 1:1\n0 2:1\n"))))
    assert file.read()[0].toarray().tolist() == [[1, 0], [0, 1]]
    assert repr(file).endswith("x.svm', n_features=2, zero_based=False)")


def test_memory_does_not_grow_with_the_file(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 2**14)
    line = " ".join(["1", *(f"{i}:{i}.25" for i in range(1, 60))]) + "\n"
    peaks = []
    for rows in (2_000, 20_000):
        path = tmp_path / f"{rows}.svm"
        path.write_text(line * rows)
        file = LibsvmFile(path)
        tracemalloc.start()
        assert sum(len(block) for block in file.blocks(100)) == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < path.stat().st_size / 4


def test_a_scan_of_such_a_file_is_one(write):
    path = write("1 1:1\n0 2:1\n", "x.libsvm")
    assert scan(str(path)).classes.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"x.libsvm is a sparse text file.*target='y'"):
        scan(path, target="y")


@pytest.mark.parametrize(
    "model", [sx.OneVsRest(sx.LogisticRegression(alpha=1.0)), sx.GeneralizedLinearModel("gaussian")]
)
def test_models_that_need_all_targets_read_them_from_the_file(write, model):
    file = LibsvmFile(write("1 1:1 2:2\n2 1:3\n3 1:1 2:-1\n1 2:3\n2 1:4 2:1\n3 1:-1 2:-2\n"))
    X, y = file.read()
    np.testing.assert_allclose(model.fit(file).predict(file), model.fit(X, y).predict(X), rtol=1e-10)


@pytest.mark.parametrize("names", ["*.svm", ["a.svm", "b.svm"]])
def test_several_files_are_refused_with_the_remedy(tmp_path, names):
    names = str(tmp_path / names) if isinstance(names, str) else names
    with pytest.raises(FileReadError, match=r"not read together.*cat part"):
        scan(names)


def test_a_name_with_brackets_is_a_name(tmp_path):
    (tmp_path / "a[1].svm").write_text("1 1:1\n0 1:2\n")
    assert scan(tmp_path / "a[1].svm").n_rows == 2
