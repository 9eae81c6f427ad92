"""The command line: arguments, files, printed text, JSON and exit codes of every command."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
from copy import copy
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import onnx
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
import typer
from rich.console import Console
from sklearn.base import clone
from typer.testing import CliRunner

import separatrix as sx
from separatrix import __version__, metrics
from separatrix.cli import console
from separatrix.cli import explain as explain_module
from separatrix.cli.console import plain
from separatrix.cli.datasets import CATALOGUE
from separatrix.cli.errors import CODES, CommandError, failure_of
from separatrix.cli.explain import PICTURES, curves_of, sparkline
from separatrix.cli.files import write_together
from separatrix.cli.options import MODELS, model_names, names_among, split_types
from separatrix.cli.output import MAX_LISTED_COLUMNS, MAX_LISTED_NOTES, column_table, comparison_table, listed_notes
from separatrix.cli.predict import expected_rows
from separatrix.comparison import Comparison, Evidence, Scores, Trial
from separatrix.datasets import make_loans
from separatrix.exceptions import DataError
from separatrix.export import FileError, read_about
from separatrix.files import FileWriteError, open_table
from separatrix.study import Note, PriorOnly, Stage, name_of
from separatrix.table import encode_target, infer_types, table_statistics
from separatrix.table_model import TableClassifier, explain

COMMANDS = ("fit", "compare", "predict", "explain", "effects", "report", "plot", "export", "datasets", "demo")
FAST = ("--models", "prior,bayes,linear")
STUDY_KEYS = {
    *("name", "rows", "target", "positive", "classes", "columns", "models", "chosen", "figures", "coefficients"),
    *("costs", "effects", "interactions", "level", "notes", "files", "seconds"),
}
PREDICT_KEYS = {
    *("rows", "target", "predicted", "columns", "level", "unseen", "outside", "missing", "scores", "notes", "files"),
}
MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def loans():
    """Table of 300 rows with columns of every type and the target "outcome"."""
    X, y = make_loans(300, missing=0.04, rng=1)
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in X.items()} | {"outcome": y})


@pytest.fixture(scope="module")
def fitted(loans):
    y = loans.column("outcome").to_pylist()
    return TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")).fit(
        loans.drop(["outcome"]), y
    )


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.sx"
    sx.save(fitted, path, about={"target": "outcome"})
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, monkeypatch, loans, saved):
    """Working folder with ``loans.csv`` and ``model.sx``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    pyarrow.csv.write_csv(loans, "loans.csv")
    Path("model.sx").write_bytes(saved)
    return tmp_path


def run(*words, stdin=None):
    from separatrix.cli.app import app

    return CliRunner().invoke(app, list(words), input=stdin)


