"""
Lobsters
========

159 juvenile lobsters were tethered on the sea floor for a day; larger ones survived more often. One column, the size,
and two classes show what a generative model computes: class densities and the posterior that they imply (PRML figures
1.27 and 4.10).
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import LOBSTERS, load_lobsters
from separatrix.plots import ClassDensityDisplay
from separatrix.plots.drawing import COLOURS, look, new_figure

X, survived = load_lobsters(return_X_y=True, as_frame=True)
y = np.array(["eaten", "survived"])[survived]

# %%
# Linear discriminant analysis fits a normal density to each class, with one shared variance. The upper panel shows both
# densities, multiplied by the class proportions. The lower panel shows the posterior given by Bayes' theorem: a sigmoid
# of a linear function.
lda = sx.LinearDiscriminantAnalysis().fit(X, y)
figure, ax = new_figure(size=(6, 5.4))
figure.set_label(
    "Densities of the sizes of lobsters that were eaten and that survived, and the probability of survival"
)
ClassDensityDisplay.from_estimator(lda, X, y, n_bins=11, ax=ax, title="Class densities, one shared variance")

# %%
# Quadratic discriminant analysis has one variance per class. Logistic regression models the labels only. The sizes are
# nearly normal and have nearly equal variances, so the three posteriors agree to one or two percentage points.
models = {
    "shared variance (LDA)": (lda, COLOURS[2], "-"),
    "own variances (QDA)": (sx.QuadraticDiscriminantAnalysis().fit(X, y), COLOURS[3], ":"),
    "logistic regression": (sx.LogisticRegression(alpha=0.0).fit(X, y), "black", "--"),
}
sizes = X.iloc[[0] * 400].assign(**{X.columns[0]: np.linspace(22, 62, 400)})
figure, ax = new_figure(size=(6, 4.4))
figure.set_label("Probability of survival against size: observed fractions and three fitted curves")
print(f"{'model':<24} {'50 % at':>9} {'mean log-likelihood':>21}")
with look():
    alive, tethered = np.array(list(LOBSTERS.values())).T
    ax.scatter(
        list(LOBSTERS), alive / tethered, s=8 * tethered, color="grey", alpha=0.5, label="fraction (area: number)"
    )
    for name, (model, colour, dashes) in models.items():
        P, curve = model.predict_proba(X), model.predict_proba(sizes)[:, 1]
        half = sizes.to_numpy()[np.abs(curve - 0.5).argmin(), 0]
        print(f"{name:<24} {half:>6.1f} mm {np.log(P[np.arange(len(P)), survived]).mean():>21.4f}")
        ax.plot(sizes, curve, dashes, color=colour, label=name)
    ax.set(xlabel="size (mm)", ylabel="p(survived | size)", ylim=(-0.03, 1.03), title="Three posteriors")
    ax.legend(loc="lower right")

# %%
# A Bayesian model also reports how uncertain the curve is: the band contains the probability of survival at each size
# with probability 95 %.
bayes = sx.BayesianLogisticRegression().fit(X, y)
lower, upper = bayes.predict_interval(sizes, level=0.95).T
figure, ax = new_figure(size=(6, 4.4))
figure.set_label(
    "Probability of survival against size with a 95 % credible band, which is widest for sizes without rows"
)
with look():
    ax.fill_between(sizes.to_numpy()[:, 0], lower, upper, color=COLOURS[0], alpha=0.25, label="95 % band")
    ax.plot(sizes, bayes.predict_proba(sizes)[:, 1], color=COLOURS[0], label="averaged over the posterior")
    ax.scatter(
        list(LOBSTERS), alive / tethered, s=8 * tethered, color="grey", alpha=0.5, label="fraction (area: number)"
    )
    ax.set(xlabel="size (mm)", ylabel="p(survived | size)", ylim=(-0.03, 1.03), title="A curve with its uncertainty")
    ax.legend(loc="lower right")
plt.show()
