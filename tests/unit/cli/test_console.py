import json
import warnings

import numpy as np
import pytest

from separatrix.cli.console import Voice, noted, plain


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


def test_warnings_become_notes_each_once_even_if_the_work_fails(capsys):
    with noted() as notes:
        for _ in range(3):
            warnings.warn("careful", UserWarning, stacklevel=1)
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
    assert notes == ["careful"]
    with pytest.raises(ZeroDivisionError), noted():
        _warn_and_fail()
    assert capsys.readouterr().err == ""


def _warn_and_fail():
    warnings.warn("careful", UserWarning, stacklevel=1)
    raise ZeroDivisionError
