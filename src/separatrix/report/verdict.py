# SPDX-License-Identifier: BSD-3-Clause
"""The answer first: what is predicted, how well, from what, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.report.advice import Advice
from separatrix.report.facts import Facts
from separatrix.report.words import brief, counted, fixed, listed, percent, points, shortened
from separatrix.study import Study

__all__ = ["Figure", "Verdict", "calibration_in_words", "ranked_columns", "verdict_of"]

N_DRIVERS = 3
TOO_FEW_TO_TELL = 0.04  # an error of calibration that chance alone explains, above which rows prove little
UNIVERSAL = "All of this holds for rows that come about as these did. Where the source changes, check again."


@dataclass(frozen=True)
class Figure:
    """One number in large type, what it is, and what to hold it against."""

    value: str
    name: str
    against: str


@dataclass(frozen=True)
class Verdict:
    """The head of the report: sentences, then figures."""

    title: str
    sentences: tuple[str, ...]
    caveat: str
    figures: tuple[Figure, ...]


def verdict_of(study: Study, facts: Facts, advice: tuple[Advice, ...]) -> Verdict:
    """What a reader who reads nothing else should know."""
    return Verdict(
        title=study.target,
        sentences=(_question(study, facts), _quality(facts), calibration_in_words(facts), *_drivers(study)),
        caveat=next((f"{item.what} {item.remedy}".strip() for item in advice if item.is_grave), UNIVERSAL),
        figures=_figures(facts),
    )


def calibration_in_words(facts: Facts) -> str:
    """Whether the probabilities can be taken at their word."""
    chance = f"chance alone leaves about {points(facts.ece_if_calibrated)}"
    if facts.is_calibrated and facts.ece_if_calibrated > TOO_FEW_TO_TELL:
        return (
            f"Nothing speaks against its probabilities, but {counted(facts.n_rows, 'row')} are few to tell: they are "
            f"off by {points(facts.ece.value)} on average, where {chance}."
        )
    if facts.is_calibrated:
        return (
            "Its probabilities can be taken at their word: they are off by "
            f"{points(facts.ece.value)} on average, where {chance} on so many rows."
        )
    side = "too sure of itself" if facts.excess > 0 else "not sure enough of itself"
    means = f", and on the whole {side}" if abs(facts.excess) > 0.01 else ""
    return (
        f"Its probabilities are off by {points(facts.ece.value)} on average{means}: more than the "
        f"{points(facts.ece_if_calibrated)} that chance alone would show."
    )


def ranked_columns(study: Study) -> list[tuple[str, float]]:
    """Columns that move the probabilities, the strongest first, with their importance."""
    found = [(effect.column, effect.importance) for effect in study.effects if effect.importance > 0]
    return sorted(found, key=lambda item: -item[1])


def _question(study: Study, facts: Facts) -> str:
    columns = counted(len(study.schema.inputs), "column")
    what = listed([brief(label) for label in facts.labels]) if len(facts.labels) <= 4 else None
    values = f" ({what})" if what else f", one of {counted(len(facts.labels), 'class')},"
    return (
        f"This model gives the probability of each value of {shortened(study.target)}{values} "
        f"from {columns}, learnt from {counted(study.n_rows, 'row')}."
    )


def _quality(facts: Facts) -> str:
    rows = counted(facts.n_rows, "row")
    right = f"On {rows} it had not seen it was right in {percent(facts.accuracy.value)}"
    if facts.accuracy.value <= facts.baseline_accuracy + 2 * facts.accuracy.standard_error:
        right += (
            f" of them, hardly more often than always saying the largest class ({percent(facts.baseline_accuracy)})"
        )
    else:
        right += f" of them, where always saying the largest class is right in {percent(facts.baseline_accuracy)}"
    if not facts.gain > 0:
        return f"{right}. Its probabilities are no better than the shares of the classes: do not act on them."
    return f"{right}. It removes {percent(facts.gain)} of the uncertainty that the shares of the classes leave."


def _drivers(study: Study) -> tuple[str, ...]:
    names = [shortened(name, 32) for name, _ in ranked_columns(study)[:N_DRIVERS]]
    if not names:
        return ()
    many = len(names) > 1
    return (
        f"The column{'s that move' if many else ' that moves'} them most {'are' if many else 'is'} {listed(names)}.",
    )


def _figures(facts: Facts) -> tuple[Figure, ...]:
    chance = percent(facts.baseline_accuracy)
    calibration = f"{points(facts.ece_if_calibrated)} if exactly right"
    ranking = "0.5 is guessing, 1 perfect" if len(facts.labels) == 2 else "mean over pairs of classes; 0.5 is guessing"
    return (
        Figure(percent(facts.accuracy.value), "right decisions", f"{chance} by always saying the largest class"),
        Figure(fixed(facts.log_loss.value), "log-loss", f"{fixed(facts.baseline_loss)} by always saying the shares"),
        Figure(fixed(facts.auc.value), "area under the curve", ranking),
        Figure(points(facts.ece.value), "calibration error", calibration),
    )
