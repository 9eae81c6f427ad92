# SPDX-License-Identifier: BSD-3-Clause
"""A table of numbers, counts, yes-or-no and categories, as real tables are."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_number, generator

__all__ = ["make_mixed_types"]

CONTRACTS = ("monthly", "yearly", "two years")
CONTRACT_SHARES = ((0.3, 0.35, 0.35), (0.75, 0.2, 0.05))  # of those who stay, and of those who leave


def make_mixed_types(
    n: int = 500, *, missing: float = 0.0, as_frame: bool = False, rng: int | np.random.Generator | None = None
) -> tuple[Any, Any]:
    """Customers who stay or leave: columns of five kinds, independent given the class.

    charge      a number           N(65, 20²) of those who stay, N(80, 20²) of those who leave
    tenure      a positive number  months, exponential with mean 40, and 15
    calls       a count            to the help line, Poisson with mean 0.8, and 2.5
    paperless   0 or 1             with probability 0.4, and 0.7
    contract    a category         "monthly", "yearly" or "two years"

    Three in ten leave. Naive Bayes with the right family for each column is the right model.

    Parameters
    ----------
    n : int, default 500
        Rows.
    missing : float, default 0
        Share of the values of the first three columns that are missing (NaN), at random.
    as_frame : bool, default False
        X as a pandas DataFrame, y as a Series.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Returns
    -------
    X : dict of arrays by column name, or DataFrame
    y : array of "leaves" and "stays", or Series

    Examples
    --------
    >>> from separatrix.datasets import make_mixed_types
    >>> X, y = make_mixed_types(4)
    >>> list(X)
    ['charge', 'tenure', 'calls', 'paperless', 'contract']
    >>> X["contract"]
    array(['yearly', 'monthly', 'monthly', 'monthly'], dtype='<U9')
    """
    check_number("make_mixed_types", "missing", missing, low=0.0, high=1.0)
    rng = generator(rng)
    leaves = (rng.random(check_count("make_mixed_types", "n", n)) < 0.3).astype(np.intp)
    X: dict[str, Any] = {
        "charge": rng.normal(np.array([65.0, 80.0])[leaves], 20.0),
        "tenure": rng.exponential(np.array([40.0, 15.0])[leaves]),
        "calls": rng.poisson(np.array([0.8, 2.5])[leaves]).astype(np.float64),
        "paperless": (rng.random(n) < np.array([0.4, 0.7])[leaves]).astype(np.intp),
    }
    for values in list(X.values())[:3]:
        values[rng.random(n) < missing] = np.nan
    at_least = np.cumsum(CONTRACT_SHARES, axis=1)[:, :-1]
    X["contract"] = np.array(CONTRACTS)[(rng.random(n)[:, None] >= at_least[leaves]).sum(axis=1)]
    y = np.array(["stays", "leaves"])[leaves]
    if as_frame:
        import pandas as pd

        return pd.DataFrame(X), pd.Series(y, name="customer")
    return X, y
