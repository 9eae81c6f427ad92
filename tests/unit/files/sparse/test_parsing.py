"""Lines as rows: scikit-learn reads the same, and every error names its line."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from separatrix.files.errors import FileReadError
from separatrix.files.sparse.lines import Chunk
from separatrix.files.sparse.parsing import IndexRange, joined, parse

PATH = Path("rows.svm")


ANY = IndexRange()


def read(text, indices=ANY, line=1):
    return parse(Chunk(text.encode(), line, 0), indices, PATH)


def as_lists(rows):
    pairs = zip(rows.start[:-1], rows.start[1:], strict=True)
    return [(t, dict(zip(rows.column[a:b].tolist(), rows.value[a:b].tolist(), strict=True)))
            for t, (a, b) in zip(rows.label.tolist(), pairs, strict=True)]  # fmt: skip


def test_labels_entries_comments_blank_lines_and_any_white_space():
    text = "# head\n\n+1 1:2 7:-0.5 # tail 9:9\r\n  -1\t3:1e2 \n0\n2 0:.5 1:5.#x"
    assert as_lists(read(text)) == [(1, {1: 2, 7: -0.5}), (-1, {3: 100}), (0, {}), (2, {0: 0.5, 1: 5})]


def test_queries_are_counted_and_left_out():
    rows = read("1 qid:3 1:2\n0 qid:4 1:5\n1 1:1\n")
    assert rows.queries == 2
    assert as_lists(rows) == [(1, {1: 2}), (0, {1: 5}), (1, {1: 1})]


def test_columns_count_from_the_first_index():
    assert as_lists(read("1 1:5 3:6", IndexRange(1, 3))) == [(1, {0: 5, 2: 6})]


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
def test_numbers_are_those_of_python_to_the_last_bit(texts):
    rows = read("1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts)))
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(rows.value.view(np.int64), expected.view(np.int64))


@given(st.lists(numbers.filter(lambda text: np.isfinite(float(text))), min_size=1, max_size=9))
def test_labels_too(texts):
    rows = read("\n".join(f"{text} 1:1" for text in texts))
    np.testing.assert_array_equal(rows.label, [float(text) for text in texts])


def test_scikit_learn_reads_the_same(tmp_path, rng):
    lines = []
    for _ in range(300):
        at = np.flatnonzero(rng.random(40) < 0.2)
        lines.append(
            " ".join(
                [
                    str(rng.integers(3)),
                    *(f"{i}:{v!r}" for i, v in zip(at, rng.normal(size=len(at)).tolist(), strict=True)),
                ]
            )
        )
    text = "\n".join(lines) + "\n"
    (tmp_path / "x.svm").write_text(text)
    X, y = load_svmlight_file(str(tmp_path / "x.svm"), n_features=40, zero_based=True)
    rows = read(text)
    np.testing.assert_array_equal(rows.matrix(40).toarray(), X.toarray())
    np.testing.assert_array_equal(rows.label, y)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 3:1 2:1", "index 2 comes after one that is not smaller"),
        ("1 3:1 3:1", "index 3 comes after one that is not smaller"),
        ("1 3:abc", "'abc' is not a number"),
        ("1 3:1.2.3", "'1.2.3' is not a number"),
        ("1 3:", "a value is missing after the colon"),
        ("1 3: 4", "a value is missing after the colon"),
        ("1 3:" + "1" * 70, "is not a number"),
        ("spam 3:1", "'spam' is not a number"),
        ("nan 3:1", "'nan' is not a finite number"),
        ("1e999 3:1", "'1e999' is not a finite number"),
        ("3:1 4:1", "the label is missing: the line begins with '3:1'"),
        ("1,2 3:1", "'1,2' is several labels"),
        ("1 3", "'3' is not index:value"),
        ("1 -3:1", "'-3:1' is not index:value"),
        ("1 x:1", "'x:1' is not index:value"),
        ("1 2.5:1", "'2.5:1' is not index:value"),
        ("1 99999999999999999999:1", "index 99999999999999999999 is larger than 2147483646"),
        ("1 1:1\x002:1", "is not a number"),
    ],
)
@pytest.mark.parametrize("before", ["", "1 1:1\n# comment\n\n"])
@pytest.mark.parametrize("after", ["", "\n1 1:1\n"])
def test_an_error_names_the_line_and_what_is_wrong(line, said, before, after):
    with pytest.raises(FileReadError) as error:
        read(before + line + after, line=100)
    assert str(error.value).startswith(f"rows.svm, line {100 + before.count(chr(10))}: ")
    assert said in str(error.value)


def test_indices_out_of_range_are_told_with_the_remedy():
    with pytest.raises(FileReadError, match=r"line 2: index 0 comes before 1.*zero_based=True"):
        read("1 1:1\n1 0:1\n", IndexRange(1, 9))
    with pytest.raises(FileReadError, match=r"line 1: index 10 is beyond n_features=9 \(indices start at 1\)"):
        read("1 10:1", IndexRange(1, 9))


def test_the_first_of_several_errors_is_told():
    with pytest.raises(FileReadError, match="line 2: 'b'"):
        read("1 1:1\n1 1:b\n1 3:1 2:1\n1 1:c\n")


@given(st.lists(st.integers(0, 6), max_size=4))
def test_spans_put_together_are_the_whole(cuts):
    rows = read("1 1:1 2:2\n2\n3 5:5\n4 1:1 2:2 3:3\n5\n6 6:6")
    edges = [0, *sorted(cuts), 6]
    again = joined([rows.span(a, b) for a, b in pairwise(edges)])
    assert as_lists(again) == as_lists(rows)
    assert again.matrix(7).has_canonical_format
