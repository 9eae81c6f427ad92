# SPDX-License-Identifier: BSD-3-Clause
"""Posteriors of tables that reach every way through `BayesianLogisticRegression`, to see what a change of code changes.

    python -m benchmarks.golden                 # compare with golden.json, and list what differs
    python -m benchmarks.golden --write         # replace golden.json
    python -m benchmarks.golden --only dual

Each record has the way that was taken, the evidence, probabilities and interval bounds of some rows, and the time,
which is for orientation only. Differences above 1e-8 are shown; whoever changes code explains them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import separatrix as sx

KEPT = Path(__file__).parent / "golden.json"
N_ROWS, TOLERANCE = 8, 1e-8
AVERAGES = {0.0: "map"}  # how averages over no variance are called
Problem = tuple[Any, Any, Any]  # model, table, labels


def linear(
    n: int, d: int, k: int = 2, *, useful: int | None = None, scale: float = 1.0, rho: float = 0.0, seed: int = 0
) -> tuple[Any, Any]:
    """Rows of a logistic model with ``useful`` columns of weight ``scale``; columns have the correlation ``rho``."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = np.sqrt(1 - rho) * X + np.sqrt(rho) * rng.standard_normal((n, 1))
    useful = d if useful is None else useful
    W = np.zeros((k, d))
    W[:, :useful] = scale * rng.standard_normal((k, useful)) / np.sqrt(useful)
    a = X @ W.T + rng.gumbel(size=(n, k))
    y = a.argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def words(n: int, d: int, k: int = 2, *, seed: int = 0) -> tuple[Any, Any]:
    """Sparse counts of words, some of which depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    y[:k] = np.arange(k)
    rate = rng.gamma(0.3, 0.15, size=d) * np.exp(rng.standard_normal((k, d)) * (rng.random(d) < 0.2))
    return sparse.csr_array(rng.poisson(rate[y]).astype(float)), y


def separable(n: int, d: int, k: int = 2) -> tuple[Any, Any]:
    X, y = linear(n, d, k)
    X = X.copy()
    X[:, 0] = 3.0 * y + 0.2 * X[:, 0]
    return X, y


def rare(n: int, d: int, n_ones: int) -> tuple[Any, Any]:
    """Two classes, one with few rows, and a rare 0/1 column."""
    X, _ = linear(n, d, seed=1)
    y = np.zeros(n, dtype=int)
    y[np.argsort(X[:, 0] + np.random.default_rng(2).standard_normal(n))[-n_ones:]] = 1
    X[:, -1] = np.random.default_rng(3).random(n) < 0.03
    return X, y


def customers(n: int, k: int = 2, n_levels: int = 8) -> tuple[Any, Any]:
    """A table of numbers with gaps, a category and a date."""
    rng = np.random.default_rng(4)
    level = rng.integers(n_levels, size=n)
    effect = rng.standard_normal((n_levels, k))
    age = rng.integers(18, 90, n).astype(float)
    a = effect[level] + np.outer((age - 50) / 20, np.linspace(-1, 1, k)) + rng.gumbel(size=(n, k))
    table = pd.DataFrame(
        {
            "town": [f"town {each}" for each in level],
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "income": np.exp(rng.standard_normal(n)).round(2),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), "D"),
        }
    )
    return table, a.argmax(axis=1)


def bayes(**arguments: Any) -> Any:
    return sx.BayesianLogisticRegression(**arguments)


def requested(approximation: str, **arguments: Any) -> Any:
    return bayes(prior=sx.Gaussian(1.0), approximation=approximation, **arguments)


def _problems() -> dict[str, Callable[[], Problem]]:
    found: dict[str, Callable[[], Problem]] = {}

    def add(name: str, model: Any, make: Callable[[], tuple[Any, Any]]) -> None:
        found[name] = lambda: (model, *make())

    # Two classes, full covariance.
    for n, d in ((12, 1), (30, 3), (80, 57), (200, 10), (1000, 20), (3000, 100), (20_000, 20), (60_000, 30)):
        add(f"two classes {n} x {d}", bayes(), partial(linear, n, d))
    add("few useful columns", bayes(), lambda: linear(3000, 100, useful=2, scale=2.0))
    add("correlated columns", bayes(), lambda: linear(400, 20, rho=0.8, useful=3))
    add("separable", bayes(), lambda: separable(100, 5))
    add("separable, stated prior", requested("auto"), lambda: separable(100, 5))
    add("rare class", bayes(), lambda: rare(500, 6, 12))
    add("rare class, many rows", bayes(), lambda: rare(20_000, 10, 60))
    add("cancer", bayes(), lambda: load_breast_cancer(return_X_y=True))
    add("sparse words", bayes(), lambda: words(300, 150))
    add("wide prior", bayes(prior=sx.Gaussian(30.0)), lambda: linear(30, 2))
    add("no intercept", bayes(fit_intercept=False), lambda: linear(100, 4))
    add("no standardisation", bayes(standardize=False), lambda: linear(100, 4))
    for method in ("laplace", "variational", "ep", "importance", "hmc"):
        add(f"requested {method}", requested(method), lambda: linear(60, 4, scale=2.0))
        add(f"tuned {method}", bayes(tune="evidence", approximation=method), lambda: linear(60, 4, scale=2.0))
    add("probit", bayes(likelihood="probit"), lambda: linear(150, 5))
    add("label noise", bayes(likelihood="label_noise"), lambda: linear(150, 5, scale=3.0))
    add("label noise, rare", bayes(likelihood="label_noise"), lambda: rare(400, 4, 20))
    add("scale of each column", bayes(tune="evidence", groups="columns"), lambda: linear(300, 12, useful=3))
    add("groups", bayes(tune="evidence", groups=[0] * 6 + [1] * 6), lambda: linear(300, 12, useful=3))
    add("splines", bayes(basis=sx.basis.Spline()), lambda: linear(300, 4))
    add("diagonal", bayes(structure="diagonal"), lambda: linear(300, 12))
    # Two classes, more columns than rows, or many columns.
    add("dual", bayes(), lambda: linear(80, 400, useful=10, scale=3.0))
    add("dual, stated prior", requested("auto", structure="dual"), lambda: linear(80, 400))
    add("dual, sparse", bayes(), lambda: words(200, 3000))
    add("many sparse columns", bayes(), lambda: words(7000, 6000))
    # K classes.
    add("iris", bayes(), lambda: load_iris(return_X_y=True))
    add("wine", bayes(), lambda: load_wine(return_X_y=True))
    add("three classes, few rows", bayes(), lambda: linear(20, 3, 3))
    add("three classes, many rows", bayes(), lambda: linear(20_000, 10, 3))
    add("three classes, 100 x 40", bayes(), lambda: linear(100, 40, 3))
    add("eleven classes", bayes(), lambda: linear(500, 10, 11, scale=3.0))
    add("digits", bayes(), lambda: load_digits(return_X_y=True))
    add("determined", bayes(), lambda: linear(15_000, 60, 5))
    add("words of four classes", bayes(), lambda: words(400, 150, 4))
    add("words of twenty classes", bayes(), lambda: words(1500, 400, 20))
    add("dual of four classes", bayes(), lambda: linear(60, 300, 4, scale=3.0))
    add("separable classes", bayes(), lambda: separable(90, 4, 3))
    for method in ("laplace", "variational", "importance", "hmc"):
        add(f"K requested {method}", requested(method), lambda: linear(60, 3, 3, scale=2.0))
    add("K by class", requested("auto", structure="by class"), lambda: linear(200, 10, 4))
    add("K diagonal", requested("auto", structure="diagonal"), lambda: linear(200, 10, 4))
    add("K probit average", bayes(predictive="probit"), lambda: linear(100, 4, 3))
    # Tables.
    add("table", sx.TableClassifier(), lambda: customers(300))
    add("table of three classes", sx.TableClassifier(), lambda: customers(300, 3))
    add("curved table", sx.TableClassifier(curved=True), lambda: customers(300))
    add("curved table of three classes", sx.TableClassifier(curved=True), lambda: customers(300, 3))
    add("arrow", sx.TableClassifier(), lambda: customers(12_000, 2, 1500))
    add("many levels of three classes", sx.TableClassifier(), lambda: customers(6000, 3, 500))
    return found


def record(problem: Problem) -> dict[str, Any]:
    """Fit a model, and describe its posterior by numbers."""
    model, X, y = problem
    start = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    seconds = perf_counter() - start
    rows = X[:N_ROWS] if not isinstance(X, pd.DataFrame) else X.iloc[:N_ROWS]
    inner: Any = getattr(model, "estimator_", model)
    summary, factor = inner.summary(), inner.posterior_.variance_factor
    return {
        "way": f"{inner.approximation_}, {inner.posterior_.structure}"
        + (", draws" if inner.draws_ is not None else "")
        + (f", {AVERAGES.get(factor, f'factor {factor:g}')}" if factor != 1.0 else ""),
        "evidence": float(inner.log_evidence_),
        "error": float(inner.probability_error_),
        "probabilities": np.asarray(model.predict_proba(rows)).ravel().tolist(),
        "bounds": np.asarray(model.predict_interval(rows)).ravel().tolist(),
        "weights": np.stack([summary.coefficient, summary.standard_error, summary.lower, summary.upper])[
            ..., :6
        ].tolist(),
        "warnings": sorted({type(each.message).__name__ for each in caught}),
        "seconds": round(seconds, 2),
    }


def difference(kept: Any, now: Any) -> float:
    """Largest difference of two numbers or lists of numbers; infinite for lists of different shape."""
    a, b = (np.atleast_1d(np.asarray(each, dtype=float)) for each in (kept, now))
    if a.shape != b.shape:
        return np.inf
    both = np.isnan(a) & np.isnan(b) | (a == b)
    with np.errstate(invalid="ignore"):
        gap = np.where(both, 0.0, np.abs(a - b))
    return float(np.where(np.isnan(gap), np.inf, gap).max(initial=0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare posteriors with those of before.")
    parser.add_argument("--write", action="store_true", help="replace the kept records")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    arguments = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    n_different = 0
    for name, make in _problems().items():
        if arguments.only not in name:
            continue
        try:
            now: dict[str, Any] = record(make())
        except Exception as error:
            now = {"failure": f"{type(error).__name__}: {error}"}
        before = kept.get(name)
        if arguments.write:
            kept[name] = now
            way = now.get("way", now.get("failure"))
            print(f"{name}: {way}, {now.get('evidence', np.nan):.4f}, {now.get('seconds')} s", flush=True)
            continue
        if before is None or before.keys() != now.keys():
            print(f"{name}: {before and before.get('failure', 'fitted')} -> {now.get('failure', 'fitted')}", flush=True)
            n_different += 1
            continue
        words_of = [
            f"{key} {before[key]} -> {now[key]}"
            for key in ("way", "warnings", "failure")
            if key in now and before[key] != now[key]
        ]
        numbers = ("evidence", "error", "probabilities", "bounds", "weights")
        gaps = {key: difference(before[key], now[key]) for key in numbers if key in now}
        shown = [*words_of, *(f"{key} {gap:.2g}" for key, gap in gaps.items() if gap > TOLERANCE)]
        if shown:
            n_different += 1
            print(f"{name}: {'; '.join(shown)}; {before.get('seconds')} -> {now.get('seconds')} s", flush=True)
    if arguments.write:
        KEPT.write_text(json.dumps(kept, indent=0) + "\n")
    else:
        print(f"{n_different} problems differ.")


if __name__ == "__main__":
    main()
