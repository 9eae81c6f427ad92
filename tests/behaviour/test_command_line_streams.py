"""The command line and its streams: encodings, control characters, widths, closed and full streams, passwords."""

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import separatrix as sx
from separatrix.cli.errors import CommandError
from separatrix.cli.layout import UNSAFE, TextTable, folded, printable, visible
from separatrix.exceptions import DataError
from separatrix.files import open_table, open_writer
from separatrix.table_model import TableClassifier

MAIN = "import sys; sys.argv[0] = 'separatrix'; from separatrix.cli import main; main()"
TITLE = "\x1b]0;gone\x07"  # sets the title of a terminal
LONG = "a_long_name_without_spaces_" * 5
COMMANDS = (
    ("fit", "ugly.csv", "-t", "ziel", "--models", "prior,linear", "-o", "new.sx", "--report", "new.html"),
    ("compare", "ugly.csv", "-t", "ziel", "--models", "prior"),
    ("predict", "ugly.sx", "ugly.csv", "-o", "out.csv"),
    ("explain", "ugly.sx"),
    ("report", "ugly.sx", "ugly.csv", "-o", "checked.html"),
    ("export", "ugly.sx", "-o", "ugly.onnx"),
    ("fit", "ugly.csv", "-t", f"ziel{TITLE}", "-o", "new.sx"),
    ("fit", "ugly.csv", "-t", "ziel", "--positive", f"ja{TITLE}", "-o", "new.sx"),
    ("predict", "ugly.sx", f"no{TITLE}.csv", "-o", "out.csv"),
    ("explain", f"no{TITLE}.sx", "--debug"),
    ("--help",),
)


