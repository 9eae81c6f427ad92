"""
How wide should radial basis functions be?
==========================================

The evidence chooses without test rows (PRML §3.4, §4.4, §4.5). Each training row is the centre of a radial basis
function. `tune_model` searches for the width and the prior with the largest evidence, and the model there predicts new
rows well.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.basis import RBF
from separatrix.bayesian import tune_model
from separatrix.datasets import make_rbf_experiment
from separatrix.plots import EvidenceSurfaceDisplay
from separatrix.plots.drawing import look, new_figure, scatter_classes

N_ROWS, N_CELLS = 300, 8  # 800 rows and 10 x 10 cells are a larger experiment, of about 20 seconds
WIDTHS, VARIANCES = (0.05, 5.0), (1e-2, 1e4)  # ranges of the search and of the grid

X, y, X_new, y_new = make_rbf_experiment(N_ROWS)


def model_of(width: float, prior: sx.Gaussian | None = None) -> sx.BayesianLogisticRegression:
    """Model with a radial basis function of this width on every row. The prior is tuned if it is None."""
    tune = "evidence" if prior is None else None
    return sx.BayesianLogisticRegression(
        prior, basis=RBF(width=width), tune=tune, approximation="laplace", standardize=False
    )


def draw(model: sx.BayesianLogisticRegression, predictive: str, title: str) -> None:
    """Draw the probabilities of class 1 in five shades, the boundary and the rows."""
    x = np.linspace(-2, 2, 90)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    p = model.set_params(predictive=predictive).predict_proba(grid)[:, 1].reshape(90, 90)
    figure, ax = new_figure(size=(5.4, 4.6))
    figure.set_label(f"Probabilities of class 1 and the boundary: {title}")
    with look():
        shades = ("#99C7E0", "#CCE3F0", "white", "#FAECCC", "#F5D999")  # from class 0 to class 1
        area = ax.contourf(x, x, p, levels=[0, 0.1, 0.3, 0.7, 0.9, 1], colors=shades)
        ax.contour(x, x, p, levels=[0.5], colors="black", linewidths=1.6)
        scatter_classes(ax, X, y, model.classes_, size=15)
        figure.colorbar(area, ax=ax, label="$p(C_1 | x)$", spacing="proportional")
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")


# %%
# The tuned model: the boundary is smooth, and probabilities are uncertain near it.
with warnings.catch_warnings():  # Laplace's approximation is expected to be poor at small widths
    warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
    tuned = tune_model(model_of, X, y, bounds=WIDTHS).model
draw(tuned, "exact", f"tuned by evidence: width {tuned.basis.width:.2f}")

# %%
# With a width of 0.1 and a wide prior the model overfits: it follows single rows.
NARROW, WIDE_PRIOR = 0.1, sx.Gaussian(scale=10.0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
    narrow = model_of(NARROW, WIDE_PRIOR).fit(X, y)
draw(narrow, "map", f"width {NARROW}, at the mode")

# %%
# Averaging over the posterior makes every probability less extreme and does not move the boundary. It shows how
# uncertain the model is. It does not repair a bad width: the scores below are not better than at the mode.
draw(narrow, "exact", f"width {NARROW}, averaged over the posterior")

# %%
# The log-likelihood of the narrow model is high for training rows and low for new rows.
print(f"{'model':<34} {'train':>8} {'new':>8} {'correct':>8}   mean log-likelihood, accuracy")
for name, model in {"too narrow": narrow, "tuned": tuned}.items():
    for predictive, label in {"map": "at the mode", "exact": "averaged"}.items():
        P, P_new = (model.set_params(predictive=predictive).predict_proba(rows) for rows in (X, X_new))
        train, new = sx.metrics.log_likelihood(P, y).value, sx.metrics.log_likelihood(P_new, y_new).value
        title = f"{name} ({model.basis.width:.2f}), {label}"
        print(f"{title:<34} {train:>8.3f} {new:>8.3f} {model.score(X_new, y_new):>8.1%}")

# %%
# The log evidence on a grid of widths and prior scales has its maximum at a larger width. The evidence of the tuned
# model is an average over prior scales, so it may be lower than that of the best cell, which has a fixed scale.
surface = sx.evidence_surface(
    X,
    y,
    basis_of_width=lambda width: RBF(width=width),
    widths=np.geomspace(*WIDTHS, N_CELLS),
    scales=np.sqrt(np.geomspace(*VARIANCES, N_CELLS)),
)
best = surface.log_evidence.max()
print(f"Log evidence: {narrow.log_evidence_:.1f} at the narrow width, {best:.1f} in the best cell of the grid,")
print(f"{tuned.log_evidence_:.1f} for the tuned model.")
marks = {
    f"tuned: −{-tuned.log_evidence_:.1f}": (tuned.basis.width, float(tuned.prior_.scale)),
    f"too narrow: −{-narrow.log_evidence_:.1f}": (NARROW, float(WIDE_PRIOR.scale)),
}
display = EvidenceSurfaceDisplay.from_surface(surface, marks=marks, title="Log evidence")
display.figure_.set_label(
    "Heat map of the log evidence over widths and prior scales, with the tuned and the narrow model"
)
plt.show()
