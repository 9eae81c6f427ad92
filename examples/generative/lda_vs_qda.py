"""
One covariance or several
=========================

With a shared covariance the boundaries of normal classes are lines; with one covariance per class they are conics (PRML
figure 4.11). Two of three classes have the same covariance; the third is stretched in another direction. With a shared
covariance the quadratic terms cancel. With one covariance per class, the boundary between the two classes of equal
covariance is nearly a line, and the other two are parts of conics: far from the data, the region of a wide class
reappears on the other side of a narrow class.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

import separatrix as sx
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure, scatter_classes

MEANS = np.array([[-1.2, -0.6], [1.2, -0.6], [0.2, 1.4]])
SHARED, STRETCHED = np.array([[0.45, 0.2], [0.2, 0.35]]), np.array([[1.2, -0.6], [-0.6, 0.45]])


def draw_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n rows of each class."""
    rng = np.random.default_rng(seed)
    X = [rng.multivariate_normal(mu, Sigma, n) for mu, Sigma in zip(MEANS, (SHARED, SHARED, STRETCHED), strict=True)]
    return np.vstack(X), np.repeat([0, 1, 2], n)


X, y = draw_rows(150, seed=0)
X_new, y_new = draw_rows(2000, seed=1)

# %%
# The ellipses are the fitted covariances, at two standard deviations. QDA has six more parameters. The table shows
# their benefit on new rows; it is large here, because the data were drawn from the model of QDA.
models = {
    "shared covariance (LDA)": (sx.LinearDiscriminantAnalysis().fit(X, y), 6 + 3 + 2),
    "own covariances (QDA)": (sx.QuadraticDiscriminantAnalysis().fit(X, y), 6 + 9 + 2),
}
print(f"{'model':<26} {'correct':>7} {'log-likelihood':>15} {'parameters':>11}   on 6000 new rows")
for name, (model, n_parameters) in models.items():
    score = sx.metrics.log_likelihood(model.predict_proba(X_new), y_new)
    print(f"{name:<26} {model.score(X_new, y_new):>7.1%} {score.value:>15.3f} {n_parameters:>11}")
    figure, ax = new_figure(size=(5.4, 4.8))
    figure.set_label(f"Regions of three normal classes with the ellipses of their covariances, {name}")
    title = f"{name}: {model.score(X_new, y_new):.1%} correct"
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, title=title)
    for mean, covariance in zip(model.means_, np.broadcast_to(model.covariance_, (3, 2, 2)), strict=True):
        variances, axes = np.linalg.eigh(covariance)
        width, height = 4 * np.sqrt(variances)
        ax.add_patch(
            Ellipse(mean, width, height, angle=np.degrees(np.arctan2(axes[1, 0], axes[0, 0])), fill=False, lw=1.5)
        )
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)

# %%
# Could the model have generated the data? The rows on the right were drawn from each model: first a class, then a row.
# Those of LDA do not look like the data, as all classes have the same shape.
for name, (model, _) in models.items():
    figure, axes = new_figure(1, 2, size=(6.4, 3.6), share=True)
    figure.set_label(f"The rows of three classes beside rows that were drawn from the model with {name}")
    for ax, title, (rows, labels) in zip(axes, ("data", name), ((X, y), model.sample(450)), strict=True):
        scatter_classes(ax, rows, labels, model.classes_, size=8)
        ax.set(xlabel="$x_1$", ylabel="$x_2$", title=title)
        ax.label_outer()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
