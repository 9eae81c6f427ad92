# SPDX-License-Identifier: BSD-3-Clause
"""A table as they come from a bank: ids, dates, amounts with gaps, yes and no, categories; and the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._arguments import check_count, check_number, generator

__all__ = ["LOAN_WEIGHTS", "make_loans"]

PURPOSES = {"car": 0.32, "home": 0.28, "education": 0.2, "business": 0.14, "travel": 0.06}
# Of the log-odds of a default: for each standard deviation of a number, each debt, a yes, each purpose.
LOAN_WEIGHTS = {
    "bias": -2.6,
    "income": -0.9,
    "amount": 0.7,
    "age": -0.3,
    "debts": 0.55,
    "owns_home=yes": -0.8,
    "purpose=business": 0.9,
    "purpose=travel": 0.6,
    "purpose=education": -0.4,
}


def make_loans(
    n: int = 3000, *, missing: float = 0.04, as_frame: bool = False, rng: int | np.random.Generator | None = None
) -> tuple[Any, Any]:
    """Loans that were repaid or defaulted on: a logistic model of mixed columns, with what no model needs beside them.

    application   text          an id, different in each row
    applied       a date        of three years; has no effect
    age           a number      years
    income        a number      thousands a year, log-normal; missing at random in a share ``missing`` of the rows
    amount        a number      thousands, log-normal, larger for larger incomes
    debts         a count       of other loans
    owns_home     yes or no     more often yes with age
    purpose       a category    of five
    currency      a constant

    The log-odds of a default are linear in the logarithms of income and amount and in the other columns, with the
    weights of ``LOAN_WEIGHTS``. About one loan in eight is defaulted on.

    Parameters
    ----------
    n : int, default 3000
        Rows.
    missing : float, default 0.04
        Share of the incomes that are not there (NaN).
    as_frame : bool, default False
        X as a pandas DataFrame, y as a Series.
    rng : int or Generator, optional
        Seed, or where random numbers come from; None always gives the same rows.

    Returns
    -------
    X : dict of arrays by column name, or DataFrame
    y : array of "defaulted" and "repaid", or Series

    Examples
    --------
    >>> from separatrix.datasets.loans import make_loans
    >>> X, y = make_loans(3)
    >>> list(X)
    ['application', 'applied', 'age', 'income', 'amount', 'debts', 'owns_home', 'purpose', 'currency']
    >>> y.tolist()
    ['repaid', 'repaid', 'repaid']
    """
    check_number("make_loans", "missing", missing, low=0.0, high=1.0)
    rng = generator(rng)
    count = check_count("make_loans", "n", n)
    age, income = rng.normal(size=count), rng.normal(size=count)
    amount = 0.5 * income + np.sqrt(0.75) * rng.normal(size=count)
    debts = rng.poisson(0.9, size=count)
    owns = rng.random(count) < 1 / (1 + np.exp(-0.8 * age))
    purpose = rng.choice(list(PURPOSES), size=count, p=list(PURPOSES.values()))
    w = LOAN_WEIGHTS
    a = w["bias"] + w["income"] * income + w["amount"] * amount + w["age"] * age + w["debts"] * debts
    a += w["owns_home=yes"] * owns + np.array([w.get(f"purpose={p}", 0.0) for p in purpose])
    defaulted = rng.random(count) < 1 / (1 + np.exp(-a))
    X = {
        "application": np.array([f"A{number:07d}" for number in rng.choice(10_000_000, size=count, replace=False)]),
        "applied": np.datetime64("2021-01-01") + rng.integers(0, 3 * 365, size=count),
        "age": np.clip(np.round(42 + 12 * age), 18, 90),
        "income": np.where(rng.random(count) < missing, np.nan, np.round(45 * np.exp(0.5 * income), 1)),
        "amount": np.round(12 * np.exp(0.6 * amount), 2),
        "debts": debts,
        "owns_home": np.where(owns, "yes", "no"),
        "purpose": purpose,
        "currency": np.full(count, "EUR"),
    }
    y = np.where(defaulted, "defaulted", "repaid")
    if as_frame:
        import pandas as pd

        return pd.DataFrame(X), pd.Series(y, name="outcome")
    return X, y
