import io
import json

import numpy as np
import pytest
from rich.console import Console

from separatrix.cli import console
from separatrix.cli.console import Voice, plain
from separatrix.study import Stage


def test_what_json_cannot_say_becomes_null_or_text():
    value = {"a": np.nan, "b": -np.inf, "c": np.array([1.0, np.nan]), "d": np.int64(3), "e": (True, None, "x")}
    assert plain(value) == {"a": None, "b": "-Infinity", "c": [1.0, None], "d": 3, "e": [True, None, "x"]}
    assert type(plain(np.bool_(True))) is bool
    assert plain({1: np.datetime64("2024-01-01")}) == {"1": "2024-01-01"}
    json.dumps(plain(value), allow_nan=False)


def test_with_json_only_the_document_is_on_standard_output(capsys):
    voice = Voice(as_json=True)
    voice.say("hello")
    voice.title("head")
    voice.notes(["a note"])
    voice.finish({"rows": 3})
    assert json.loads(capsys.readouterr().out) == {"rows": 3}


def test_a_person_reads_text_as_it_is_and_no_document(capsys):
    voice = Voice(as_json=False)
    voice.say("a [bold] column")
    voice.notes(["one [x]", "two"])
    voice.finish({"rows": 3})
    out = capsys.readouterr().out
    assert "a [bold] column\n" in out
    assert " - one [x]" in out
    assert "rows" not in out
    voice.notes([])
    assert capsys.readouterr().out == ""


def test_results_may_give_way_to_a_table_on_standard_output(capsys):
    Voice(as_json=False, to_stderr=True).say("3 rows")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "3 rows\n")


def test_no_line_of_a_file_ends_in_blanks(capsys):
    from rich.table import Table

    table = Table.grid()
    table.add_column(width=20)
    table.add_row("a")
    Voice(as_json=False).say(table)
    assert capsys.readouterr().out == "a\n"


@pytest.fixture
def screen(monkeypatch):
    """A terminal that keeps what was shown."""
    shown = io.StringIO()
    monkeypatch.setattr(console, "stderr", lambda: Console(file=shown, force_terminal=True, width=100))
    return shown


def test_rows_and_their_rate_and_the_time_left_are_shown(screen):
    with console.rows_read("Predicting", 1000) as advance:
        advance(400)
        advance(600)
    assert "Predicting" in screen.getvalue()
    assert "1,000 rows" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_steps_are_named_and_counted_with_the_time_that_is_known(screen):
    with console.steps("Reading") as step:
        step(Stage("naive Bayes", 2, 7))
    assert all(words in screen.getvalue() for words in ("2/7", "naive Bayes"))
    assert "about" not in screen.getvalue()
    with console.steps("Reading") as step:
        step(Stage("fitting to all rows: pass 2", 3, 7, 41.0))
    assert "fitting to all rows: pass 2 about 40 s left" in screen.getvalue()


def test_a_document_on_standard_output_comes_without_a_bar(screen):
    with console.steps("Reading", hidden=True) as step, console.rows_read("Predicting", 9, hidden=True) as advance:
        step(Stage("naive Bayes", 2, 7))
        advance(9)
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (np.nan, ""),
        (0.5, ""),
        (-5.0, "longer than expected"),
        (34.0, "about 30 s left"),
        (80.0, "about 80 s left"),
        (640.0, "about 10 min left"),
        (30_000.0, "about 8 h left"),
    ],
)
def test_the_time_of_a_step_in_words(seconds, said):
    assert console._left(seconds) == said


def test_where_there_is_no_terminal_nothing_is_said(capsys):
    with console.rows_read("Predicting", None) as advance, console.steps("Reading") as step:
        advance(10)
        step(Stage("naive Bayes", 1, 2))
    assert capsys.readouterr() == ("", "")
