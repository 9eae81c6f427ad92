"""The negative log-likelihood over direction and length of w: n = 18, separable or not, and n = 1000.

Left, 18 rows that a line separates: along its direction E falls for ever as w grows, and there is no minimum; maximum
likelihood fails, and a prior is needed. Middle, 18 rows that overlap: there is a minimum, but it is skewed, long w are
hardly less likely, and the parabola of Laplace (dashed) is a rough guess. Right, 1000 rows: nearly a parabola.
"""

import sys
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_overlapping, make_separable
from separatrix.plots import LikelihoodSurfaceDisplay
from separatrix.plots.drawing import new_figure

CASES = {
    "n = 18, separable": make_separable(18, margin=0.2, rng=3),
    "n = 18, overlapping": make_overlapping(18, rng=5),
    "n = 1000": make_overlapping(1000, rng=2),
}


def gap(display: LikelihoodSurfaceDisplay) -> float:
    """The largest difference from the parabola, in nats, where E is at most two above its minimum."""
    if display.quadratic is None:
        return np.nan
    near = display.values - display.floor <= 2
    return float(np.abs(display.values - display.quadratic)[near].max())


def main(path: str = "likelihood_surface.png") -> None:
    figure, axes = new_figure(1, 3, size=(12, 5.4))
    print(f"{'rows':<20} {'lowest E':>9} {'angle':>7} {'length':>7} {'from a parabola':>16}   in nats, within 2 nats")
    for (name, (X, y)), ax in zip(CASES.items(), axes, strict=True):
        with warnings.catch_warnings():  # that there is no minimum is the point
            warnings.simplefilter("ignore", sx.exceptions.SeparationWarning)
            model = sx.LogisticRegression(alpha=0).fit(X, y)
        display = LikelihoodSurfaceDisplay.from_estimator(model, X, y, ax=ax, title=name, resolution=51)
        place = "none    none" if display.minimum is None else "{:.1f} {:>7.2f}".format(*display.minimum[:2])
        print(f"{name:<20} {display.floor:>9.3f} {place:>15} {gap(display):>16.3f}")
    figure.savefig(path, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
