# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of the intervals of `BayesianLogisticRegression()` in simulations whose weights are known.

    python -m benchmarks.coverage --jobs 16                     # all cases; results go to results/scratch/coverage.csv
    python -m benchmarks.coverage --only "three classes" --weights 4000
    python -m benchmarks.coverage --exact --jobs 16     # the exact posterior, if few columns are useful

A 95 % interval must contain the true weight, and that of a probability the true probability, in 95 % of all cases. The
weights of K classes are differences from the mean of the classes. Coverage is averaged over tables, whose variation
gives the standard error. The last columns compare the log-loss of new rows with that of the true probabilities.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

import separatrix as sx
from benchmarks.record import RESULTS, SCRATCH

Float = NDArray[np.float64]
N_NEW = 300  # new rows of each table
# The exact posterior
N_STEPS, SWAPS = 6000, 0.4  # steps of Metropolis' algorithm, and the fraction that exchanges two columns
INTERCEPT_PRECISION = 0.01  # of the prior of the intercept, as in the model
MAX_NEWTON_STEPS, NEWTON_TOL = 50, 1e-6  # steps towards a mode, and the last change of a weight


class Case(NamedTuple):
    """A kind of table: rows, columns, classes, sd of the weights, nonzero weights, correlation of columns."""

    name: str
    n: int
    p: int
    k: int = 2
    scale: float = 0.5
    n_useful: int | None = None
    rho: float = 0.0


CASES = (
    Case("many columns", 200, 50),
    Case("small weights", 200, 10, scale=0.15),
    Case("few rows", 100, 50),
    Case("large weights", 100, 4, scale=2.5),
    Case("three classes", 100, 40, k=3),
    Case("three classes, few columns", 100, 8, k=3, scale=1.0),
    Case("three classes, many rows", 1000, 40, k=3),
    Case("few useful columns", 200, 50, scale=2.0, n_useful=3),
    Case("few useful columns, correlated", 200, 50, scale=2.0, n_useful=3, rho=0.8),
    Case("few useful columns, correlated, many rows", 2000, 50, scale=2.0, n_useful=3, rho=0.8),
    Case("correlated", 200, 20, rho=0.8),
)


@dataclass(frozen=True)
class Covered:
    """Fractions of intervals that contain the true value, for one table."""

    weights: float
    useful: float
    useless: float
    probabilities: float
    excess: float  # log-loss minus that of the true probabilities, nats per row


class Table(NamedTuple):
    """A simulated table: rows, codes of the classes, weights (K, p) or (1, p), useful columns, new rows and their p."""

    X: Float
    y: NDArray[np.intp]
    W: Float
    is_useful: NDArray[np.bool_]
    new: Float
    truth: Float


