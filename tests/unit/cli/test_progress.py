import io

import pytest
from rich.console import Console

from separatrix.cli import progress


@pytest.fixture
def screen(monkeypatch):
    """A terminal that keeps what was shown."""
    shown = io.StringIO()
    monkeypatch.setattr(progress, "stderr", lambda: Console(file=shown, force_terminal=True, width=100))
    return shown


def test_rows_and_their_rate_and_the_time_left_are_shown(screen):
    with progress.rows_read("Predicting", 1000) as advance:
        advance(400)
        advance(600)
    assert "Predicting" in screen.getvalue()
    assert "1,000 rows" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_stages_are_named_and_counted(screen):
    with progress.steps("Reading") as step:
        step("naive Bayes", 2, 7)
    assert "naive Bayes" in screen.getvalue()
    assert "2/7" in screen.getvalue()


def test_where_there_is_no_terminal_nothing_is_said(capsys):
    with progress.rows_read("Predicting", None) as advance, progress.steps("Reading") as step:
        advance(10)
        step("naive Bayes", 1, 2)
    assert capsys.readouterr() == ("", "")
