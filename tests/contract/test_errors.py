"""One table of errors: for each mistake, the class of the error and the words that a user needs in its message.

A row is (what the user does, class, words). The words are the value or column at fault and the keyword of the remedy,
never the whole sentence. Mistakes that every classifier must answer alike are in test_bad_input.py.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.files import FileReadError, FileWriteError, QueryError, open_table, open_writer, scan

X, Y = blobs(60, n_classes=2, distance=4.0)
_, THREE = blobs(60, n_classes=3, distance=4.0)


class Mistake(NamedTuple):
    """A call that must be refused; `call` gets an empty folder for the files it needs."""

    name: str
    call: Callable[[Path], Any]
    error: type[Exception]
    words: tuple[str, ...]


# Hyperplanes, rules and decisions
RULES = [
    Mistake(
        "fisher targets of three classes",
        lambda _: sx.LeastSquaresClassifier(targets="fisher").fit(X, THREE),
        DataError,
        ("targets='fisher'", "3: 0, 1, 2"),
    ),
]

# Generative models and exponential families
GENERATIVE: list[Mistake] = []

# Discriminative models, likelihoods, priors, solvers, separation
DISCRIMINATIVE: list[Mistake] = []

# Distributions over models
BAYESIAN: list[Mistake] = []

# Basis functions, sufficient statistics, rows in memory, on Dask and on a device
ROWS: list[Mistake] = []

# Files, queries and scans
CELLS = pa.table({"a": [1, 2, 3], "A": [4, 5, 6], "b c": ["x", "y", "z"], "d": [1.0, 2.0, 3.0]})


def _read(name: str, content: str | bytes, folder: Path) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    open_table(folder / name).read()


def _scan(arguments: dict[str, Any], _: Path) -> None:
    list(scan(CELLS, **arguments).batches())


UNREADABLE: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "a line with too many fields": (
        "t.csv",
        'a,b\n1,2\n"two\nlines",3\n\n4,5,6\n7,8\n',
        ("t.csv, line 6", "expected 2", "found 3", "'4,5,6'", "quotes"),
    ),
    "a line with too few fields": ("t.csv", "a,b\n1\n2,3\n", ("line 2", "expected 2", "found 1", "delimiters (',')")),
    "a wrong line under a title": (
        "t.csv",
        "Sales of 2020\n\nname;price\nAda;1,5\nAlan;7\nx;1;2\n",
        ("line 6", "expected 2 fields, as in line 3", "found 3"),
    ),
    "a title above a list of names": ("t.csv", "names\nSmith,John\nDoe,Jane\n", ("line 2", "If line 1 is a title")),
    "a quote that is never closed": ("t.csv", 'a,b\n1,"2, 2"\n3,"4\n' + "1,2\n" * 600_000, ("never closed",)),
    "a CSV file without a line": ("t.csv", "", ("t.csv is empty",)),
    "equal column names": ("t.csv", "a,b, a ,b\n1,2,3,4\n", ("columns 1 and 3", "'a'", "'b'", "Rename")),
    "Parquet named CSV": ("t.csv", b"PAR1....", ("is not text", "a Parquet file", "Rename")),
    "gzip named CSV": ("t.csv", b"\x1f\x8b\x08\x00", ("is not text", "compressed with gzip")),
    "a workbook named CSV": ("t.csv", b"PK\x03\x04", ("is not text", "an Excel workbook")),
    "a zero byte": ("t.csv", b"a,b\n1\x002\n", ("byte 5 is zero", "UTF-16")),
    "JSON without a value": ("t.jsonl", '{"a": 1}\n{"a": }\n', ("line 2: not JSON", "Expecting value", "'}")),
    "JSON that is not a record": ("t.jsonl", '{"a": 1}\n5\n', ("line 2: 5 is not a record",)),
    "a wrong item of a JSON list": ("t.json", '[{"a": 1},\n{"a": 2},\n{"a": oops}]', ("line 3: not JSON", "oops")),
    "a JSON list without end": ("t.json", '[{"a": 1},\n{"a": 2}', ("line 2: not JSON", "The list is not closed")),
    "an empty JSON list": ("t.json", "[]", ("is empty", "no record")),
    "an empty file of JSON lines": ("t.jsonl", "", ("is empty", "no record")),
    "ids as names in JSON": (
        "t.jsonl",
        json.dumps({"by day": {f"day {i}": i for i in range(10_001)}}),
        ("more than 10000 different names", "'by day.day 10000'"),
    ),
    "a workbook that is text": ("t.xlsx", b"a,b\n1,2\n", ("t.xlsx is damaged", "save it as .xlsx")),
    "an empty Arrow file": ("t.arrow", b"", ("t.arrow is damaged", "Arrow")),
    "an Arrow file without end": ("t.arrow", b"ARROW1", ("t.arrow is damaged",)),
    "an Arrow file that is text": ("t.arrow", b"not a table, but long enough to look", ("t.arrow is damaged",)),
    "a truncated Parquet file": ("t.parquet", b"PAR1" + b"\0" * 50, ("t.parquet is damaged", "Parquet")),
    "an SQLite database without tables": ("t.sqlite", b"", ("has no tables",)),
    "an SQLite database that is text": ("t.sqlite", b"text" * 100, ("t.sqlite cannot be read", "SQLite database")),
    "a DuckDB database that is text": ("t.duckdb", b"text" * 1000, ("t.duckdb cannot be read", "DuckDB database")),
    "a truncated archive": ("t.csv.gz", gzip.compress(b"1,2\n" * 1000)[:-9], ("truncated", "gzip", "Copy or download")),
    "text named gzip": ("t.csv.gz", b"a,b\n1,2\n", ("is damaged or not compressed as its suffix",)),
    "a zip archive that is text": ("t.zip", b"PK not really", ("t.zip is damaged", "zip archive")),
    "an unknown suffix": ("t.doc", b"", ("'.doc' is not a supported suffix", "parquet (.parquet .pq)", "Rename")),
    "no suffix": ("plain", b"", ("it has no suffix",)),
}
UNSCANNABLE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a target that is not a column": ({"target": "bc"}, ("no column 'bc'", "Did you mean 'b c'")),
    "a feature that is not a column": ({"columns": ["x9"]}, ("no column 'x9'", "There are 'a'")),
    "a target among the features": ({"target": "a", "columns": ["a", "d"]}, ("'a'", "would see the answer")),
    "a scan without features": ({"columns": []}, ("Choose columns=",)),
    "a feature named twice": ({"columns": ["a", "d", "a"]}, ("'a' 2 times",)),
    "a weight that is the target": ({"target": "a", "weight": "a"}, ("'a' is both the target and the weight",)),
    "types of a table in memory": ({"types": {"a": "number"}}, ("types= is for CSV files",)),
    "a connection without a query": ({"connection": "postgresql://"}, ("With connection=", "query in SQL")),
    "a condition on another column": ({"where": "bc > 1"}, ("where='bc > 1'", "no column 'bc'", "Did you mean")),
    "a condition without end": ({"where": "a >"}, ("where='a >' is not understood",)),
    "an aggregate condition": ({"where": "sum(a) > 2"}, ("is not understood", "aggregates")),
    "a window condition": ({"where": "row_number() OVER () = 1"}, ("is not understood", "window")),
    "a condition on a wrong type": ({"where": "a = 'word'"}, ("is not understood", "word")),
    "a random condition": ({"where": "abs(a) > 1 AND random() < 0.5"}, ("random()", "hash(id)")),
    "a condition that is a number": ({"where": 3}, ("where=3", "condition in SQL")),
    "a condition that is not boolean": ({"where": "a"}, ("neither true nor false", "a > 0")),
    "names that differ in case alone": ({"where": "a > 1 AND A > 5"}, ("(a, A)", "Arrow expression")),
    "an expression on a wrong type": ({"where": pc.field("b c") > 1}, ("is not understood",)),
    "an expression with a column number": ({"where": pc.field(1) == 5}, ("by its number", "Name it")),
}
FILES = [
    *(
        Mistake(name, partial(_read, file, content), FileReadError, words)
        for name, (file, content, words) in UNREADABLE.items()
    ),
    *(Mistake(name, partial(_scan, given), DataError, words) for name, (given, words) in UNSCANNABLE.items()),
    Mistake("a URL", lambda _: open_table("https://example.org/a.csv"), FileReadError, ("is a URL", "Download")),
    Mistake("a missing file", lambda folder: scan(folder / "a.csv"), FileReadError, ("no file", "a.csv")),
    Mistake("a pattern without files", lambda folder: scan(folder / "*.csv"), FileReadError, ("No file matches",)),
    Mistake("an empty list of files", lambda _: scan([]), FileReadError, ("empty",)),
    Mistake("a dictionary", lambda _: scan({"a": [1]}), DataError, ("A dict cannot be scanned",)),
    Mistake("another database", lambda _: scan("SELECT 1", connection="mysql://host"), DataError, ("mysql://host",)),
    Mistake("no connection", lambda _: scan("SELECT 1", connection=3), DataError, ("builtins.int", "DuckDB")),
    Mistake(
        "a server that is not there",
        lambda _: scan("SELECT 1", connection="postgresql://postgres@/postgres?host=/nowhere"),
        QueryError,
        ("PostgreSQL did not answer", "Check the query"),
    ),
    Mistake("an output suffix", lambda folder: open_writer(folder / "b.doc"), FileWriteError, ("'.doc'", "written")),
    Mistake(
        "an output folder that does not exist",
        lambda folder: open_writer(folder / "missing" / "a.csv"),
        FileWriteError,
        ("no folder", "missing", "Create it first"),
    ),
    Mistake(
        "writing outside a block",
        lambda folder: open_writer(folder / "t.csv").write(CELLS),
        FileWriteError,
        ("inside a with block",),
    ),
]

# Tables: columns, types, encoder
TABLES: list[Mistake] = []

# Comparisons, studies, command line, report
STUDIES: list[Mistake] = []

# Saved models, ONNX, plots, datasets
EXPORT: list[Mistake] = []

MISTAKES = RULES + GENERATIVE + DISCRIMINATIVE + BAYESIAN + ROWS + FILES + TABLES + STUDIES + EXPORT


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_the_message_names_the_fault_and_the_remedy(mistake, tmp_path):
    with pytest.raises(mistake.error) as caught:
        mistake.call(tmp_path)
    assert type(caught.value) is mistake.error
    message = str(caught.value)
    assert [word for word in mistake.words if word not in message] == [], message


def test_every_mistake_has_its_own_name():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert all(mistake.words for mistake in MISTAKES)