def simulated(case: Case, seed: int) -> Table:
    """Draw a table whose columns have correlations that fall with their distance."""
    rng = np.random.default_rng(seed)
    K = case.k if case.k > 2 else 1
    W = np.zeros((K, case.p))
    useful = rng.permutation(case.p)[: case.n_useful]
    W[:, useful] = rng.normal(0, case.scale, (K, len(useful)))
    C = case.rho ** np.abs(np.subtract.outer(np.arange(case.p), np.arange(case.p)))
    X, new = (rng.normal(size=(n, case.p)) @ np.linalg.cholesky(C).T for n in (case.n, N_NEW))
    P, truth = (_probabilities(rows @ W.T) for rows in (X, new))
    y = (rng.random((case.n, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Table(X, y, W, np.isin(np.arange(case.p), useful), new, truth)


def covered(case: Case, seed: int) -> Covered:
    """Fit one table and compare its intervals with the truth."""
    X, y, W, is_useful, new, truth = simulated(case, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sx.BayesianLogisticRegression(rng=0).fit(X, y)
        table, bounds, found = model.summary(), model.predict_interval(new), model.predict_proba(new)
    if len(W) > 1:  # of the classes that have rows
        W = W[model.classes_] - W[model.classes_].mean(axis=0)
    lower, upper = (each.reshape(-1, case.p + 1)[:, 1:] for each in (table.lower, table.upper))
    inside, truth = (lower < W) & (upper > W), truth[:, model.classes_]
    p = truth[:, 1] if len(W) == 1 else truth
    excess = -(special.xlogy(truth, found) - special.xlogy(truth, truth)).sum(axis=1).mean()
    return Covered(
        float(inside.mean()),
        float(inside[:, is_useful].mean()),
        float(inside[:, ~is_useful].mean()) if not is_useful.all() else float("nan"),
        float(((bounds[..., 0] < p) & (p < bounds[..., 1])).mean()),
        float(excess),
    )


def exactly_covered(case: Case, seed: int) -> Covered:
    """Compare intervals of the posterior under the prior that generated the table with the truth.

    A weight is zero with a known probability, and N(0, scale²) otherwise. Metropolis' algorithm visits sets of useful
    columns, whose evidence and weights follow from Laplace's method.
    """
    X, y, W, is_useful, _, _ = simulated(case, seed)
    rng, p, odds = np.random.default_rng(seed), case.p, special.logit(is_useful.mean())
    with_ones, known, draws = np.column_stack([X, np.ones(case.n)]), dict[bytes, tuple[Float, Float, float]](), []

    def fitted(chosen: NDArray[np.bool_]) -> tuple[Float, Float, float]:
        """Weights, root of their covariance, and log evidence with the prior of the set."""
        if chosen.tobytes() not in known:
            w, A, log_evidence = _laplace(with_ones[:, np.append(chosen, True)], y, case.scale)
            known[chosen.tobytes()] = w, np.linalg.inv(np.linalg.cholesky(A)).T, log_evidence + odds * chosen.sum()
        return known[chosen.tobytes()]

    chosen = is_useful
    for step in range(N_STEPS):
        moved = chosen.copy()
        moved[rng.integers(p)] ^= True
        if rng.random() < SWAPS and 0 < chosen.sum() < p:  # another column instead of a chosen one
            moved = chosen.copy()
            moved[[rng.choice(np.flatnonzero(chosen)), rng.choice(np.flatnonzero(~chosen))]] ^= True
        if np.log(rng.random()) < fitted(moved)[2] - fitted(chosen)[2]:
            chosen = moved
        if step >= N_STEPS // 6 and step % 5 == 0:
            w, root, _ = fitted(chosen)
            drawn = np.zeros(p)
            drawn[chosen] = (w + root @ rng.normal(size=len(w)))[:-1]
            draws.append(drawn)
    lower, upper = np.quantile(draws, (0.025, 0.975), axis=0)
    inside, nan = (lower <= W[0]) & (W[0] <= upper), float("nan")
    return Covered(float(inside.mean()), float(inside[is_useful].mean()), float(inside[~is_useful].mean()), nan, nan)


def _laplace(X: Float, y: NDArray[np.intp], scale: float) -> tuple[Float, Float, float]:
    """Return the mode, the precision and the log evidence of a logistic model; the last column is the intercept."""
    prior = np.append(np.full(X.shape[1] - 1, scale**-2.0), INTERCEPT_PRECISION)
    w = np.zeros(X.shape[1])
    for _ in range(MAX_NEWTON_STEPS):
        q = special.expit(X @ w)
        A = (X.T * (q * (1 - q))) @ X + np.diag(prior)
        step = np.linalg.solve(A, X.T @ (y - q) - prior * w)
        w = w + step
        if np.abs(step).max() < NEWTON_TOL:
            break
    log_likelihood = -np.logaddexp(0, np.where(y == 1, -1, 1) * (X @ w)).sum()
    occam = 0.5 * (np.log(prior).sum() - prior @ w**2 - np.linalg.slogdet(A)[1])
    return w, A, float(log_likelihood + occam)


def _probabilities(A: Float) -> Float:
    """Probabilities (n, K) of activations (n, K), or (n, 1) for two classes."""
    return np.asarray(special.softmax(np.column_stack([np.zeros(len(A)), A]) if A.shape[1] == 1 else A, axis=1))


def main(arguments: Sequence[str] | None = None, folder: Path = RESULTS / SCRATCH) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description="Coverage of intervals.")
    parser.add_argument("--only", nargs="+", default=[case.name for case in CASES], metavar="CASE")
    parser.add_argument("--weights", type=int, default=2000, help="weights of each case")
    parser.add_argument("--exact", action="store_true", help="the exact posterior, of cases with few useful columns")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Covered)]
    lines = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for case in (case for case in CASES if case.name in options.only and (case.n_useful or not options.exact)):
            n_tables = max(8, options.weights // (case.p * (case.k if case.k > 2 else 1)))
            found = [
                list(asdict(each).values())
                for each in pool.map(exactly_covered if options.exact else covered, [case] * n_tables, range(n_tables))
            ]
            means, errors = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(n_tables)
            lines.append([case.name, case.n, case.p, case.k, n_tables, *means.round(4), *errors.round(4)])
            print(case.name, *(f"{name} {m:.3f} ± {e:.3f}" for name, m, e in zip(names, means, errors, strict=True)))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ("coverage_exact.csv" if options.exact else "coverage.csv")).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "rows", "columns", "classes", "tables", *names, *(f"{name}_error" for name in names)])
        writer.writerows(lines)


if __name__ == "__main__":
    main()
