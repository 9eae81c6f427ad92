"""Comparison, reliability and coefficients of four models of a real table (PRML §4.5).

The task is to classify tumours as malignant or benign from thirty strongly correlated measurements. Naive Bayes
counts correlated measurements as independent evidence and is overconfident. The training rows are separable, so the
maximum-likelihood estimate does not exist, and a wide prior hardly helps. The model whose prior was tuned by
evidence has the best held-out probabilities. The upper panels show the scores of all models on held-out rows, and
the log evidence of those that report it. The lower panels show the largest weights of the best model with credible
intervals, and the reliability diagram of naive Bayes.
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
    with warnings.catch_warnings():  # Laplace's approximation is expected to be poor under the wide prior
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
