from itertools import count

import numpy as np
import pytest

from separatrix import LinearDiscriminantAnalysis
from separatrix.study import progress
from separatrix.study.progress import Stage, Stages, forecast


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    return []


def test_stages_may_go_on_from_others(told):
    tell = Stages(told.append, 5, done=3)
    tell("one")
    tell("two", 30.0)
    assert [(stage.text, stage.done, stage.total) for stage in told] == [("one", 3, 5), ("two", 4, 5)]
    assert np.isnan(told[0].seconds_left)
    assert told[1].seconds_left == pytest.approx(30.0)


def test_passes_and_rows_of_a_fit_are_told_with_what_is_left_of_the_time(told):
    tell = Stages(told.append, 1)
    tell("linear", 100.0)
    X = np.random.default_rng(0).normal(size=(500, 2))
    with tell.watching():
        LinearDiscriminantAnalysis().fit(X, X[:, 0] > 0)
    assert told[-1].text == "linear: pass 1, row 500 of 500"
    assert 0 < told[-1].seconds_left < 100.0
    assert told[-1].done == 0  # it is still the same stage


def test_turns_of_equal_length_tell_of_those_to_come(told, monkeypatch):
    clock = iter([0.0, 0.0, 6.0, 6.0])  # begun and told at 0; three of four turns done at 6
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    tell = Stages(told.append, 1)
    tell("effects")
    tell.turns(3, 4, "column")
    assert told[-1] == Stage("effects: column 3 of 4", 0, 1, 2.0)


def test_words_on_one_stage_come_now_and_then_and_the_last_one_always(monkeypatch):
    told, clock = [], count(0.0, 0.01)
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    tell = Stages(told.append, 1)
    tell("effects")
    for done in range(1, 101):
        tell.turns(done, 100, "column")
    assert 5 < len(told) < 20
    assert told[-1].text == "effects: column 100 of 100"


def test_nobody_is_told_where_nobody_asked():
    tell = Stages(None, 2)
    tell("one")
    tell.turns(1, 2, "column")
    with tell.watching():
        LinearDiscriminantAnalysis().fit([[0.0], [1.0], [0.5], [2.0]], [0, 1, 0, 1])
    assert tell.done == 1


def test_a_forecast_grows_with_rows_and_with_the_square_of_the_weights(monkeypatch):
    monkeypatch.setattr(progress, "_seconds_per_operation", lambda: 1e-10)
    name = "logistic (Bayesian)"
    one, two = (forecast(10_000, {name: W})[name] - progress.OVERHEAD for W in (100, 200))
    assert two == pytest.approx(4 * one)
    assert forecast(10_000, {"prior only": 100}) == {"prior only": progress.OVERHEAD}
