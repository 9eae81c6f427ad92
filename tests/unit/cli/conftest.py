"""A table, a model of it saved to a file, and a way to type a command."""

import json

import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.datasets.loans import make_loans
from separatrix.study import TableClassifier


def arrow(n, rng, missing=0.04):
    X, y = make_loans(n, missing=missing, rng=rng)
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in X.items()} | {"outcome": y})


@pytest.fixture(scope="session")
def loans():
    """300 rows: columns of every kind, a label among them."""
    return arrow(300, 1)


@pytest.fixture(scope="session")
def fitted(loans):
    """A model of that table."""
    y = loans.column("outcome").to_pylist()
    return TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(loans.drop(["outcome"]), y)


@pytest.fixture
def folder(tmp_path, monkeypatch, loans, fitted):
    """Where the command is typed: ``loans.csv`` and ``model.sx`` are there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    pyarrow.csv.write_csv(loans, "loans.csv")
    sx.save(fitted, "model.sx", about={"target": "outcome"})
    return tmp_path


@pytest.fixture
def run():
    """Type a command: ``run("fit", "loans.csv")`` has ``exit_code``, ``stdout`` and ``stderr``."""
    from separatrix.cli.app import app

    def typed(*words, stdin=None):
        return CliRunner().invoke(app, list(words), input=stdin)

    return typed


@pytest.fixture
def run_json(run):
    """The same with ``--json``: the document."""

    def typed(*words, code=0):
        result = run(*words, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    return typed
