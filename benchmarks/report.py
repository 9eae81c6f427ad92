# SPDX-License-Identifier: BSD-3-Clause
"""Tables from results: plain text for a terminal, Markdown for the documentation, with all machines side by side.

python -m benchmarks.report            prints the newest run of each machine, and writes docs/benchmarks.md
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import fmean

from benchmarks.evidence.duel import read_bouts, verdicts
from benchmarks.record import RESULTS, Row, Run, committed_runs

__all__ = ["BASELINES", "OURS", "best_peer", "main", "markdown", "ratio_to_best_peer", "text_table", "time_of"]

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks.md"
GPU = RESULTS / "h200" / "gpu.csv"
EVIDENCE = RESULTS / "intel-xeon-16-cores" / "evidence.csv"
MIN_RATIO = 0.5  # of log-losses; on separable tables, smaller ones would dominate the geometric mean
MAX_LOSS_RATIO, MAX_TIME_RATIO = 1.02, 2.0  # log-loss and processor time, above which a table is marked
OURS = "separatrix"
BASELINES = frozenset({"zeros"})  # not a peer: it does nothing
BEHIND = ", **behind**"  # mark of a row in which a peer is faster, or its objective better by more than `UNDONE`
UNDONE = 1e-2  # a solver with a larger gap has not solved the task, and is not a peer
HEADER = (
    "problem",
    "task",
    "library",
    "seconds",
    "grams",
    "reads",
    "passes",
    "peak MB",
    "peak / X",
    "gap",
    "gradient",
    "gradient / sd",
    "vs best peer",
)
WORDS = 3  # number of text columns, aligned left; the other columns are numbers


@dataclass(frozen=True)
class Summary:
    """A table of the page: its title, the unit of its times, and its lines: (label, problem, task)."""

    title: str
    unit: str
    lines: Sequence[tuple[str, str, str]]


SUMMARIES = (
    Summary(
        "One pass over 500 000 x 100 float64 values, in units of `X @ w`",
        "reads",
        [
            ("value and gradient, logistic", "default", "gradient_pass"),
            ("value, gradient and Hessian, logistic", "default", "hessian_pass"),
        ],
    ),
    Summary(
        "Fits of 500 000 x 100 float64 values, in grams",
        "grams",
        [
            ("value, gradient and Hessian, logistic", "default", "hessian_pass"),
            ("logistic", "default", "logistic"),
            ("logistic without prior", "default", "flat_logistic"),
            ("logistic with posterior, evidence and diagnosis", "default", "posterior"),
            ("logistic tuned by evidence", "default", "tuned"),
            ("logistic tuned by evidence, 50 000 rows", "tenth", "tuned"),
            ("probit", "default", "probit"),
            ("linear discriminant", "default", "lda"),
            ("quadratic discriminant", "default", "qda"),
            ("least squares", "default", "least_squares"),
            ("Fisher", "default", "fisher"),
            ("Gaussian naive Bayes", "default", "gaussian_nb"),
            ("Bernoulli naive Bayes", "binary", "bernoulli_nb"),
            ("perceptron, one epoch", "default", "perceptron_epoch"),
        ],
    ),
    Summary(
        "Sparse tables, in seconds",
        "seconds",
        [
            ("least squares", "sparse", "least_squares"),
            ("logistic", "sparse 10 000", "logistic"),
            ("logistic", "stories", "logistic"),
            ("logistic with posterior", "stories", "posterior"),
            ("logistic tuned by evidence", "stories", "tuned"),
            ("least squares", "newsgroups", "least_squares"),
        ],
    ),
    Summary(
        "Fewer rows than columns, in seconds",
        "seconds",
        [("least squares", "wide", "least_squares"), ("logistic", "wide", "logistic")],
    ),
    Summary(
        "Many classes, in seconds",
        "seconds",
        [
            ("softmax", "ten classes", "softmax"),
            ("softmax", "fashion_mnist", "softmax"),
            ("softmax", "letters", "softmax"),
            ("softmax with posterior", "letters", "posterior"),
            ("softmax tuned by evidence", "letters", "tuned"),
            ("softmax", "newsgroups", "softmax"),
            ("softmax with posterior", "newsgroups", "posterior"),
            ("softmax tuned by evidence", "newsgroups", "tuned"),
            ("softmax", "intrusions", "softmax"),
            ("softmax tuned by evidence", "intrusions", "tuned"),
        ],
    ),
    Summary(
        "Small tables, in seconds",
        "seconds",
        [
            ("least squares", "small", "least_squares"),
            ("Fisher", "small", "fisher"),
            ("logistic", "small", "logistic"),
            ("logistic without prior", "small", "flat_logistic"),
            ("probit", "small", "probit"),
        ],
    ),
    Summary(
        "Lasso, in seconds",
        "seconds",
        [("logistic lasso", name, "lasso") for name in ("default", "wide", "sparse 10 000", "stories")],
    ),
    Summary("Missing values, in passes", "passes", [("linear discriminant by EM", "missing values", "lda_missing")]),
)
MEMORY = ("least_squares", "lda", "qda", "gaussian_nb", "logistic", "flat_logistic", "probit", "posterior", "tuned")


def best_peer(row: Row, rows: Iterable[Row]) -> Row | None:
    """Fastest other library for the same task and problem, among those that finished and solved it.

    If all others were interrupted, the one with the longest time. Different solvers of the same library are not
    compared with each other.
    """
    others = [
        other
        for other in rows
        if (other.problem, other.task) == (row.problem, row.task)
        and _library(other) not in {_library(row), *BASELINES}
        and other.seconds
        and not _is_undone(other)
    ]
    finished = [other for other in others if not other.is_bound]
    if finished:
        return min(finished, key=_seconds)
    return max(others, key=_seconds, default=None)


def ratio_to_best_peer(row: Row, rows: Iterable[Row]) -> float | None:
    """Time divided by that of the best peer; below 1 is faster. An upper bound if that peer was interrupted."""
    peer = best_peer(row, rows) if row.library not in BASELINES and row.seconds and not row.is_bound else None
    return None if peer is None else _seconds(row) / _seconds(peer)


def _seconds(row: Row) -> float:
    assert row.seconds is not None, "this row was not measured"
    return row.seconds


def _library(row: Row) -> str:
    """Name of the library, without the solver or option that follows it."""
    return row.library.partition(" ")[0]


def _is_undone(row: Row) -> bool:
    return row.gradient is not None and row.gap is not None and row.gap > UNDONE


def time_of(row: Row) -> str:
    """Seconds, a lower bound, or why there is no time."""
    if row.seconds is None:
        return row.note.partition(":")[0]
    return f"> {_digits(row.seconds)}" if row.is_bound else _digits(row.seconds)


def text_table(rows: Sequence[Row]) -> str:
    """Aligned columns, one line per row."""
    lines = _without_empty_columns([HEADER, *_cells(rows)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(_align(line, widths) for line in lines)


def markdown(runs: Sequence[Run], gpu: Path = GPU, evidence: Path = EVIDENCE) -> str:
    """Content of docs/benchmarks.md: the machines, summaries, then one table per task."""
    if not runs:
        return f"{_PREFACE}\nThere are no results yet; `make bench-quick` creates them.\n"
    parts = [_PREFACE, "## Machines\n", _machines(runs), "\n## Summary\n", _READING]
    for summary in SUMMARIES:
        if table := _summary(summary, runs):
            parts.append(f"### {summary.title}\n\n{table}\n")
    parts.append(f"### Memory above the data, 500 000 x 100 float64 values, in MB\n\n{_memory(runs)}\n")
    if evidence.exists():
        parts.append(f"### The default against cross-validation\n\n{_evidence(evidence)}\n")
    if gpu.exists():
        parts.append(f"### Fits on a GPU\n\n{_gpu(gpu)}\n")
    parts.append("## All measurements\n\n" + _DETAILS)
    for task in dict.fromkeys(row.task for run in runs for row in run.rows):
        parts.append(f"### {task}\n\n{_details(task, runs)}\n")
    return "\n".join(parts)


def _machines(runs: Sequence[Run]) -> str:
    """One column per machine."""

    def line(label: str, value: Callable[[Run], object]) -> list[str]:
        return [label, *(str(value(run)) for run in runs)]

    def setting(name: str) -> Callable[[Run], object]:
        return lambda run: run.config.get(name, "")

    def milliseconds(name: str) -> Callable[[Run], object]:
        return lambda run: f"{1e3 * float(run.config[name]):.1f} ms" if name in run.config else ""

    lines = [
        line("processor", lambda run: run.config["cpu"]),
        line("vector instructions", setting("vectors")),
        line("L1 data cache", setting("l1")),
        line("L2 cache", setting("l2")),
        line("L3 cache", setting("l3")),
        line("cores used", lambda run: run.config["cores"]),
        line("memory", lambda run: f"{run.config['memory_gb']} GB"),
        line("`X @ w`, 500 000 x 100", milliseconds("xw_seconds")),
        line("`X.T @ X`, 500 000 x 100", milliseconds("gram_seconds")),
        line("run", lambda run: f"{run.mode}, {run.config['date']}"),
        line("load before the run", setting("load")),
        line("commit", setting("commit")),
        *(line(name, setting(name)) for name in _VERSIONS),
    ]
    header = ["", *(f"[{run.name}](../benchmarks/results/{run.name}/{run.mode}.csv)" for run in runs)]
    return _markdown_table([header, *(cells for cells in lines if any(cells[1:]))], words=len(header))


_VERSIONS = ("python", "numpy", "scipy", "sklearn", "numba", "glum", "skglm", "statsmodels", "blas")


def _summary(summary: Summary, runs: Sequence[Run]) -> str:
    """For each machine: our time, how many times as long the best peer takes, and our gap."""
    header = ["fit", "table"]
    for run in runs:
        header += [run.name, "best peer", "gap"]
    lines = [header]
    for label, problem, task in summary.lines:
        found = [_find(run, problem, task) for run in runs]
        if any(found):
            shapes = dict.fromkeys(_shape(row) for row in found if row)
            cells = [label, f"{problem}: {' or '.join(shapes)}"]
            for run, row in zip(runs, found, strict=True):
                cells += _summary_cells(row, run, summary.unit) if row else ["", "", ""]
            lines.append(cells)
    return _markdown_table(lines, words=2) if len(lines) > 1 else ""


def _summary_cells(row: Row, run: Run, unit: str) -> list[str]:
    value = getattr(row, unit)
    time = time_of(row) if unit == "seconds" or value is None else f"{'> ' if row.is_bound else ''}{_digits(value)}"
    peer = best_peer(row, run.rows)
    if peer is None or row.seconds is None:
        return [time, "", _power(row.gap)]
    bound = ">" if peer.is_bound else "<" if row.is_bound else ""
    gap = "" if peer.gap is None else f", gap {_power(peer.gap)}"
    ratio = _seconds(peer) / _seconds(row)
    is_slower, is_worse = ratio < 1, row.gap is not None and peer.gap is not None and row.gap > peer.gap + UNDONE
    return [
        time,
        f"{bound}{_digits(ratio)}x: {peer.library}{gap}{BEHIND if is_slower else ''}",
        f"{_power(row.gap)}{BEHIND if is_worse else ''}",
    ]


def _memory(runs: Sequence[Run]) -> str:
    """Peak of this library and of the peer that needs the least."""
    lines = [["fit", *(cell for run in runs for cell in (run.name, "best peer"))]]
    for task in MEMORY:
        found = [_find(run, "default", task) for run in runs]
        cells = [task]
        for run, row in zip(runs, found, strict=True):
            peaks = [
                (other.peak_mb, other.library)
                for other in run.rows
                if (other.problem, other.task) == ("default", task)
                and _library(other) not in {OURS, *BASELINES}
                and other.peak_mb
            ]
            least = f"{_digits(min(peaks)[0])}: {min(peaks)[1]}" if peaks else ""
            cells += [_digits(row.peak_mb) if row else "", least]
        lines.append(cells)
    return _markdown_table(lines, words=1)


def _evidence(path: Path) -> str:
    """Log-loss and time of `BayesianLogisticRegression()` on each table, relative to `LogisticRegressionCV`."""
    bouts = read_bouts(path)
    found, n_splits = verdicts(bouts), len({bout.split for bout in bouts})
    lines = [["table", "training rows", "log-loss", "of cross-validation", "ratio", "time / time of cross-validation"]]
    for each in found:
        loss = f"{each.ratio:.3f}{BEHIND if each.ratio > MAX_LOSS_RATIO else ''}"
        time = f"{each.time_ratio:.2f}{BEHIND if each.time_ratio > MAX_TIME_RATIO else ''}"
        lines.append([each.table, each.shape, f"{each.log_loss:.4f}", f"{each.log_loss_cv:.4f}", loss, time])
    mean = fmean(log(max(each.ratio, MIN_RATIO)) for each in found)
    head = _DUEL.format(n_splits=n_splits, n_tables=len(found), mean=f"{exp(mean):.3f}")
    return head + _markdown_table(lines, words=2)


def _gpu(path: Path) -> str:
    """Fits that were timed on a card."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["ms"]]
    first = rows[0]
    rows_of_card = f"{int(first['rows']):,}".replace(",", " ")
    head = f"{first['device']}, torch {first['torch']}, {rows_of_card} x {first['columns']} float32 values.\n\n"
    lines = [["fit", "ms", "passes", "fraction of the memory bandwidth"]]
    lines += [[row["task"], row["ms"], row["passes"], row["share of bandwidth"]] for row in rows]
    return head + _markdown_table(lines, words=1)


