"""One covariance for all classes or one per class: lines or conics (PRML figure 4.11).

Two of three normal classes have the same covariance; the third is stretched in another direction. With a shared
covariance the quadratic terms cancel and every boundary is a line. With one covariance per class, the boundary
between the two classes of equal covariance is nearly a line, and the other two are parts of conics: far from the
data, the region of a wide class reappears on the other side of a narrow class. QDA has six more parameters. The
table shows their benefit on test rows; it is large here, because the data were drawn from the model of QDA.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

MEANS = np.array([[-1.2, -0.6], [1.2, -0.6], [0.2, 1.4]])
SHARED, STRETCHED = np.array([[0.45, 0.2], [0.2, 0.35]]), np.array([[1.2, -0.6], [-0.6, 0.45]])
MODELS = {
    "shared covariance (LDA)": sx.LinearDiscriminantAnalysis(),
    "own covariances (QDA)": sx.QuadraticDiscriminantAnalysis(),
}


def draw_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n rows of each class."""
    rng = np.random.default_rng(seed)
    X = [rng.multivariate_normal(mu, Sigma, n) for mu, Sigma in zip(MEANS, (SHARED, SHARED, STRETCHED), strict=True)]
    return np.vstack(X), np.repeat([0, 1, 2], n)


def main(path: str = "lda_vs_qda.png") -> None:
    X, y = draw_rows(150, seed=0)
    X_test, y_test = draw_rows(2000, seed=1)
    figure, axes = new_figure(1, 2, size=(10, 4.6), share=True)
    print(f"{'model':<26} {'correct':>7} {'log-likelihood':>15} {'parameters':>11}   on 6000 test rows")
    for (name, model), ax, parameters in zip(MODELS.items(), axes, (6 + 3 + 2, 6 + 9 + 2), strict=True):
        model.fit(X, y)
        log_p = model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test].mean()
        correct = model.score(X_test, y_test)
        print(f"{name:<26} {correct:>7.1%} {log_p:>15.3f} {parameters:>11}")
        title = f"{name}: {correct:.1%} correct"
        DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, title=title)
        ax.set(xlabel="$x_0$", ylabel="$x_1$")
    axes[0].legend(loc="lower right", title="class", framealpha=0.9, ncols=3, columnspacing=0.8, handletextpad=0.2)
    figure.savefig(path, dpi=165)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
