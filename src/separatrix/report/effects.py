# SPDX-License-Identifier: BSD-3-Clause
"""How the probabilities move with each column: a card for each, the strongest first, all on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.report.axes import axis_along
from separatrix.report.facts import Facts, colour
from separatrix.report.svg import Picture, Scale, nice_scale
from separatrix.report.svg_curves import Curve, curves
from separatrix.report.svg_rows import Mark, axis_row, whiskers
from separatrix.report.words import brief, label_text, percent, shortened
from separatrix.study import Effect, Study

__all__ = ["EffectCard", "EffectsView", "LevelRow", "effects_of"]

LONGEST = 60  # letters of a name that are shown
N_SHOWN, N_MORE = 12, 24  # cards in sight, and folded away
N_LEVELS, N_MORE_LEVELS = 6, 40  # of a category: the most frequent in sight
N_BANDS = 3  # classes up to which bands can be told apart where they overlap
LEVEL_WIDTH = 120.0  # pixels of a row of levels, at least
N_CHOICES = 12  # classes that the selector offers: the most frequent


@dataclass(frozen=True)
class LevelRow:
    """One level of a category: its share of the rows, and a mark for each class."""

    name: str
    share: str
    mark: Picture


@dataclass(frozen=True)
class EffectCard:
    """One column: a picture of curves, or rows of levels."""

    rank: int
    column: str
    caption: str
    curve: Picture | None
    axis: Picture | None
    levels: tuple[LevelRow, ...]
    more_levels: tuple[LevelRow, ...]


@dataclass(frozen=True)
class Key:
    """A class in the legend, and its place in the selector."""

    place: int
    label: str
    kind: str


@dataclass(frozen=True, eq=False)
class Frame:
    """What all cards share: the classes drawn, with their labels and colours, and the scale of probabilities.

    ``base`` is the share of the class among all rows where one class is drawn, NaN where several are.
    """

    drawn: list[int]
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    upright: Scale
    base: float

    @property
    def is_single(self) -> bool:
        """Whether one class is drawn."""
        return len(self.drawn) == 1


@dataclass(frozen=True)
class EffectsView:
    """The whole section."""

    event: str
    cards: tuple[EffectCard, ...]
    more: tuple[EffectCard, ...]
    n_hidden: int
    keys: tuple[Key, ...]
    has_bands: bool
    many: bool
    none: str


def effects_of(study: Study, facts: Facts) -> EffectsView:
    """Cards in the order of importance."""
    ranked = [] if facts.is_prior_only else sorted(study.effects, key=lambda effect: -effect.importance)
    frame = _frame(study, facts, ranked)
    cards = tuple(_card(rank, effect, frame) for rank, effect in enumerate(ranked[: N_SHOWN + N_MORE], 1))
    keys = (Key(i, brief(frame.labels[i]), kind) for i, kind in enumerate(frame.kinds))
    return EffectsView(
        event=facts.event if frame.is_single else "",
        cards=cards[:N_SHOWN],
        more=cards[N_SHOWN:],
        n_hidden=max(len(study.schema.inputs) - len(cards), 0) if cards else 0,
        keys=() if frame.is_single else tuple(keys),
        has_bands=any(bool(np.isfinite(effect.lower).any()) for effect in ranked),
        many=len(frame.drawn) > N_BANDS,
        none="No column moves them: the model gives the same probabilities to every row."
        if facts.is_prior_only
        else "No effects were worked out for this model.",
    )


def _frame(study: Study, facts: Facts, effects: list[Effect]) -> Frame:
    """Two classes are mirror images, so that one of them is drawn; of many, the most frequent."""
    K = len(facts.labels)
    drawn = [1] if K == 2 else np.argsort(-study.counts, kind="stable")[:N_CHOICES].tolist()
    # From zero to the highest probability of any card, bands included, so that cards can be compared.
    tops = [float(np.nanmax(np.fmax(effect.mean, effect.upper)[:, drawn])) for effect in effects]
    return Frame(
        drawn=drawn,
        labels=tuple(facts.labels[k] for k in drawn),
        kinds=tuple(f"{colour(k, K)} c{i}" for i, k in enumerate(drawn)),
        upright=nice_scale([0.0, max(tops, default=1.0)], at_ticks=True),
        base=float(study.counts[1] / study.counts.sum()) if K == 2 else np.nan,
    )


def _card(rank: int, effect: Effect, frame: Frame) -> EffectCard:
    """Along numbers and dates a line, otherwise a row for each level."""
    name = shortened(label_text(effect.column), LONGEST)
    mean = effect.mean[:, frame.drawn]
    span = f"from {percent(float(np.nanmin(mean)))} to {percent(float(np.nanmax(mean)))}"
    caption = span if frame.is_single else ""
    x = _numbers(effect)
    if x is None:
        rows = _level_rows(effect, frame)
        split = N_LEVELS if len(rows) > N_LEVELS + 1 else len(rows)  # one more row is shorter than a fold
        axis = axis_row(frame.upright, percent, "probability", width=LEVEL_WIDTH)
        return EffectCard(rank, name, caption, None, axis, rows[:split], rows[split : split + N_MORE_LEVELS])
    title = f"Probability {f'of {frame.labels[0]} ' if frame.is_single else ''}along {name}, {span}"
    return EffectCard(rank, name, caption, _curve(effect, x, frame, title), None, (), ())


def _curve(effect: Effect, x: Float, frame: Frame, title: str) -> Picture:
    axis = axis_along(x, is_date=np.asarray(effect.values).dtype.kind == "M")
    lines = [
        Curve(effect.mean[:, k], effect.lower[:, k], effect.upper[:, k], kind)
        for k, kind in zip(frame.drawn, frame.kinds, strict=True)
    ]
    share = np.asarray(effect.share, dtype=np.float64)
    return curves(axis.at, lines, share, axis.ticks, frame.upright, title, reference=frame.base)


def _numbers(effect: Effect) -> Float | None:
    """Values along a line, dates as days since 1970; None where they are levels, or a single value."""
    values = np.asarray(effect.values)
    if effect.kind in ("boolean", "categorical") or len(values) < 2:
        return None
    if values.dtype.kind == "M":
        return np.asarray(values.astype("datetime64[s]").astype(np.float64) / 86400)
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None


def _level_rows(effect: Effect, frame: Frame) -> tuple[LevelRow, ...]:
    """The most frequent level first."""
    order = np.argsort(-np.asarray(effect.share, dtype=np.float64), kind="stable").tolist()
    return tuple(_level_row(effect, g, frame) for g in order)


def _level_row(effect: Effect, g: int, frame: Frame) -> LevelRow:
    name = _level_name(effect.values[g], effect.kind)
    chances = [percent(float(effect.mean[g, k])) for k in frame.drawn]
    marks = [
        Mark(float(effect.mean[g, k]), float(effect.lower[g, k]), float(effect.upper[g, k]), kind)
        for k, kind in zip(frame.drawn, frame.kinds, strict=True)
    ]
    said = ", ".join(f"{label} {chance}" for label, chance in zip(frame.labels, chances, strict=True))
    mark = whiskers(marks, frame.upright, f"{name}: {said}", reference=frame.base)
    return LevelRow(shortened(name, 32), percent(float(effect.share[g])), mark)


def _level_name(value: Any, kind: str) -> str:
    if kind == "boolean" and value in (0, 1):
        return "yes" if value else "no"
    return label_text(value)
