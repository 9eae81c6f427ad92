# SPDX-License-Identifier: BSD-3-Clause
"""The sensible set of models for a table, by its size; names in plain words, from the simplest to the richest.

A pass over N rows with W weights takes about N W² operations. What a model may cost is written in that unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from separatrix._text import did_you_mean
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.generative import LinearDiscriminantAnalysis, NaiveBayes, QuadraticDiscriminantAnalysis
from separatrix.tables import FEWEST, MOST, PriorOnly, TableClassifier

__all__ = ["MODELS", "bent_columns", "candidates", "most_rows", "selected"]

PRIOR, BAYES, LINEAR, QUADRATIC = "prior only", "naive Bayes", "linear discriminant", "quadratic discriminant"
LOGISTIC, CURVED = "logistic (Bayesian)", "logistic, curved (Bayesian)"
MODELS = (PRIOR, BAYES, LINEAR, LOGISTIC, QUADRATIC, CURVED)

REPAIRED = 2e8  # operations a pass, up to which a look at how good Laplace's Gaussian is costs next to nothing
ROWS_PER_WEIGHT = 50  # from which that Gaussian is good
AFFORDABLE = 1.5e10  # operations a pass, up to which a scale for each column is tuned: some ten passes of seconds
WIDEST = 2000  # columns of a covariance that every class shares
QUADRATIC_WIDEST, ROWS_PER_COLUMN = 30, 5  # columns of a covariance for each class, and rows it must rest on
FEW_ROWS = 60  # below which a curve is a guess
MOST_NUMBERS = 2.5e8  # of an encoded table, 2 GB
MOST_WEIGHTS = 2500  # whose whole covariance is kept: a scale for each column needs it


def candidates(
    n_rows: int, n_columns: int, n_classes: int, *, n_numbers: int = 0, types: Mapping[str, str] | None = None
) -> dict[str, TableClassifier]:
    """Models worth fitting to a table, by name.

    Parameters
    ----------
    n_rows, n_columns, n_classes : int
        Rows to learn from, columns of numbers that the table becomes, and classes.
    n_numbers : int, default 0
        How many of those columns are numbers or days, which may act by a curve.
    types : mapping, optional
        Handed on to `TableClassifier`.

    Examples
    --------
    >>> from separatrix.study import candidates
    >>> list(candidates(30, 100, 2, n_numbers=3))  # too few rows for curves, or for a covariance of each class
    ['prior only', 'naive Bayes', 'linear discriminant', 'logistic (Bayesian)']
    """
    outputs = n_classes if n_classes > 2 else 1
    bent = bent_columns(n_rows, n_columns, n_numbers)
    offered: dict[str, Any] = {PRIOR: PriorOnly(), BAYES: NaiveBayes(temper=True)}
    if n_columns <= WIDEST:
        offered[LINEAR] = LinearDiscriminantAnalysis(shrinkage="evidence")
    offered[LOGISTIC] = _logistic(n_rows, n_columns * outputs)
    if n_columns <= QUADRATIC_WIDEST and n_rows >= ROWS_PER_COLUMN * n_columns * n_classes:
        offered[QUADRATIC] = QuadraticDiscriminantAnalysis(shrinkage="evidence")
    models = {name: TableClassifier(model, types) for name, model in offered.items()}
    affordable = bent * outputs <= MOST_WEIGHTS and n_rows * (bent * outputs) ** 2 <= AFFORDABLE
    if n_numbers and n_rows >= max(FEW_ROWS, bent) and affordable:
        models[CURVED] = TableClassifier(_logistic(n_rows, bent * outputs), types, curved=True)
    return models


def bent_columns(n_rows: int, n_columns: int, n_numbers: int) -> int:
    """How many functions there are where numbers act by curves, at most."""
    return n_columns + n_numbers * int(np.clip(np.sqrt(n_rows) / 3, FEWEST, MOST))


def most_rows(model: TableClassifier, n_columns: int, n_weights: int) -> int:
    """Rows that a model may be fitted to: what memory holds of ``n_columns`` numbers, and of curves what time allows.

    Curves were found affordable on the rows that models are compared on; there may be many more in all.
    """
    in_memory = int(MOST_NUMBERS / n_columns)
    return min(in_memory, int(AFFORDABLE / n_weights**2)) if model.curved else in_memory


def selected(offered: Mapping[str, TableClassifier], names: Iterable[str]) -> dict[str, TableClassifier]:
    """Those of the models that were asked for.

    Raises
    ------
    ValueError
        For a name that is none, with the nearest; for a model that a table of this size does not allow.
    """
    chosen = list(dict.fromkeys(names))
    if not chosen:
        raise ValueError(f"models is empty; name at least one of {', '.join(map(repr, MODELS))}.")
    for name in chosen:
        if name not in MODELS:
            raise ValueError(f"There is no model {name!r}.{did_you_mean(name, MODELS)}")
        if name not in offered:
            raise ValueError(
                f"{name!r} does not suit a table of this size and kind; those that do: {', '.join(map(repr, offered))}."
            )
    return {name: offered[name] for name in chosen}


def _logistic(n_rows: int, weights: int) -> BayesianLogisticRegression:
    """Laplace's Gaussian as it is only where rows are so many that it is close to the posterior, and repairs dear.

    With few rows for each weight it can be far off: averages over it then say next to nothing of any row.
    """
    is_close, is_dear = n_rows >= ROWS_PER_WEIGHT * weights, n_rows * float(weights) ** 2 > REPAIRED
    return BayesianLogisticRegression(tune="evidence", approximation="laplace" if is_close and is_dear else "auto")
