# SPDX-License-Identifier: BSD-3-Clause
"""Forged numbers in a model file: neither loading it nor predicting one row takes memory out of proportion."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import separatrix as sx
from problems import blobs
from separatrix.basis import RBF, MultiScaleRBF, Polynomial, RandomFourier, Sigmoid, Spline

FORGE = Path(__file__).parent / "forge.py"


def table():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "dose": rng.standard_normal(n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(20, 80, n)),
            "town": rng.choice(["Aalen", "Bonn", "Celle"], n),
            "note": rng.choice(["red apple tree", "green pear", "blue plum tree"], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    return X, np.where(X["dose"] + rng.standard_normal(n) > 0, "ill", "well")


def fitted():
    """Models with a row for each: what determines sizes is a basis, a table, a posterior or a wrapper."""
    X, y = blobs(n=90, n_features=2)
    T, t = table()
    logistic, bayesian = sx.LogisticRegression, sx.BayesianLogisticRegression
    bases = (
        RBF(centres="kmeans", n_centres=4),
        MultiScaleRBF(n_centres=3, n_scales=2),
        RandomFourier(),
        Sigmoid(),
        Spline(),
        Polynomial(degree=2),
    )
    models = {
        "bayesian": bayesian(tune="evidence"),
        "ep": sx.OneVsRest(bayesian(approximation="ep")),
        "perceptrons": sx.OneVsOne(sx.Perceptron()),
        "rule": sx.DecisionRule(logistic(), costs={(0, 1): 5}),
        "calibrated": sx.Calibrated(sx.LinearDiscriminantAnalysis()),
        "qda": sx.QuadraticDiscriminantAnalysis(),
        "bayes": sx.NaiveBayes(),
    } | {type(basis).__name__: logistic(basis=basis) for basis in bases}
    return {name: (model.fit(X, y), X[:1]) for name, model in models.items()} | {
        "table": (sx.TableClassifier().fit(T, t), T.iloc[:1])
    }


def test_forged_numbers_take_no_memory_out_of_proportion(tmp_path):
    rows = {}
    for name, (model, row) in fitted().items():
        sx.save(model, tmp_path / f"{name}.sx")
        rows[name] = row
    (tmp_path / "rows.pickle").write_bytes(pickle.dumps(rows))
    done = subprocess.run(
        [sys.executable, str(FORGE), str(tmp_path)], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    *problems, count = done.stdout.splitlines()
    assert not problems
    assert int(count.split()[0]) > 1000
