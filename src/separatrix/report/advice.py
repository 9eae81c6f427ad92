# SPDX-License-Identifier: BSD-3-Clause
"""What to know before acting, each with what to do about it.

The study says in sentences what it met. A topic is found by the words of a sentence; it orders them, the gravest first,
and adds the remedy. What held-out rows themselves give away, such as probabilities that are off, is added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from separatrix.report.facts import Facts
from separatrix.report.models import notes_on_models
from separatrix.report.words import brief, counted, points
from separatrix.study import Study

__all__ = ["Advice", "advice_on"]

FEW_ROWS = 30  # held-out rows of a class, below which its shares are known to no better than ten points


@dataclass(frozen=True)
class Topic:
    """A kind of warning: its heading, words by which its sentences are known, what to do, and whether it is grave."""

    title: str
    words: str
    remedy: str
    is_grave: bool = False


@dataclass(frozen=True)
class Advice:
    """One warning: what it is about, what was seen, what to do."""

    title: str
    what: str
    remedy: str
    is_grave: bool


TOPICS = (
    Topic(
        "No better than the shares",
        r"no better than|nothing to learn",
        "Do not act on single probabilities. Look for columns that say more about the target.",
        is_grave=True,
    ),
    Topic(
        "Separation",
        r"separat(?!rix)",
        "Look at the columns named: one of them may give the answer away, or may only be known afterwards. If it is "
        "legitimate, trust the direction of its weight, and not its size: that is set by the prior.",
        is_grave=True,
    ),
    Topic(
        "Approximation",
        r"approximat|pareto|laplace",
        "Treat intervals as rough. More rows, fewer columns, or "
        "BayesianLogisticRegression(approximation='importance') make them exact.",
        is_grave=True,
    ),
    Topic(
        "Not converged",
        r"converge",
        "Remove columns that repeat each other, or allow more steps, and fit again.",
        is_grave=True,
    ),
    Topic(
        "Calibration",
        r"calibrat|probabilities are off",
        "Use the order of the probabilities, or correct them by the calibration figure before taking them at their "
        "word. Check for a shift between the rows learnt from and the rows held out.",
        is_grave=True,
    ),
    Topic(
        "Imbalance",
        r"imbalance|\brare\b|accuracy says little",
        "Do not judge by accuracy. Decide by what each mistake costs: see the section on decisions.",
        is_grave=True,
    ),
    Topic(
        "Columns that repeat each other",
        r"collinear|combination of|repeat",
        "Predictions stand; the weights of these columns share one effect between them and should not be read alone.",
    ),
    Topic(
        "Few rows",
        r"rows only|\brough\b",
        "Give more weight to the intervals than to the figures, and collect more rows before much depends on them.",
        is_grave=True,
    ),
    Topic(
        "Gaps",
        r"missing|gaps?\b",
        "A gap counts as a value of its own. Make sure that new rows have gaps for the same reasons.",
    ),
    Topic(
        "Columns left out",
        r"dropped|left out",
        "Give the column a type if it should be used after all: --types COLUMN=categorical, or "
        "TableClassifier(types={...}).",
    ),
)
OTHER = Topic("Worth knowing", "", "")


def advice_on(study: Study, facts: Facts) -> tuple[Advice, ...]:
    """Every warning, the gravest first."""
    found = [(_topic(note), note) for note in _said(study, facts)]
    order = [*TOPICS, OTHER]
    found.sort(key=lambda item: order.index(item[0]))
    last = {topic: i for i, (topic, _) in enumerate(found)}
    # A remedy is said once, after the last sentence of its topic.
    return tuple(
        Advice(topic.title, note, topic.remedy if last[topic] == i else "", topic.is_grave)
        for i, (topic, note) in enumerate(found)
    )


def _said(study: Study, facts: Facts) -> list[str]:
    """Sentences of the study, then those of held-out rows on topics it left alone.

    What it says of the models compared stands beside their table, and not among warnings on the one chosen.
    """
    said = [note for note in study.notes if note not in notes_on_models(study)]
    topics = {_topic(note) for note in said}
    return said + [note for note in _seen(study, facts) if _topic(note) not in topics]


def _seen(study: Study, facts: Facts) -> Iterator[str]:
    if not facts.gain > 0:
        yield "On held-out rows the probabilities are no better than the shares of the classes."
    if not facts.is_calibrated:
        yield (
            f"The probabilities are off by {points(facts.ece.value)} on average; chance alone would leave "
            f"{points(facts.ece_if_calibrated)}."
        )
    for k, label in enumerate(facts.labels):
        n = int((study.held_out.codes == k).sum())
        if n < FEW_ROWS:
            yield (
                f"The class {brief(label)} is rare: it was judged on {counted(n, 'held-out row')} only, and what is "
                "said of it is uncertain."
            )


def _topic(note: str) -> Topic:
    return next((topic for topic in TOPICS if re.search(topic.words, note, re.IGNORECASE)), OTHER)
