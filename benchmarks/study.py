# SPDX-License-Identifier: BSD-3-Clause
"""The model that a study chooses, against gradient boosting and cross-validated logistic regression, on new rows.

    python -m benchmarks.study                              # all tables, three splits, a minute for each study
    python -m benchmarks.study --only vehicle wine --splits 1 --time 20
    python -m benchmarks.study --part tuning --jobs 8       # tables that were looked at while the study was written
    python -m benchmarks.study --report                     # the ratios of the kept scores

Two thirds of the rows, at most 40 000, are for training, and at most 10 000 of the others are new rows. All models get
the same data frame:

    chosen      the model of `separatrix.study.conduct` with a limit on time
    best        the candidate of the same study that is best on the new rows: the best choice in hindsight
    boosting    HistGradientBoostingClassifier with early stopping; categories stay categories
    linear      one-hot columns, StandardScaler, and LogisticRegressionCV(Cs=10, cv=5) by log-loss

``printed`` is the log-loss that the study reports, with its standard error. With ``--clock cpu``, the limit is on the
processor time of the study, as on an idle machine with one core; use it if other programs run. Scores that the file has
are not computed again. Scores of another limit on time, or of fewer rows, go to another file.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from benchmarks.curves.rules import RULES
from benchmarks.evidence.tables import TABLES as KEPT_TABLES
from benchmarks.evidence.tables import Table
from benchmarks.problems import DATA
from benchmarks.record import RESULTS, SCRATCH

TRAINING_FRACTION, MAX_TRAINING_ROWS, MAX_NEW_ROWS = 2 / 3, 40_000, 10_000
SECONDS = 60.0
FILE = RESULTS / "study.csv"
MODELS = ("chosen", "best", "boosting", "linear")
MAX_BOOSTED_LEVELS = 250  # limit of HistGradientBoostingClassifier; rarer levels share a code


class Score(NamedTuple):
    """One split of one table. ``chosen`` to ``linear`` are log-losses on new rows; NaN if the model failed."""

    table: str
    part: str
    split: int
    rows: int
    columns: int
    classes: int
    limit: float
    seconds: float
    model: str
    printed: float
    printed_se: float
    chosen: float
    best_model: str
    best: float
    boosting: float
    linear: float


# -- generated tables --------------------------------------------------------------------------------------------------


def _frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{d}" for d in range(np.shape(X)[1])])


def bands(n: int, n_classes: int, n_columns: int, noise: float) -> Callable[[Path], tuple[Any, Any]]:
    """Smooth spectra: each class has three typical ones, and neighbouring columns are strongly correlated."""

    def read(_: Path) -> tuple[Any, Any]:
        rng, at = np.random.default_rng(10), np.linspace(0, 1, n_columns)
        waves = np.array([np.cos(np.pi * k * at) / (1 + 0.5 * k) for k in range(6)])
        typical = rng.normal(size=(n_classes, 3, len(waves)))
        y, kind = rng.integers(0, n_classes, n), rng.integers(0, 3, n)
        weights = typical[y, kind] + noise * rng.normal(size=(n, len(waves)))
        return _frame(weights @ waves + 0.1 * rng.normal(size=(n, n_columns))), y

    return read


def strokes(n: int, n_classes: int) -> Callable[[Path], tuple[Any, Any]]:
    """Sixteen counts from 0 to 15 of each class, made from four hidden numbers and their products."""

    def read(_: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(11)
        hidden = 1.2 * rng.normal(size=(n_classes, 4))
        y = rng.integers(0, n_classes, n)
        z = hidden[y] + 0.45 * rng.normal(size=(n, 4))
        z = np.column_stack([z, *(z[:, a] * z[:, b] for a, b in product(range(4), range(4)) if a <= b)])
        z = z @ rng.normal(size=(z.shape[1], 16)) / 2 + 0.4 * rng.normal(size=(n, 16))
        return _frame(np.clip(np.round(7.5 + 2.0 * z), 0, 15)), y

    return read


def waves(n: int) -> Callable[[Path], tuple[Any, Any]]:
    """Breiman's waveforms: mixtures of two of three triangles, in 21 columns."""

    def read(_: Path) -> tuple[Any, Any]:
        rng, at = np.random.default_rng(12), np.arange(1, 22)
        triangles = np.maximum(6 - np.abs(at - np.array([[11], [15], [7]])), 0.0)
        y, u = rng.integers(0, 3, n), rng.random((n, 1))
        first, second = np.array([0, 0, 1])[y], np.array([1, 2, 2])[y]
        return _frame(u * triangles[first] + (1 - u) * triangles[second] + rng.normal(size=(n, 21))), y

    return read


