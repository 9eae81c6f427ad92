# SPDX-License-Identifier: BSD-3-Clause
"""Constructor arguments: the value is named when it is wrong, and so is what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_count", "check_number", "check_option", "check_positive", "generator"]

SEED = 0  # where the user names no seed: equal fits give equal numbers


def check_count(owner: str, name: str, value: Any, *, least: int = 1) -> int:
    """The value, if it is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{owner}({name}={value!r}): {name} must be an integer, at least {least}.")
    return int(value)


def check_number(owner: str, name: str, value: Any, *, low: float, high: float = math.inf) -> float:
    """The value, if it is a finite number from ``low`` to ``high``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        reach = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number, {reach}.")
    return float(value)


def check_positive(owner: str, name: str, value: Any) -> float:
    """The value, if it is a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number greater than 0.")
    return float(value)


def check_option(owner: str, name: str, value: Any, options: Iterable[str], *, otherwise: str = "") -> str:
    """The value, if it is one of the options; ``otherwise`` tells what else the argument may be."""
    known = tuple(options)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{owner}({name}={value!r}): choose one of {', '.join(map(repr, known))}{otherwise}.")
    return value


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """The generator given, a fresh one for a seed, and always the same one for None."""
    return np.random.default_rng(SEED if rng is None else rng)
