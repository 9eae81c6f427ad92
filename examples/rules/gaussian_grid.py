"""
Basis functions on a chess board
================================

Neither a line nor a conic separates the squares of a chess board of 5 x 5 clusters. Fisher's discriminant separates
them if x is replaced by Gaussian basis functions on a 5 x 5 grid (PRML §3.1, §4.1.4). With one variance per centre,
whose width is twice the spacing of the grid, the functions are too wide. With 3 variances per centre, each half of the
previous one, the squares appear. With 9, the narrowest functions are much narrower than a cluster and do not help on
new rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.basis import MultiScaleRBF
from separatrix.datasets import make_gaussian_grid
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

VARIANCE = 0.05  # of each cluster; the centres of adjacent clusters are one unit apart

X, y = make_gaussian_grid(500, variance=VARIANCE)
X_new, y_new = make_gaussian_grid(2000, variance=VARIANCE, rng=1)

# %%
# A small shrinkage keeps the scatter matrix of wide, overlapping functions invertible. The best possible
# rule predicts the class of the nearest centre. The table also has the discriminants of x itself.
models = {
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "quadratic discriminant": sx.QuadraticDiscriminantAnalysis(),
}
for n_scales in (1, 3, 5, 9):
    basis = MultiScaleRBF(n_centres=5, n_scales=n_scales)
    models[f"Fisher, {25 * n_scales} functions"] = sx.FisherDiscriminant(basis=basis, shrinkage=1e-6)
print(f"{'model':<30} {'train':>7} {'new':>7}   accuracy")
for name, model in models.items():
    model.fit(X, y)
    print(f"{name:<30} {model.score(X, y):>7.1%} {model.score(X_new, y_new):>7.1%}")
nearest = np.rint(X_new).clip(0, 4).sum(axis=1) % 2 == y_new
print(f"{'class of the nearest centre':<30} {'':>7} {nearest.mean():>7.1%}")

# %%
# The regions of four of these models, with half of the training rows.
for name in ("quadratic discriminant", "Fisher, 25 functions", "Fisher, 75 functions", "Fisher, 225 functions"):
    figure, ax = new_figure(size=(4.6, 4.6))
    title = f"{name}: {models[name].score(X_new, y_new):.0%} of new rows"
    figure.set_label(f"Regions on a chess board of clusters, {title} are correct")
    DecisionBoundaryDisplay.from_estimator(models[name], X[:250], y[:250], resolution=200, ax=ax, title=title)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
