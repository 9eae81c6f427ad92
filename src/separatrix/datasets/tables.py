# SPDX-License-Identifier: BSD-3-Clause
"""Tables: survival of lobsters (real data), and customers and loans with columns of several types (simulated)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from separatrix._arguments import check_count, check_number, generator

# Carapace length in mm (to the nearest 3 mm): number of survivors, and number of lobsters.
LOBSTERS = {
    27: (0, 5), 30: (1, 10), 33: (3, 22), 36: (7, 21), 39: (12, 22), 42: (17, 29), 45: (13, 18), 48: (12, 17),
    51: (7, 8), 54: (6, 6), 57: (1, 1),
}  # fmt: skip

LOBSTERS_DESCR = """Survival of juvenile lobsters by size.

159 lobsters were tethered on the sea floor of the Gulf of Maine for 24 hours. Larger lobsters escaped their predators
more often. The only column is the carapace length, to the nearest 3 mm. The target is 1 for a lobster that survived.

Wilkinson, Grabowski, Sherwood and Yund (2015), Journal of Experimental Marine Biology and Ecology 465, 107-112.
"""

CONTRACTS = ("monthly", "yearly", "two years")
CONTRACT_PROBABILITIES = ((0.3, 0.35, 0.35), (0.75, 0.2, 0.05))  # of customers who stay, and of customers who leave

PURPOSES = {"car": 0.32, "home": 0.28, "education": 0.2, "business": 0.14, "travel": 0.06}
# Effects on the log-odds of a default: income, amount (logarithms) and age per standard deviation, debts per loan.
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


def load_lobsters(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Size of 159 juvenile lobsters, and whether they survived a day on the sea floor.

    Parameters
    ----------
    return_X_y : bool, default False
        Return only ``(X, y)``.
    as_frame : bool, default False
        Return X as a pandas DataFrame and y as a Series.

    Returns
    -------
    Bunch
        ``data`` (159, 1), ``target`` (159,), ``feature_names``, ``target_names``, ``DESCR``; or the tuple ``(X, y)``.

    Examples
    --------
    >>> from separatrix.datasets import load_lobsters
    >>> X, y = load_lobsters(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((159, 1), 79)
    """
    sizes = np.repeat(list(LOBSTERS), [tethered for _, tethered in LOBSTERS.values()]).astype(np.float64)
    survived = np.concatenate([np.arange(n) < alive for alive, n in LOBSTERS.values()]).astype(np.intp)
    names = ["size (mm)"]
    X, y = _as_frame({names[0]: sizes}, survived, "survived") if as_frame else (sizes[:, None], survived)
    if return_X_y:
        return X, y
    return Bunch(data=X, target=y, feature_names=names, target_names=["eaten", "survived"], DESCR=LOBSTERS_DESCR)


def make_mixed_types(
    n: int = 500, *, missing: float = 0.0, as_frame: bool = False, rng: int | np.random.Generator | None = None
) -> tuple[Any, Any]:
    """Customers who stay or leave, with columns of five types that are independent given the class.

    charge      a number           N(65, 20²) if the customer stays, N(80, 20²) if the customer leaves
    tenure      a positive number  months; exponential with mean 40 (stays) or 15 (leaves)
    calls       a count            calls to the help line; Poisson with mean 0.8 (stays) or 2.5 (leaves)
    paperless   0 or 1             1 with probability 0.4 (stays) or 0.7 (leaves)
    contract    a category         "monthly", "yearly" or "two years"

    30 % of customers leave. Naive Bayes with the family of each column is the correct model.

    Parameters
    ----------
    n : int, default 500
        Rows.
    missing : float, default 0
        Fraction of the values in the first three columns that are missing (NaN) completely at random.
    as_frame : bool, default False
        Return X as a pandas DataFrame and y as a Series.
    rng : int or Generator, optional
        Seed or generator; with None a fixed seed is used.

    Returns
    -------
    X : dict of str to ndarray, or DataFrame
        The columns by name.
    y : ndarray of shape (n,), or Series
        The class of each row, "leaves" or "stays".

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
    at_least = np.cumsum(CONTRACT_PROBABILITIES, axis=1)[:, :-1]
    X["contract"] = np.array(CONTRACTS)[(rng.random(n)[:, None] >= at_least[leaves]).sum(axis=1)]
    y = np.array(["stays", "leaves"])[leaves]
    return _as_frame(X, y, "customer") if as_frame else (X, y)


def make_loans(
    n: int = 3000, *, missing: float = 0.04, as_frame: bool = False, rng: int | np.random.Generator | None = None
) -> tuple[Any, Any]:
    """Loans that were repaid or defaulted, simulated from a logistic model; some columns have no effect.

    application   text          an identifier, different in each row
    applied       a date        within three years; no effect
    age           a number      years
    income        a number      thousands per year, log-normal; missing in a random fraction ``missing`` of the rows
    amount        a number      thousands, log-normal, larger for larger incomes
    debts         a count       number of other loans
    owns_home     yes or no     more often yes for older applicants
    purpose       a category    one of five
    currency      a constant    "EUR"

    The log-odds of a default are linear in the logarithms of income and amount and in the other columns, with the
    weights of ``LOAN_WEIGHTS``. About one loan in eight defaults.

    Parameters
    ----------
    n : int, default 3000
        Rows.
    missing : float, default 0.04
        Fraction of incomes that are missing (NaN).
    as_frame, rng
        As in `make_mixed_types`.

    Returns
    -------
    X : dict of str to ndarray, or DataFrame
        The columns by name.
    y : ndarray of shape (n,), or Series
        The class of each row, "defaulted" or "repaid".

    Examples
    --------
    >>> from separatrix.datasets import make_loans
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
    return _as_frame(X, y, "outcome") if as_frame else (X, y)


def _as_frame(X: dict[str, Any], y: Any, target: str) -> tuple[Any, Any]:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas: pip install pandas. as_frame=False works without it.") from error
    return pd.DataFrame(X), pd.Series(y, name=target)