def rings(n: int) -> Callable[[Path], tuple[Any, Any]]:
    """Distance from two centres in four of eight columns, and a category that moves the threshold."""

    def read(_: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(13)
        X, zone = rng.normal(size=(n, 8)), rng.integers(0, 6, n)
        near = np.minimum(*(((X[:, :4] - c) ** 2).sum(axis=1) for c in (0.8, -0.8)))
        a = 2.0 * (4.0 - near) + np.linspace(-2, 2, 6)[zone] + X[:, 5]
        table = _frame(X).assign(zone=np.array(["north", "south", "east", "west", "hill", "port"], dtype=object)[zone])
        return table, rng.random(n) < 1 / (1 + np.exp(-a))

    return read


def codes(n: int, n_levels: int) -> Callable[[Path], tuple[Any, Any]]:
    """A category of many levels with normal effects, and four numbers, one of which has a curved effect."""

    def read(_: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(14)
        level = np.minimum(rng.geometric(3.0 / n_levels, n) - 1, n_levels - 1)
        X = rng.normal(size=(n, 4))
        a = rng.normal(size=n_levels)[level] + np.sin(2 * X[:, 0]) + 0.7 * X[:, 1] - 0.5
        table = _frame(X).assign(code=np.array([f"c{k}" for k in range(n_levels)], dtype=object)[level])
        return table, rng.random(n) < 1 / (1 + np.exp(-a))

    return read


def sites(n: int) -> Callable[[Path], tuple[Any, Any]]:
    """Sixty letters; three classes by pairs of neighbouring letters near the middle, with 4 % wrong labels."""

    def read(_: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(15)
        y = rng.choice(3, n, p=[0.25, 0.25, 0.5])
        letters = rng.integers(0, 4, (n, 60))
        for k, (first, second) in enumerate([(2, 3), (0, 2)]):
            is_site = (y == k) & (rng.random(n) < 0.95)
            letters[is_site, 29], letters[is_site, 30] = first, second
            follows = is_site & (rng.random(n) < 0.7)
            letters[follows, 31 + k] = letters[follows, 27]
        y = np.where(rng.random(n) < 0.04, rng.integers(0, 3, n), y)
        return _frame(np.array(list("ACGT"), dtype=object)[letters]), y

    return read


def towns(n: int, n_classes: int) -> Callable[[Path], tuple[Any, Any]]:
    """Very many classes, each normal in ten columns."""

    def read(_: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(16)
        y = rng.integers(0, n_classes, n)
        return _frame(1.5 * rng.normal(size=(n_classes, 10))[y] + rng.normal(size=(n, 10))), y

    return read


def _embedded(name: str) -> Table:
    return next(table for table in (*KEPT_TABLES, *RULES) if table.name == name)


TUNING = (
    *map(_embedded, ("adult", "crabs species", "covertype", "esl mixture", "ionosphere", "iris", "telco churn")),
    *map(_embedded, ("vehicle", "banknote", "magic", "monks 1")),
    Table("bands, six classes", "", bands(3800, 6, 36, 0.4)),
    Table("strokes", "", strokes(24_000, 26)),
    Table("rings", "", rings(36_000)),
    Table("codes", "", codes(9000, 3000)),
)
FINAL = (
    *map(_embedded, ("wine", "haberman", "breast cancer", "house votes", "soybean", "vowel", "digits")),
    *map(_embedded, ("higgs", "ijcnn1", "spambase", "music genre", "tic-tac-toe", "lobster")),
    Table("bands, two classes", "", bands(210, 2, 60, 0.5)),
    Table("waves", "", waves(45_000)),
    Table("sites", "", sites(3100)),
    Table("towns", "", towns(30_000, 200)),
)
PARTS = {"tuning": TUNING, "final": FINAL}


# -- models ------------------------------------------------------------------------------------------------------------


def boosting(train: Any, y: Any, new: Any) -> Any:
    """Probabilities of gradient boosting; a category with very many levels keeps the frequent ones."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, new = train.copy(), new.copy()
    for name in train.columns[[str(kind) in ("object", "str", "bool") for kind in train.dtypes]]:
        levels = train[name].astype(str).value_counts().index[:MAX_BOOSTED_LEVELS]
        for table in (train, new):
            text = table[name].astype(str)
            table[name] = text.where(text.isin(levels)).astype("category").cat.set_categories(levels)
    model = HistGradientBoostingClassifier(early_stopping=True, random_state=0, categorical_features="from_dtype")
    return model.fit(train, y).predict_proba(new)


def linear(train: Any, y: Any, new: Any) -> Any:
    """Probabilities of cross-validated logistic regression on one-hot columns."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore", min_frequency=2),
            make_column_selector(dtype_exclude="number"),
        ),
        sparse_threshold=0.1,
    )
    scale = StandardScaler(with_mean=False)
    options: dict[str, Any] = {"Cs": 10, "cv": 5, "scoring": "neg_log_loss", "use_legacy_attributes": False}
    model = make_pipeline(columns, scale, LogisticRegressionCV(l1_ratios=(0.0,), max_iter=300, **options))
    return model.fit(train, y).predict_proba(new)


def log_loss(P: Any, y: Any) -> float:
    """Mean log-loss; probabilities below 1e-15 count as 1e-15, as for a file with 15 digits."""
    P = np.asarray(P, dtype=np.float64)
    return float(-np.log(np.maximum(P[np.arange(len(y)), y], 1e-15)).mean())


def use_clock(clock: Callable[[], float]) -> None:
    """Let studies measure their time with this clock."""
    from separatrix.comparison import trials
    from separatrix.study import compare, progress, race, study

    for module in (trials, compare, progress, race, study):
        vars(module)["perf_counter"] = clock


def score(name: str, part: str, split: int, limit: float, rows: int, clock: str = "wall") -> Score:
    """Scores of one split."""
    from sklearn.model_selection import StratifiedShuffleSplit
    from threadpoolctl import threadpool_limits

    from separatrix.study import compare_models, study_of
    from separatrix.table_model import named

    timer = process_time if clock == "cpu" else perf_counter
    use_clock(timer)
    table = next(table for table in PARTS[part] if table.name == name)
    columns, labels = table.read(DATA / table.folder)
    columns = _frame(columns) if isinstance(columns, np.ndarray) else columns
    columns = columns.astype({c: object for c in columns if str(columns[c].dtype) == "category"})
    y = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1]
    n = min(rows, int(TRAINING_FRACTION * len(y)))
    splitter = StratifiedShuffleSplit(
        1, train_size=n, test_size=min(MAX_NEW_ROWS, len(y) - n), random_state=100 + split
    )
    train, new = next(splitter.split(columns, y))
    X, X_new = (columns.iloc[at].reset_index(drop=True) for at in (train, new))
    y_new = y[new]
    losses: dict[str, float] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # only the scores matter here
        for kind, model in (("boosting", boosting), ("linear", linear)):
            try:
                losses[kind] = log_loss(model(X, y[train], X_new), y_new)
            except Exception as error:  # the other models are still scored
                print(f"{name}: {kind} failed: {error}", file=sys.stderr)
        start = timer()
        target = "the class"
        compared = compare_models(X.assign(**{target: y[train]}), target, types={target: "categorical"}, time=limit)
        study = study_of(compared)
        seconds = timer() - start
        order = np.argsort([int(label) for label in study.classes])  # classes of the study are texts
        losses["chosen"] = log_loss(np.asarray(study.model.predict_proba(X_new))[:, order], y_new)
        features = compared.encoder.transform(X_new)
        candidates = {compared.choice.name: losses["chosen"]}
        for trial in compared.comparison:
            if not trial.failure and trial.name != compared.choice.name:
                P = trial.model.predict_proba(named(features, compared.encoder.schema_, trial.model))
                candidates[trial.name] = log_loss(np.asarray(P)[:, order], y_new)
    best = min(candidates, key=candidates.__getitem__)
    printed = study.score
    return Score(
        name, part, split, n, columns.shape[1], int(y.max()) + 1, limit, seconds, compared.choice.name,
        -printed.value, printed.standard_error, losses["chosen"], best, candidates[best],
        losses.get("boosting", np.nan), losses.get("linear", np.nan),
    )  # fmt: skip


