"""Fisher's direction compared with the difference of the class means (PRML figure 4.6).

The distance between the class means is largest along their difference. But the columns are correlated and both
classes have a large variance in that direction, so their projections overlap. Fisher's w = S_W⁻¹ (m_1 - m_0) accepts
a smaller distance for a direction with a smaller variance. The histograms are in units of the standard deviation
within classes, so the distance of the means on the axis is the quantity that Fisher's criterion (4.26) maximises.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots import ProjectionDisplay
from separatrix.plots.drawing import MUTED, STANDOUT, new_figure, scatter_classes


def two_long_classes(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng, y = np.random.default_rng(1), np.arange(n) % 2
    Sigma = np.array([[2.2, 1.7], [1.7, 1.7]])
    return np.array([[0.0, 0.0], [2.4, 0.4]])[y] + rng.multivariate_normal([0, 0], Sigma, n), y


def draw_rows(ax: plt.Axes, X: np.ndarray, y: np.ndarray, displays: tuple[ProjectionDisplay, ...]) -> None:
    """Draw the rows and the two directions through the midpoint of the means."""
    scatter_classes(ax, X, y, np.array([0, 1]), size=12)
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    ax.plot(*means.T, "P", color="black", markersize=10, markeredgecolor="white", zorder=5)
    for display, colour, name in zip(displays, (MUTED, STANDOUT), ("difference of means", "Fisher"), strict=True):
        ends = means.mean(axis=0) + np.array([[-4.5], [4.5]]) * display.direction
        ax.plot(*ends.T, color=colour, label=name)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title="directions to project on", xlim=(-5, 8), ylim=(-5.5, 5.5))
    ax.set_aspect("equal")
    ax.legend(loc="lower right", fontsize="small")


def main(path: str = "fisher_vs_mean_difference.png") -> None:
    X, y = two_long_classes()
    figure, axes = new_figure(1, 3, size=(13, 4.2))
    fisher = sx.FisherDiscriminant().fit(X, y)
    displays = ProjectionDisplay.beside_difference_of_means(fisher, X, y, axes=axes[1:])
    draw_rows(axes[0], X, y, displays)
    print(f"{'direction':<22} {'w':<16} {'distance':>9} {'wrong':>7}   distance of the means, in s.d. within classes")
    for name, display in zip(("difference of means", "Fisher"), displays, strict=True):
        w = ", ".join(f"{d:.2f}" for d in display.direction)
        print(f"{name:<22} {w:<16} {display.distance:>9.2f} {display.wrong:>7.1%}")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
