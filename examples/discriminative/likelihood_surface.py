"""
The negative log-likelihood
===========================

E is the negative log-likelihood of logistic regression as a function of the direction and length of w (PRML §4.3.2,
§4.4). A line separates the first 18 rows. In its direction E decreases for all lengths of w, so there is no minimum,
and a prior is needed. The next 18 rows overlap. A minimum exists, but E is skewed: it rises slowly for longer w, and
the parabola of Laplace's approximation (dashed) is inaccurate. For 1000 rows E is nearly a parabola.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_overlapping, make_separable
from separatrix.plots import LikelihoodSurfaceDisplay
from separatrix.plots.drawing import new_figure

cases = {
    "n = 18, separable": make_separable(18, margin=0.2, rng=3),
    "n = 18, overlapping": make_overlapping(18, rng=5),
    "n = 1000": make_overlapping(1000, rng=2),
}

# %%
# The last column is the largest difference from the parabola among the points with E at most 2 nats above its minimum.
print(f"{'rows':<20} {'lowest E':>9} {'angle':>7} {'length':>7} {'from parabola':>16}   nats")
for name, (X, y) in cases.items():
    with warnings.catch_warnings():  # the first case is separable by design
        warnings.simplefilter("ignore", sx.exceptions.SeparationWarning)
        model = sx.LogisticRegression(alpha=0).fit(X, y)
    figure, ax = new_figure(size=(4.8, 5.2))
    figure.set_label(f"Contours of the negative log-likelihood over direction and length of w, {name}")
    surface = LikelihoodSurfaceDisplay.from_estimator(model, X, y, ax=ax, title=name, resolution=51)
    place = "none    none" if surface.minimum is None else "{:.1f} {:>7.2f}".format(*surface.minimum[:2])
    far = np.nan
    if surface.quadratic is not None:
        far = np.abs(surface.values - surface.quadratic)[surface.values - surface.floor <= 2].max()
    print(f"{name:<20} {surface.floor:>9.3f} {place:>15} {far:>16.3f}")
plt.show()
