"""
Four kinds of models
====================

The same rows, and what four kinds of models predict in the plane around them. Nearest neighbours keep the rows and have
no model. A rule has one boundary. A probability model has a probability for each point. A distribution over models
averages the probabilities of many models, so it is uncertain where there are no rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import separatrix as sx
from separatrix.plots.drawing import look, new_figure, scatter_classes

rng = np.random.default_rng(5)
y = np.repeat([0, 1], 12)
X = rng.normal(size=(24, 2)) * [0.9, 0.7] + np.where(y, 1.1, -1.1)[:, None] * [1.0, 0.4]

# %%
# The shades are the predicted classes, or the probability of class 1 (limits 0.1, 0.3, 0.7, 0.9). The line is the
# boundary. The point far from all rows shows the difference between the last two.
models = {
    "no model: nearest neighbour": KNeighborsClassifier(1),
    "prediction rule: Fisher": sx.FisherDiscriminant(),
    "probability model: logistic": sx.LogisticRegression(alpha=0.1),
    "distribution over models: Bayes": sx.BayesianLogisticRegression(),
}
far = np.array([[-1.0, 6.0]])
x = np.linspace(-7, 7, 141)
grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
figure, axes = new_figure(2, 2, size=(6.4, 6.4), share=True)
figure.set_label(
    "Regions of nearest neighbours and of Fisher's rule, probabilities of a logistic and of a Bayesian model"
)
shades = ("#99C7E0", "#CCE3F0", "white", "#FAECCC", "#F5D999")  # from class 0 to class 1
for (name, model), ax in zip(models.items(), axes.flat, strict=True):
    model.fit(X, y)
    has_probabilities = isinstance(model, sx.LogisticRegression | sx.BayesianLogisticRegression)
    p = model.predict_proba(grid)[:, 1] if has_probabilities else model.predict(grid)
    with look():
        ax.contourf(x, x, p.reshape(141, 141), levels=[-0.1, 0.1, 0.3, 0.7, 0.9, 1.1], colors=shades)
        ax.contour(x, x, p.reshape(141, 141), levels=[0.5], colors="black", linewidths=1.6)
        scatter_classes(ax, X, y, np.array([0, 1]), size=14)
        ax.plot(*far.T, "k*", markersize=11)
        ax.set_title(name, fontsize="medium")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.label_outer()
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

# %%
# The predictions at the star:
neighbour, rule, logistic, bayes = models.values()
(lower, upper), p = bayes.predict_interval(far)[0], bayes.predict_proba(far)[0, 1]
print(f"nearest neighbour   class {neighbour.predict(far)[0]}")
print(f"Fisher              class {rule.predict(far)[0]}, output {rule.decision_function(far)[0]:+.2f}")
print(f"logistic            probability {logistic.predict_proba(far)[0, 1]:.3f} of class 1")
print(f"Bayes               probability {p:.3f} of class 1, 95 % interval {lower:.3f} to {upper:.3f}")
plt.show()
