"""
Digits: weights as images
=========================

1797 images of digits, each of 8 x 8 pixels, are rows of 64 columns. Every linear model has a weight for each pixel and
class, so its weights are images too, which show the pixels that matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import separatrix as sx
from separatrix.plots.drawing import look, new_figure

# %%
# The rows
# --------
# A pixel has a value from 0 to 16; divide by 16. Some pixels at the border are nearly always zero. A model without a
# prior cannot estimate their weights, and leaves them out with a warning, so drop them here.
X, y = load_digits(return_X_y=True)
used = (X > 0).sum(axis=0) > 20
X, X_new, y, y_new = train_test_split(X[:, used] / 16, y, test_size=0.4, random_state=0, stratify=y)
print(f"{len(y)} training rows, {len(y_new)} new rows, {used.sum()} of 64 pixels are used")

# %%
# The models
# ----------
# Rules have no probabilities, so they have no log-likelihood. Naive Bayes, of pixels that are ink or paper, counts each
# stroke several times, because neighbouring pixels are correlated: its probabilities are too extreme. Tempering, an
# exponent of the likelihood, repairs them. The average over a posterior has the best probabilities.
models = {
    "least squares": sx.LeastSquaresClassifier(),
    "averaged perceptron": sx.Perceptron(weights="average"),
    "naive Bayes": sx.NaiveBayes("bernoulli"),
    "naive Bayes, tempered": sx.NaiveBayes("bernoulli", temper=True),
    "linear discriminant": sx.LinearDiscriminantAnalysis(shrinkage="evidence"),
    "softmax regression": sx.LogisticRegression(alpha=1.0),
    "Bayesian softmax": sx.BayesianLogisticRegression(),
}
print(f"{'model':<24} {'correct':>8} {'log-likelihood per row':>24}")
for name, model in models.items():
    train, new = (X > 0.5, X_new > 0.5) if name.startswith("naive") else (X, X_new)
    model.fit(train, y)
    has_probabilities = hasattr(model, "predict_proba")
    value = f"{sx.metrics.log_likelihood(model.predict_proba(new), y_new).value:.3f}" if has_probabilities else ""
    print(f"{name:<24} {model.score(new, y_new):>8.1%} {value:>24}")

# %%
# Weights as images
# -----------------
# Red pixels are evidence for the digit, blue ones against it. For a 0, ink in the middle is evidence against it. A
# vector that is added to the weights of all classes changes no probability. So the images show the weights minus their
# mean over the classes, times the standard deviation of the pixel.


def draw_weights(name: str) -> None:
    """Draw an image of the weights for each digit."""
    weights = np.zeros((10, 64))
    weights[:, used] = (models[name].coef_ - models[name].coef_.mean(axis=0)) * X.std(axis=0)
    limit = np.abs(weights).max()
    figure, axes = new_figure(2, 5, size=(6, 2.9))
    figure.set_label(f"Weights of the ten digits as images: {name}")
    figure.suptitle(name)
    with look():
        for digit, ax in enumerate(axes.ravel()):
            ax.imshow(weights[digit].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
            ax.set(title=digit, xticks=[], yticks=[])


draw_weights("softmax regression")

# %%
# The linear discriminant has the same form, a softmax of linear functions. It derives its weights from means and a
# covariance, softmax regression from the labels alone.
draw_weights("linear discriminant")

# %%
# The averages of the digits, which the discriminant keeps, are images as well:
figure, axes = new_figure(2, 5, size=(6, 2.9))
figure.set_label("Average image of each digit")
for digit, ax in enumerate(axes.ravel()):
    mean = np.zeros(64)
    mean[used] = models["linear discriminant"].means_[digit]
    ax.imshow(mean.reshape(8, 8), cmap="Greys")
    ax.set(title=digit, xticks=[], yticks=[])

# %%
# Which digits are confused?
# --------------------------
# Each row of the confusion matrix is a true digit, and its numbers are fractions of this digit.
bayes = models["Bayesian softmax"]
P = bayes.predict_proba(X_new)
share = sx.metrics.confusion(P, y_new).share
figure, ax = new_figure(size=(5.4, 5))
figure.set_label("Confusion matrix of ten digits, with fractions of each true digit")
with look():
    ax.imshow(share, cmap="Greens", vmin=0, vmax=1)
    for i, j in np.argwhere(share >= 0.005):
        ax.text(j, i, f"{share[i, j]:.2f}", ha="center", va="center", fontsize=8, color="white" if i == j else "black")
    ax.set(xlabel="predicted digit", ylabel="true digit", xticks=range(10), yticks=range(10))

# %%
# The least certain images
# ------------------------
# The new images whose most probable digit has the smallest probability. Errors are far more
# frequent among them than among all images.
images = np.zeros((len(X_new), 64))
images[:, used] = X_new
figure, axes = new_figure(2, 5, size=(6, 3.6))
figure.set_label("The ten images whose predictions are least certain, with the predicted digit and its probability")
for n, ax in zip(P.max(axis=1).argsort()[:10], axes.ravel(), strict=True):
    ax.imshow(images[n].reshape(8, 8), cmap="Greys")
    ax.set_title(f"{P[n].argmax()} ({P[n].max():.0%})\ntrue: {y_new[n]}", fontsize=9)
    ax.set(xticks=[], yticks=[])
plt.show()