def run_json(*words, stdin=None):
    result = run(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def fit_json(data, target, models, *options, **stdin):
    """Document of a fit that writes only new.sx."""
    words = ("fit", data, "-t", target, "--models", models, "--no-report", "-o", "new.sx")
    return run_json(*words, *options, **stdin)


def started(script, *words, **options):
    command = [sys.executable, "-c", script, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def one_line(text):
    return " ".join(text.split())


def refuse(folder, words, code, expected):
    """Check that a command fails with this exit code and text, and changes no file."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = run(*words)
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("Error: ")
    assert expected in one_line(result.stderr)
    assert "Traceback" not in result.output
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# -- help, usage and errors --------------------------------------------------------------------------------------------


def test_help_imports_no_heavy_library():
    script = (
        "import sys\n"
        "from separatrix.cli import main\n"
        "sys.argv = ['separatrix', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n    code = done.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'matplotlib', 'pandas', 'numba'} & set(sys.modules)\n"
        "print('code', code, 'heavy', sorted(heavy))\n"
    )
    assert started(script).communicate()[0].endswith("code 0 heavy []\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples_of_its_own_options(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(command, "--help").stdout
    options, _, shown = text.partition("Examples")
    assert f"separatrix {command}" in shown
    assert "--json" in options
    assert all(f"{word} " in options for word in shown.split() if word.startswith("--"))
    assert max(map(len, text.splitlines())) <= 80


def test_the_main_help_and_the_version():
    text = run("--help").stdout
    assert all(command in text for command in (*COMMANDS, "130"))
    assert run().stdout == text
    assert run("--version").stdout == f"separatrix {__version__}\n"
    assert run_json("--version") == {"version": __version__}


@pytest.mark.parametrize(
    ("library", "error", "expected"),
    [
        ("typer", "ModuleNotFoundError('no typer', name='typer')", "pip install 'separatrix[app]'"),
        ("numpy", "ImportError('no libblas', name='numpy')", "no libblas"),
        ("numpy", "AttributeError('no libblas')", "no libblas"),
    ],
)
def test_a_missing_or_broken_library_is_reported_without_a_traceback(tmp_path, library, error, expected):
    (tmp_path / f"{library}.py").write_text(f"raise {error}")
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,z\n")
    script = "import sys\nsys.path.insert(0, '.')\nfrom separatrix.cli import main\nmain()\n"
    process = started(script, "fit", "t.csv", "--target", "y", cwd=tmp_path)
    _, text = process.communicate()
    assert (process.returncode, expected in text, "Traceback" in text) == (1, True, False)


FIT = ("fit", "loans.csv", "-t", "outcome", "--models", "prior")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["fti"], 2, "Did you mean 'fit'?"),
        (["fit", "a.csv", "--taget", "y"], 2, "Did you mean --target?"),
        (["fit"], 2, "Missing argument 'DATA'. See separatrix fit --help."),
        (["fit", "a.csv"], 2, "Missing option '--target'"),
        (["fit", "a.csv", "-t", "y", "--level", "95"], 2, "95 is not between 0 and 1"),
        (["fit", "a.csv", "-target", "y"], 2, "Did you mean --target, with two dashes?"),
        ([*FIT, "-o", "new.sx", "--models", "logstic"], 2, "Did you mean 'logistic'"),
        ([*FIT, "-o", "new.sx", "--types", "age=numbr"], 2, "number, boolean, categorical, date, text, drop"),
        ([*FIT, "-o", "loans.csv", "--force"], 4, "end in .sx"),
        ([*FIT, "-o", "model.sx"], 4, "exists"),
        ([*FIT, "-o", "new.sx", "--report", "loans.csv", "--force"], 4, "end in .html"),
        ([*FIT, "-o", "new.sx", "--report", "r.html", "--no-report"], 2, "contradict"),
        ([*FIT, "-o", "new.sx", "--positive", "lost"], 2, "The classes are defaulted, repaid"),
        ([*FIT, "-o", "new.sx", "--types", "outcome=number"], 2, "must be categorical"),
        ([*FIT, "-o", "new.sx", "--types", "agee=number"], 3, "--types names. Did you mean 'age'"),
        ([*FIT, "-o", "new.sx", "--drop", "agee"], 3, "--drop names. Did you mean 'age'"),
        ([*FIT, "-o", "new.sx", "--drop", "Age,zzz"], 3, "lacks 2 columns that --drop names: 'Age' ('age'?), 'zzz'."),
        ([*FIT, "-o", "new.sx", "--drop", "outcome"], 2, "cannot be dropped"),
        ([*FIT, "-o", "new.sx", "-t", "outcom"], 3, "Did you mean 'outcome'"),
        ([*FIT, "-o", "none/new.sx"], 4, "mkdir -p none"),
        ([*FIT, "-o", "taken.sx", "--force"], 4, "is a folder"),
        (["fit", "nothing.csv", *FIT[2:], "-o", "new.sx"], 3, "nothing.csv"),
        (["fit", "header.csv", *FIT[2:], "-o", "new.sx"], 3, "no rows"),
        (["fit", "constant.csv", *FIT[2:], "-o", "new.sx"], 3, "constant.csv: 'outcome' has 1"),
        (["fit", "continuous.csv", *FIT[2:], "-o", "new.sx"], 3, "--types outcome=categorical"),
        (["predict", "model.sx", "short.csv", "-o", "o.csv"], 3, "which the model needs. Did you mean 'incme'"),
        (["predict", "model.sx", "nothing.csv", "-o", "o.csv"], 3, "nothing.csv"),
        (["predict", "model.sx", "loans.csv", "-o", "clash.csv"], 4, "exists. Choose another name, or pass --force"),
        (["predict", "model.sx", "loans.csv", "-o", "shop.db::orders"], 4, "shop.db exists"),
        (["predict", "model.sx", "loans.csv", "-o", "/proc/o.csv"], 4, "cannot be written"),
        (["predict", "model.sx", "loans.csv", "-o", "./loans.csv", "--force"], 4, "is an input"),
        (["predict", "model.sx", "loans.csv", "-o", "link.csv", "--force"], 4, "is an input"),
        (["predict", "modl.sx", "loans.csv", "-o", "o.csv"], 3, "Did you mean model.sx?"),
        (["predict", "model.sx", "loans.csv", "-o", "o.xyz"], 4, "o.xyz"),
        (["predict", "model.sx", "loans.csv", "-o", "o.csv", "--keep", "agee"], 3, "Did you mean 'age'?"),
        (["predict", "model.sx", "loans.csv", "-o", "o.csv", "--target", "outcom"], 3, "Did you mean 'outcome'?"),
        (["predict", "model.sx", "clash.csv", "-o", "o.csv", "--keep-all"], 3, "'predicted'"),
        (["predict", "loans.csv", "model.sx", "-o", "o.csv"], 3, "Name the saved model first"),
        (["predict", "model.sx", "model.sx", "-o", "o.csv"], 3, "is a saved model, not a table"),
        (["report", "model.sx", "loans.csv", "-o", "loans.csv", "--force"], 4, "end in .html"),
        (["report", "model.sx", "loans.csv", "-o", "r.html"], 4, "exists"),
        (["report", "model.sx", "other.csv", "-o", "x.html"], 3, "no column 'outcome', which is the target"),
        (["explain", "loans.csv"], 3, "name of a table"),
        (["explain", ""], 3, "The model file '' does not exist. Did you mean model.sx?"),
        (["explain", "."], 3, ". is a folder. Did you mean model.sx?"),
        (["compare", " ", "-t", "outcome"], 3, "name of the table is empty"),
        (["explain", "model.sx", "--positive", "lost"], 2, "no such class"),
        (
            ["fit", "loans.csv", "-t", "outcome", "--costs", "5", "-o", "n.sx"],
            2,
            "Write for example defaulted:repaid=5",
        ),
        (["fit", "loans.csv", "-t", "outcome", "--costs", "defalted:repaid=5", "-o", "n.sx"], 2, "'defaulted:repaid'"),
        (["fit", "loans.csv", "-t", "outcome", "--costs", "defaulted:repaid=x", "-o", "n.sx"], 2, "finite number"),
        (
            ["fit", "loans.csv", "-t", "outcome", "-o", "n.sx", "--costs", "defaulted:repaid=5,defaulted:repaid=6"],
            2,
            "--costs defaulted:repaid=6: this cost is given twice",
        ),
        (
            ["fit", "loans.csv", "-t", "outcome", "-o", "n.sx", "--costs", "defaulted:repaid=0"],
            2,
            "--costs: deciding defaulted never costs less than deciding repaid",
        ),
        (["explain", "model.sx", "--row", "3"], 2, "add --rows DATA"),
        (["explain", "model.sx", "--rows", "loans.csv", "--row", "3", "--where", "age=4"], 2, "Give only one of them"),
        (["explain", "model.sx", "--rows", "loans.csv"], 2, "more than 20 rows are in it. Choose rows"),
        (["explain", "model.sx", "--rows", "loans.csv", "--row", "0"], 2, "counted from 1"),
        (["explain", "model.sx", "--rows", "loans.csv", "--row", "301"], 2, "has only 300 rows"),
        (["explain", "model.sx", "--rows", "loans.csv", "--where", "outcome"], 2, "write COL=VALUE"),
        (["explain", "model.sx", "--rows", "loans.csv", "--where", "outcom=x"], 3, "Did you mean 'outcome'?"),
        (["explain", "model.sx", "--rows", "loans.csv", "--where", "outcome=lost"], 2, "values such as"),
        (["explain", "model.sx", "--rows", "loans.csv", "--row", "1", "--fixed", "incom"], 2, "'income'"),
        (["export", "model.sx", "-o", "m.txt"], 4, ".onnx"),
        (["plot", "model.sx", "--kind", "coeficients"], 2, "Did you mean 'coefficients'"),
        (["plot", "model.sx", "--kind", "reliability"], 2, "needs labelled rows"),
        (["plot", "model.sx", "-o", "p.jpeg"], 4, ".png or .svg or .pdf"),
        (["plot", "model.sx", "loans.csv", "--kind", "boundary"], 3, "needs a model of 2 columns"),
        (["plot", "model.sx", "loans.csv", "--kind", "evidence"], 3, "no radial basis functions"),
        (["plot", "model.sx", "loans.csv", "--kind", "projection", "--positive", "repaid"], 2, "shows all classes"),
        (
            ["plot", "model.sx", "loans.csv", "--kind", "reliability", "-t", "purpose"],
            3,
            "value of 'purpose' is a class",
        ),
        (["datasets", "lobster", "-o", "a.csv"], 2, "Did you mean 'lobsters'?"),
        (["datasets", "lobsters"], 2, "-o lobsters.csv"),
        (["datasets", "lobsters", "-o", "a.csv", "--rows", "5"], 2, "omit --rows"),
        (["datasets", "loans", "-o", "loans.csv"], 4, "exists"),
    ],
)
def test_wrong_words_are_refused_with_a_remedy_and_change_nothing(folder, words, code, expected):
    frame = pd.read_csv("loans.csv")
    frame.rename(columns={"income": "incme"}).to_csv("short.csv", index=False)
    frame.rename(columns={"outcome": "label"}).to_csv("other.csv", index=False)
    frame.assign(predicted=1).to_csv("clash.csv", index=False)
    frame.assign(outcome="repaid").to_csv("constant.csv", index=False)
    frame.assign(outcome=np.linspace(0, 1, 300)).to_csv("continuous.csv", index=False)
    frame[:0].to_csv("header.csv", index=False)
    (folder / "taken.sx").mkdir()
    (folder / "link.csv").symlink_to("loans.csv")
    for name in ("r.html", "shop.db"):
        (folder / name).write_text("precious")
    refuse(folder, words, code, expected)


def test_errors_are_documents_with_json():
    result = run("fit", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (2, "usage")
    result = run("explain", "nothing.sx", "--json")
    assert (result.exit_code, json.loads(result.stdout)["error"]["code"], result.stderr) == (3, 3, "")
    assert run("predict", "model.sx", "loans.csv", "-o", "-", "--json").exit_code == 2
    assert "--json" in run("explain", "--", "--json").stderr  # a file name after --


def test_a_bug_shows_its_traceback_only_with_debug(folder, monkeypatch):
    monkeypatch.setattr(explain_module, "curves_of", lambda *_: 1 / 0)
    result = run("explain", "model.sx")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("--debug", "explain", "model.sx").stderr
    assert "Traceback" in run("explain", "model.sx", "--debug").stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("column 'age'"), 3),
        (FileError("damaged"), 3),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.csv"), 3),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "folder"), 3),
        (MemoryError(), 3),
        (FileWriteError("x.csv exists"), 4),
        (FileExistsError("x.html exists"), 4),
        (OSError(errno.ENOSPC, "No space left on device"), 4),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ModuleNotFoundError("No module named 'onnx'", name="onnx"), 1),
        (ZeroDivisionError("division by zero"), 1),
        (ValueError("not raised by this package"), 1),
        (CommandError("output", "x"), 4),
    ],
)
def test_every_error_has_its_exit_code(error, code):
    assert failure_of(error).code == code


def test_library_errors_have_a_remedy_for_the_command_line():
    with pytest.raises(DataError, match="types={'rating'") as raised:
        encode_target([0.5, 1.25, 2.75], name="rating")
    message = str(failure_of(raised.value))
    assert message.endswith("--types rating=categorical.")
    assert "types={" not in message
    with pytest.raises(ValueError, match="test_share") as raised:
        sx.study.conduct(pa.table({"x": [0, 1], "y": [0, 1]}), "y", test_share=2.0)
    assert failure_of(raised.value).code == CODES["data"]
    assert "pip install" in str(failure_of(ModuleNotFoundError("No module named 'onnx'")))
    assert "--force-reinstall numpy" in str(failure_of(ImportError("no libblas", name="numpy.linalg")))


HANDLE_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # off in background jobs


@pytest.mark.slow
def test_ctrl_c_and_sigterm_leave_no_files(folder):
    before = names_in(folder)
    slow = (
        f"{HANDLE_CTRL_C}import sys, time, separatrix.study as s\n"
        "def slow(self, batch):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "s.BatchScorer.score = slow\n"
        "sys.argv = ['separatrix', 'predict', 'model.sx', 'loans.csv', '-o', 'out.csv']\n"
        "from separatrix.cli import main\n"
        "for _ in range(2):\n"
        "    try:\n        main()\n"
        "    except SystemExit as stopped:\n        print(stopped.code, flush=True)\n"
    )
    process = started(slow)
    for signum in (signal.SIGINT, signal.SIGTERM):
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signum)
        assert process.stdout.readline() == "130\n"
        assert names_in(folder) == before
    _, text = process.communicate(timeout=30)
    assert text.count("No file was written or changed.") == 2


@pytest.mark.parametrize("library", ["rich", "numpy"])  # imported before the command starts, and by the command
@pytest.mark.parametrize("is_ignored", [False, True])  # Python ignores exceptions in finalizers
def test_ctrl_c_during_an_import_ends_the_command_without_a_traceback(folder, tmp_path, library, is_ignored):
    wait = "print('ready', flush=True)\n    time.sleep(60)\n"
    block = "class Slow:\n  def __del__(self):" if is_ignored else "if True:"
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / f"{library}.py").write_text(
        f"import time\n{block}\n    {wait}" + "Slow()\nfor _ in range(600): time.sleep(0.1)\n" * is_ignored
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "slow"), *sys.path])}
    script = f"{HANDLE_CTRL_C}from separatrix.cli import main; main()"
    process = started(script, "compare", "loans.csv", "-t", "outcome", env=environment)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=30)
    assert process.returncode == 130
    assert text.startswith("Error: Stopped.")
    assert text.count("\n") == 1


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(folder):
    header, *rows = (folder / "loans.csv").read_text().splitlines()
    (folder / "many.csv").write_text("\n".join([header, *rows * 20]))  # more than the buffer of a pipe
    command = f"{sys.executable} -c 'from separatrix.cli import main; main()' predict model.sx many.csv -o -"
    script = f"{command} | head -n 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


# -- options, console and files ----------------------------------------------------------------------------------------


def test_options_are_split_at_commas_but_names_may_contain_them():
    typed = ["age=number, zip=Categorical", "size, in mm=number"]
    assert split_types(typed) == {"age": "number", "zip": "categorical", "size, in mm": "number"}
    assert names_among(["a, b", "x,y"], ["a", "b", "x,y"]) == ["a", "b", "x,y"]
    assert set(MODELS.values()) == {*sx.study.MODELS, "combination"}
    assert model_names(["logistic,bayes"]) == ["logistic (Bayesian)", "naive Bayes"]
    for wrong in ("age", "age=number,zip", "=,"):
        with pytest.raises(typer.BadParameter, match="number, boolean"):
            split_types([wrong])
    names = {"a/b.csv.gz": "b", "shop.db::orders": "orders", "-": "standard input", ".csv": "data"}
    assert {data: name_of(data) for data in names} == names


def test_values_become_json_types():
    value = {"a": np.nan, "b": -np.inf, "c": np.array([1.0, np.nan]), "d": np.int64(3), "e": (True, None, "x")}
    assert plain(value) == {"a": None, "b": "-Infinity", "c": [1.0, None], "d": 3, "e": [True, None, "x"]}
    assert type(plain(np.bool_(True))) is bool
    assert plain({1: np.datetime64("2024-01-01")}) == {"1": "2024-01-01"}


@pytest.mark.usefixtures("folder")
def test_a_model_whose_rows_cannot_be_explained_is_no_bug(loans):
    X, y = loans.drop(["outcome"]), loans.column("outcome").to_pylist()
    sx.save(TableClassifier(sx.QuadraticDiscriminantAnalysis(shrinkage="evidence")).fit(X, y), "quadratic.sx")
    found = run("explain", "quadratic.sx", "--rows", "loans.csv", "--row", "3")
    assert found.exit_code == 3
    assert "cannot be explained" in found.output
    assert "bug" not in found.output


@pytest.fixture
def screen(monkeypatch):
    """Terminal that records its output."""
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=100)
    monkeypatch.setattr("rich.console.Console", lambda file: terminal)
    return shown


@pytest.mark.parametrize("hidden", [True, False])
def test_progress_names_stages_rows_and_the_time_left(screen, hidden):
    with console.rows_done("Predicting", 1000, hidden=hidden) as advance:
        advance(1000)
    with console.stages("Reading", hidden=hidden) as update:
        update(Stage("fitting to all rows: pass 2", 3, 7, 41.0))
    expected = ("1,000 rows", "left", "3/7", "fitting to all rows: pass 2 about 40 s left")
    assert all((words in screen.getvalue()) is not hidden for words in expected)


# -- fit, compare, report ----------------------------------------------------------------------------------------------


def test_fit_writes_a_model_and_a_report_and_prints_in_80_columns(folder):
    (folder / "kept").mkdir()
    result = run("fit", "loans.csv", "--target", "outcome", *FAST, "-o", "kept/new.sx", "--report", "new.html")
    assert result.exit_code == 0, result.output
    text = result.stdout
    assert "300 rows, 10 columns" in text
    assert text.index("Chosen: ") < text.index("Models compared") < text.index("Columns") < text.index("Notes")
    assert "separatrix predict kept/new.sx" in text
    assert all(line == line.rstrip() and len(line) <= 80 for line in text.splitlines())
    assert "Warning" not in result.output
    assert "separatrix explain kept/new.sx" in (folder / "new.html").read_text()


def test_the_saved_model_predicts_and_contains_its_target_and_positive_class(folder, loans):
    fit = ("fit", "loans.csv", "-t", "outcome", *FAST, "-o", "new.sx", "--no-report", "--force")
    found = run_json(*fit)
    assert set(found) == STUDY_KEYS
    assert found["files"] == {"model": "new.sx"}
    assert {c["label"]: c["rows"] for c in found["classes"]} == dict(pd.Series(loans["outcome"]).value_counts())
    assert found["chosen"]["name"] in [model["name"] for model in found["models"]]
    assert found["positive"] == read_about("new.sx")["positive"] == "defaulted"
    assert run_json("predict", "new.sx", "loans.csv", "-o", "out.csv")["scores"]["rows"] == 300
    assert run_json(*fit, "--positive", "repaid")["positive"] == read_about("new.sx")["positive"] == "repaid"


def test_compare_writes_nothing_and_depends_on_the_seed(folder):
    words = ("compare", "loans.csv", "--target", "outcome", "--models", "prior,linear", "--drop", "applied")
    assert "Models compared on 300 cross-validated rows" in run(*words).stdout
    first, again, other = (run_json(*words, "--seed", seed) for seed in ("1", "1", "2"))
    assert [model["name"] for model in first["models"]] == ["linear discriminant", "prior only"]
    assert first["models"][0]["test_log_likelihood"] == again["models"][0]["test_log_likelihood"]
    assert first["models"][0]["test_log_likelihood"] != other["models"][0]["test_log_likelihood"]
    assert {column["name"]: column["becomes"] for column in first["columns"]}["applied"] == []
    assert first["files"] == {}
    assert names_in(folder) == ["loans.csv", "model.sx"]


def test_model_and_report_are_written_together_before_anything_is_printed(folder, monkeypatch):
    fit = ("fit", "loans.csv", "-t", "outcome", "--models", "prior", "-o", "new.sx", "--report", "new.html")
    with monkeypatch.context() as patched:
        patched.setattr("separatrix.report.render", lambda *_, **__: 1 / 0)
        assert run(*fit).exit_code == 1
        assert names_in(folder) == ["loans.csv", "model.sx"]

    monkeypatch.setattr("separatrix.cli.fit.print_study", Mock(side_effect=KeyboardInterrupt))
    result = run(*fit)
    assert result.exit_code == 130
    assert "Already written: new.sx, new.html." in result.stderr
    assert read_about("new.sx")["target"] == "outcome"


KILLED_AT = """
import os, signal, sys
from separatrix.cli.files import write_together
steps = iter(range(int(sys.argv[1])))
def step(call):
    def stopped(*words):
        if next(steps, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*words)
    return stopped
os.replace, os.link = step(os.replace), step(os.link)
write_together({"m.sx": b"new", "r.html": b"new"}, force=sys.argv[2] == "force")
"""


@pytest.mark.parametrize("force", [True, False])
def test_a_killed_process_leaves_no_report_of_another_model(tmp_path, force):
    found = []
    for n in range(5):
        home = tmp_path / str(n)
        home.mkdir()
        for name in ("m.sx", "r.html") if force else ():
            (home / name).write_bytes(b"old")
        words = [sys.executable, "-c", KILLED_AT, str(n), "force" if force else ""]
        code = subprocess.run(words, cwd=home, check=False).returncode
        found.append({path.name: path.read_bytes() for path in home.iterdir() if path.is_file()})
        if code == 0:
            break
    assert len(found) == 3 + force
    assert found[-1] == {"m.sx": b"new", "r.html": b"new"}
    assert all(len(set(files.values())) < 2 for files in found)


@pytest.mark.parametrize("force", [True, False])
def test_an_error_at_the_last_step_leaves_the_files_as_they_were(tmp_path, monkeypatch, force):
    monkeypatch.chdir(tmp_path)
    before = {"m.sx": b"old", "r.html": b"old"} if force else {"r.html": b"old"}
    failing = Mock(side_effect=OSError(errno.EIO, "Input/output error"))
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    if force:
        monkeypatch.setattr("separatrix.cli.files.place", failing)
    with pytest.raises(CommandError, match="output error" if force else "r.html .*has just created.* --force"):
        write_together({"m.sx": b"new", "r.html": b"new"}, force=force)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_ratings_are_classes_if_declared_as_categorical(folder, rng):
    frame = pd.DataFrame({"price": rng.normal(size=120), "rating": np.tile([1.0, 1.5, 2.0, 4.5], 30)})
    frame.to_csv("ratings.csv", index=False)
    found = fit_json("ratings.csv", "rating", "prior,bayes", "--types", "rating=categorical")
    assert [entry["label"] for entry in found["classes"]] == ["1", "1.5", "2", "4.5"]
    assert run_json("predict", "new.sx", "ratings.csv", "-o", "out.csv")["scores"]["rows"] == 120
    assert run_json("report", "new.sx", "ratings.csv", "-o", "r.html")["rows"] == 120


@pytest.fixture
def orders(folder, rng, monkeypatch):
    """Table of more than a quarter of the memory, with numeric levels, and a quote in the target's name."""
    price, zone = rng.normal(size=600), rng.choice(["1.50", "2.50", "3.00"], 600)
    returned = price + np.select([zone == "1.50", zone == "3.00"], [-2.0, 2.0]) + rng.logistic(size=600) > 0
    labels = np.where(np.arange(600) % 50 == 0, "", np.where(returned, "yes", "no"))
    pd.DataFrame({"price": price, "zone": zone, "note": "x", 'ret"urned': labels}).to_csv("orders.csv", index=False)
    (folder / "proc").mkdir()
    (folder / "proc" / "meminfo").write_text("MemAvailable: 8 kB\n")
    monkeypatch.setattr("separatrix.files.memory.PROC", folder / "proc")


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("data", ["orders.csv", pytest.param("-", marks=pytest.mark.slow)])
def test_a_large_table_is_fitted_as_it_was_compared(folder, data):
    options = ("--types", "zone=categorical", "--drop", "note")
    stdin = (folder / "orders.csv").read_bytes()
    found = fit_json(data, 'ret"urned', "prior,logistic", *options, stdin=stdin)
    assert found["rows"] == 588
    assert any("fitted to all 588 rows as they were read" in note for note in found["notes"])
    predicted = run_json("predict", "new.sx", "orders.csv", "-o", "out.csv")
    assert predicted["unseen"] == {}
    assert predicted["scores"]["rows"] == 588
    model = sx.load("new.sx")
    whole = TableClassifier(clone(model.estimator), types={"zone": "categorical"})
    table = open_table("orders.csv", types={"zone": "text"}).read().to_pandas().dropna()
    whole.fit(table[["price", "zone"]], table['ret"urned'])
    P, expected = (each.predict_proba(table[["price", "zone"]]) for each in (model, whole))
    np.testing.assert_allclose(P, expected, atol=1e-6)


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["yes", "yes ", "no"], ["no", "yes"]),
        ([1, 1.5, 2, np.nan], ["1", "1.5", "2"]),
    ],
)
def test_labels_of_a_large_table_are_those_of_a_small_one(labels, classes):
    table = pd.read_csv("orders.csv").drop(columns=['ret"urned', "note"])
    table.assign(y=np.resize(np.array(labels), len(table))).to_parquet("orders.parquet")
    found = fit_json("orders.parquet", "y", "prior,bayes", "--types", "y=categorical")
    assert any("as they were read" in note for note in found["notes"])
    assert [entry["label"] for entry in found["classes"]] == sx.load("new.sx").classes_.tolist() == classes


