"""
Rules and probabilities for irises
==================================

Three decision rules and three probability models for the iris flowers. Least squares masks the middle class, and
Fisher's discriminant does not. The perceptron does not converge, because no line separates the last two classes.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

import separatrix as sx
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
rules = {
    "least squares": sx.LeastSquaresClassifier(),
    "Fisher": sx.FisherDiscriminant(),
    "perceptron (pocket)": sx.Perceptron(weights="pocket"),
}

# %%
# The titles show the accuracy on flowers that were not used in the fit.
print(f"{len(X_train)} training flowers, {len(X_test)} test flowers, 2 columns, 3 classes\n")
print(f"{'rule':<20} {'train':>6} {'test':>6} {'passes':>7}  status")
for name, rule in rules.items():
    with warnings.catch_warnings():  # the perceptron does not converge
        warnings.simplefilter("ignore", sx.exceptions.NotSeparableWarning)
        rule.fit(X_train, y_train)
    train, test = rule.score(X_train, y_train), rule.score(X_test, y_test)
    print(f"{name:<20} {train:>6.1%} {test:>6.1%} {rule.n_passes_:>7}  {rule.solution_.status.value}")
    figure, ax = new_figure(size=(4.6, 4.4))
    figure.set_label(f"Regions of three kinds of iris, {name}: {test:.0%} of test rows are correct")
    DecisionBoundaryDisplay.from_estimator(rule, X, y, ax=ax, title=f"{name}: {test:.0%} correct")
    ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)

# %%
# `is_separable` decides whether any line separates two classes.
pair = y != "setosa"
print(f"versicolor against virginica: {sx.is_separable(X[pair], y[pair])}")

# %%
# Generative models of the same flowers have probabilities, so they can be compared by their log-likelihood.
models = {
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "quadratic discr.": sx.QuadraticDiscriminantAnalysis(shrinkage="evidence"),
    "naive Bayes": sx.NaiveBayes("normal"),
}
print(f"{'model':<20} {'train':>6} {'test':>6}  mean log-likelihood of test rows")
for name, model in models.items():
    model.fit(X_train, y_train)
    score = sx.metrics.log_likelihood(model.predict_proba(X_test), model.classes_.searchsorted(y_test))
    train, test = model.score(X_train, y_train), model.score(X_test, y_test)
    print(f"{name:<20} {train:>6.1%} {test:>6.1%}  {score.value:.3f} ± {score.standard_error:.3f}")
plt.show()
