"""The words of the command line: help, completion, the order of what is printed, counts, pipes and memory limits."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli.errors import failure_of
from separatrix.cli.layout import folded
from separatrix.cli.limits import MIN_BYTES
from separatrix.exceptions import DataError, SeparationWarning
from separatrix.files import open_table
from separatrix.table import infer_types, table_statistics

COMMANDS = ("fit", "compare", "predict", "explain", "effects", "report", "plot", "export", "datasets", "demo")
PROGRAM = shutil.which("separatrix", path=str(Path(sys.executable).parent)) or "separatrix"


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Working folder with ``plain.csv`` and, with two columns that give the class away, ``leak.csv``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    x, z, c = rng.normal(size=400), rng.normal(size=400), rng.choice(list("abc"), 400)
    y = x + rng.logistic(size=400) > 0
    frame = pd.DataFrame({"x": x, "z": z, "c": c, "bought": np.where(y, "yes", "no")})
    frame.to_csv("plain.csv", index=False)
    status, total = np.where(y, "paid", "late"), np.where(y, 5, -5) + 0.1 * z
    frame.assign(status=status, total=total).to_csv("leak.csv", index=False)
    return tmp_path


def test_python_runs_the_command_as_a_module():
    ran = subprocess.run([sys.executable, "-m", "separatrix", "--version"], check=True, capture_output=True, text=True)
    assert sx.__version__ in ran.stdout


def run(*words, **options):
    from separatrix.cli.app import app

    result = CliRunner().invoke(app, list(words), **options)
    return result.exit_code, result.output


def fit(data, models, *options):
    code, text = run("fit", data, "-t", "bought", "--models", models, "-o", "m.sx", "--report", "m.html", *options)
    assert code == 0, text
    return text


def help_words(command, width):
    text = run(*([command] if command else []), "--help", env={"COLUMNS": str(width)})[1]
    return re.sub(r"[│╭╮╰╯─]", " ", text).split()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_in_plain_words_that_are_not_broken(command):
    narrow = help_words(command, 80)
    assert not [word for word in narrow if re.search(r"[<{]|x[<>]=", word) and word != "<="]
    assert set(narrow) <= set(help_words(command, 250))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--test-share", "0.9"], "0.9 is not between 0.01 and 0.5"),
        (["--seed", "-1"], "-1 is not at least 0"),
        (["--time", "0"], "0 is not at least 1"),
    ],
)
def test_the_range_of_an_option_is_checked_in_words(tables, words, expected):
    code, text = run("fit", "plain.csv", "-t", "bought", *words)
    assert code == 2
    assert expected in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fit plain.csv --models pri", ["prior"]),
        ("fit plain.csv --models prior,b", ["prior,bayes"]),
        ("plot m.sx --kind co", ["coefficients"]),
        ("datasets lo", ["loans", "lobsters"]),
        ("fit plain.csv --target ", ["x", "z", "c", "bought"]),
        ("fit plain.csv -t bought --types x=n", ["x=number"]),
        ("predict m.sx plain.csv --keep x,b", ["x,bought"]),
        ("fit nothing.csv --target ", []),
        ("fit broken.csv --target ", []),
    ],
)
def test_the_shell_completes_models_kinds_data_sets_and_columns(tables, line, expected):
    Path("broken.csv").write_bytes(b"\0")
    words = line.split(" ")
    code, text = run(
        env={"_SEPARATRIX_COMPLETE": "complete_bash", "COMP_WORDS": f"separatrix {line}", "COMP_CWORD": str(len(words))}
    )
    assert (code, text.split()) == (0, expected)


def test_a_missing_target_lists_the_columns(tables):
    code, text = run("fit", "plain.csv")
    assert code == 2
    assert "Missing option '--target'" in text
    assert "plain.csv are 'x', 'z', 'c' and 'bought'" in " ".join(text.split())


def test_a_quiet_fit_says_what_was_chosen_where_it_is_and_what_to_check(tables):
    text = fit("plain.csv", "prior,linear", "--quiet")
    assert text.splitlines()[0].startswith("Chosen: linear discriminant, with an expected log-loss of 0.")
    assert text.splitlines()[-1] == "Written: m.sx, m.html"
    assert "Odds, effects and decisions refer to yes; --positive no" in " ".join(text.split())
    assert len(text.splitlines()) <= 5
    text = " ".join(fit("leak.csv", "prior,linear", "--quiet", "--force").split())
    assert text.startswith("Warning: 'status' alone predicts bought without error")
    assert text.index("Warning: 'total' alone") < text.index("Chosen: linear")
    assert "Columns" not in text


@pytest.mark.parametrize("model", ["linear", "logistic", "curved"])
def test_a_leak_comes_first_and_its_weights_are_words(tables, model):
    text = fit("leak.csv", f"prior,{model}")
    assert text.index("'total' alone predicts bought") < text.index("Chosen: ")
    assert text.count("'total' alone predicts bought") == 1
    text = run("explain", "m.sx")[1]
    assert text.index("'total' alone predicts bought") < text.index("Weights")
    assert "this column alone gives the class away" in text
    assert not re.search(r"\binf\b|∞|e\+\d|\d{6}|over a million", text)
    page = Path("m.html").read_text()
    assert "status and total give bought away, so the results below say nothing about rows without them" in page
    assert "These results hold" not in page  # nothing holds if a column gives the class away
    assert "this column alone gives the class away" in page


def test_the_report_says_how_to_load_the_model_and_does_not_show_its_representation(tables):
    fit("plain.csv", "prior,logistic")
    page = re.sub(r"<[^>]+>", "", Path("m.html").read_text())
    assert "Gaussian(" not in page
    assert "array(" not in page
    assert "sx.load(&#39;m.sx&#39;).estimator_ shows all settings" in page
    assert "TableClassifier with BayesianLogisticRegression" in page
    assert "value and" not in page  # the level c of the column c is not a number


def test_the_paragraph_on_probabilities_of_models_names_them_as_the_table_does(tables):
    text = " ".join(run("compare", "plain.csv", "-t", "bought", "--models", "prior,linear,logistic")[1].split())
    assert "all training rows: logistic (Bayesian) and prior only." in text


def test_one_row_is_not_rows(tables):
    fit("plain.csv", "prior,linear", "-q")
    pd.read_csv("plain.csv")[:1].to_csv("one.csv", index=False)
    text = run("predict", "m.sx", "one.csv", "-o", "out.csv")[1]
    assert "1 row predicted" in text
    assert "Compared with 1 label:" in text
    with pytest.raises(DataError, match=r"X has 1 row but y has 2 labels"):
        sx.LogisticRegression().fit([[1.0]], [0, 1])
    counts = np.array([[5, 5], [10, 0], [8, 0]])
    with pytest.warns(SeparationWarning, match=r"except for 1 row that lies on it"):
        sx.GeneralizedLinearModel("binomial", "logit").fit(np.array([[0.0], [1.0], [1.0]]), counts)


def test_a_column_with_only_distinct_values_is_described_so():
    names = [f"k{i * 7919 % 1000}" for i in range(300)]
    for values, expected in ((names, "all values are distinct (300 of 300)"), (names[:290] + names[:10], "nearly all")):
        schema = infer_types(table_statistics({"key": values, "x": np.arange(300) % 7 + 0.5}))
        assert schema.plans[0].why.startswith(expected)


def test_formulas_and_errors_stay_on_one_line():
    text = "the evidence p(t | x) of ln p = 1 with 0.5 ± 0.1"
    for width in range(10, 40):
        lines = folded(text, width)
        assert " ".join(lines) == text
        assert not [line for line in lines if line.endswith(("|", "±", "ln")) or line.startswith(("|", "±"))]


def test_values_that_cannot_be_read_are_missing_in_predictions(tables):
    fit("plain.csv", "prior,linear", "-q")
    pd.DataFrame({"x": ["1", "abc"], "z": [0, 1], "c": ["a", "b"]}).to_csv("new.csv", index=False)
    code, text = run("predict", "m.sx", "new.csv", "-o", "out.csv")
    assert code == 0
    assert "'x' has 1 value that is not a number, 'abc' in row 2 (line 3): treated as missing." in " ".join(
        text.split()
    )
    assert len(pd.read_csv("out.csv")) == 2
    pd.DataFrame({"x": ["abc", "d"], "z": [0, 1], "c": ["a", "b"]}).to_csv("new.csv", index=False)
    code, text = run("predict", "m.sx", "new.csv", "-o", "out.csv", "--force")
    assert code == 0
    assert "'x' has 2 values that are not numbers, the first is 'abc' in row 1 (line 2)" in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("z,c\n0,a\n", "no column 'x'"),
        ("x,z,c\n2024-01-01,0,a\n", "Column 'x' had numbers when its type was inferred, and now it has dates"),
        ("x,z,c\n1,0\n", "line 2: expected 3 fields, as in line 1, but found 2"),
    ],
)
def test_a_column_that_is_missing_or_of_another_type_ends_a_prediction(tables, text, words):
    fit("plain.csv", "prior,linear", "-q")
    Path("new.csv").write_text(text)
    code, said = run("predict", "m.sx", "new.csv", "-o", "out.csv")
    assert code == 3
    assert words in " ".join(said.split())
    assert not Path("out.csv").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.csv.gz", "pipe.parquet", "pipe"])
def test_a_pipe_is_read_as_the_file_that_it_transports(tables, monkeypatch, name):
    monkeypatch.setenv("TMPDIR", str(tables / "copies"))
    monkeypatch.setattr("tempfile.tempdir", None)
    Path("copies").mkdir()
    frame = pd.read_csv("plain.csv")
    frame.to_parquet("plain.parquet")
    Path("plain.csv.gz").write_bytes(gzip.compress(Path("plain.csv").read_bytes()))
    content = Path(f"plain{''.join(Path(name).suffixes) or '.csv'}").read_bytes()
    os.mkfifo(name)
    writer = threading.Thread(target=lambda: Path(name).write_bytes(content), daemon=True)
    writer.start()
    table = open_table(name)
    writer.join(30)
    assert str(table.path) == name
    for _ in range(2):  # the pipe itself could be read only once
        assert table.read().num_rows == 400
        assert table.columns == ("x", "z", "c", "bought")
    del table
    assert not os.listdir("copies")
    writer = threading.Thread(target=lambda: Path(name).write_bytes(content), daemon=True)
    writer.start()
    assert "Chosen" in fit(name, "prior,linear", "-q")
    writer.join(30)
    writer = threading.Thread(target=lambda: Path(name).write_bytes(content), daemon=True)
    writer.start()
    assert "400 rows predicted" in run("predict", "m.sx", name, "-o", "out.csv")[1]


def limited(kilobytes, *words):
    """Run the program with a limit on its address space."""
    command = ["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "bash", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v is a limit of Linux")
def test_a_small_address_space_is_refused_in_words_and_help_is_not(tables):
    found = limited(800_000, "fit", "plain.csv", "-t", "bought")
    assert found.returncode == 3
    assert "(ulimit -v 800000)" in found.stderr
    assert "ulimit -v unlimited" in found.stderr
    assert limited(800_000, "fit", "--help").returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ulimit -v is a limit of Linux")
def test_the_smallest_accepted_address_space_suffices(tables):
    found = limited(-(-MIN_BYTES // 1024), "fit", "plain.csv", "-t", "bought", "-q", "--no-report")
    assert found.returncode == 0, found.stderr
    assert "Written: model.sx" in found.stdout


def test_a_library_that_does_not_fit_into_memory_is_not_reported_as_broken():
    try:
        try:
            raise OSError("libllvmlite.so: failed to map segment from shared object")
        except OSError:
            raise OSError("Could not find/load shared object file 'libllvmlite.so'")  # noqa: B904
    except OSError as error:
        failure = failure_of(error)
    assert failure.code == 3
    assert "Memory is too small" in str(failure)
    assert "ulimit -v unlimited" in str(failure)
    broken = failure_of(ImportError("undefined symbol: f", name="pyarrow.lib"))
    assert "Reinstall it" in str(broken)