@pytest.mark.usefixtures("orders")
def test_odd_cells_of_a_large_table_have_the_row_of_the_file():
    table = pd.read_csv("orders.csv", dtype=str, keep_default_na=False)
    table.loc[412, "price"] = "12O0"
    table.to_csv("orders.csv", index=False)
    found = fit_json("orders.csv", 'ret"urned', "prior,bayes", "--drop", "note")
    predicted = run_json("predict", "new.sx", "orders.csv", "-o", "out.csv")
    for notes in (found["notes"], predicted["notes"]):
        assert any("'12O0' in row 413" in note for note in notes)


@pytest.mark.usefixtures("orders")
def test_rows_in_memory_are_not_read_again_when_memory_becomes_scarce(monkeypatch):
    free = iter([2**30, 2**10])
    monkeypatch.setattr("separatrix.study.opening.available_memory", lambda: next(free))
    found = fit_json("orders.csv", 'ret"urned', "prior,bayes")
    assert not any("as they were read" in note for note in found["notes"])
    assert next(free) == 2**10


def test_report_evaluates_a_saved_model(folder, loans, fitted):
    found = run_json("report", "model.sx", "loans.csv", "-o", "r.html")
    assert (found["target"], found["rows"], found["models"], found["chosen"]) == ("outcome", 300, [], None)
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    loss, auc = metrics.log_likelihood(P, codes), metrics.auc(P, codes)
    assert found["figures"]["log_loss"] == pytest.approx([-loss.value, loss.standard_error])
    assert found["figures"]["auc"] == pytest.approx([auc.value, auc.standard_error])
    assert set(found["figures"]) == {"log_loss", "accuracy", "auc", "brier", "ece", "ece_if_calibrated"}
    text = run("report", "model.sx", "loans.csv", "-o", "again.html").stdout
    assert f"{-loss.value:.4f}" in text
    assert "ECE expected by chance" in text
    assert "separatrix explain model.sx" in (folder / "r.html").read_text()
    sx.save(fitted, "unnamed.sx")
    refuse(folder, ["report", "unnamed.sx", "loans.csv", "-o", "x.html"], 3, "--target COL")
    pd.read_csv("loans.csv").rename(columns={"outcome": "label"}).to_csv("other.csv", index=False)
    assert run("report", "model.sx", "other.csv", "-t", "label", "-o", "x.html").exit_code == 0


