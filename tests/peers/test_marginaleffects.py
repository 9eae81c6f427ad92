# SPDX-License-Identifier: BSD-3-Clause
"""The package marginaleffects, if it is installed, accepts our models and finds the same effects.

Its errors come from finite differences, and agree to three digits.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.exceptions import DataError

FRAME = pd.DataFrame(
    {
        "age": np.random.default_rng(0).normal(40, 10, 300),
        "dose": np.random.default_rng(1).exponential(2, 300),
        "city": np.random.default_rng(2).choice(["a", "b", "c"], 300),
    }
)
LABELS = (0.05 * FRAME["age"] - 2 + (FRAME["city"] == "b") + np.random.default_rng(3).logistic(size=300) > 0).astype(
    int
)
THREE = np.where(np.random.default_rng(4).random(300) < 0.3, 2, LABELS)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "marginaleffects", None)
    with pytest.raises(ModuleNotFoundError, match="pip install marginaleffects"):
        sx.effects.marginaleffects_model(sx.LogisticRegression().fit(FRAME[["age"]], LABELS), FRAME[["age"]])


@pytest.mark.parametrize("labels", [LABELS, THREE])
def test_both_packages_find_the_same_effects(labels):
    me = pytest.importorskip("marginaleffects")
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(FRAME, labels)
    wrapped = sx.effects.marginaleffects_model(model, FRAME)
    pairs = [
        (
            me.avg_comparisons(wrapped, variables={"age": [30, 40]}),
            sx.effects.comparisons(model, FRAME, {"age": [30, 40]}),
        ),
        (me.avg_predictions(wrapped, by="city"), sx.effects.predictions(model, FRAME, by="city")),
        (me.avg_slopes(wrapped, variables="dose"), sx.effects.slopes(model, FRAME, "dose")),
    ]
    for theirs, ours in pairs:
        rows = list(theirs.iter_rows(named=True))
        classes = ours.columns.get("class", ours.names if ours.kind == "predictions" else [""] * len(ours.names))
        groups = ours.columns.get("city", [""] * len(ours.names))
        place = {
            (group, str(label) if len(model.classes_) > 2 else ""): i
            for i, (group, label) in enumerate(zip(groups, classes, strict=True))
        }
        order = [place[row.get("city", ""), str(row.get("group", ""))] for row in rows]
        assert_allclose(ours["estimate"][order], [row["estimate"] for row in rows], rtol=1e-5, atol=1e-9)
        assert_allclose(ours["standard_error"][order], [row["std_error"] for row in rows], rtol=2e-3, atol=1e-9)


def test_a_posterior_of_draws_is_refused():
    pytest.importorskip("marginaleffects")
    model = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(FRAME[["age"]], LABELS)
    with pytest.raises(DataError, match="described by draws"):
        sx.effects.marginaleffects_model(model, FRAME[["age"]])
