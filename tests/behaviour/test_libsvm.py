"""Sparse text files: scikit-learn reads the same rows, models give the same results as from memory."""

import bz2
import gzip
import lzma
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.files import FileReadError, LibsvmFile, scan
from separatrix.files._kernels import read_rows
from separatrix.files.libsvm import Chunk, IndexRange, parse
from separatrix.rows import LabelRules, RowStore


@given(st.binary(max_size=60))
def test_parsing_arbitrary_bytes_stays_within_the_arrays(text):
    """Arrays have exactly the size that `parse` counts, followed by guard values."""
    n, m = text.count(b"\n") + 1, text.count(b":")
    label, start, value = np.full(n + 1, -7.0), np.full(n + 2, -7, np.int32), np.full(m + 1, -7.0)
    column, hard = np.full(m + 1, -7, np.int32), np.full((n + m + 1, 3), -7)
    counts = np.zeros(4, dtype=np.int64)
    _, at = read_rows(np.frombuffer(text, dtype=np.uint8), 0, 99, (label, start, column, value, hard, counts))
    assert 0 <= at <= len(text)
    assert counts[0] <= n
    assert counts[1] <= m
    assert counts[3] <= n + m
    assert label[-1] == start[-1] == column[-1] == value[-1] == hard[-1, 0] == -7


PATH = Path("rows.svm")
ANY = IndexRange()


def read(text, indices=ANY, line=1):
    return parse(Chunk(text.encode(), line), indices, PATH)


def as_lists(rows):
    pairs = zip(rows.start[:-1], rows.start[1:], strict=True)
    return [(t, dict(zip(rows.column[a:b].tolist(), rows.value[a:b].tolist(), strict=True)))
            for t, (a, b) in zip(rows.label.tolist(), pairs, strict=True)]  # fmt: skip


def test_labels_entries_comments_blank_lines_and_any_white_space():
    text = "# head\n\n+1 1:2 7:-0.5 # tail 9:9\r\n  -1\t3:1e2 \n0\n2 0:.5 1:5.#x"
    assert as_lists(read(text)) == [(1, {1: 2, 7: -0.5}), (-1, {3: 100}), (0, {}), (2, {0: 0.5, 1: 5})]


numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False, width=32).map(lambda x: f"{x:.8g}"),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}"),
    st.integers(-(10**20), 10**20).map(str),
    st.builds("{}e{}".format, st.integers(0, 10**18), st.integers(-330, 330)),
    st.builds("{}.{}E{:+d}".format, st.integers(0, 10**9), st.integers(0, 10**9), st.integers(-40, 40)),
    st.sampled_from(
        ["+.5", "-0", "0.1", "9007199254740993", "9007199254740992", "1e22", "1e23", "1e-23", "inf", "-Infinity"]
    ),
)


@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_agree_with_python_exactly(texts):
    rows = read("1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts)))
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(rows.value.view(np.int64), expected.view(np.int64))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 3:1 2:1", "index 2 follows an index that is not smaller"),
        ("1 3:1 3:1", "index 3 follows an index that is not smaller"),
        ("1 3:abc", "'abc' is not a number"),
        ("1 3:1.2.3", "'1.2.3' is not a number"),
        ("1 3:", "a value is missing after the colon"),
        ("1 3: 4", "a value is missing after the colon"),
        ("1 3:" + "1" * 70, "is not a number"),
        ("spam 3:1", "'spam' is not a number"),
        ("nan 3:1", "'nan' is not a finite number"),
        ("1e999 3:1", "'1e999' is not a finite number"),
        ("3:1 4:1", "the label is missing: the line begins with '3:1'"),
        ("1,2 3:1", "'1,2' contains several labels"),
        ("1 3", "'3' is not index:value"),
        ("1 -3:1", "'-3:1' is not index:value"),
        ("1 x:1", "'x:1' is not index:value"),
        ("1 2.5:1", "'2.5:1' is not index:value"),
        ("1 99999999999999999999:1", "index 99999999999999999999 is larger than the maximum, 2147483646"),
        ("1 1:1\x002:1", "is not a number"),
    ],
)
@pytest.mark.parametrize("before", ["", "1 1:1\n# comment\n\n"])
@pytest.mark.parametrize("after", ["", "\n1 1:1\n"])
def test_an_error_names_the_line_and_the_value(line, said, before, after):
    with pytest.raises(FileReadError) as error:
        read(before + line + after, line=100)
    assert str(error.value).startswith(f"rows.svm, line {100 + before.count(chr(10))}: ")
    assert said in str(error.value)


@pytest.fixture
def write_text(tmp_path):
    def written(text, name="x.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("", bytes),
        (".gz", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:])),  # two archives, joined
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_a_file_has_the_rows_that_scikit_learn_loads(tmp_path, rng, zero_based, suffix, pack):
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