# -- predict -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "csv.gz", "jsonl", "xlsx", "db"])
def test_predictions_can_be_written_and_read_in_any_format(folder, ending):
    assert run("predict", "model.sx", "loans.csv", "-o", f"a.{ending}", "--keep-all").exit_code == 0
    assert run("predict", "model.sx", f"a.{ending}", "-o", "b.parquet").exit_code == 0
    assert run("predict", "model.sx", "loans.csv", "-o", "c.parquet").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("b.parquet"), pd.read_parquet("c.parquet"), rtol=1e-12)


def test_predict_reports_scores_and_unusual_rows(folder, loans, fitted):
    found = run_json("predict", "model.sx", "loans.csv", "-o", "out.csv")
    assert set(found) == PREDICT_KEYS
    P = fitted.predict_proba(loans.drop(["outcome"]))
    codes = np.searchsorted(fitted.classes_, loans["outcome"].to_pylist())
    assert found["scores"]["log_loss"] == pytest.approx(-np.log(P[np.arange(300), codes]).mean())
    assert found["scores"]["accuracy"] == pytest.approx((P.argmax(axis=1) == codes).mean())
    frame = pd.read_csv("loans.csv").drop(columns="outcome")
    frame.loc[:4, "purpose"] = "yacht"
    frame.loc[0, "age"] = np.nan
    frame.loc[1:3, "age"] = 9999
    frame[frame.columns[::-1]].to_csv("odd.csv", index=False)
    found = run_json("predict", "model.sx", "odd.csv", "-o", "odd_out.csv", "--no-intervals")
    assert found["scores"] is None
    assert found["unseen"] == {"purpose": {"rows": 5, "values": {"yacht": 5}}}
    assert found["outside"] == {"age": {"rows": 3, "values": {"9999": 3}}}
    assert found["missing"] == {"age": 1, "income": loans["income"].null_count}
    text = one_line(run("predict", "model.sx", "odd.csv", "-o", "odd_out.csv", "--force").stdout)
    expected = ("purpose: 5 rows have values that were not in training: 'yacht' (5)", "age: 1 missing", "9999")
    assert all(words in text for words in expected)
    assert list(pd.read_csv("odd_out.csv").columns)[:3] == ["predicted", "p_defaulted", "lower_defaulted"]