def _details(task: str, runs: Sequence[Run]) -> str:
    """One line per problem, shape and library. Times differ between machines; other values are the largest of all."""
    rows = {run.name: {_key(row): row for row in run.rows if row.task == task} for run in runs}
    header = ["problem", "shape", "library"]
    for run in runs:
        header += [f"{run.name}: seconds", "grams", "vs best peer"]
    lines = [[*header, "passes", "peak MB", "peak / X", "gap", "gradient", "gradient / sd"]]
    for key in dict.fromkeys(key for found in rows.values() for key in found):
        cells = list(key)
        for run in runs:
            row = rows[run.name].get(key)
            cells += [time_of(row), _digits(row.grams), _ratio(row, run.rows)] if row else ["", "", ""]
        found = [by_key[key] for by_key in rows.values() if key in by_key]
        cells += [
            _largest(found, "passes", str),
            *(_largest(found, name, _digits) for name in ("peak_mb", "peak_ratio")),
        ]
        cells += [_largest(found, name, _power) for name in ("gap", "gradient", "gradient_sd")]
        lines.append(cells)
    return _markdown_table(_without_empty_columns(lines), words=3)


def _find(run: Run, problem: str, task: str) -> Row | None:
    return next((row for row in run.rows if (row.problem, row.task, row.library) == (problem, task, OURS)), None)


