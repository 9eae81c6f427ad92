# SPDX-License-Identifier: BSD-3-Clause
"""Checks of constructor arguments. Errors name the given value and the accepted values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

DEFAULT_SEED = 0  # repeated fits to the same data give identical results


def check_count(owner: str, name: str, value: Any, *, least: int = 1) -> int:
    """Return the value as an int; raise if it is not an integer >= ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{owner}({name}={value!r}): {name} must be an integer, at least {least}.")
    return int(value)


def check_number(owner: str, name: str, value: Any, *, low: float, high: float = math.inf) -> float:
    """Return the value as a float; raise if it is not a finite number from ``low`` to ``high``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        reach = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number, {reach}.")
    return float(value)


def check_positive(owner: str, name: str, value: Any) -> float:
    """Return the value as a float; raise if it is not a finite number greater than zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number greater than 0.")
    return float(value)


def check_option(owner: str, name: str, value: Any, options: Iterable[str], *, otherwise: str = "") -> str:
    """Return the value; raise if it is not one of the options. ``otherwise`` names other accepted values."""
    known = tuple(options)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{owner}({name}={value!r}): choose one of {', '.join(map(repr, known))}{otherwise}.")
    return value


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a new generator with the given seed; None is the default seed."""
    return np.random.default_rng(DEFAULT_SEED if rng is None else rng)