@pytest.mark.usefixtures("folder")
def test_a_model_file_is_read_once(monkeypatch):
    opened = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path.name) or read(path))
    assert run_json("predict", "model.sx", "loans.csv", "-o", "out.csv")["target"] == "outcome"
    assert opened.count("model.sx") == 1


def test_predict_prints_three_lines_for_ordinary_rows(folder):
    pd.read_csv("loans.csv").dropna().to_csv("whole.csv", index=False)
    lines = run("predict", "model.sx", "whole.csv", "-o", "out.csv").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["Compared", "Written:"]
    assert abs(expected_rows(open_table("loans.csv")) - 300) <= 2


def test_a_full_disk_leaves_no_file(folder, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("separatrix.study.BatchScorer.score", Mock(side_effect=full))
    refuse(folder, ["predict", "model.sx", "loans.csv", "-o", "out.csv"], 4, "out.csv could not be written: No space")


def test_a_table_without_rows_has_predictions_without_rows(folder):
    (folder / "header.csv").write_text((folder / "loans.csv").read_text().partition("\n")[0] + "\n")
    result = run("predict", "model.sx", "header.csv", "-o", "out.csv", "--keep", "age")
    assert "no rows" in one_line(result.stdout)
    found = pd.read_csv("out.csv")
    assert (len(found), list(found.columns)[:3]) == (0, ["age", "predicted", "p_defaulted"])


def test_a_rule_without_probabilities_has_no_log_loss(folder, rng):
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    sx.save(sx.LeastSquaresClassifier().fit(frame, np.arange(40) % 2), "rule.sx", about={"target": "y"})
    frame.assign(y=np.arange(40) % 2).to_csv("rows.csv", index=False)
    assert run_json("predict", "rule.sx", "rows.csv", "-o", "out.csv")["scores"]["log_loss"] is None


# -- explain -----------------------------------------------------------------------------------------------------------


def test_explain_lists_the_posterior_strongest_weight_first(folder, fitted):
    found = run_json("explain", "model.sx", "--level", "0.9")
    assert (found["target"], found["classes"], found["level"]) == ("outcome", ["defaulted", "repaid"], 0.9)
    strength = [abs(w["per_spread"]) for w in found["coefficients"]]
    assert strength == sorted(strength, reverse=True)
    weights = {w["name"]: [w["weight"], w["lower"], w["upper"]] for w in found["coefficients"]}
    assert weights == {w.name: pytest.approx([w.weight, w.lower, w.upper]) for w in explain(fitted, 0.9)}
    assert all(w["odds_ratio"] == pytest.approx(np.exp(w["weight"])) for w in found["coefficients"])
    parts = found["evidence"]
    assert parts["log_evidence"] == pytest.approx(fitted.estimator_.log_evidence_)
    assert parts["log_evidence"] == pytest.approx(parts["log_likelihood"] + parts["occam_factor"], abs=1e-9)
    assert json.loads(run("--json", "explain", "model.sx", "--level", "0.9").stdout) == found
    text = run("explain", "model.sx").stdout
    assert "Occam factor" in text
    assert "currency was dropped" in text
    assert max(map(len, text.splitlines())) <= 80


SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_notes_of_fit_and_explain_do_not_refer_to_arguments_or_priors(folder, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(200, 20)), columns=[f"v{i}" for i in range(20)])
    table.assign(y=2 * table["v0"] + rng.logistic(size=200) > 0).to_csv("t.csv", index=False)
    found = run_json("fit", "t.csv", "-t", "y", "--models", "logistic", "--no-report", "-o", "t.sx")
    for note in [*found["notes"], *run_json("explain", "t.sx")["notes"]]:
        assert not any(word in str(note) for word in ("=", "however short", "narrower prior"))


