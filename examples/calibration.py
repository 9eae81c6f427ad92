"""Calibration of naive Bayes and of boosted trees (PRML §1.5.4).

The rows have two overlapping classes and eight correlated columns. Naive Bayes counts correlated columns as independent
evidence and is overconfident. So are boosted trees. `Calibrated` chooses a map from the scores of a classifier to
probabilities, by the log-loss of rows that neither the classifier nor the map has seen. The pictures show the
reliability of both classifiers on new rows, before and after calibration.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB

import separatrix as sx
from separatrix.plots import ReliabilityDisplay
from separatrix.plots.drawing import look

CLASSIFIERS = {"naive Bayes": GaussianNB(), "boosted trees": HistGradientBoostingClassifier(random_state=0)}


def rows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that differ in one hidden quantity, measured eight times with common and separate errors."""
    y = rng.integers(2, size=n)
    hidden = 1.6 * y + rng.normal(size=n)
    return hidden[:, None] + 0.7 * rng.normal(size=(n, 8)), np.array(["background", "signal"])[y]


def main(path: str = "calibration.png") -> None:
    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = rows(2000, rng), rows(4000, rng)
    with look():
        figure = plt.figure(figsize=(11, 12), layout="constrained")
    print(f"{'':14s} {'map':12s} {'log-loss':>9s} {'calibrated':>11s}")
    for part, (name, classifier) in zip(figure.subfigures(1, 2), CLASSIFIERS.items(), strict=True):
        model = sx.Calibrated(classifier).fit(X, y)
        codes = np.searchsorted(model.classes_, y_new)
        axes = part.subplots(4, 1, height_ratios=[3, 1, 3, 1])
        losses = []
        for i, (each, title) in enumerate([(model.estimator_, name), (model, f"{name}, {model.method_} map")]):
            ReliabilityDisplay.from_estimator(each, X_new, y_new, ax=axes[2 * i : 2 * i + 2], title=title)
            losses.append(sx.metrics.log_likelihood(np.maximum(each.predict_proba(X_new), 1e-15), codes))
        print(f"{name:14s} {model.method_:12s} {-losses[0].value:9.3f} {-losses[1].value:11.3f}")
    figure.savefig(path, dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
