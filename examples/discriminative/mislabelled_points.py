"""
Wrong labels
============

A few labels are wrong (PRML §4.3.5). For a mislabelled row, ln p decreases linearly with the distance from the
boundary in a logistic model and quadratically in a probit model. Both models reduce this cost by smaller weights, so
their probabilities are uncertain everywhere. With

.. math:: p(t = 1 \\mid x) = \\varepsilon + (1 - 2 \\varepsilon) \\, \\sigma(a) \\qquad (4.117)

a wrong label costs at most :math:`-\\ln \\varepsilon` at any distance: the boundary stays steep, and the model lists
the rows that are probably mislabelled.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_label_noise
from separatrix.plots.drawing import COLOURS, STANDOUT, look, new_figure, scatter_classes

DISTANCE = 4.0  # from class mean to class mean, in standard deviations; the true activation is 4 x_1

X, y, y_true = make_label_noise(200, noise=0.08, distance=DISTANCE, rng=6)
wrong = y != y_true
X_new, _, y_new = make_label_noise(5000, distance=DISTANCE, rng=7)
models = {
    "logistic": (sx.LogisticRegression(alpha=0.1), COLOURS[0], "-"),
    "probit": (sx.ProbitRegression(alpha=0.1), COLOURS[3], "--"),
    "label noise (estimated)": (sx.LabelNoiseLogisticRegression(alpha=0.1), STANDOUT, "-"),
}

# %%
# The probabilities of the three models between the classes, beside the true probability.
figure, ax = new_figure(size=(6, 4.2))
figure.set_label(
    "Probability of class 1 along x1: label noise keeps the true steep curve, logistic and probit are flatter"
)
along = np.column_stack([np.linspace(-5, 5, 201), np.zeros(201)])
print(f"{wrong.sum()} of {len(y)} labels are wrong\n")
print(f"{'model':<24} {'correct':>7} {'log-likelihood':>15} {'‖w‖':>6}   on 5000 rows with true labels")
with look():
    for name, (model, colour, line) in models.items():
        model.fit(X, y)
        score = sx.metrics.log_likelihood(model.predict_proba(X_new), y_new)
        print(f"{name:<24} {model.score(X_new, y_new):>7.1%} {score.value:>15.3f} {np.linalg.norm(model.coef_):>6.2f}")
        ax.plot(along[:, 0], model.predict_proba(along)[:, 1], color=colour, linestyle=line, label=name)
    true = 1 / (1 + np.exp(-DISTANCE * along[:, 0]))
    ax.plot(along[:, 0], true, color="black", linewidth=1, label="true probability")
    ax.set(xlabel="$x_1$, at $x_2 = 0$", ylabel="p(class 1 | x)", title="probabilities along $x_1$", ylim=(-0.02, 1.02))
    ax.legend(loc="lower right")

# %%
# The rows that the model reports as mislabelled, and the rows that are.
noisy = models["label noise (estimated)"][0]
flagged = noisy.mislabelled(X, y) > 0.5
print(f"Estimated ε: {noisy.noise_:.3f}. {flagged.sum()} rows look mislabelled; {(flagged & wrong).sum()} of them are.")
outcomes = {
    "found": (flagged & wrong, STANDOUT, "-"),
    "missed": (~flagged & wrong, "black", ":"),
    "false alarm": (flagged & ~wrong, "black", "--"),
}
figure, ax = new_figure(size=(6, 4.8))
figure.set_label(
    "Rows of two classes; rings mark the wrong labels that the model found, those it missed, and false alarms"
)
scatter_classes(ax, X, y, np.array([0, 1]))
for name, (rows, colour, line) in outcomes.items():
    ring = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.8, "linestyles": line}
    ax.scatter(*X[rows].T, s=130, label=f"{name}: {rows.sum()}", **ring)
ax.set(xlabel="$x_1$", ylabel="$x_2$", title=f"{wrong.sum()} of {len(y)} labels are wrong")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()
