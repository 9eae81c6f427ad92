"""One table of errors: for each mistake, the class of the error and the words that a user needs in its message.

A row is (what the user does, class, words). The words are the value or column at fault and the keyword of the remedy,
never the whole sentence. Mistakes that every classifier must answer alike are in test_bad_input.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError

X, Y = blobs(60, n_classes=2, distance=4.0)
_, THREE = blobs(60, n_classes=3, distance=4.0)


class Mistake(NamedTuple):
    """A call that must be refused; `call` gets an empty folder for the files it needs."""

    name: str
    call: Callable[[Path], Any]
    error: type[Exception]
    words: tuple[str, ...]


# Hyperplanes, rules and decisions
RULES = [
    Mistake(
        "fisher targets of three classes",
        lambda _: sx.LeastSquaresClassifier(targets="fisher").fit(X, THREE),
        DataError,
        ("targets='fisher'", "3: 0, 1, 2"),
    ),
]

# Generative models and exponential families
GENERATIVE: list[Mistake] = []

# Discriminative models, likelihoods, priors, solvers, separation
DISCRIMINATIVE: list[Mistake] = []

# Distributions over models
BAYESIAN: list[Mistake] = []

# Basis functions, sufficient statistics, rows in memory, on Dask and on a device
ROWS: list[Mistake] = []

# Files, queries and scans
FILES: list[Mistake] = []

# Tables: columns, types, encoder
TABLES: list[Mistake] = []

# Comparisons, studies, command line, report
STUDIES: list[Mistake] = []

# Saved models, ONNX, plots, datasets
EXPORT: list[Mistake] = []

MISTAKES = RULES + GENERATIVE + DISCRIMINATIVE + BAYESIAN + ROWS + FILES + TABLES + STUDIES + EXPORT


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_the_message_names_the_fault_and_the_remedy(mistake, tmp_path):
    with pytest.raises(mistake.error) as caught:
        mistake.call(tmp_path)
    assert type(caught.value) is mistake.error
    message = str(caught.value)
    assert [word for word in mistake.words if word not in message] == [], message


def test_every_mistake_has_its_own_name():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert all(mistake.words for mistake in MISTAKES)
