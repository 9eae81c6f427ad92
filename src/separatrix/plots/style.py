# SPDX-License-Identifier: BSD-3-Clause
"""One palette and one set of markers for every picture; and the message for a missing matplotlib."""

from __future__ import annotations

from typing import Any

__all__ = ["COLOURS", "MARKERS", "REJECTED", "new_axes"]

# Okabe & Ito (2008): told apart with every common kind of colour blindness, and in grey by their order of lightness.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Hatched, so that grey cannot be taken for a pale black, nor for a class in a print without colour.
REJECTED = {"facecolor": "#999999", "edgecolor": "#666666", "hatch": "///", "alpha": 0.5, "linewidth": 0.0}


def new_axes(ax: Any) -> Any:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Plots need matplotlib, which is not installed: pip install 'separatrix[plots]'"
        ) from missing
    return plt.subplots(layout="constrained")[1] if ax is None else ax
