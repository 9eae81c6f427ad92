"""Three decision rules and three probability models for the iris flowers.

Least squares masks the middle class, and Fisher's discriminant does not. The perceptron does not converge, because
no line separates the last two classes. The script prints the scores and saves the picture as iris_rules.png.
"""

import sys
import time
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

import separatrix as sx

RULES = {
    "least squares": sx.LeastSquaresClassifier(),
    "Fisher": sx.FisherDiscriminant(),
    "perceptron (pocket)": sx.Perceptron(weights="pocket"),
}

PROBABILISTIC = {
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "quadratic discr.": sx.QuadraticDiscriminantAnalysis(shrinkage="evidence"),
    "naive Bayes": sx.NaiveBayes("normal"),
}


def main(path: str = "iris_rules.png") -> None:
    iris = load_iris()
    X, y = iris.data[:, 2:], iris.target_names[iris.target]
    units = {"xlabel": "petal length (cm)", "ylabel": "petal width (cm)"}
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)

    print(f"{len(X_train)} training flowers, {len(X_test)} test flowers, 2 columns, 3 classes\n")
    print(f"{'rule':<20} {'train':>6} {'test':>6} {'passes':>7} {'ms':>6}  status")
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
    notes = []
    for (name, rule), ax in zip(RULES.items(), axes, strict=True):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rule.fit(X_train, y_train)  # the first fit compiles, the second is timed
            start = time.perf_counter()
            rule.fit(X_train, y_train)
            seconds = time.perf_counter() - start
        notes += [f"{name}: {w.message}" for w in caught[:1]]
        train, test = rule.score(X_train, y_train), rule.score(X_test, y_test)
        print(
            f"{name:<20} {train:>6.1%} {test:>6.1%} {rule.n_passes_:>7} {1e3 * seconds:>6.1f}  "
            f"{rule.solution_.status.value}"
        )
        sx.plots.DecisionBoundaryDisplay.from_estimator(rule, X, y, ax=ax, title=f"{name}: {test:.0%} of test rows")
        ax.set(**units)
    axes[0].legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=140)
    print(f"\n{'model':<20} {'train':>6} {'test':>6} {'passes':>7}  mean log probability of the true class, test")
    for name, model in PROBABILISTIC.items():
        model.fit(X_train, y_train)
        log_p = model.predict_log_proba(X_test)[range(len(y_test)), model.classes_.searchsorted(y_test)]
        train, test = model.score(X_train, y_train), model.score(X_test, y_test)
        error = log_p.std() / len(log_p) ** 0.5
        print(f"{name:<20} {train:>6.1%} {test:>6.1%} {model.n_passes_:>7}  {log_p.mean():.3f} ± {error:.3f}")
    print("\n" + "\n".join(notes))
    pair = y != "setosa"
    print(f"\nversicolor against virginica: {sx.is_separable(X[pair], y[pair])}")
    print(f"\nPicture: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