def test_blocks_have_codes_and_can_be_read_again(write_text):
    file = LibsvmFile(write_text("5 1:1\n-2 2:2\n5 3:3\n"))
    for _ in range(2):
        first, second = file.blocks(2)
        assert [first.t.tolist(), second.t.tolist()] == [[1, 0], [1]]
        assert second.X.toarray().tolist() == [[0, 0, 3]]
        assert [list(first.row), list(second.row)] == [[0, 1], [2]]
    assert file.classes.tolist() == [-2, 5]


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("1 1:1\n0 2:1\n", {}, [[1, 0], [0, 1]]),
        ("1 1:1\n0 2:1\n", {"zero_based": True}, [[0, 1, 0], [0, 0, 1]]),
        ("1 1:1\n0 2:1\n", {"n_features": 4}, [[1, 0, 0, 0], [0, 1, 0, 0]]),
        ("1\n0\n", {}, [[0], [0]]),
        ("1\n0\n", {"n_features": 3}, [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_the_first_index_and_the_number_of_features_can_be_given(write_text, text, options, rows):
    assert LibsvmFile(write_text(text), **options).read()[0].toarray().tolist() == rows


def test_queries_have_a_note(write_text):
    file = LibsvmFile(write_text("1 qid:1 1:1\n0 qid:1 2:1\n"))
    assert file.notes == ("2 rows have a query (qid:), which classifiers do not use; it was skipped.",)
    assert LibsvmFile(write_text("1 1:1\n")).notes == ()


def test_rows_of_several_chunks_are_those_of_scikit_learn(write_text):
    path = write_text("".join(f"{i % 2} {i % 97 + 1}:{i} 99:1.5\n" for i in range(120_000)))
    X, y = load_svmlight_file(str(path))
    found, labels = LibsvmFile(path).read()
    np.testing.assert_array_equal(labels, y)
    assert abs(found - X).max() == 0


def test_more_labels_than_are_counted_are_not_classes(write_text):
    n = 2**16 + 40
    file = LibsvmFile(write_text("".join(f"{i} 1:1\n" for i in range(n))))
    assert file.has_more_labels
    assert file.read_labels().tolist() == list(range(n))
    with pytest.raises(DataError, match="too many labels"):
        sx.LogisticRegression().fit(file)


def test_a_file_that_changes_between_or_during_passes_is_an_error(write_text):
    path = write_text("1 1:1\n" * 200_000)
    file = LibsvmFile(path)
    chunks = file.chunks()
    next(chunks)
    path.write_text("1 1:1\n")
    with pytest.raises(FileReadError, match="has changed since it was opened"):
        list(chunks)
    path.unlink()
    with pytest.raises(FileReadError, match="was removed"):
        next(file.chunks())


def test_memory_does_not_grow_with_the_file(tmp_path):
    line = " ".join(["1", *(f"{i}:{i}.25" for i in range(1, 60))]) + "\n"
    peaks = []
    for rows in (20_000, 60_000):  # both are longer than a chunk
        path = tmp_path / f"{rows}.svm"
        path.write_text(line * rows)
        file = LibsvmFile(path)
        tracemalloc.start()
        assert sum(len(block) for block in file.blocks(100)) == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize("name", ["a.svm", "a.LIBSVM", "c.d.svmlight.gz", "a[1].svm"])
def test_a_sparse_file_is_recognised_by_its_suffix(write_text, name):
    """A name with brackets is not a pattern."""
    text = b"1 1:1\n0 2:1\n"
    path = write_text(gzip.compress(text) if name.endswith(".gz") else text, name)
    for source in (path, str(path)):
        assert scan(source).classes.tolist() == [0, 1]


N, D = 700, 12


def problem(rng, classes=(-1, 1)):
    X = sparse.random_array((N, D), density=0.3, rng=rng, format="csr")
    X.data = np.round(rng.normal(size=X.nnz), 4)
    A = X @ rng.normal(size=(D, len(classes))) + rng.gumbel(size=(N, len(classes)))
    return X, np.array(classes)[A.argmax(axis=1)]


@pytest.fixture
def write(tmp_path):
    def written(X, y, name="train.svm"):
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=False)
        return LibsvmFile(tmp_path / name)

    return written


def test_weights_and_labels_may_come_from_memory(rng, write):
    X, y = problem(rng)
    weight = rng.integers(0, 4, N).astype(float)
    other = np.where(rng.random(N) < 0.5, "a", "b")
    file = write(X, y)
    for target in (None, other):
        there = sx.LogisticRegression(tol=1e-11).fit(file, target, weight)
        here = sx.LogisticRegression(tol=1e-11).fit(X, y if target is None else target, weight)
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8)
        assert there.classes_.dtype == here.classes_.dtype
    with pytest.raises(DataError, match="Every sample_weight is zero"):
        sx.LogisticRegression().fit(file, sample_weight=np.zeros(N))


def test_a_label_can_mark_unlabelled_rows(rng, write):
    file = write(*problem(rng, (0, 1, 2)))
    found = file.open_rows(None).with_labels(None, None, LabelRules(unlabelled=0))
    assert found.classes.tolist() == [1, 2]
    assert found.n_unlabelled == file.label_counts[0]
    t = found.reduce(lambda block: np.bincount(block.t + 1, minlength=3))
    assert t.tolist() == file.label_counts.tolist()


def test_rows_to_predict_need_the_number_of_features_of_the_model(rng, write):
    X, y = problem(rng)
    model = sx.LogisticRegression().fit(X, y)
    file = write(X[:, : D - 2], y, "narrow.svm")
    with pytest.raises(ValueError, match=f"X has {D - 2} features, but LogisticRegression is expecting {D}"):
        model.predict(file)
    full = X.toarray()
    full[:, D - 2 :] = 0
    np.testing.assert_array_equal(model.predict(LibsvmFile(file.path, n_features=D)), model.predict(full))
