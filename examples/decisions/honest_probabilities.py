"""
Honest probabilities
====================

Four models of a real table are compared (PRML §4.5). The task is to classify tumours as malignant or benign from
thirty strongly correlated measurements. Naive Bayes counts correlated measurements as independent evidence and is
overconfident. The training rows are separable, so the maximum-likelihood estimate does not exist, and a wide prior
hardly helps. The model whose prior was tuned by evidence has the best held-out probabilities.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.plots import CoefficientDisplay, ReliabilityDisplay
from separatrix.plots.drawing import new_figure

tumours = load_breast_cancer(as_frame=True)
X, y = tumours.data, tumours.target_names[tumours.target]
models = {
    "tuned by evidence": sx.BayesianLogisticRegression(tune="evidence", approximation="laplace"),
    "wide prior": sx.BayesianLogisticRegression(sx.Gaussian(scale=100.0), approximation="laplace"),
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "naive Bayes": sx.NaiveBayes("normal"),
}
with warnings.catch_warnings():  # Laplace's approximation is expected to be poor under the wide prior
    warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
    comparison = sx.compare(models, X, y, test_size=0.4)
print(comparison)

# %%
# The scores of all models on held-out rows, and the log evidence of those that report it.
figure, ax = new_figure(size=(6.4, 5.2))
figure.set_label("Test log-likelihoods of four models, and the log evidence of two")
display = comparison.plot(ax, title=f"{len(comparison.test_rows)} held-out tumours")
display.ax_.set_xlabel("mean log-likelihood\n(nats per row)")
display.ax_.get_legend().remove()
figure.legend(*display.ax_.get_legend_handles_labels(), loc="outside lower center")

# %%
# The largest weights of the best model, with credible intervals.
best = comparison.best()
figure, ax = new_figure(size=(6, 5))
figure.set_label("Twelve largest weights of the best model, with 95 % intervals")
CoefficientDisplay.from_estimator(comparison.models_[best], X, most=12, ax=ax, title=f"Weights, {best}")
ax.xaxis.label.set_fontsize("small")

# %%
# The reliability of naive Bayes: most of its probabilities are close to 0 or 1, and some of these are wrong.
rows = comparison.test_rows
figure, ax = new_figure(size=(5.4, 5.8))
figure.set_label("Reliability diagram of naive Bayes on held-out tumours")
ReliabilityDisplay.from_estimator(
    comparison.models_["naive Bayes"], X.iloc[rows], y[rows], ax=ax, title="Reliability, naive Bayes"
)
plt.show()
