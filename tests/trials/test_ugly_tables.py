"""Ugly tables: every study ends with a model and the notes a user needs, or with the one thing the user must change.

Each trial spoils one ordinary table of customers in one way and runs `separatrix fit` on it with the default models,
then `separatrix predict` on the same file. Words are checked, not sentences: the column, the value, its row and the
remedy.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from separatrix.cli.app import app

N_ROWS = 120


def customers(n: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """An ordinary table: churn depends on age and income; about one customer in three churns."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 80, n), np.round(rng.normal(40, 12, n), 1)
    activation = (age - 49) / 12 - (income - 40) / 10 - 0.8
    day = dt.date(2023, 1, 1)
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "joined": [day + dt.timedelta(days=int(days)) for days in rng.integers(0, 700, n)],
            "churn": np.where(rng.random(n) < 1 / (1 + np.exp(-activation)), "yes", "no"),
        }
    )


def with_cell(column: str, value: object, row: int = 40) -> pd.DataFrame:
    """Customers with one odd cell; row 40 counted from 0 is row 41 and line 42 of the file."""
    table = customers().astype({column: object})
    table.loc[row, column] = value
    return table


def churns(table: pd.DataFrame) -> np.ndarray:
    return np.asarray(table["churn"] == "yes")


def relabelled(yes: object, no: object, table: pd.DataFrame | None = None) -> pd.DataFrame:
    table = customers() if table is None else table
    return table.assign(churn=[yes if each else no for each in churns(table)])


def written(table: pd.DataFrame | str | bytes, name: str = "table.csv", **options: object) -> Callable[[Path], Path]:
    """Return a function that writes a table, or the content of a file, into a folder."""

    def write(folder: Path) -> Path:
        path = folder / name
        if isinstance(table, pd.DataFrame):
            table.to_csv(path, index=False, **options)
        else:
            path.write_bytes(table.encode() if isinstance(table, str) else table)
        return path

    return write


class Trial(NamedTuple):
    """A table, the exit code of `separatrix fit`, and words of its output; ``absent`` are words that must not occur."""

    name: str
    write: Callable[[Path], Path]
    words: tuple[str, ...] = ()
    code: int = 0
    options: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


base = customers()
lines = base.to_csv(index=False).splitlines()
rng = np.random.default_rng(1)
is_churn = churns(base)
few_odd = base.astype({"income": object})
few_odd.loc[[3, 50, 90], "income"] = ["n.a. ?", "12O0", "about 40"]
half_words = base.astype({"income": object})
half_words.loc[::2, "income"] = [f"band {i % 7}" for i in range(0, N_ROWS, 2)]