def test_explain_shows_the_odds_for_a_step_near_one_standard_deviation_and_the_intercept(folder, rng):
    x = rng.normal(size=(200, 2))
    y = np.where(x.sum(axis=1) + rng.normal(size=200) > 0, "b", "a")
    table = pa.table({"tiny": 1e-12 * x[:, 0], "huge": 1e9 * x[:, 1], "coin": np.array(["h", "t"])[np.arange(200) % 2]})
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0))).fit(table, y)
    sx.save(model, "units.sx")
    text = run("explain", "units.sx").stdout
    lines = {line.split()[0]: one_line(line) for line in text.splitlines() if line.strip()}
    weights = {c.name: c for c in explain(model)}
    for name, step, words in (("tiny", 1e-12, "for +1.00e-12"), ("huge", 1e9, "for +1.00e+09")):
        assert lines[name].startswith(f"{name} × {np.exp(step * weights[name].weight):.3g} (")
        assert words in lines[name]
    assert "vs." in next(line for name, line in lines.items() if name.startswith("coin="))
    assert sum(name.startswith("coin=") for name in lines) == 1
    (intercept,) = run_json("explain", "units.sx")["intercepts"]
    assert lines["(intercept)"].startswith(f"(intercept) weight {intercept['weight']:.3g}".replace("-", "−"))
    assert intercept["weight"] == pytest.approx(model.contrasts().mean[0, -1])
    assert intercept["lower"] < intercept["weight"] < intercept["upper"]


def test_the_positive_class_sets_the_sign_of_weights_and_is_saved(folder, fitted):
    one, other = (run_json("explain", "model.sx", "--positive", label) for label in ("defaulted", "repaid"))
    assert (one["positive"], other["positive"]) == ("defaulted", "repaid")
    for a, b in zip(one["coefficients"], other["coefficients"], strict=True):
        assert (a["name"], a["weight"], a["lower"], a["upper"]) == (b["name"], -b["weight"], -b["upper"], -b["lower"])
    about = {"target": "outcome", "positive": "defaulted", "model": "logistic (Bayesian)"}
    sx.save(fitted, "named.sx", about=about)
    text = one_line(run("explain", "named.sx").stdout)
    assert text.startswith("named.sx: logistic (Bayesian); target outcome")
    assert "the odds of defaulted against repaid" in text


def test_models_saved_by_version_0_1_have_their_names_as_attributes(folder, fitted):
    old = copy(fitted)
    old.target_name_, old.positive_ = "outcome", "defaulted"
    sx.save(old, "old.sx")
    found = run_json("explain", "old.sx")
    assert (found["target"], found["positive"]) == ("outcome", "defaulted")


