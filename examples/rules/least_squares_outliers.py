"""
Least squares and outliers
==========================

Rows far from the boundary, on its correct side, move the line of least squares but not that of logistic regression
(PRML figure 4.4). A vertical line separates two narrow classes. Then twenty rows of class 1 are added, far from the
line on its correct side. Their probability under logistic regression is already close to one, so its line does not
move. Least squares penalises any difference from the target 1, even if a row is classified correctly: its line turns
towards the added rows, and rows in the middle are misclassified.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_outliers
from separatrix.plots.drawing import COLOURS, STANDOUT, new_figure, scatter_classes

X, y = make_outliers(n=100, n_outliers=20)
near = slice(0, 100)
rules = {
    "least squares": (sx.LeastSquaresClassifier(), STANDOUT, "-"),
    "logistic regression": (sx.LogisticRegression(), COLOURS[2], "--"),
}

# %%
# The scores are of the 100 rows in the middle.
print(f"{'rule':<22} {'rows':>5} {'correct':>7} {'angle of w':>11}   correct: of the 100 rows in the middle")
for rows, title in ((near, "100 rows"), (slice(None), "20 more rows, far to the right")):
    figure, ax = new_figure(size=(4.8, 5.2))
    figure.set_label(f"Two classes and the lines of least squares and of logistic regression: {title}")
    scatter_classes(ax, X[rows], y[rows], np.array([0, 1]))
    for name, (rule, colour, line) in rules.items():
        rule.fit(X[rows], y[rows])
        (w,), (w0,) = rule.coef_, rule.intercept_
        correct, angle = rule.score(X[near], y[near]), np.degrees(np.arctan2(w[1], w[0]))
        print(f"{name:<22} {len(X[rows]):>5} {correct:>7.1%} {angle:>10.1f}°")
        on_line = np.array([[-30.0, 30.0]]).T * [-w[1], w[0]] / np.hypot(*w) - w0 * w / (w @ w)
        ax.plot(*on_line.T, color=colour, linestyle=line, label=f"{name}: {correct:.0%} correct")
    ax.set(xlim=(-4, 12.5), ylim=(-12.5, 7), xlabel="$x_1$", ylabel="$x_2$", title=title)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
