"""Naive Bayes is linear: weights and bias computed from the class parameters (PRML §4.2.3, (4.82)).

The left panel uses twelve yes/no columns. Let θ_kj be the fraction of class k with "yes" in column j, with Laplace's
correction. The log-odds are w'x + w0 with

    w_j = ln θ_1j (1 - θ_0j) / (θ_0j (1 - θ_1j)),      w0 = ln π_1/π_0 + Σ_j ln (1 - θ_1j) / (1 - θ_0j),

and the fitted model has exactly these weights. Logistic regression has different weights: four of the columns are
copies of one column, which naive Bayes counts four times. The right panel uses two columns of counts with Poisson
densities of rates λ_kj: w_j = ln λ_1j/λ_0j and w0 = ln π_1/π_0 - Σ_j (λ_1j - λ_0j), a line in the plane.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots.drawing import COLOURS, MARKERS, MUTED, look, new_figure


def yes_no_columns(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Nine independent yes/no columns, and three copies of the last one with 5 % errors."""
    y = (rng.random(n) < 0.4).astype(int)
    theta = rng.uniform(0.15, 0.85, size=(2, 9))
    X = (rng.random((n, 9)) < theta[y]).astype(float)
    copies = np.abs(X[:, [8, 8, 8]] - (rng.random((n, 3)) < 0.05))
    return np.hstack([X, copies]), y


def bernoulli_line(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Compute w and w0 from counts."""
    n = np.bincount(y)
    theta = np.stack([(X[y == k].sum(axis=0) + 1) / (n[k] + 2) for k in (0, 1)])
    w = np.log(theta[1] * (1 - theta[0]) / (theta[0] * (1 - theta[1])))
    return w, float(np.log(n[1] / n[0]) + np.log((1 - theta[1]) / (1 - theta[0])).sum())


def draw_weights(ax: plt.Axes, X: np.ndarray, y: np.ndarray) -> None:
    w, w0 = bernoulli_line(X, y)
    model = sx.NaiveBayes("bernoulli").fit(X, y)
    logistic = sx.LogisticRegression(alpha=1e-3).fit(X, y)
    print(f"{'column':<8} {'by hand':>9} {'naive Bayes':>12} {'logistic':>9}")
    for j, hand in enumerate(w):
        print(f"x{j:<7} {hand:>9.4f} {model.coef_[0, j]:>12.4f} {logistic.coef_[0, j]:>9.4f}")
    print(f"{'bias':<8} {w0:>9.4f} {model.intercept_[0]:>12.4f} {logistic.intercept_[0]:>9.4f}")
    place = np.arange(len(w))
    ax.axvspan(-9, 9, ymin=0, ymax=4 / len(w), color="0.94")
    ax.axvline(0, color=MUTED, lw=1.2)
    ax.plot(model.coef_[0], place, "o", ms=10, color=COLOURS[0], label="naive Bayes, fitted")
    ax.plot(w, place, "x", ms=6, mew=2, color="white", label="by hand, from the class parameters")
    ax.plot(logistic.coef_[0], place, "s", ms=7, mfc="none", mew=2, color=COLOURS[5], label="logistic regression")
    ax.set_yticks(place, [f"$x_{{{j}}}$" for j in place])
    reach = 1.15 * max(np.abs(w).max(), np.abs(logistic.coef_).max())
    ax.set(xlabel="weight (log-odds of class 1 for a yes)", ylim=(len(w) - 0.5, -0.5), xlim=(-reach, reach))
    ax.set_title("Yes/no columns; four copies of one column in grey")
    legend = ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13))
    legend.legend_handles[1].set_markeredgecolor(COLOURS[0])


def draw_line(ax: plt.Axes, rng: np.random.Generator) -> None:
    N = np.array([200, 120])
    y = np.repeat([0, 1], N)
    X = rng.poisson(np.array([[3.0, 7.0], [8.0, 4.0]])[y]).astype(float)
    rates = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
    w, w0 = np.log(rates[1] / rates[0]), float(np.log(N[1] / N[0]) - (rates[1] - rates[0]).sum())
    model = sx.NaiveBayes("poisson", estimate="ml").fit(X, y)
    print(f"\ncounts, by hand:  a(x) = {w[0]:+.4f} x0 {w[1]:+.4f} x1 {w0:+.4f}")
    print(
        f"counts, fitted:   a(x) = {model.coef_[0, 0]:+.4f} x0 {model.coef_[0, 1]:+.4f} x1 {model.intercept_[0]:+.4f}"
    )
    points, sizes = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    for k, shift in ((0, -0.12), (1, 0.12)):  # shifted sideways, because both classes can have the same counts
        at = points[:, 2] == k
        look_of = {"color": COLOURS[k], "marker": MARKERS[k], "edgecolors": "white", "linewidths": 0.4}
        ax.scatter(points[at, 0] + shift, points[at, 1], s=14 + 10 * sizes[at], label=f"class {k}", **look_of)
    decided = model.predict(points[:, :2])
    x = np.array([-0.7, X[:, 0].max() + 0.7])
    ax.plot(x, -(w0 + w[0] * x) / w[1], color="black", label="a(x) = 0, by hand")
    wrong = decided != points[:, 2]
    ax.set(xlim=x, ylim=(-0.7, X[:, 1].max() + 0.7), xlabel="$x_0$ (count)", ylabel="$x_1$ (count)")
    ax.set_title(f"Counts: {1 - sizes[wrong].sum() / sizes.sum():.0%} correct; size: number of rows")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


def main(path: str = "naive_bayes_line.png") -> None:
    rng = np.random.default_rng(3)
    figure, (left, right) = new_figure(1, 2, size=(11, 5))
    with look():
        draw_weights(left, *yes_no_columns(1000, rng))
        draw_line(right, rng)
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
