# SPDX-License-Identifier: BSD-3-Clause
"""What the cost model predicts for tables that do not fit the machine it was measured on.

Rates of cores are those measured; what is assumed of other machines is written in their `Place`, and nowhere else.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scale.model import Constants, Place, Prediction, Problem, predict

__all__ = ["CARD", "OUTLOOKS", "CardFit", "Outlook", "card_fits", "outlook"]

PARTITIONS = 1024
DESK = Place("one machine, 16 cores", cores=16, bandwidth=100e9, disk=3e9)
TEAM = Place(
    "16 workers of 8 cores, in memory",
    cores=8,
    bandwidth=50e9,
    workers=16,
    scheduler="processes",
    partitions=PARTITIONS,
    network=1.25e9,
    latency=1e-3,
)
TEAM_FILES = Place(
    "16 workers of 8 cores, Parquet",
    cores=8,
    bandwidth=50e9,
    workers=16,
    disk=1e9,
    scheduler="processes",
    partitions=PARTITIONS,
    network=1.25e9,
    latency=1e-3,
)


@dataclass(frozen=True)
class Outlook:
    """A table in a place."""

    rows: float
    columns: int
    itemsize: int
    place: Place


OUTLOOKS = (
    Outlook(1e9, 100, 8, TEAM),
    Outlook(1e9, 100, 8, TEAM_FILES),
    Outlook(1e10, 20, 8, DESK),
    Outlook(1e10, 20, 4, DESK),
    Outlook(1e10, 20, 8, TEAM_FILES),
    Outlook(1e10, 20, 4, TEAM_FILES),
)


def outlook(each: Outlook, fit: str, constants: Constants) -> Prediction:
    """The time of a fit there."""
    return predict(Problem(fit, each.rows, each.columns, each.itemsize), each.place, constants)


@dataclass(frozen=True)
class Card:
    """A table on one card: rows of float32, nearly all that its memory holds."""

    rows: float
    columns: int
    itemsize: int = 4


CARD = Card(2.5e8, 100)


@dataclass(frozen=True)
class CardFit:
    """A fit that was measured on a card, and what it would take by the byte for the table of `CARD`."""

    task: str
    passes: int
    measured: float
    predicted: float


def card_fits(path: Path, tasks: Sequence[str]) -> list[CardFit]:
    """From the results of `benchmarks.gpu.run`; its fits are bound by the memory of the card: bytes are what counts."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["task"] in tasks and line["ms"]]
    bytes_of_card = CARD.rows * CARD.columns * CARD.itemsize
    return [
        CardFit(
            line["task"],
            int(line["passes"]),
            float(line["ms"]) / 1e3,
            float(line["ms"]) / 1e3 * bytes_of_card / (4 * int(line["rows"]) * int(line["columns"])),
        )
        for line in lines
    ]
