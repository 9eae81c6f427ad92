# SPDX-License-Identifier: BSD-3-Clause
"""How much memory there is, and a refusal in words where something would not fit."""

from __future__ import annotations

import os

from separatrix.exceptions import DataError

__all__ = ["machine_memory", "require_memory", "said"]

SHARE = 0.7  # of the machine's memory that one posterior may take: the rows are there as well


def machine_memory() -> float:
    """Bytes of memory in this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # not every system has them, and then nothing can be refused
        return float("inf")


def require_memory(what: str, n_bytes: float, remedy: str) -> None:
    """Raise where ``n_bytes`` are more than may be taken, with what it needs and what there is.

    Raises
    ------
    DataError
        "``what`` needs so much memory, and this machine has so much. ``remedy``"
    """
    there = machine_memory()
    if n_bytes > SHARE * there:
        raise DataError(f"{what} needs {said(n_bytes)} of memory, and this machine has {said(there)}. {remedy}")


def said(n_bytes: float) -> str:
    """A number of bytes in words: "1.5 GiB"."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"
