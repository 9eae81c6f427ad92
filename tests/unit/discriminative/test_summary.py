"""A table can be read, and taken apart."""

import sys

import numpy as np
import pytest

from separatrix.discriminative.summary import Summary


@pytest.fixture
def table():
    return Summary(
        title="poisson regression, log link",
        names=("age", "intercept"),
        coefficient=np.array([0.5, -1.25]),
        standard_error=np.array([0.1, 2.0]),
        statistic=np.array([5.0, np.nan]),
        p_value=np.array([1e-20, np.nan]),
        lower=np.array([0.3, -np.inf]),
        upper=np.array([0.7, 3.0]),
        statistic_name="z",
        test="wald",
        interval="profile",
        level=0.9,
        facts={"deviance": 12.0},
        notes=("Read with care.",),
    )


def test_text_is_aligned_and_says_how_it_was_made(table):
    lines = str(table).splitlines()
    assert lines[:3] == ["poisson regression, log link", "deviance 12", "90 % intervals: profile; tests: wald"]
    assert lines[4].split() == ["coefficient", "std.", "error", "z", "p", "value", "lower", "upper"]
    assert lines[5].split() == ["age", "0.5", "0.1", "5", "<1e-16", "0.3", "0.7"]
    assert lines[6].split() == ["intercept", "-1.25", "2", "-", "-", "-inf", "3"]
    assert len({len(line) for line in lines[4:7]}) == 1
    assert lines[-1] == "Read with care."


def test_columns_come_as_a_frame_or_a_dictionary(table):
    frame = table.to_frame()
    assert list(frame.index) == ["age", "intercept"]
    assert frame.loc["age", "coefficient"] == 0.5
    assert list(frame.columns) == list(table.to_dict())


def test_without_pandas_the_error_says_what_to_do(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas.*to_dict\(\) does not"):
        table.to_frame()