def test_fit_with_costs_saves_a_rule_that_predict_and_explain_use(folder, loans):
    costs = "defaulted:repaid=5,repaid:defaulted=1"
    words = ("fit", "loans.csv", "-t", "outcome", "--models", "linear", "-o", "rule.sx", "--costs", costs)
    found = run_json(*words, "--report", "rule.html")["costs"]
    assert found["matrix"] == [[0, 5], [1, 0]]
    assert found["threshold"] == pytest.approx(1 / 6)
    constant = min(value for value, _ in found["constant"])
    assert found["cost"][0] + found["saved"][0] == pytest.approx(constant)
    assert "Decisions by expected cost" in (folder / "rule.html").read_text()
    rule = sx.load("rule.sx")
    assert isinstance(rule, sx.DecisionRule)
    assert run("predict", "rule.sx", "loans.csv", "-o", "p.csv").exit_code == 0
    predicted = pyarrow.csv.read_csv("p.csv").column("predicted").to_pylist()
    assert predicted == rule.predict(loans.drop(["outcome"])).tolist()
    assert predicted.count("defaulted") > rule.fitted_.predict(loans.drop(["outcome"])).tolist().count("defaulted")
    (row,) = run_json("explain", "rule.sx", "--rows", "loans.csv", "--row", "3")["rows"]
    assert (row["rule"], row["decision"]) == ("threshold 0.167 by expected cost", predicted[2])
    refused = run("explain", "rule.sx", "--rows", "loans.csv", "--row", "3", "--threshold", "0.3")
    assert "the model was saved with --costs, which decide" in one_line(refused.stderr)
    asked = ("explain", "rule.sx", "--rows", "loans.csv", "--row", "3", "--positive", "repaid")
    assert "(threshold 0.833 by expected cost)" in one_line(run(*asked).stdout)
    assert "Weights, strongest first" in run("explain", "rule.sx").stdout
    assert run("plot", "rule.sx", "-o", "weights.png").exit_code == 0
    later = run_json("report", "rule.sx", "loans.csv", "-o", "later.html")["costs"]
    pairs = zip(loans["outcome"].to_pylist(), predicted, strict=True)
    paid = [{"defaulted": 5, "repaid": 1}[true] * (true != decided) for true, decided in pairs]
    assert later["cost"][0] == pytest.approx(np.mean(paid))
    page = (folder / "later.html").read_text()
    assert "Decisions by expected cost" in page
    assert "decision of smallest expected cost: defaulted if its probability exceeds 17" in page
    refused = run("effects", "rule.sx", "loans.csv", "--variable", "income")
    assert "LinearDiscriminantAnalysis" in one_line(refused.stderr)  # it has no distribution of its weights
    assert "decisions by expected cost" in one_line(run("export", "rule.sx", "-o", "rule.onnx").stdout)
    text = run(*words, "--no-report", "--force").stdout
    assert "smallest expected cost (defaulted if its" in one_line(text)


def test_explain_of_rows_is_that_of_python(folder, fitted, loans):
    found = run_json("explain", "model.sx", "--rows", "loans.csv", "--row", "17", "--row", "4", "--level", "0.9")
    expected = fitted.explain(loans.drop(["outcome"]).take([3, 16]), level=0.9)
    assert [row["row"] for row in found["rows"]] == [4, 17]
    for row, each in zip(found["rows"], expected.rows, strict=True):
        assert row["probability"] == pytest.approx(each.probability)
        assert [line["column"] for line in row["contributions"]] == list(each.names)
        assert [line["estimate"] for line in row["contributions"]] == pytest.approx(each.columns["estimate"])
        assert len(row["changes"]) == len(each.changes.single) + len(each.changes.pairs)
    text = run("explain", "model.sx", "--rows", "loans.csv", "--row", "17").stdout
    assert "Row 17 (line 18): p(" in text
    assert "(this row)" in text
    other = run_json("explain", "model.sx", "--rows", "loans.csv", "--row", "4", "--positive", "defaulted")["rows"][0]
    one = run_json("explain", "model.sx", "--rows", "loans.csv", "--row", "4", "--positive", "repaid")["rows"][0]
    assert one["probability"] + other["probability"] == pytest.approx(1.0)


def test_explain_finds_rows_by_their_values(folder, loans):
    value = str(loans.column("income")[5].as_py())
    (row,) = run_json("explain", "model.sx", "--rows", "loans.csv", "--where", f"income={value}")["rows"]
    assert row["row"] == 6
    fixed = run_json("explain", "model.sx", "--rows", "loans.csv", "--row", "6", "--fixed", "income,age")["rows"][0]
    assert not {"income", "age"} & {name for change in fixed["changes"] for name in change["columns"]}


def test_explain_of_three_classes_and_of_the_class_proportions(folder, loans):
    X, y = sx.datasets.make_overlapping(120, n_classes=3, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    sx.save(
        TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")).fit(table, y),
        "three.sx",
    )
    assert "against the geometric mean of all classes" in one_line(run("explain", "three.sx").stdout)
    weights = run_json("explain", "three.sx")["coefficients"]
    assert sum(w["weight"] for w in weights if w["name"] == "a") == pytest.approx(0.0, abs=1e-9)
    model = TableClassifier(PriorOnly()).fit(loans.drop(["outcome"]), loans["outcome"].to_pylist())
    sx.save(model, "prior.sx")
    assert "predicts the class proportions" in one_line(run("explain", "prior.sx").stdout)


def test_files_that_are_not_models_of_tables_are_refused(folder, rng):
    whole = (folder / "model.sx").read_bytes()
    for content in (b"", b"not a zip", whole[: len(whole) // 2]):
        (folder / "bad.sx").write_bytes(content)
        refuse(folder, ["explain", "bad.sx"], 3, "bad.sx")
    sx.save(sx.LinearDiscriminantAnalysis().fit(rng.normal(size=(9, 2)), np.arange(9) % 2), "numbers.sx")
    refuse(folder, ["explain", "numbers.sx"], 3, "TableClassifier")


def test_curves_are_the_log_odds_along_their_column(loans, fitted):
    X = loans.select(["age", "income", "owns_home"])
    estimator = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    curved = TableClassifier(estimator, curved=True).fit(X, loans["outcome"].to_pylist())
    weights = explain(curved)
    curves = {curve.name: curve for curve in curves_of(curved, weights)}
    assert set(curves) == {"age", "income"}
    age = curves["age"]
    rows = {"age": age.knots, "income": [40.0] * len(age.knots), "owns_home": ["yes"] * len(age.knots)}
    a = curved.decision_distribution(pa.table(rows)).mean
    np.testing.assert_allclose(age.log_odds, a - a[0], atol=1e-9)
    pieces = {piece.name for curve in curves.values() for piece in curve.pieces}
    assert {w.name for w in weights} - pieces == {"income is missing", "owns_home=yes"}
    assert curves_of(fitted, explain(fitted)) == []
    assert sparkline([2.0, 2.0]) == "▁▁"


def test_only_the_first_of_many_columns_and_notes_are_listed():
    rng = np.random.default_rng(0)
    columns = {f"x{d}": rng.normal(size=30) for d in range(60)} | {f"same{d}": np.ones(30) for d in range(5)}
    schema = infer_types(table_statistics(pa.table(columns)))
    table, n_more = column_table(schema)
    assert n_more == 65 - 25
    assert [cells[0] for cells, _ in table.rows] == [
        *list(columns)[: MAX_LISTED_COLUMNS // 2],
        *(f"same{d}" for d in range(5)),
    ]
    notes = [Note("dropped", "a"), Note("other model", "b"), Note("failure", "c"), Note("warning", "a"), "file"]
    assert listed_notes(notes) == ["a", "file"]
    many = listed_notes(Note("dropped", f"column {d} was dropped.") for d in range(30))
    assert (len(many), many[-1][:13]) == (MAX_LISTED_NOTES + 1, "10 more notes")


def test_names_of_models_that_failed_are_not_broken_within_a_word():
    scores = Scores(*[metrics.Estimate(0.5, 0.01)] * 5, 0.02, np.zeros(4))
    trials = (
        Trial("logistic (Bayesian)", None, scores, scores, Evidence(-1234.5, 1.0, 1.0, of_labels=True), 1.0),
        Trial("prior only", None, scores, scores, Evidence(-1240.0, 1.0, 1.0, of_labels=True), 1.0),
        Trial("linear discriminant", failure="ValueError: a bug"),
        Trial("quadratic discriminant", failure="Not tried: it would take 9 s."),
    )
    comparison = Comparison(trials, np.array(["a", "b"]), np.arange(4), np.arange(4))
    words = " ".join(line.text for line in comparison_table(comparison).lines(80)).split()
    assert words.count("discriminant") == 2
    assert {"(failed)", "(not", "tried)"} <= set(words)
    assert trials[-1].problem == "quadratic discriminant was not tried: it would take 9 s."


# -- plot and export ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_columns():
    X, y = sx.datasets.make_overlapping(80, rng=0)
    return pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})


@pytest.mark.filterwarnings("ignore:The posterior is far:separatrix.exceptions.ApproximationWarning")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in ("likelihood", "evidence"))) for kind in PICTURES]
)
def test_every_kind_of_picture_is_drawn(tmp_path, monkeypatch, two_columns, kind):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(two_columns, "two.csv")
    basis = sx.basis.RBF(width=1.0) if kind == "evidence" else None
    columns = ["a"] if PICTURES[kind][1] == 1 else ["a", "b"]
    estimator = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace", basis=basis)
    model = TableClassifier(estimator).fit(two_columns.select(columns), two_columns["y"].to_pylist())
    sx.save(model, "two.sx", about={"target": "y"})
    result = run("plot", "two.sx", "two.csv", "--kind", kind, "-o", "p.png")
    assert result.exit_code == 0, result.output
    assert len((tmp_path / "p.png").read_bytes()) > 5000


