# SPDX-License-Identifier: BSD-3-Clause
"""How the probabilities move with each column: a card for each, the strongest first, all on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._array import Array, Float
from separatrix.report.facts import Facts, colour
from separatrix.report.svg import Picture, Scale, nice_scale
from separatrix.report.svg_curves import Curve, curves
from separatrix.report.svg_rows import Mark, axis_row, whiskers
from separatrix.report.words import brief, label_text, number, percent, shortened
from separatrix.study import Effect, Study

__all__ = ["EffectCard", "EffectsView", "LevelRow", "effects_of"]

N_SHOWN, N_MORE = 12, 24  # cards in sight, and folded away
N_LEVELS, N_MORE_LEVELS = 6, 40  # of a category: the most frequent in sight
N_BANDS = 3  # classes up to which bands can be told apart where they overlap
N_CHOICES = 12  # classes that the selector offers: the most frequent


@dataclass(frozen=True)
class LevelRow:
    """One level of a category: its share of the rows, and a mark for each class."""

    name: str
    share: str
    mark: Picture
    value: str


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


def effects_of(study: Study, facts: Facts) -> EffectsView:
    """Cards in the order of importance; two classes are mirror images, so that one of them is drawn."""
    K = len(facts.labels)
    drawn = [1] if K == 2 else np.argsort(-study.counts, kind="stable")[:N_CHOICES].tolist()
    ranked = sorted(study.effects, key=lambda effect: -effect.importance)
    upright = _common_scale(ranked, drawn)
    cards = tuple(
        _card(rank, effect, drawn, upright, facts) for rank, effect in enumerate(ranked[: N_SHOWN + N_MORE], 1)
    )
    keys = () if K == 2 else tuple(Key(i, brief(facts.labels[k]), colour(k)) for i, k in enumerate(drawn))
    return EffectsView(
        event=facts.event if K == 2 else "",
        cards=cards[:N_SHOWN],
        more=cards[N_SHOWN:],
        n_hidden=max(len(ranked) - N_SHOWN - N_MORE, 0),
        keys=keys,
        has_bands=any(bool(np.isfinite(effect.lower).any()) for effect in ranked),
        many=len(drawn) > N_BANDS,
    )


def _common_scale(effects: list[Effect], drawn: list[int]) -> Scale:
    """From zero to the highest probability of any card, bands included, so that cards can be compared."""
    tops = [np.nanmax(np.fmax(effect.mean, effect.upper)[:, drawn]) for effect in effects]
    return nice_scale([0.0, max(map(float, tops), default=1.0)], at_ticks=True)


def _card(rank: int, effect: Effect, drawn: list[int], upright: Scale, facts: Facts) -> EffectCard:
    """Along numbers and dates a line, otherwise a row for each level."""
    name = label_text(effect.column)
    low, high = _extent(effect, drawn)
    span = f"from {percent(low)} to {percent(high)}"
    caption = span if len(drawn) == 1 else ""
    title = f"Probability {f'of {facts.labels[drawn[0]]} ' if len(drawn) == 1 else ''}along {name}, {span}"
    x = _numbers(effect)
    if x is None:
        rows = _level_rows(effect, drawn, upright, facts)
        split = N_LEVELS if len(rows) > N_LEVELS + 1 else len(rows)  # one more row is shorter than a fold
        axis = axis_row(upright, percent, "probability")
        return EffectCard(rank, name, caption, None, axis, rows[:split], rows[split : split + N_MORE_LEVELS])
    across = nice_scale(x)
    lines = [
        Curve(effect.mean[:, k], effect.lower[:, k], effect.upper[:, k], f"{colour(k)} c{i}")
        for i, k in enumerate(drawn)
    ]
    words = _tick_words(across, effect.values)
    picture = curves(x, lines, np.asarray(effect.share, dtype=np.float64), across, words, upright, title)
    return EffectCard(rank, name, caption, picture, None, (), ())


def _extent(effect: Effect, drawn: list[int]) -> tuple[float, float]:
    mean = effect.mean[:, drawn]
    return float(np.nanmin(mean)), float(np.nanmax(mean))


def _numbers(effect: Effect) -> Float | None:
    """Values along a line, dates as days since 1970; None where they are levels, or a single value."""
    values = np.asarray(effect.values)
    if effect.kind in ("boolean", "categorical") or len(values) < 2:
        return None
    if values.dtype.kind == "M":
        return np.asarray(values.astype("datetime64[s]").astype(np.float64) / 86400)
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None


def _tick_words(across: Scale, values: Array) -> tuple[str, ...]:
    if np.asarray(values).dtype.kind != "M":
        return tuple(_short(tick) for tick in across.ticks)
    unit = "M" if across.high - across.low > 120 else "D"
    return tuple(str(np.datetime64(int(tick), "D").astype(f"datetime64[{unit}]")) for tick in across.ticks)


def _short(value: float) -> str:
    """Thousands as k and M: there is little room below a picture."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size:
            return f"{number(value / size)}{letter}"
    return number(value, 4)


def _level_rows(effect: Effect, drawn: list[int], upright: Scale, facts: Facts) -> tuple[LevelRow, ...]:
    """The most frequent level first."""
    order = np.argsort(-np.asarray(effect.share, dtype=np.float64), kind="stable").tolist()
    return tuple(_level_row(effect, g, drawn, upright, facts) for g in order)


def _level_row(effect: Effect, g: int, drawn: list[int], upright: Scale, facts: Facts) -> LevelRow:
    name = _level_name(effect.values[g], effect.kind)
    share = percent(float(effect.share[g]))
    chances = ", ".join(f"{facts.labels[k]} {percent(float(effect.mean[g, k]))}" for k in drawn)
    bounds = [effect.mean[g], effect.lower[g], effect.upper[g]]
    marks = [Mark(*(float(bound[k]) for bound in bounds), kind=f"{colour(k)} c{i}") for i, k in enumerate(drawn)]
    value = percent(float(effect.mean[g, drawn[0]])) if len(drawn) == 1 else ""
    return LevelRow(shortened(name, 32), share, whiskers(marks, upright, f"{name}: {chances}"), value)


def _level_name(value: Any, kind: str) -> str:
    if kind == "boolean" and value in (0, 1):
        return "yes" if value else "no"
    return label_text(value)
