"""The negative log-likelihood E as a function of the direction and length of w, for n = 18 and n = 1000.

Left: a line separates 18 rows. In its direction E decreases for all lengths of w, so there is no minimum, and a
prior is needed. Middle: 18 rows overlap. A minimum exists, but E is skewed: it rises slowly for longer w, and the
parabola of Laplace's approximation (dashed) is inaccurate. Right: for 1000 rows E is nearly a parabola.
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


def distance_from_parabola(display: LikelihoodSurfaceDisplay) -> float:
    """Largest difference from the parabola, in nats, among points with E at most 2 nats above its minimum."""
    if display.quadratic is None:
        return np.nan
    near = display.values - display.floor <= 2
    return float(np.abs(display.values - display.quadratic)[near].max())


def main(path: str = "likelihood_surface.png") -> None:
    figure, axes = new_figure(1, 3, size=(12, 5.4))
    print(f"{'rows':<20} {'lowest E':>9} {'angle':>7} {'length':>7} {'from parabola':>16}   nats, within 2 nats")
    for (name, (X, y)), ax in zip(CASES.items(), axes, strict=True):
        with warnings.catch_warnings():  # the first case is separable by design
            warnings.simplefilter("ignore", sx.exceptions.SeparationWarning)
            model = sx.LogisticRegression(alpha=0).fit(X, y)
        display = LikelihoodSurfaceDisplay.from_estimator(model, X, y, ax=ax, title=name, resolution=51)
        place = "none    none" if display.minimum is None else "{:.1f} {:>7.2f}".format(*display.minimum[:2])
        print(f"{name:<20} {display.floor:>9.3f} {place:>15} {distance_from_parabola(display):>16.3f}")
    figure.savefig(path, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
