# SPDX-License-Identifier: BSD-3-Clause
"""Lines ``label index:value index:value ...  # comment`` as sparse rows.

Blank lines and comments are skipped, and so are ``qid:`` (queries of ranking problems). Numbers are as Python reads
them, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Array, Codes, Float
from separatrix.files.errors import FileReadError
from separatrix.files.sparse.lines import Chunk

__all__ = ["IndexRange", "SparseRows", "joined", "parse"]

LARGEST_INDEX = 2**31 - 2
LONGEST = 64  # characters: no number that a program writes has more
SHOWN = 40


class IndexRange(NamedTuple):
    """The indices that a line may have; ``low`` is the first column."""

    low: int = 0
    high: int = LARGEST_INDEX

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.high - self.low + 1


@dataclass(frozen=True, eq=False, slots=True)
class SparseRows:
    """n rows of a file: row i has ``column[start[i] : start[i + 1]]`` and the values there; in ascending order."""

    label: Float
    start: Array
    column: Array
    value: Float
    queries: int = 0

    def __len__(self) -> int:
        return len(self.label)

    def span(self, first: int, last: int) -> SparseRows:
        """Rows from ``first`` up to ``last``, as views."""
        low, high = self.start[first], self.start[last]
        return SparseRows(
            self.label[first:last], self.start[first : last + 1] - low, self.column[low:high], self.value[low:high]
        )

    def matrix(self, width: int) -> Any:
        """The rows as a CSR array (n, width); its constructor would look at every index again."""
        X = sparse.csr_array((len(self), width), dtype=np.float64)
        X.data, X.indices, X.indptr = self.value, self.column, self.start
        return X


def joined(parts: list[SparseRows]) -> SparseRows:
    """Rows one after another."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.value) for part in parts)])
    wide = np.int64 if ends[-1] > np.iinfo(np.int32).max else np.int32
    starts = [part.start[:-1].astype(wide) + end for part, end in zip(parts, ends[:-1].astype(wide), strict=True)]
    return SparseRows(
        np.concatenate([part.label for part in parts]),
        np.append(np.concatenate(starts), ends[-1:].astype(wide)),
        np.concatenate([part.column for part in parts]).astype(wide, copy=False),
        np.concatenate([part.value for part in parts]),
    )


def parse(chunk: Chunk, indices: IndexRange, path: Path) -> SparseRows:
    """The rows of a chunk.

    Raises
    ------
    FileReadError
        Naming the file, the line, what is wrong with it, and what to do.
    """
    from separatrix.files.sparse._kernels import READ, read_rows

    text = np.frombuffer(chunk.text, dtype=np.uint8)
    n_rows, n_entries = chunk.text.count(b"\n") + 1, chunk.text.count(b":")
    label, start = np.empty(n_rows), np.empty(n_rows + 1, dtype=np.int32)
    column, value = np.empty(n_entries, dtype=np.int32), np.empty(n_entries)
    hard = np.empty((n_rows + n_entries, 3), dtype=np.int64)
    counts = np.zeros(4, dtype=np.int64)
    end, at = read_rows(text, *indices, label, start, column, value, hard, counts)
    n, n_entries, queries, n_hard = counts.tolist()
    _settle(hard[:n_hard], text, label, value, chunk, path)
    if end != READ:
        raise _fault(end, at, chunk, indices, path)
    return SparseRows(label[:n], start[: n + 1], column[:n_entries], value[:n_entries], queries)


def _settle(hard: Codes, text: Array, label: Float, value: Float, chunk: Chunk, path: Path) -> None:
    """Read the numbers that the loop left: with more digits than it can be sure of, or no numbers at all."""
    if not len(hard):
        return
    begin, end, place = hard.T
    longest = int((end - begin).max())
    wrong = begin[(end - begin > LONGEST) | (end == begin)]
    if len(wrong):
        raise _not_a_number(int(wrong[0]), chunk, path)
    at = begin[:, None] + np.arange(longest)
    letters = np.where(at < end[:, None], text[np.minimum(at, len(text) - 1)], 0).astype(np.uint8)
    try:
        with np.errstate(over="ignore"):  # 1e999 is infinity, which models refuse by the name of the column
            numbers = letters.view(f"S{longest}")[:, 0].astype(np.float64)
    except ValueError as error:
        first = next(start for start, stop in zip(begin, end, strict=True) if not _is_number(chunk.text[start:stop]))
        raise _not_a_number(int(first), chunk, path) from error
    is_label = place < 0
    if (endless := begin[is_label & ~np.isfinite(numbers)]).size:
        raise _not_a_number(int(endless[0]), chunk, path, what="a finite number, as a label must be")
    label[-1 - place[is_label]] = numbers[is_label]
    value[place[~is_label]] = numbers[~is_label]


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _not_a_number(at: int, chunk: Chunk, path: Path, what: str = "a number") -> FileReadError:
    token = _token(at, chunk)
    what = f"{token!r} is not {what}" if token else "a value is missing after the colon"
    return _error(at, chunk, path, f"{what}. Write each row as: label index:value index:value ...")


def _fault(end: int, at: int, chunk: Chunk, indices: IndexRange, path: Path) -> FileReadError:
    from separatrix.files.sparse import _kernels as kernel

    token = _token(at, chunk)
    index = token.partition(":")[0]
    remarks = {
        kernel.NO_LABEL: f"the label is missing: the line begins with {token!r}. Write a label first; 0 where there "
        "is none, as in rows to predict.",
        kernel.SEVERAL_LABELS: f"{token!r} is several labels. A row has one class: write a file for each label, with "
        "1 where a row has it and 0 where not.",
        kernel.NO_INDEX: f"{token!r} is not index:value, where an index is a whole number. Write each row as: label "
        "index:value index:value ...",
        kernel.LARGE_INDEX: f"index {index} is larger than {LARGEST_INDEX}, the largest there can be. Number the "
        "features anew.",
        kernel.LOW_INDEX: f"index {index} comes before {indices.low}, where indices are said to start. Give "
        "zero_based=True, or 'auto'.",
        kernel.HIGH_INDEX: f"index {index} is beyond n_features={indices.width} (indices start at {indices.low}). Give "
        "the number of features that the model knows, or leave it out.",
        kernel.UNSORTED: f"index {index} comes after one that is not smaller. Write the entries of a row in ascending "
        "order, each once.",
    }
    return _error(at, chunk, path, remarks[end])


def _token(at: int, chunk: Chunk) -> str:
    words = chunk.text[at : at + SHOWN].split(None, 1) if not chunk.text[at : at + 1].isspace() else []
    return words[0].decode("utf-8", "replace") if words else ""


def _error(at: int, chunk: Chunk, path: Path, remark: str) -> FileReadError:
    line = chunk.line + chunk.text.count(b"\n", 0, at)
    return FileReadError(f"{path}, line {line}: {remark}")