def _key(row: Row) -> tuple[str, str, str]:
    return row.problem, f"{_shape(row)}, K = {row.k}, {row.dtype}" if row.n else "", row.library


def _shape(row: Row) -> str:
    return f"{row.n:,} x {row.m:,}".replace(",", " ")


def _ratio(row: Row, rows: Sequence[Row]) -> str:
    ratio, peer = ratio_to_best_peer(row, rows), best_peer(row, rows)
    return f"{'< ' if peer and peer.is_bound and ratio is not None else ''}{_digits(ratio)}"


def _largest(rows: Sequence[Row], name: str, form: Callable[[float], str]) -> str:
    values = [value for row in rows if (value := getattr(row, name)) is not None]
    return form(max(values)) if values else ""


def _cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    return [
        (
            row.problem,
            row.task,
            row.library,
            time_of(row),
            *map(_digits, (row.grams, row.reads)),
            "" if row.passes is None else str(row.passes),
            *map(_digits, (row.peak_mb, row.peak_ratio)),
            *map(_power, (row.gap, row.gradient, row.gradient_sd)),
            _ratio(row, rows),
        )
        for row in rows
    ]


def _digits(value: float | None) -> str:
    """Format with three significant digits, without an exponent for large values."""
    if value is None:
        return ""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _power(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def _without_empty_columns(lines: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Remove columns that are empty except for their header."""
    kept = [column for column in zip(*lines, strict=True) if any(column[1:])]
    return list(zip(*kept, strict=True))


def _align(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if i < WORDS else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _markdown_table(lines: Sequence[Sequence[str]], words: int) -> str:
    """Markdown table with this number of text columns."""
    rule = ["---" if i < words else "---:" for i in range(len(lines[0]))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], rule, *lines[1:]])


_PREFACE = """<!-- Generated by `python -m benchmarks.report` from benchmarks/results. Do not edit. -->

# Benchmarks

This page is generated from the results in `benchmarks/results`; the protocol is in `benchmarks/README.md`.
One *gram* is the time of `X.T @ X` on the same data in the same run, and one *read* that of `X @ w`. *Gap* is the
relative distance of the objective from the best result of the run; for one pass, it is the largest error of a
derivative. The page shows the newest run of each machine. A *quick* run has fewer repeats, fewer rows for some tables,
and stops a fit after 20 seconds: `> 20` is a lower bound.
"""

_READING = """Each time is followed by that of the fastest other library, as a multiple of ours: above 1x, ours is
faster. The gap after its name is that library's; the last column is ours. A library whose objective ends more than 1 %
behind the best is not counted. Rows in which another library is faster, or its objective better by more than 1 %, are
marked **behind**.
"""

_DUEL = """`BayesianLogisticRegression()` and `LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss")` are fitted to
the same rows of {n_splits} random splits, on one core of an Intel Xeon, and scored on the same other rows. Tables are
marked if our log-loss is more than 2 % higher, or our processor time more than twice as long. Ratios below 0.5 count as
0.5 in the geometric mean. The geometric mean of {n_tables} ratios of log-losses is {mean}.

"""

_DETAILS = """*vs best peer* is the time divided by that of the fastest other library: below 1 is faster. *Peak* is the
memory allocated above the data, in MB and as a multiple of the data. *Gradient* is the largest component of the
gradient per row; *gradient / sd* divides it by the standard deviation of its column. These values are the largest of
all machines. `zeros` does nothing (W = 0), and `numpy` is a plain formula without blocks. A second word after a name
is the solver or option used; `separatrix unchecked` skips the check for separable classes, and `separatrix single`
computes in single precision.
"""


def main() -> None:
    """Print the newest run of each machine and write docs/benchmarks.md."""
    runs = committed_runs()
    for run in runs:
        print(f"{run.name}, {run.mode}\n\n{text_table(run.rows)}\n")
    DOCS.write_text(markdown(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