# -- results -----------------------------------------------------------------------------------------------------------


def read_scores(file: Path) -> dict[tuple[str, int], Score]:
    """Scores that `write_scores` wrote; none if there is no such file."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as source:
        kinds = get_type_hints(Score)
        found = [Score(**{name: kinds[name](text) for name, text in line.items()}) for line in csv.DictReader(source)]
    return {(each.table, each.split): each for each in found}


def write_scores(scores: dict[tuple[str, int], Score], file: Path) -> None:
    """As CSV, by table and split."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(Score._fields)
        for _, each in sorted(scores.items()):
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in each])


def summary(scores: dict[tuple[str, int], Score]) -> str:
    """A Markdown table of mean log-losses, and the geometric means and largest values of their ratios, by part."""
    lines: list[str] = []
    for part in PARTS:
        if any(each.part == part for each in scores.values()):
            head = ("table", "rows", "columns", "classes", "chosen", "log-loss", "printed", "best", *MODELS[2:], "s")
            lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        ratios: dict[str, list[float]] = {"boosting": [], "linear": [], "best": []}
        errors: list[float] = []
        for name in dict.fromkeys(each.table for each in scores.values() if each.part == part):
            runs = [each for each in scores.values() if each.table == name]
            mean = {key: float(np.mean([getattr(each, key) for each in runs])) for key in (*MODELS, "printed")}
            for key, found in ratios.items():
                found.append(mean["chosen"] / mean[key])
            errors += [(each.printed - each.chosen) / each.printed_se for each in runs]
            chosen = " / ".join(dict.fromkeys(each.model for each in runs))
            cells = [name, runs[0].rows, runs[0].columns, runs[0].classes, chosen]
            cells += [f"{mean[key]:.4f}" for key in ("chosen", "printed", "best", "boosting", "linear")]
            lines.append(f"| {' | '.join(map(str, cells))} | {np.mean([each.seconds for each in runs]):.0f} |")
        if not errors:
            continue
        lines.append("")
        for key, found in ratios.items():
            known = [ratio for ratio in found if np.isfinite(ratio)]
            lines.append(
                f"{part}: chosen over {key}: geometric mean {np.exp(np.mean(np.log(known))):.3f}, "
                f"largest {max(known):.3f}, {len(known)} tables."
            )
        bias, error = float(np.mean(errors)), float(np.std(errors) / np.sqrt(len(errors)))
        lines += [f"{part}: printed minus new rows, in standard errors: mean {bias:+.2f} ± {error:.2f}.", ""]
    return "\n".join(lines)


