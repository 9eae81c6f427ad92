# SPDX-License-Identifier: BSD-3-Clause
"""The answer first: what is predicted, how well, from what, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.meta import enumerated
from separatrix.report.advice import Advice
from separatrix.report.facts import FEWEST_TO_JUDGE, Facts
from separatrix.report.words import brief, counted, fixed, percent, points, shortened
from separatrix.study import Study

__all__ = ["Figure", "Verdict", "calibration_in_words", "ranked_columns", "verdict_of"]

N_DRIVERS = 3
N_NAMED = 4  # classes, in the first sentence
ROUNDING = 1e-9  # nats: a column that moves the log-odds by less does not move them
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
    if facts.is_prior_only:
        sentences: tuple[str, ...] = (_question(study, facts), _shares(study, facts))
    else:
        sentences = (_question(study, facts), _quality(study, facts), *_trust(facts), *_drivers(study))
    return Verdict(
        title=study.target,
        sentences=sentences,
        caveat=_caveat(advice),
        figures=_figures(facts),
    )


def _caveat(advice: tuple[Advice, ...]) -> str:
    """The gravest warning, with the remedy that stands after the last one of its kind."""
    first = next((item for item in advice if item.is_grave), None)
    if first is None:
        return UNIVERSAL
    remedy = next((item.remedy for item in advice if item.title == first.title and item.remedy), "")
    return f"{first.what} {remedy}".strip()


def calibration_in_words(facts: Facts) -> str:
    """Whether the probabilities can be taken at their word."""
    if facts.is_prior_only:
        return "Every row is given the same probabilities, the shares of the classes: right on average, and no more."
    if facts.n_rows < FEWEST_TO_JUDGE:
        return f"On {facts.rows(facts.n_rows)} nothing can be said about whether its probabilities are right."
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
    found = [(effect.column, effect.importance) for effect in study.effects if effect.importance > ROUNDING]
    return sorted(found, key=lambda item: -item[1])


def _question(study: Study, facts: Facts) -> str:
    """What is predicted, from what; of two classes, which one the report is about."""
    target, columns = shortened(study.target), counted(len(study.schema.inputs), "column")
    names = [brief(label) for label in facts.labels]
    learnt = f", learnt from {counted(facts.n_learnt, 'row')}" if facts.n_learnt else ""
    if facts.is_one_of_many:
        what = (
            f"the probability of each value of {target}, one of {counted(facts.n_classes, 'class')} (everything below "
            f"is about {names[1]} against all others)"
        )
    elif len(names) == 2:
        what = f"the probability that {target} is {names[1]} (and not {names[0]}: everything below is about {names[1]})"
    elif len(names) <= N_NAMED:
        what = f"the probability of each value of {target} ({enumerated(names)})"
    else:
        what = f"the probability of each value of {target}, one of {counted(len(names), 'class')},"
    return f"This model gives {what} from {columns}{learnt}."


def _judged(study: Study, facts: Facts) -> str:
    """Who was judged on which rows: in a comparison not the model itself, which has learnt from all of them."""
    if not facts.is_held_out:
        return (
            f"On the {facts.rows(facts.n_rows)}, of which the report cannot know whether the model has learnt from "
            "them, it was"
        )
    few = ", too few to judge by," if facts.n_rows < FEWEST_TO_JUDGE else ""
    rows = counted(facts.n_rows, "held-out row")
    if study.n_train is None:
        return f"On {rows}{few} it was"
    return f"The same model, learnt from the other {counted(study.n_train, 'row')}, was on {rows}{few}"


def _quality(study: Study, facts: Facts) -> str:
    right = f"{_judged(study, facts)} right in {percent(facts.accuracy.value)} of cases"
    chance = percent(facts.baseline_accuracy)
    if facts.accuracy.value <= facts.baseline_accuracy + 2 * facts.accuracy.standard_error:
        right += f", hardly more often than {facts.by_rote} ({chance})"
    else:
        right += f", where {facts.by_rote} is right in {chance}"
    if facts.n_rows < FEWEST_TO_JUDGE:
        return f"{right}."
    if not facts.gain > 0:
        return f"{right}. Its probabilities are no better than the shares of the classes: do not act on them."
    return f"{right}. It removes {percent(facts.gain)} of the uncertainty that the shares of the classes leave."


def _shares(study: Study, facts: Facts) -> str:
    """Of the model that looks at no column."""
    share = study.counts / study.counts.sum()
    if len(facts.labels) == 2:
        said = f"{brief(facts.labels[1])} has probability {percent(float(share[1]))}"
    else:
        largest = int(share.argmax())
        said = f"{brief(facts.labels[largest])}, the largest class, has probability {percent(float(share[largest]))}"
    if study.comparison is None:
        return f"It looks at no column and says the same of every row, the shares of the classes: {said}."
    return (
        f"No model did better than the shares of the classes, so that this is all it says, of every row: {said}. The "
        "columns say little, or nothing, about the target: there is nothing here to decide single cases by."
    )


def _trust(facts: Facts) -> tuple[str, ...]:
    """Where the probabilities are not to be acted on, it does not matter how calibrated they are."""
    return (calibration_in_words(facts),) if facts.gain > 0 else ()


def _drivers(study: Study) -> tuple[str, ...]:
    names = [shortened(name, 32) for name, _ in ranked_columns(study)[:N_DRIVERS]]
    if not names:
        return ()
    many = len(names) > 1
    which = "columns that move the probabilities most are" if many else "column that moves the probabilities most is"
    return (f"The {which} {enumerated(names)}.",)


def _figures(facts: Facts) -> tuple[Figure, ...]:
    chance = percent(facts.baseline_accuracy)
    calibration = f"{points(facts.ece_if_calibrated)} if exactly right"
    ranking = "0.5 is guessing, 1 perfect" if len(facts.labels) == 2 else "mean over pairs of classes; 0.5 is guessing"
    return (
        Figure(percent(facts.accuracy.value), "right decisions", f"{chance} by {facts.by_rote}"),
        Figure(fixed(facts.log_loss.value), "log-loss", f"{fixed(facts.baseline_loss)} by always saying the shares"),
        Figure(fixed(facts.auc.value), "area under the curve", ranking),
        Figure(points(facts.ece.value), "calibration error", calibration),
    )
