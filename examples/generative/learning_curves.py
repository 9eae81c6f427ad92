"""
Generative or discriminative: learning curves
=============================================

A generative model needs fewer rows if its densities are correct, and it is wrong for any number of rows if they are not
(PRML §4.3). Both panels show errors on new rows against the number of training rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

import separatrix as sx
from separatrix.plots.drawing import COLOURS, STANDOUT, look, new_figure

N_COLUMNS, N_REPEATS, DISTANCE = 8, 20, 2.3
SIZES = (20, 40, 80, 160, 320, 640, 1280)
rng = np.random.default_rng(0)
models = {
    "naive Bayes": (sx.NaiveBayes("normal"), COLOURS[3], ":"),
    "linear discriminant": (sx.LinearDiscriminantAnalysis(), COLOURS[0], "--"),
    "logistic regression": (sx.LogisticRegression(alpha=0.01), STANDOUT, "-"),
}


def draw_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n rows of two normal classes with independent columns."""
    y = np.arange(n) % 2
    return rng.normal(size=(n, N_COLUMNS)) + DISTANCE / np.sqrt(N_COLUMNS) * y[:, None], y


X_new, y_new = draw_rows(20_000)
samples = {n: [draw_rows(n) for _ in range(N_REPEATS)] for n in SIZES}  # the same rows for all models

# %%
# The first columns are normal and independent within each class, as naive Bayes assumes. All three models reach the
# same error, and naive Bayes needs the fewest rows. The second columns are the exponentials of the first, which are
# skewed. The densities of naive Bayes and of the linear discriminant are then wrong, and more rows do not help. With
# 20 rows the three are equally good, because so few rows also leave the weights of logistic regression uncertain.
cases = {"normal columns": lambda X: X, "exponentials of these columns": lambda X: np.exp(1.2 * X)}
print(f"{'columns':<30} {'model':<20}" + "".join(f"{n:>7}" for n in SIZES))
for title, transform in cases.items():
    figure, ax = new_figure(size=(4.8, 4.4))
    figure.set_label(f"Errors of three models against the number of training rows: {title}")
    with look():
        for name, (model, colour, line) in models.items():
            fits = {n: [clone(model).fit(transform(X), y) for X, y in samples[n]] for n in SIZES}
            curve = [1 - np.mean([fit.score(transform(X_new), y_new) for fit in fits[n]]) for n in SIZES]
            print(f"{title:<30} {name:<20}" + "".join(f"{error:>7.3f}" for error in curve))
            ax.semilogx(SIZES, curve, line, color=colour, marker="o", markersize=4, label=name)
        ax.set(xlabel="training rows", ylabel="errors on new rows", title=title, ylim=(0.1, 0.4))
        ax.set_xticks([20, 80, 320, 1280], ["20", "80", "320", "1280"])
        ax.minorticks_off()
        ax.legend()
plt.show()