@pytest.mark.parametrize("ending", MAGIC)
def test_the_ending_selects_the_picture_format(folder, ending):
    assert run_json("plot", "model.sx", "-o", f"p.{ending}")["files"] == {"picture": f"p.{ending}"}
    assert (folder / f"p.{ending}").read_bytes().startswith(MAGIC[ending])


@pytest.fixture
def drawn(monkeypatch):
    """Displays that were drawn, in order."""
    from separatrix.plots import CoefficientDisplay, ReliabilityDisplay

    seen = []
    for kind, maker in ((CoefficientDisplay, "from_values"), (ReliabilityDisplay, "from_predictions")):
        make = getattr(kind, maker)

        def keep(*words, make=make, **options):
            seen.append(make(*words, **options))
            return seen[-1]

        monkeypatch.setattr(kind, maker, keep)
    return seen


def test_weights_per_standard_deviation_leave_out_levels_without_rows(folder, loans, drawn):
    table = loans.select(["purpose", "income"])
    model = TableClassifier().fit(table, loans["outcome"].to_pylist())
    assert model.is_new_level_.any()  # with a weight that follows the prior
    sx.save(model, "levels.sx", about={"target": "outcome"})
    assert run("plot", "levels.sx", "loans.csv", "-o", "p.png").exit_code == 0
    (display,) = drawn
    found = dict(zip(display.names, display.weight[0], strict=True))
    assert found == pytest.approx({c.name: c.per_spread for c in explain(model)})


def test_one_of_three_classes_has_its_own_weights_and_calibration(tmp_path, monkeypatch, drawn):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=150)
    labels = np.array(["setosa", "versicolor", "virginica"])[codes]
    table = pa.table({"length": codes + rng.normal(size=150), "width": rng.normal(size=150) - 0.5 * codes})
    pyarrow.csv.write_csv(table.append_column("species", pa.array(labels)), "irises.csv")
    model = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")).fit(table, labels)
    sx.save(model, "irises.sx", about={"target": "species", "positive": "virginica"})
    for kind in ("coefficients", "reliability"):
        assert run("plot", "irises.sx", "irises.csv", "--kind", kind, "-o", "p.png", "--force").exit_code == 0
    weights, curve = drawn
    assert weights.labels == ("virginica",)
    p = model.predict_proba(table)[:, 2]
    expected = metrics.ece(np.stack([1 - p, p], axis=1), (labels == "virginica").astype(int))
    assert curve.ece.value == pytest.approx(expected.value)
    refuse(tmp_path, ["plot", "irises.sx", "irises.csv", "--kind", "likelihood", "-o", "q.png"], 3, "has 3 classes")


def test_export_writes_onnx_and_replaces_only_with_force(folder):
    assert run_json("export", "model.sx", "-o", "m.onnx")["files"] == {"onnx": "m.onnx"}
    onnx.checker.check_model(onnx.load("m.onnx"))
    refuse(folder, ["export", "model.sx", "-o", "m.onnx"], 4, "exists")
    assert run("export", "model.sx", "-o", "m.onnx", "--force").exit_code == 0


# -- datasets and demo -------------------------------------------------------------------------------------------------


def test_datasets_lists_all_data_sets():
    listed = run_json("datasets")["datasets"]
    assert [entry["name"] for entry in listed] == list(CATALOGUE)
    assert all(name in run("datasets").stdout for name in CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_data_set_can_be_written(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    found = run_json("datasets", name, "-o", "table.csv")
    frame = pd.read_csv("table.csv")
    assert len(frame) == found["rows"]
    assert frame[found["target"]].nunique() >= 2


def test_rows_and_seed_of_a_data_set(folder):
    for name, seed in (("a", "1"), ("b", "2"), ("c", "1")):
        found = run_json("datasets", "separable", "-o", f"{name}.csv", "--rows", "30", "--seed", seed)
        assert found["rows"] == 30
    a, b, c = ((folder / f"{name}.csv").read_text() for name in "abc")
    assert a == c != b


def test_the_demo_writes_three_files_or_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("separatrix.study.compare_models", Mock(side_effect=KeyboardInterrupt))
        result = run("demo")
    assert result.exit_code == 130
    assert "No file was written or changed" in result.stderr
    assert not (tmp_path / "separatrix-demo").exists()
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert "separatrix-demo/report.html" in result.stdout.splitlines()[-1]
    assert names_in(tmp_path / "separatrix-demo") == ["loans.csv", "model.sx", "report.html"]
    assert run("demo").exit_code == 4  # nothing is overwritten
    assert run("explain", "separatrix-demo/model.sx").exit_code == 0
