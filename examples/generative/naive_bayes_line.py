"""
Naive Bayes is a line
=====================

Weights and bias computed by hand from the class parameters equal those of the fitted model (PRML §4.2.3, (4.82)). Let
:math:`\\theta_{kj}` be the fraction of class k with "yes" in column j, with Laplace's correction. The log-odds are
:math:`w^T x + w_0` with

.. math::

    w_j = \\ln \\frac{\\theta_{1j} (1 - \\theta_{0j})}{\\theta_{0j} (1 - \\theta_{1j})}, \\qquad
    w_0 = \\ln \\frac{\\pi_1}{\\pi_0} + \\sum_j \\ln \\frac{1 - \\theta_{1j}}{1 - \\theta_{0j}} .
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots.drawing import COLOURS, MARKERS, MUTED, look, new_figure

# %%
# Nine independent yes/no columns, and three copies of the last one with 5 % errors. Naive Bayes counts the four columns
# (on grey) as independent evidence; logistic regression, which models the labels only, divides the weight among them.
rng = np.random.default_rng(3)
y = (rng.random(1000) < 0.4).astype(int)
X = (rng.random((1000, 9)) < rng.uniform(0.15, 0.85, size=(2, 9))[y]).astype(float)
X = np.hstack([X, np.abs(X[:, [8, 8, 8]] - (rng.random((1000, 3)) < 0.05))])

n = np.bincount(y)
theta = np.stack([(X[y == k].sum(axis=0) + 1) / (n[k] + 2) for k in (0, 1)])
w = np.log(theta[1] * (1 - theta[0]) / (theta[0] * (1 - theta[1])))
w0 = np.log(n[1] / n[0]) + np.log((1 - theta[1]) / (1 - theta[0])).sum()
naive = sx.NaiveBayes("bernoulli").fit(X, y)
logistic = sx.LogisticRegression(alpha=1e-3).fit(X, y)

print(f"{'column':<8} {'by hand':>9} {'naive Bayes':>12} {'logistic':>9}")
for j, hand in enumerate(w):
    print(f"x{j:<7} {hand:>9.4f} {naive.coef_[0, j]:>12.4f} {logistic.coef_[0, j]:>9.4f}")
print(f"{'bias':<8} {w0:>9.4f} {naive.intercept_[0]:>12.4f} {logistic.intercept_[0]:>9.4f}")

figure, ax = new_figure(size=(6, 5.2))
figure.set_label("Weights of twelve columns by hand, of naive Bayes and of logistic regression")
place = np.arange(len(w))
with look():
    ax.axhspan(7.5, 11.5, color="0.94")
    ax.axvline(0, color=MUTED, lw=1.2)
    ax.plot(naive.coef_[0], place, "o", ms=11, mfc="none", mew=2, color=COLOURS[0], label="naive Bayes, fitted")
    ax.plot(w, place, "x", ms=6, mew=2, color="black", label="by hand, from the class parameters")
    ax.plot(logistic.coef_[0], place, "s", ms=7, mfc="none", mew=2, color=COLOURS[5], label="logistic regression")
    ax.set_yticks(place, [f"$x_{{{j}}}$" for j in place])
    ax.set(xlabel="weight (log-odds of class 1 for a yes)", ylim=(len(w) - 0.5, -0.5))
    ax.set_title("Yes/no columns; four copies of one column on grey")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center")

# %%
# Counts with Poisson densities of rates :math:`\lambda_{kj}` also give a line:
#
# .. math::
#
#     w_j = \ln \frac{\lambda_{1j}}{\lambda_{0j}}, \qquad
#     w_0 = \ln \frac{\pi_1}{\pi_0} - \sum_j (\lambda_{1j} - \lambda_{0j}) .
n = np.array([200, 120])
y = np.repeat([0, 1], n)
X = rng.poisson(np.array([[3.0, 7.0], [8.0, 4.0]])[y]).astype(float)
rates = np.stack([X[y == k].mean(axis=0) for k in (0, 1)])
w, w0 = np.log(rates[1] / rates[0]), np.log(n[1] / n[0]) - (rates[1] - rates[0]).sum()
counts = sx.NaiveBayes("poisson", estimate="ml").fit(X, y)
print(f"by hand:  a(x) = {w[0]:+.4f} x0 {w[1]:+.4f} x1 {w0:+.4f}")
print(f"fitted:   a(x) = {counts.coef_[0, 0]:+.4f} x0 {counts.coef_[0, 1]:+.4f} x1 {counts.intercept_[0]:+.4f}")

figure, ax = new_figure(size=(6, 5))
figure.set_label("Counts of two classes, divided by the line of naive Bayes")
points, numbers = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
with look():
    for k, shift in ((0, -0.12), (1, 0.12)):  # shifted sideways, because both classes can have the same counts
        at = points[:, 2] == k
        style = {"color": COLOURS[k], "marker": MARKERS[k], "edgecolors": "white", "linewidths": 0.4}
        ax.scatter(points[at, 0] + shift, points[at, 1], s=14 + 10 * numbers[at], label=f"class {k}", **style)
    x = np.array([-0.7, X[:, 0].max() + 0.7])
    ax.plot(x, -(w0 + w[0] * x) / w[1], color="black", label="a(x) = 0, by hand")
    ax.set(xlim=x, ylim=(-0.7, X[:, 1].max() + 0.7), xlabel="$x_0$ (count)", ylabel="$x_1$ (count)")
    ax.set_title(f"Counts: {counts.score(X, y):.0%} correct; size: number of rows")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
