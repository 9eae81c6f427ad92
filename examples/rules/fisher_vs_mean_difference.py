"""
Fisher's direction
==================

Two classes are projected onto the difference of their means, and onto Fisher's direction (PRML figure 4.6). The
distance between the class means is largest along their difference. But the columns are correlated and both classes
have a large variance in that direction, so their projections overlap. Fisher's

.. math:: w \\propto S_W^{-1} (m_1 - m_0)

accepts a smaller distance for a direction with a smaller variance, in which the projections overlap less.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import separatrix as sx
from separatrix.plots import ProjectionDisplay
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, new_figure, scatter_classes

rng, y = np.random.default_rng(1), np.arange(300) % 2
Sigma = np.array([[2.2, 1.7], [1.7, 1.7]])
X = np.array([[0.0, 0.0], [2.4, 0.4]])[y] + rng.multivariate_normal([0, 0], Sigma, 300)
fisher = sx.FisherDiscriminant().fit(X, y)

# %%
# The histograms are in units of the standard deviation within classes, so the distance of the means on the axis is the
# quantity that Fisher's criterion, (4.26), maximises. The curves are a normal density for each class.
names = ("difference of means", "Fisher")
panels = [new_figure(size=(5.2, 4.2)) for _ in names]
displays = ProjectionDisplay.beside_difference_of_means(fisher, X, y, axes=[ax for _, ax in panels])
print(f"{'direction':<22} {'w':<16} {'distance':>9} {'wrong':>7}   distance of the means, in s.d. within classes")
for name, display, (figure, ax) in zip(names, displays, panels, strict=True):
    w = ", ".join(f"{d:.2f}" for d in display.direction)
    print(f"{name:<22} {w:<16} {display.distance:>9.2f} {display.wrong:>7.1%}")
    figure.set_label(f"Histograms of two classes along one direction, {name}: {display.wrong:.0%} are misclassified")
    a, rows_per_unit = np.linspace(*ax.get_xlim(), 200), np.diff(display.edges)[0] * np.bincount(y)
    for k in (0, 1):
        values = display.z[y == k, 0]
        ax.plot(a, rows_per_unit[k] * norm.pdf(a, values.mean(), values.std()), color=COLOURS[k], linewidth=1.5)

# %%
# The rows, and the two directions through the midpoint of the means.
figure, ax = new_figure(size=(5.6, 4.6))
figure.set_label("Two correlated classes with the difference of their means and Fisher's direction")
scatter_classes(ax, X, y, np.array([0, 1]), size=12)
means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
ax.plot(*means.T, "P", color="black", markersize=10, markeredgecolor="white", zorder=5)
for display, colour, name in zip(displays, (MUTED, STANDOUT), names, strict=True):
    ends = means.mean(axis=0) + np.array([[-4.5], [4.5]]) * display.direction
    ax.plot(*ends.T, color=colour, label=name)
ax.set(xlabel="$x_1$", ylabel="$x_2$", title="directions to project on", xlim=(-5, 8), ylim=(-5.5, 5.5))
ax.set_aspect("equal")
ax.legend(loc="lower right", fontsize="small")
plt.show()
