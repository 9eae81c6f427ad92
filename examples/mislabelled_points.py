"""A few labels are wrong: logistic regression, probit regression and a model of label noise (PRML §4.3.5).

Two classes are four standard deviations apart, and some rows of each class have the label of the other. For a
mislabelled row, ln p decreases linearly with the distance from the boundary in a logistic model and quadratically in
a probit model. Both models reduce this cost by smaller weights, so their probabilities are uncertain everywhere.
With p(t = 1 | x) = ε + (1 - 2ε) σ(a), (4.117), a wrong label costs at most -ln ε at any distance: the boundary stays
steep, and the model lists the rows that are probably mislabelled.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_label_noise
from separatrix.plots.drawing import COLOURS, STANDOUT, new_figure, scatter_classes

DISTANCE = 4.0  # from class mean to class mean, in standard deviations; the true activation is 4 x_1
MODELS = {
    "logistic": (sx.LogisticRegression(alpha=0.1), COLOURS[0], "-"),
    "probit": (sx.ProbitRegression(alpha=0.1), COLOURS[3], "--"),
    "label noise (estimated)": (sx.LabelNoiseLogisticRegression(alpha=0.1), STANDOUT, "-"),
}


def main(path: str = "mislabelled_points.png") -> None:
    X, y, y_true = make_label_noise(200, noise=0.08, distance=DISTANCE, rng=6)
    wrong = y != y_true
    X_test, _, y_test = make_label_noise(5000, distance=DISTANCE, rng=7)
    figure, (rows, curves) = new_figure(1, 2, size=(11, 4.4))
    scatter_classes(rows, X, y, np.array([0, 1]))
    rows.scatter(*X[wrong].T, s=130, facecolors="none", edgecolors=STANDOUT, linewidths=1.8, label="wrong label")
    along = np.column_stack([np.linspace(-5, 5, 201), np.zeros(201)])
    print(f"{wrong.sum()} of {len(y)} labels are wrong\n")
    print(f"{'model':<24} {'correct':>7} {'log-likelihood':>15} {'|w|':>6}   on 5000 rows with true labels")
    for name, (model, colour, line) in MODELS.items():
        model.fit(X, y)
        log_p = model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test].mean()
        print(f"{name:<24} {model.score(X_test, y_test):>7.1%} {log_p:>15.3f} {np.linalg.norm(model.coef_):>6.2f}")
        curves.plot(along[:, 0], model.predict_proba(along)[:, 1], color=colour, linestyle=line, label=name)
    noisy = MODELS["label noise (estimated)"][0]
    suspects = noisy.mislabelled(X, y) > 0.5
    n_found, n_correct = suspects.sum(), (suspects & wrong).sum()
    print(f"\nEstimated ε: {noisy.noise_:.3f}. {n_found} rows look mislabelled; {n_correct} of them are.")
    curves.plot(
        along[:, 0], 1 / (1 + np.exp(-DISTANCE * along[:, 0])), color="black", linewidth=1, label="true probability"
    )
    rows.set(xlabel="$x_1$", ylabel="$x_2$", title=f"{wrong.sum()} of {len(y)} labels are wrong")
    curves.set(
        xlabel="$x_1$, at $x_2 = 0$", ylabel="p(class 1 | x)", title="probabilities along $x_1$", ylim=(-0.02, 1.02)
    )
    rows.legend(loc="upper right", frameon=True)
    curves.legend(loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
