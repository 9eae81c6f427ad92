"""
Calibration
===========

The rows have two overlapping classes and eight correlated columns. Naive Bayes counts correlated columns as independent
evidence and is overconfident. So are boosted trees. `Calibrated` chooses a map from the scores of a classifier to
probabilities, by the log-loss of rows that neither the classifier nor the map has seen (PRML §1.5.4).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from separatrix.plots import ReliabilityDisplay
from separatrix.plots.drawing import new_figure

# %%
# The classes differ in one hidden quantity, which is measured eight times with common and separate errors.
rng = np.random.default_rng(0)


def draw_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n rows and their classes."""
    y = rng.integers(2, size=n)
    hidden = 1.6 * y + rng.normal(size=n)
    return hidden[:, None] + 0.7 * rng.normal(size=(n, 8)), np.array(["background", "signal"])[y]


X, y = draw_rows(2000)
X_new, y_new = draw_rows(4000)
classifiers = {"naive Bayes": GaussianNB(), "boosted trees": HistGradientBoostingClassifier(random_state=0)}
calibrated = {name: sx.Calibrated(classifier).fit(X, y) for name, classifier in classifiers.items()}

print(f"{'':14s} {'map':12s} {'log-loss':>9s} {'calibrated':>11s}")
for name, model in calibrated.items():
    codes = np.searchsorted(model.classes_, y_new)
    losses = [
        -sx.metrics.log_likelihood(np.maximum(each.predict_proba(X_new), 1e-15), codes).value
        for each in (model.estimator_, model)
    ]
    print(f"{name:14s} {model.method_:12s} {losses[0]:9.3f} {losses[1]:11.3f}")

# %%
# Reliability on new rows, before and after calibration. A calibrated model has its points on the diagonal; the grey
# area shows how far chance alone moves them.
for name, model in calibrated.items():
    for each, title in ((model.estimator_, name), (model, f"{name}, {model.method_} map")):
        figure, ax = new_figure(size=(4.8, 5.6))
        figure.set_label(f"Reliability diagram of {title}, on new rows")
        ReliabilityDisplay.from_estimator(each, X_new, y_new, ax=ax, title=title)
plt.show()