@pytest.fixture(scope="module")
def ugly(tmp_path_factory):
    """Table whose names and labels contain control characters, and its model."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4))
    columns = {
        f"Größe {TITLE} in mm": x[:, 0],
        LONG: x[:, 1],
        "температура": x[:, 2],
        "line\nbreak\ttab\rback": x[:, 3],
    }
    cities = {"city": rng.choice(["Köln", "東京\x1b[2J", "\x9b31mred"], 120)}
    y = np.where(x[:, 0] + rng.logistic(size=120) > 0, "ja\x1b[31mRED", "nein\u202etxt")
    frame = pd.DataFrame(columns | cities)
    home = tmp_path_factory.mktemp("ugly")
    frame.assign(ziel=y).to_csv(home / "ugly.csv", index=False)
    estimator = sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace")
    sx.save(TableClassifier(estimator).fit(frame, y), home / "ugly.sx", about={"target": "ziel"})
    return home


@pytest.fixture
def home(ugly, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("ugly.csv", "ugly.sx"):
        (tmp_path / name).write_bytes((ugly / name).read_bytes())
    return tmp_path


def run(*words, encoding="utf-8"):
    """Run a command with streams of this encoding; the text has no characters that the encoding lacks."""
    from separatrix.cli.app import app

    return CliRunner(charset=encoding).invoke(app, list(words))


def started(*words, shell="{}", **options):
    """Run a command in a process; ``shell`` contains its redirections."""
    quoted = " ".join(f"'{word}'" for word in (sys.executable, "-c", MAIN.replace("'", '"'), *words))
    script = f"{shell.format(quoted)}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False, **options)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: visible(" ".join(words[:3])))
def test_no_control_character_of_a_table_reaches_the_terminal(words):
    result = run(*words)
    assert result.exit_code in (0, 2, 3), result.output
    assert not UNSAFE.search(result.output.replace("\n", ""))
    if words[0] in ("compare", "explain"):
        assert ("\\x1b]0;" in result.output) or ("\\x1b[31m" in result.output)
    document = run(*words, "--json").stdout
    assert not UNSAFE.search(document.replace("\n", ""))


@pytest.mark.usefixtures("home")
def test_names_in_a_document_are_unchanged():
    names = [column["name"] for column in json.loads(run("explain", "ugly.sx", "--json").stdout)["columns"]]
    assert names == list(pd.read_csv("ugly.csv").columns[:-1])


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: visible(" ".join(words[:3])))
def test_every_command_ends_well_if_the_encoding_lacks_a_letter(home, words, encoding):
    expected = run(*words).exit_code
    for path in home.iterdir():
        if path.name not in ("ugly.csv", "ugly.sx"):
            path.unlink()
    result = run(*words, encoding=encoding)
    assert result.exit_code == expected
    assert "UnicodeEncodeError" not in result.output
    if words[0] == "explain" and expected == 0:
        assert "\\u0442\\u0435" in result.output
        found, plain = (json.loads(run(*words, "--json", encoding=name).stdout) for name in (encoding, "utf-8"))
        assert found == plain


def test_our_own_symbols_have_replacements_in_every_encoding():
    text = "\N{MINUS SIGN}1.5 ± 2, × ∞, 12\N{NO-BREAK SPACE}%"
    assert printable(text, "ascii") == "-1.5 +/- 2, x inf, 12 %"
    assert printable(text, "cp1252") == "-1.5 ± 2, × inf, 12\N{NO-BREAK SPACE}%"
    assert printable("▁▄█ к", "latin-1") == "148 \\u043a"


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("width", ["40", "80", "200"])
@pytest.mark.parametrize("words", COMMANDS[:5], ids=lambda words: words[0])
def test_lines_fit_the_terminal_and_words_are_whole(monkeypatch, words, width):
    monkeypatch.setenv("COLUMNS", width)
    text = run(*words).stdout
    whole = {"discriminant", "calibrated", "Bayesian", "feature", "number", "categorical", "standard", "intercept"}
    lines = text.splitlines()
    assert max(map(len, lines)) <= max(int(width), len("separatrix predict new.sx NEW_DATA -o predictions.csv"))
    assert all(line == line.rstrip() for line in lines)
    broken = {word[:n] for word in whole for n in range(4, len(word) - 2)} - {"standard"[:5], "number"[:4]}
    last_words = {line.split()[-1] for line in lines if line.split()}
    assert not broken & last_words


def test_a_table_narrows_its_widest_columns_and_breaks_only_very_long_words():
    table = TextTable("model", "value", "about", right=[1])
    table.add_row("quadratic discriminant", "-123456.7", "x " * 40)
    table.add_row(LONG, ("1.5", "(0.2)"))
    for width in (24, 40, 60, 80):
        lines = [line.text for line in table.lines(width)]
        assert max(map(len, lines)) <= width
        assert {"quadratic", "discriminant", "-123456.7"} <= set(" ".join(lines).split())
        assert LONG in "".join("".join(lines).split()).replace("1.5", "").replace("(0.2)", "").replace("value:", "")
    assert folded("a /very/long/path b", 5) == ["a", "/very/long/path", "b"]  # a path stays whole


SMALL_OUTPUT = [("explain", "ugly.sx"), ("explain", "ugly.sx", "--json"), ("datasets",), ("--help",), ("fit", "-h")]


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [*SMALL_OUTPUT, ("predict", "ugly.sx", "ugly.csv", "-o", "-")])
def test_a_full_or_closed_output_ends_a_command_with_one_sentence(words, unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    full = started(*words, shell="{} > /dev/full", env=environment)
    assert full.returncode == 4
    assert b"Standard output could not be written: No space left" in full.stderr
    closed = started(*words, shell="{} >&-", env=environment)
    assert (closed.returncode, closed.stderr[:33]) == (4, b"Error: Standard output is closed.")
    pipe = started(*words, shell="{} | true", env=environment)
    assert (pipe.returncode, pipe.stderr) == (141, b"")


@pytest.mark.slow
def test_what_was_written_is_named_if_the_output_is_full(home):
    done = started(*COMMANDS[0], shell="{} > /dev/full")
    assert done.returncode == 4
    assert b"Already written: new.sx, new.html." in b" ".join(done.stderr.split())
    assert (home / "new.sx").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-"])
def test_a_full_or_closed_error_stream_does_not_change_the_exit_code(stream):
    for words, code in ((("explain", "none.sx"), 3), (("predict", "ugly.sx", "ugly.csv", "-o", "-"), 0)):
        done = started(*words, shell=f"{{}} {stream}")
        assert done.returncode == code
        assert b"Error" not in done.stdout


@pytest.mark.slow
def test_a_closed_input_is_reported(home):
    done = started("predict", "ugly.sx", "-", "-o", "out.csv", shell="{} <&-")
    assert (done.returncode, done.stderr[:32]) == (3, b"Error: Standard input is closed.")
    assert sorted(path.name for path in home.iterdir()) == ["ugly.csv", "ugly.sx"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("compare", "caf\udce9.csv", "-t", "ziel"), 3),
        (("predict", "ugly.sx", "caf\udce9.csv", "-o", "out.csv"), 3),
        (("predict", "ugly.sx", "ugly.csv", "-o", "caf\udce9.parquet"), 4),
        (("datasets", "lobsters", "-o", "caf\udce9.duckdb"), 4),
        (("demo", "--folder", "caf\udce9"), 4),
    ],
)
def test_names_of_tables_that_are_not_utf8_are_refused(words, code):
    result = run(*words)
    assert result.exit_code == code
    assert "caf\\xe9" in result.stderr
    assert "not UTF-8" in result.stderr
    assert not os.path.exists("caf\udce9")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "parquet.gz", "arrow", "xlsx", "db", "duckdb"])
def test_a_working_folder_that_is_not_utf8_holds_tables_of_formats_that_python_opens(home, monkeypatch, ending):
    os.mkdir("caf\udce9")
    monkeypatch.chdir("caf\udce9")
    result = run("datasets", "lobsters", "-o", f"t.{ending}")
    if ending.startswith(("parquet", "arrow", "duckdb")):
        assert result.exit_code == 4
        assert "caf\\xe9" in result.stderr
        assert os.listdir() == []
    else:
        assert result.exit_code == 0
        assert run("compare", f"t.{ending}", "-t", "survived", "--models", "prior").exit_code == 0


def test_the_library_refuses_names_of_tables_that_are_not_utf8(home):
    Path("caf\udce9.csv").write_bytes(Path("ugly.csv").read_bytes())
    for read in (
        open_table,
        sx.scan,
        lambda path: sx.scan([path, "ugly.csv"]),
        lambda path: sx.TableClassifier().fit(path, "ziel"),
    ):
        with pytest.raises(DataError, match="not UTF-8"):
            read("caf\udce9.csv")
    with pytest.raises(DataError, match="not UTF-8"):
        open_writer("new\udce9.csv")


def test_models_and_pictures_may_have_names_that_are_not_utf8(home):
    os.rename("ugly.sx", "caf\udce9.sx")
    assert run("explain", "caf\udce9.sx").stdout.startswith("caf\\xe9.sx: ")
    assert json.loads(run("plot", "caf\udce9.sx", "-o", "caf\udce9.svg", "--json").stdout)["files"]
    assert (home / "caf\udce9.svg").exists()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@host/db",
        "s3://key:sec@ret@bucket/t.parquet",
        "x://:secret@h",
        "postgresql://me:sec/ret@host/db",
        "postgresql://host/db?user=me&password=secret",
        "https://me:secret@host/t.csv?token=secret&x=1",
        "jdbc:postgresql://host/db?user=me&sslpassword=secret",
        "host=h password='secret word' dbname=d",
        "host=h dbname=d PGPASSWORD=secret",
    ],
)
@pytest.mark.parametrize("option", [(), ("--json",), ("--debug",)])
def test_no_error_shows_a_password(url, option):
    for words in (("compare", url, "-t", "y"), ("explain", url), ("datasets", "loans", "-o", url), ("plot", url)):
        result = run(*words, *option)
        assert result.exit_code in (2, 3, 4)
        assert "sec" not in result.output
    assert str(CommandError("data", f"{url} and more")).endswith(" and more")
    assert "sec" not in str(CommandError("data", repr(f'{url} "')))


@pytest.mark.usefixtures("home")
def test_a_demo_in_an_address_is_refused():
    result = run("demo", "--folder", "postgresql://me:secret@host/db")
    assert result.exit_code == 4
    assert "postgresql://me:***@host/db is a URL" in result.stderr
    assert not os.path.exists("postgresql:")


def test_no_error_of_a_query_shows_a_password():
    for connection in ("mysql://me:secret@host/db", "host=h user=me password=secret"):
        with pytest.raises(sx.exceptions.DataError, match=r"\*\*\*") as found:
            sx.scan("SELECT 1", connection=connection)
        assert "secret" not in str(found.value)
    with pytest.raises(sx.exceptions.DataError, match=r"\*\*\* is a URL") as found:  # not a pattern of files
        sx.scan("postgresql://me:secret@host/db?sslpassword=secret", target="y")
    assert "secret" not in str(found.value)
    with pytest.raises(sx.exceptions.DataError, match=r"\*\*\*") as found:  # the driver repeats the password
        sx.scan("SELECT 1", connection="postgresql://me:sec%zzret@localhost/db")
    assert "sec%" not in str(found.value)


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("name", ["plain", f"x{TITLE}"])
def test_control_characters_of_predictions_are_escaped_on_a_terminal_only(monkeypatch, is_terminal, name):
    """Files and pipes get the table as it is."""
    stream = TextIOWrapper(BytesIO(), encoding="utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    with open_writer("-") as writer:
        writer.write({name: ["ja\x1b[31mRED", "東京", "two\nlines"]})
    text = stream.buffer.getvalue().decode()
    expected = f'{name}\nja\x1b[31mRED\n東京\n"two\nlines"\n'
    assert text == (visible(expected, keep="\n") if is_terminal else expected)
