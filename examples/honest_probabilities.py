"""A real table, four models, and which of them to believe: comparison, reliability and coefficients (PRML §4.5).

Tumours, malignant or benign, by thirty measurements that repeat each other. Naive Bayes takes each repetition for new
evidence and is far too sure of itself; a maximum of the likelihood does not exist, for the training rows are separable;
a weak prior is hardly better. A posterior whose prior was tuned by evidence says what it knows and no more. Above, all
models on held-out rows, with the evidence beside where they state one. Below, the strongest weights of the best model
with their credible intervals, none of them certain alone; and how often the worst one is right when it is sure.
"""

import sys
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.plots import CoefficientDisplay, ReliabilityDisplay
from separatrix.plots.drawing import look

MODELS = {
    "tuned by evidence": sx.BayesianLogisticRegression(tune="evidence", approximation="laplace"),
    "wide prior": sx.BayesianLogisticRegression(sx.Gaussian(scale=100.0), approximation="laplace"),
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "naive Bayes": sx.NaiveBayes("normal"),
}


def main(path: str = "honest_probabilities.png") -> None:
    tumours = load_breast_cancer(as_frame=True)
    X, y = tumours.data, tumours.target_names[tumours.target]
    with warnings.catch_warnings():  # that Laplace's Gaussian is poor under a wide prior is part of the story
        warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
        comparison = sx.compare(MODELS, X, y, test_size=0.4)
    print(comparison)

    with look():
        figure = plt.figure(figsize=(11, 10), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.9])
    comparison.plot(above.subplots(), title=f"{len(comparison.test_rows)} held-out tumours")
    left, right = below.subplots(1, 2)
    rows = comparison.test_rows
    best, worst = comparison.best(), "naive Bayes"
    CoefficientDisplay.from_estimator(comparison.models_[best], X, most=12, ax=left, title=f"Weights, {best}")
    ReliabilityDisplay.from_estimator(
        comparison.models_[worst], X.iloc[rows], y[rows], ax=right, title=f"Reliability, {worst}"
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