def tasks(options: Any, known: dict[tuple[str, int], Score]) -> Iterator[tuple[str, str, int]]:
    """Names, parts and splits that are not known yet."""
    for part, tables in PARTS.items():
        for table, split in product(tables, range(options.splits)):
            is_chosen = (options.only is None or table.name in options.only) and options.part in (None, part)
            if is_chosen and table.is_here and (table.name, split) not in known:
                yield table.name, part, split


def main(arguments: Sequence[str] | None = None, file: Path = FILE) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="names of tables")
    parser.add_argument("--part", choices=PARTS, help="tables looked at before, or kept for the end")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--time", type=float, default=SECONDS, help="limit of each study in seconds")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="clock of the limit")
    parser.add_argument("--rows", type=int, default=MAX_TRAINING_ROWS, help="largest number of training rows")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--file", type=Path, help="CSV file of the scores")
    parser.add_argument("--report", action="store_true", help="only print the kept scores")
    options = parser.parse_args(arguments)
    is_kept = (options.time, options.rows) == (SECONDS, MAX_TRAINING_ROWS)
    file = options.file or (file if is_kept else RESULTS / SCRATCH / "study.csv")
    scores = read_scores(file)
    waiting = [] if options.report else list(tasks(options, scores))
    run = partial(score, limit=options.time, rows=options.rows, clock=options.clock)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, *task) for task in waiting]):
            found = future.result()
            scores[found.table, found.split] = found
            write_scores(scores, file)
            print(*(f"{value:.4g}" if isinstance(value, float) else value for value in found), flush=True)
    print(summary(scores))


if __name__ == "__main__":
    main()