TRIALS = [
    Trial("an ordinary table", written(base), ("Chosen",)),
    # Columns that give the class away
    Trial("copy of the target", written(base.assign(leak=base["churn"])), ("'leak' alone predicts churn",)),
    Trial("number that gives the class away", written(base.assign(leak=is_churn * 1.5 + 2)), ("'leak' alone predicts",)),
    Trial(
        "number that nearly gives the class away",
        written(base.assign(leak=np.round(is_churn + rng.normal(size=N_ROWS) * 1e-3, 6))),
        ("'leak' alone predicts churn",),
    ),
    Trial("level of one class only", written(base.assign(plan=np.where(is_churn & (base.age > 60), "gold", "basic")))),
    Trial(
        "gap in one class only",
        written(base.assign(score=np.where(is_churn, np.nan, rng.normal(size=N_ROWS).round(3)))),
        ("'score' alone predicts churn",),
    ),
    Trial("constant within every class", written(base.assign(year=np.where(is_churn, 2020, 2021))), ("'year' alone",)),
    Trial("identical columns", written(base.assign(income2=base.income)), ("income2", "identical")),
    Trial("multiple of a column", written(base.assign(cents=base.income * 100)), ()),
    # Values at the edge
    Trial("units of 1e-300", written(base.assign(tiny=rng.normal(size=N_ROWS) * 1e-300)), ()),
    Trial("units of 1e300", written(base.assign(huge=rng.normal(size=N_ROWS) * 1e300)), ("huge",)),
    Trial("one value of 1e18", written(with_cell("income", 1e18)), ("'income'", "1e+18")),
    Trial("one value of 1e300", written(with_cell("income", 1e300)), ("'income'", "1e+300")),
    Trial("identifiers beyond 2**53", written(base.assign(key=2**60 + np.arange(N_ROWS))), ("key",)),
    Trial("identifiers beyond 2**63", written(base.assign(key=[str(2**70 + i) for i in range(N_ROWS)])), ("key",)),
    Trial("epoch nanoseconds", written(base.assign(stamp=1_700_000_000_000_000_000 + rng.integers(0, 10**17, N_ROWS)))),
    Trial("date 9999-12-31", written(with_cell("joined", "9999-12-31")), ("joined",)),
    Trial("date 0001-01-01", written(with_cell("joined", "0001-01-01")), ("joined",)),
    Trial("infinity in a cell", written(with_cell("income", "inf")), ("'income'", "inf", "row 41")),
    Trial("overflow in a cell", written(with_cell("income", "1e999")), ("'income'", "1e999", "row 41")),
    # One odd cell
    Trial("letter O for zero", written(with_cell("income", "12O0")), ("'income'", "12O0", "row 41")),
    Trial("bound instead of a number", written(with_cell("age", "<18")), ("'age'", "<18", "row 41")),
    Trial("impossible date", written(with_cell("joined", "0000-00-00")), ("'joined'", "0000-00-00", "row 41")),
    Trial("thirtieth of February", written(with_cell("joined", "2023-02-30")), ("'joined'", "2023-02-30", "row 41")),
    Trial("word among numbers", written(with_cell("age", "unknown age")), ("'age'", "unknown age", "row 41")),
    *(
        Trial(f"letter O for zero, seed {seed}", written(with_cell("income", "12O0")), ("12O0", "row 41"), 0, ("--seed", seed))
        for seed in ("1", "2", "3", "4")
    ),
    Trial("three odd cells", written(few_odd), ("'income'", "3 ")),
    Trial("half words, half numbers", written(half_words), ("'income'",)),
    # The target
    Trial("blanks after labels", written(base.assign(churn=base.churn + np.where(base.age > 50, " ", ""))), ("no ", "yes "), 0, (), ("'yes '",)),
    Trial(
        "labels that differ in case",
        written(base.assign(churn=np.where(base.age % 7 == 0, base.churn.str.upper(), base.churn))),
        ("differ only in case",),
    ),
    Trial("positive class that does not exist", written(base), ("--positive", "perhaps", "no, yes"), 2, ("--positive", "perhaps")),
    Trial("labels 0 and 1", written(relabelled(1, 0)), ("refer to 1",)),
    Trial("labels true and false", written(relabelled("true", "false")), ("refer to True",)),
    Trial("frequent yes", written(relabelled("no", "yes")), ("refer to yes",)),
    Trial("labels without an order", written(relabelled("blue", "red")), ("refer to blue",)),
    Trial("labels beyond 2**64", written(relabelled(str(2**70), str(2**70 + 1))), (str(2**70), str(2**70 + 1))),
    Trial("target with gaps", written(base.assign(churn=base.churn.where(base.age > 30))), ("without a label",)),
    Trial("target all missing", written(base.assign(churn="")), ("churn", "missing"), 3),
    Trial("target constant", written(base.assign(churn="no")), ("churn", "two classes"), 3),
    Trial("target of real numbers", written(base), ("income", "cut it into classes"), 3, ("--target", "income")),
    Trial("target that is an identifier", written(base.assign(churn=[f"id{i}" for i in range(N_ROWS)])), ("churn",), 3),
    Trial("target misspelt", written(base), ("chrun", "churn"), 3, ("--target", "chrun")),
    Trial("class with one row", written(with_cell("churn", "perhaps")), ("perhaps", "left out")),
    Trial("rare class", written(relabelled("yes", "no", base).assign(churn=["yes"] * 4 + ["no"] * (N_ROWS - 4))), ("yes",)),
    # Sizes
    Trial("four rows", written(base.iloc[[0, 1, 2, 3]].assign(churn=["yes", "no", "yes", "no"])), ("4 rows",)),
    Trial("ten rows", written(base.iloc[:10].assign(churn=["yes", "no"] * 5)), ("10 rows",)),
    Trial("two rows", written(base.iloc[:2].assign(churn=["yes", "no"])), ("churn", "two rows each"), 3),
    Trial("more columns than rows", written(pd.concat([base[:40], pd.DataFrame(rng.normal(size=(40, 80))).add_prefix("g")], axis=1))),
    Trial("twenty-six classes", written(customers(260).assign(churn=[chr(97 + i % 26) for i in range(260)])), (), 0, (), ("accuracy is uninformative",)),
    Trial("every row twice", written(pd.concat([base, base]))),
    Trial("no rows", written(lines[0] + "\n"), ("no rows",), 3),
    Trial("empty file", written(""), ("empty",), 3),
    Trial("only the target", written(base[["churn"]]), ("only column",), 3),
    # Columns
    Trial("sixty constant columns", written(base.assign(**{f"c{i}": i for i in range(60)})), ("60 columns",)),
    Trial("column of gaps", written(base.assign(empty=""), na_rep=""), ("empty",)),
    Trial("nearly constant column", written(base.assign(flag=np.arange(N_ROWS) == 7))),
    Trial("identifier", written(base.assign(customer=[f"C{i:05d}" for i in range(N_ROWS)])), ("customer",)),
    Trial("row numbers", written(base.assign(number=np.arange(N_ROWS)))),
    Trial("free text", written(base.assign(remark=[f"called {i} times on day {i * 7}" for i in range(N_ROWS)])), ("remark",)),
    Trial("duplicate column names", written("\n".join([lines[0].replace("income", "age"), *lines[1:]])), ("'age'", "Rename"), 3),
    Trial("blank column name", written("\n".join([lines[0].replace("income", ""), *lines[1:]]))),
    Trial("names with markup", written(base.rename(columns={"income": "<b>income</b>"})), ("<b>income</b>",)),
    Trial("blanks around names", written("\n".join([lines[0].replace(",", " , "), *lines[1:]]))),
    Trial("percent", written(base.assign(rate=[f"{x:.1f} %" for x in rng.uniform(0, 100, N_ROWS)])), ("rate",)),
    Trial("currency", written(base.assign(paid=[f"${x:,.2f}" for x in rng.uniform(0, 9000, N_ROWS)])), ("paid",)),
    Trial("postal codes", written(base.assign(zip=[f"0{i % 40:04d}" for i in range(N_ROWS)])), ("zip",)),
    Trial("times of day", written(base.assign(at=[f"{i % 24:02d}:{i % 60:02d}" for i in range(N_ROWS)])), (), 0, (), ("datetime.",)),
    Trial("words for missing values", written(base.assign(score=["NA", "?", "null", "3.5", "4.5", "1.5"] * 20)), ("score",)),
    Trial("day before month", written(base.assign(joined=[d.strftime("%d.%m.%Y") for d in base.joined])), ("joined",)),
    Trial("many levels", written(base.assign(town=[f"town {i % 50}" for i in range(N_ROWS)])), ("town",)),
    # Files
    Trial("semicolons and decimal commas", written(base, sep=";", decimal=","), ("income",)),
    Trial("tabs", written(base, name="table.tsv", sep="\t")),
    Trial("Latin-1", written(base.assign(city="Zürich").to_csv(index=False).encode("latin-1")), ("Zürich",)),
    Trial("UTF-16", written(base.to_csv(index=False).encode("utf-16"))),
    Trial("byte order mark", written(base.to_csv(index=False).encode("utf-8-sig"))),
    Trial("ragged line", written("\n".join([*lines[:10], lines[10] + ",surplus", *lines[11:]])), ("line 11",), 3),
    Trial("short line", written("\n".join([*lines[:10], "44,30.5", *lines[11:]])), ("line 11",), 3),
    Trial("total line at the end", written("\n".join([*lines, "total,5000,,,"])), ("1 row without a label", "'total' in row 121 (line 122)")),
    Trial("missing labels and an odd cell", written(with_cell("age", "4O").assign(churn=np.where(np.arange(N_ROWS) % 9, base.churn, ""))), ("14 rows without a label", "'4O' in row 41 (line 42)")),
    Trial("open quote", written("\n".join([*lines[:10], '"' + lines[10], *lines[11:]])), ("'age'", "row 10")),
    Trial("JSON lines", written("\n".join(json.dumps(row, default=str) for row in base.to_dict("records")), name="t.jsonl")),
    Trial("missing file", lambda folder: folder / "nothing.csv", ("nothing.csv", "no file"), 3),
]  # fmt: skip


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "400"})
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("trial", TRIALS, ids=[trial.name for trial in TRIALS])
def test_a_study_ends_with_a_model_or_with_what_to_change(trial, tmp_path):
    path, model = trial.write(tmp_path), tmp_path / "model.sx"
    options = trial.options if "--target" in trial.options else ("--target", "churn", *trial.options)
    code, output = run("fit", path, *options, "-o", model, "--report", tmp_path / "report.html")
    assert code == trial.code, output
    assert [word for word in trial.words if word not in output] == [], output
    assert [word for word in ("Traceback", "please report", *trial.absent) if word in output] == [], output
    assert model.exists() == (code == 0)
    if code == 0:
        code, output = run("predict", model, path, "-o", tmp_path / "predictions.csv")
        assert code == 0, output
        P = pd.read_csv(tmp_path / "predictions.csv").filter(like="p_")
        assert len(P)
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)
