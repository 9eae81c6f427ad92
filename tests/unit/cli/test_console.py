import io
import json

import numpy as np
import pytest
from rich.console import Console

from separatrix.cli import console
from separatrix.cli.console import Voice, plain


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
        step("naive Bayes", 2, 7)
    assert all(words in screen.getvalue() for words in ("2/7", "naive Bayes"))
    assert "more" not in screen.getvalue()
    with console.steps("Reading") as step:
        step.expect(90.4)
        step("fitting to all rows", 3, 7)
    assert "fitting to all rows about 90 s more" in screen.getvalue()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(np.nan, ""), (-5.0, "longer than expected"), (30.0, "about 30 s more"), (600.0, "about 10 min more")],
)
def test_the_time_of_a_step_in_words(seconds, said):
    assert console._left(seconds) == said


def test_where_there_is_no_terminal_nothing_is_said(capsys):
    with console.rows_read("Predicting", None) as advance, console.steps("Reading") as step:
        advance(10)
        step("naive Bayes", 1, 2)
    assert capsys.readouterr() == ("", "")
