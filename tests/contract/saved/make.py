"""Write the files of this version's format. Existing files are kept, so the script cannot make a test pass.

    python tests/contract/saved/make.py

Each model is a file ``<name>.sx`` next to ``<name>.json``, which has rows and the predictions of the model on that day.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import separatrix as sx
from separatrix.export import FORMAT

HERE = Path(__file__).parent


def rows(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[y], y


def table(n: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=n)
    size = np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.0).round(3))
    colour = np.where(rng.random(n) < 0.5 + 0.3 * y, "red", "blue").astype(object)
    return pd.DataFrame({"size": size, "colour": colour, "visits": rng.poisson(2 + y)}), y


def models() -> dict[str, tuple[object, object]]:
    """Fitted models, each with the table to ask it about."""
    X, y = rows()
    one = X[:, :1]
    frame, t = table()
    many, u = table(600)
    many["colour"] = [f"shade {n % 150}" for n in range(600)]  # enough levels to be hashed
    words = np.array(["ash", "birch", "cedar"])
    notes = frame.assign(
        note=[f"{'very ' * (n % 3)}{c}, paid" if n % 9 else None for n, c in enumerate(frame["colour"])]
    )
    tuned = sx.TableClassifier(sx.LogisticRegression(), types={"note": "text"}, tuned=True)
    return {
        "logistic": (sx.LogisticRegression().fit(X, words[y]), X),
        "logistic_rbf": (sx.LogisticRegression(basis=sx.basis.RBF("kmeans", n_centres=3)).fit(X, y), X),
        "logistic_spline": (sx.LogisticRegression(basis=sx.basis.Spline() + sx.basis.Polynomial(2)).fit(X, y), X),
        "bayesian": (sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace").fit(X, y > 0), X),
        "bayesian_softmax": (sx.BayesianLogisticRegression(tune="evidence").fit(X, y), X),
        "lda": (sx.LinearDiscriminantAnalysis().fit(X, y), X),
        "qda": (sx.QuadraticDiscriminantAnalysis().fit(X, y), X),
        "qda_predictive": (sx.QuadraticDiscriminantAnalysis(estimate="predictive").fit(X, y), X),
        "naive_bayes": (sx.NaiveBayes().fit(frame, t), frame),
        "one_vs_one": (sx.OneVsOne(sx.ProbitRegression()).fit(X, y), X),
        "decision_rule": (sx.DecisionRule(sx.LogisticRegression(), reject=0.6).fit(X, words[y]), X),
        "table": (sx.TableClassifier().fit(frame, t), frame),
        "table_curved": (sx.TableClassifier(sx.LogisticRegression(alpha=1.0), curved=True).fit(frame, t), frame),
        "table_hashing": (sx.TableClassifier(sx.LogisticRegression(alpha=1.0), hashing=8).fit(many, u), many),
        "table_text": (tuned.fit(notes, t), notes),
        "label_noise": (sx.LabelNoiseLogisticRegression(rates="per-class").fit(X, y > 0), X),
        "poisson": (sx.GeneralizedLinearModel("poisson").fit(X, y), X),
        "perceptron": (sx.Perceptron(max_epochs=5, trace=True).fit(X, y > 0), X),
        "gradient_trace": (sx.LogisticRegression(solver="gradient", max_steps=20, trace=True).fit(X, y > 0), X),
        "bayesian_ep": (sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="ep").fit(X, y > 0), X),
        "bayesian_variational": (
            sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="variational").fit(X, y),
            X,
        ),
        "bayesian_importance": (
            sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="importance").fit(one, y > 0),
            one,
        ),
        "families": (sx.ExponentialFamilyClassifier("gamma", estimate="map").fit(np.exp(X), y), np.exp(X)),
        "average": (sx.ModelAverage({"a": sx.BayesianLogisticRegression(sx.Gaussian(1.0))}).fit(X, y > 0), X),
    }


def records(asked: object) -> dict[str, list]:
    """A table as plain JSON, by column; gaps as null."""
    frame = pd.DataFrame(asked)
    return {str(name): [None if pd.isna(v) else v for v in frame[name].tolist()] for name in frame}


def main() -> None:
    folder = HERE / f"format{FORMAT}"
    folder.mkdir(exist_ok=True)
    for name, (model, asked) in models().items():
        if (folder / f"{name}.sx").exists():
            continue
        few = asked[:12]
        sx.save(model, folder / f"{name}.sx")
        said = {
            "is_frame": isinstance(asked, pd.DataFrame),
            "rows": records(few),
            "label": model.predict(few).tolist(),
            "probabilities": model.predict_proba(few).tolist() if hasattr(model, "predict_proba") else None,
        }
        (folder / f"{name}.json").write_text(json.dumps(said))


if __name__ == "__main__":
    main()
