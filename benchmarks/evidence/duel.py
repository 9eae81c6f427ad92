# SPDX-License-Identifier: BSD-3-Clause
"""Priors tuned by evidence against priors tuned by cross-validation, on real tables.

Both get the same columns of the same random rows, standardised unless they are words or indicators, and are judged on
the same other rows: by log-loss, by the expected calibration error, and by the processor time of the fit with one
thread for products of matrices. Neither is told anything but its defaults.

The *ratio* of a table is the mean log-loss of one over that of the other. Its standard error comes from the splits,
which share rows: it says whether more splits would help, not what another sample of the table would give.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.evidence.tables import Codes, Table
from separatrix import BayesianLogisticRegression
from separatrix.metrics import ece, log_likelihood

__all__ = ["Bout", "Verdict", "fight", "read_bouts", "text", "verdicts", "write_bouts"]

MOST_TRAINING, MOST_TEST = 4000, 10_000  # rows
TRAINING = 2 / 3  # of a small table


@dataclass(frozen=True)
class Bout:
    """One split of one table. ``cv`` is scikit-learn's, the others are ours; scales are those of the prior."""

    table: str
    split: int
    n: int
    m: int
    k: int
    log_loss: float
    log_loss_cv: float
    ece: float
    ece_cv: float
    seconds: float
    seconds_cv: float
    scale: float
    scale_cv: float
    approximation: str


class Verdict(NamedTuple):
    """Of one table: ratios of log-loss (with the standard error over splits) and of time, and the difference of ECE."""

    table: str
    shape: str
    log_loss: float
    log_loss_cv: float
    ratio: float
    error: float
    ece: float
    ece_cv: float
    time_ratio: float
    approximation: str


def fight(tables: Sequence[Table], splits: int, most: int = MOST_TRAINING) -> Iterator[Bout]:
    """Each bout as soon as it is over."""
    for table in tables:
        X, y = table.data()
        n = min(most, table.most or most, int(TRAINING * len(y)))
        rows = StratifiedShuffleSplit(splits, train_size=n, test_size=min(MOST_TEST, len(y) - n), random_state=0)
        for split, (train, test) in enumerate(rows.split(X, y)):
            yield _bout(table, split, X, y, train, test)


def _bout(table: Table, split: int, X: Any, y: Codes, train: Codes, test: Codes) -> Bout:
    A, B = X[train], X[test]
    if table.is_standardised:
        scaler = StandardScaler().fit(A)
        A, B = scaler.transform(A), scaler.transform(B)
    rivals = {
        "ours": BayesianLogisticRegression(),
        "cv": LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss"),
    }
    order = list(rivals) if split % 2 else list(reversed(rivals))  # whoever is first pays for a cold cache
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits that did not converge, doubts: the result is what counts here
        fitted = {who: _processor_seconds(_fit(rivals[who], A, y[train])) for who in order}
    (ours, seconds), (cv, seconds_cv) = fitted["ours"], fitted["cv"]
    P, Q = ours.predict_proba(B), cv.predict_proba(B)
    return Bout(
        table=table.name,
        split=split,
        n=len(train),
        m=X.shape[1],
        k=int(y.max()) + 1,
        log_loss=-log_likelihood(P, y[test]).value,
        log_loss_cv=-log_likelihood(Q, y[test]).value,
        ece=ece(P, y[test]).value,
        ece_cv=ece(Q, y[test]).value,
        seconds=seconds,
        seconds_cv=seconds_cv,
        scale=float(np.mean(ours.prior_.scale)),
        scale_cv=float(np.ravel(cv.C_)[0]) ** 0.5,
        approximation=ours.approximation_,
    )


def _fit(model: Any, X: Any, y: Codes) -> Callable[[], Any]:
    return lambda: model.fit(X, y)


def _processor_seconds(fit: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and the processor time of all threads: it does not depend on what else the machine does."""
    with threadpool_limits(1):
        start = process_time()
        return fit(), process_time() - start


def verdicts(bouts: Sequence[Bout]) -> list[Verdict]:
    """One for each table, the largest ratio first."""
    names = dict.fromkeys(bout.table for bout in bouts)
    found = [_verdict([bout for bout in bouts if bout.table == name]) for name in names]
    return sorted(found, key=lambda verdict: -verdict.ratio)


def _verdict(bouts: Sequence[Bout]) -> Verdict:
    ours = np.array([bout.log_loss for bout in bouts])
    cv = np.array([bout.log_loss_cv for bout in bouts])
    ratio = float(ours.mean() / cv.mean())
    spread = float(np.std(ours - ratio * cv, ddof=1) / cv.mean() / np.sqrt(len(bouts))) if len(bouts) > 1 else np.nan
    first = bouts[0]
    return Verdict(
        first.table,
        f"{first.n} x {first.m}, K = {first.k}",
        float(ours.mean()),
        float(cv.mean()),
        ratio,
        spread,
        float(np.mean([bout.ece for bout in bouts])),
        float(np.mean([bout.ece_cv for bout in bouts])),
        median(bout.seconds for bout in bouts) / median(bout.seconds_cv for bout in bouts),
        "/".join(sorted({bout.approximation for bout in bouts})),
    )


def text(found: Sequence[Verdict]) -> str:
    """A table for the terminal, and three sentences."""
    lines = [
        f"{'table':<19} {'shape':<20} {'log-loss':>8} {'CV':>8} {'ratio':>7} {'± se':>7} {'ECE':>7} {'CV':>7} "
        f"{'time':>6}  approximation"
    ]
    lines += [
        f"{v.table:<19} {v.shape:<20} {v.log_loss:>8.4f} {v.log_loss_cv:>8.4f} {v.ratio:>7.4f} {v.error:>7.4f} "
        f"{v.ece:>7.4f} {v.ece_cv:>7.4f} {v.time_ratio:>6.2f}  {v.approximation}"
        for v in found
    ]
    ratios, times = [v.ratio for v in found], [v.time_ratio for v in found]
    return "\n".join(
        [
            *lines,
            "",
            f"Log-loss against cross-validation: geometric mean of ratios {np.exp(np.mean(np.log(ratios))):.4f}, "
            f"worst {max(ratios):.4f} "
            f"({found[0].table}), better on {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} tables.",
            f"ECE: {np.mean([v.ece for v in found]):.4f} against {np.mean([v.ece_cv for v in found]):.4f} on average.",
            f"Processor time: median ratio {median(times):.2f}, largest {max(times):.2f}.",
        ]
    )


def write_bouts(bouts: Sequence[Bout], file: Path) -> None:
    """As CSV, numbers to six digits."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [field.name for field in fields(Bout)], lineterminator="\n")
        writer.writeheader()
        for bout in bouts:
            cells = asdict(bout).items()
            writer.writerow({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in cells})


def read_bouts(file: Path) -> list[Bout]:
    """What `write_bouts` wrote."""
    kinds = {"table": str, "approximation": str, "split": int, "n": int, "m": int, "k": int}
    with file.open(newline="", encoding="utf-8") as source:
        lines = list(csv.DictReader(source))
    return [Bout(**{name: kinds.get(name, float)(cell) for name, cell in line.items()}) for line in lines]
