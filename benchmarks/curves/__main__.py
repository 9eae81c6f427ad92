# SPDX-License-Identifier: BSD-3-Clause
"""Log-loss of curves and interactions over that of an explainable boosting machine, on the same rows.

python -m benchmarks.curves [--quick] [--splits N] [--rows N] [--only NAME ...] [--models NAME ...]

Every model gets the same data frame with its defaults. Scores that the results already have are not computed again, so
a run can be continued, and needs interpret-core only for new tables. The machine does not matter: no time is recorded.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.curves.rules import RULES
from benchmarks.evidence.tables import TABLES, Table
from benchmarks.problems import DATA
from benchmarks.record import RESULTS, SCRATCH
from separatrix import TableClassifier
from separatrix.metrics import log_likelihood

MAX_TRAINING_ROWS, MAX_TEST_ROWS, TRAINING_FRACTION = 1500, 5000, 2 / 3
KEPT = Path(__file__).parent / "scores.csv"
FIELDS = ("table", "split", "rows", "columns", "classes", "model", "log_loss")
Scores = dict[tuple[str, int, str], dict[str, Any]]


def _ebm() -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


MODELS: dict[str, Callable[[], Any]] = {
    "ebm": _ebm,
    "curved": lambda: TableClassifier(curved=True),
    "interactions": lambda: TableClassifier(curved=True, interactions=True),
}


def main(arguments: Sequence[str] | None = None, kept: Path = KEPT) -> None:
    """The command line; scores for another number of rows are not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="300 rows: shows that it runs, not how well")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--rows", type=int, default=MAX_TRAINING_ROWS, help="largest number of training rows")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="names of tables")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args(arguments)
    rows = 300 if options.quick else options.rows
    file = kept if rows == MAX_TRAINING_ROWS else RESULTS / SCRATCH / "curves.csv"
    scores = read_scores(file)
    for table in (*TABLES, *RULES):
        if (options.only is None or table.name in options.only) and (not table.folder or table.is_here):
            for score in score_table(table, options.splits, rows, options.models, scores):
                scores[score["table"], score["split"], score["model"]] = score
                write_scores(scores, file)
                print(" ".join(f"{value:.4f}" if isinstance(value, float) else str(value) for value in score.values()))
    print(text(scores))


def score_table(table: Table, splits: int, rows: int, models: Sequence[str], known: Scores) -> Any:
    """Yield scores that are not known yet; a model that fails has none, and the reason is printed."""
    import pandas as pd

    columns, labels = table.read(DATA / table.folder)
    if isinstance(columns, np.ndarray):
        columns = pd.DataFrame(columns, columns=[f"x{d}" for d in range(columns.shape[1])])
    categorical = [name for name in columns if str(columns[name].dtype) == "category"]
    columns = columns.astype(dict.fromkeys(categorical, object))
    y = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1]
    n = min(rows, int(TRAINING_FRACTION * len(y)))
    shuffled = StratifiedShuffleSplit(splits, train_size=n, test_size=min(MAX_TEST_ROWS, len(y) - n), random_state=0)
    for split, (train, test) in enumerate(shuffled.split(columns, y)):
        for name in models:
            if (table.name, split, name) in known:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # only the scores matter here
                try:
                    model = MODELS[name]().fit(columns.iloc[train].reset_index(drop=True), y[train])
                    P = np.asarray(model.predict_proba(columns.iloc[test].reset_index(drop=True)), dtype=np.float64)
                except Exception as error:  # the other models are still scored
                    print(f"{table.name}: {name} failed: {error}", file=sys.stderr)
                    continue
            shape = {"rows": n, "columns": columns.shape[1], "classes": int(y.max()) + 1}
            loss = -log_likelihood(P, y[test]).value
            yield {"table": table.name, "split": split, **shape, "model": name, "log_loss": float(loss)}


def ratios(scores: Scores) -> dict[str, dict[str, float]]:
    """Log-loss of each model over that of the EBM, both averaged over the splits that both have, by table."""
    found: dict[str, dict[str, float]] = {}
    for table in dict.fromkeys(table for table, _, _ in scores):
        for model in ("curved", "interactions"):
            both = [
                split for name, split, of in scores if (name, of) == (table, model) and (table, split, "ebm") in scores
            ]
            if both:
                ours, theirs = (sum(scores[table, split, of]["log_loss"] for split in both) for of in (model, "ebm"))
                found.setdefault(table, {})[model] = ours / theirs
    return found


def text(scores: Scores) -> str:
    """Ratios of all tables, and their geometric means and largest values."""
    lines, found = [f"{'table':<16} {'curved':>9} {'interactions':>14}"], ratios(scores)
    for table, by_model in sorted(found.items(), key=lambda item: -item[1].get("interactions", np.inf)):
        lines.append(
            f"{table:<16} {by_model.get('curved', np.nan):>9.3f} {by_model.get('interactions', np.nan):>14.3f}"
        )
    for model in ("curved", "interactions"):
        known = [by_model[model] for by_model in found.values() if model in by_model]
        if known:
            mean, worst = float(np.exp(np.mean(np.log(known)))), max(known)
            lines.append(
                f"{model}: geometric mean {mean:.3f} of EBM's log-loss, largest {worst:.3f}, {len(known)} tables"
            )
    return "\n".join(lines)


def read_scores(file: Path) -> Scores:
    """Scores that `write_scores` wrote; none if there is no such file."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as source:
        found = [
            {"table": line["table"], "model": line["model"], "log_loss": float(line["log_loss"])}
            | {name: int(line[name]) for name in ("split", "rows", "columns", "classes")}
            for line in csv.DictReader(source)
        ]
    return {(str(score["table"]), int(score["split"]), str(score["model"])): score for score in found}


def write_scores(scores: Scores, file: Path) -> None:
    """As CSV, by table, split and model."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
        writer.writeheader()
        for _, score in sorted(scores.items()):
            writer.writerow(score | {"log_loss": f"{score['log_loss']:.6g}"})


if __name__ == "__main__":
    main()
