# SPDX-License-Identifier: BSD-3-Clause
"""What to know before acting, each with what to do about it, the gravest first.

The study says in notes what it met, and what each is about. What the rows judged give away, such as probabilities that
are off, is added here; and what was looked for in vain, so that silence can be told from not having looked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from separatrix.bayesian import BayesianLogisticRegression
from separatrix.meta import enumerated
from separatrix.report.facts import FEWEST_TO_JUDGE, Facts
from separatrix.report.words import brief, counted, points
from separatrix.study import Note, Study

__all__ = ["Advice", "advice_on", "not_found"]

FEW_ROWS = 30  # of a class among those judged, below which its shares are known to no better than ten points
N_NAMED = 6  # classes named in one sentence


@dataclass(frozen=True)
class Heading:
    """Of a kind of warning, what to do about it, and whether it is grave."""

    title: str
    remedy: str = ""
    is_grave: bool = False


@dataclass(frozen=True)
class Advice:
    """One warning: what it is about, what was seen, what to do."""

    title: str
    what: str
    remedy: str
    is_grave: bool


# By topic, the gravest first; "calibration" and "few of a class" are found here and not by the study.
HEADINGS = {
    "nothing beats the shares": Heading(
        "No better than the shares",
        "Do not act on single probabilities. Look for columns that say more about the target.",
        is_grave=True,
    ),
    "separation": Heading(
        "Separation",
        "Look at the columns named: one of them may give the answer away, or may only be known afterwards. If it is "
        "legitimate, trust the direction of its weight, and not its size: that is set by the prior.",
        is_grave=True,
    ),
    "approximation": Heading(
        "Approximation",
        "Treat intervals as rough. More rows, fewer columns, or "
        "BayesianLogisticRegression(approximation='importance') make them exact.",
        is_grave=True,
    ),
    "convergence": Heading(
        "Not converged", "Remove columns that repeat each other, or allow more steps, and fit again.", is_grave=True
    ),
    "calibration": Heading(
        "Calibration",
        "Use the order of the probabilities, or correct them by the calibration figure before taking them at their "
        "word. Check for a shift between the rows learnt from and the rows judged.",
        is_grave=True,
    ),
    "imbalance": Heading(
        "Imbalance",
        "Do not judge by accuracy. Decide by what each mistake costs: see the section on decisions.",
        is_grave=True,
    ),
    "few rows": Heading(
        "Few rows",
        "Give more weight to the intervals than to the figures, and collect more rows before much depends on them.",
        is_grave=True,
    ),
    "few of a class": Heading(
        "Few rows of a class",
        "What is said of these classes alone, such as how many of their rows are found, is rough.",
        is_grave=True,
    ),
    "collinear": Heading(
        "Columns that repeat each other",
        "Predictions stand; the weights of these columns share one effect between them and should not be read alone.",
    ),
    "new values": Heading("New values", "What the model says of such rows rests on their other columns."),
    "missing": Heading(
        "Gaps", "A gap counts as a value of its own. Make sure that new rows have gaps for the same reasons."
    ),
    "dropped": Heading(
        "Columns left out",
        "Give the column a type if it should be used after all: --types COLUMN=categorical, or "
        "TableClassifier(types={...}).",
    ),
    "many classes": Heading(
        "Many classes", "Make sure that the target is the column meant: of a number, a classifier learns no order."
    ),
    "rare class": Heading("Classes left out", "Collect rows of them, or put them together with a class like them."),
    "unlabelled": Heading("Rows without a label"),
    "sampled": Heading("A sample"),
    "tuning": Heading("Prior"),
    "separation not checked": Heading("Separation"),
    "effects": Heading("Effects"),
}
OTHER = Heading("Worth knowing")
ORDER = [*HEADINGS.values(), OTHER]
ELSEWHERE = ("failure", "other model")  # topics of models that were not chosen, which stand beside their table


def advice_on(study: Study, facts: Facts) -> tuple[Advice, ...]:
    """Every warning, the gravest first; a remedy is said once, after the last sentence of its heading."""
    found = [(HEADINGS.get(topic, OTHER), text) for topic, text in _said(study, facts)]
    found.sort(key=lambda item: ORDER.index(item[0]))
    last = {heading: i for i, (heading, _) in enumerate(found)}
    return tuple(
        Advice(heading.title, text, heading.remedy if last[heading] == i else "", heading.is_grave)
        for i, (heading, text) in enumerate(found)
    )


def not_found(study: Study, facts: Facts) -> str:
    """What was looked for and not found, in one sentence; only what was indeed looked at."""
    met = {topic for topic, _ in _said(study, facts)}
    looked = {"few of a class": f"classes with fewer than {FEW_ROWS} {facts.whose}"}
    if facts.n_rows >= FEWEST_TO_JUDGE:
        looked["nothing beats the shares"] = "probabilities no better than the shares of the classes"
        looked["calibration"] = "probabilities that are off by more than chance explains"
    if study.separation != "unknown":
        looked["separation"] = "a hyperplane that separates the classes"
    if isinstance(study.model.estimator_, BayesianLogisticRegression):
        looked["approximation"] = "a poor approximation of the posterior"
    absent = [words for topic, words in looked.items() if topic not in met]
    return f"Looked for and not found: {enumerated(absent)}." if absent else ""


def _said(study: Study, facts: Facts) -> list[tuple[str, str]]:
    """Topics and sentences of the study, then those that the rows judged add."""
    notes: list[Note] = [note for note in study.notes if note.topic not in ELSEWHERE]
    said: list[tuple[str, str]] = [(note.topic, note.text) for note in notes]
    topics = {topic for topic, _ in said}
    return said + [(topic, text) for topic, text in _seen(study, facts) if topic not in topics]


def _seen(study: Study, facts: Facts) -> Iterator[tuple[str, str]]:
    if not facts.gain > 0:
        yield (
            "nothing beats the shares",
            f"On {facts.whose} the probabilities are no better than the shares of the classes.",
        )
    if not facts.is_calibrated:
        yield (
            "calibration",
            f"The probabilities are off by {points(facts.ece.value)} on average; chance alone would leave "
            f"{points(facts.ece_if_calibrated)}.",
        )
    n_judged = [int((study.held_out.codes == k).sum()) for k in range(len(facts.labels))]
    few = [f"{brief(label)} ({n:,})" for label, n in zip(facts.labels, n_judged, strict=True) if n < FEW_ROWS]
    if few:
        more = [counted(len(few) - N_NAMED, "other")] if len(few) > N_NAMED else []
        yield (
            "few of a class",
            f"Judged on fewer than {FEW_ROWS} {facts.whose} each: {enumerated([*few[:N_NAMED], *more])}.",
        )
