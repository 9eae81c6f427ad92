# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's tools give the same numbers with our models as with its own."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import discriminant_analysis, ensemble, feature_selection, linear_model, naive_bayes
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_predict, cross_val_score, learning_curve
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.fixes import parse_version

import separatrix as sx

X, y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
WEIGHT = 1.0 + np.arange(len(y)) % 3
# With svd, the default, scikit-learn 1.8 divides the scatter by N - K.
SOLVER = "svd" if parse_version(sklearn.__version__) >= parse_version("1.9") else "lsqr"

PAIRS = {
    "logistic": (linear_model.LogisticRegression(tol=1e-10, max_iter=10_000), sx.LogisticRegression(tol=1e-12)),
    "lda": (discriminant_analysis.LinearDiscriminantAnalysis(solver=SOLVER), sx.LinearDiscriminantAnalysis()),
    "naive_bayes": (naive_bayes.GaussianNB(), sx.NaiveBayes("normal", estimate="ml")),
}

TOOLS = {
    "pipeline": lambda m: make_pipeline(StandardScaler(), m).fit(X, y).predict_proba(X),
    "frames": lambda m: m.fit(FRAME[::-1], pd.Series(y)[::-1]).predict_proba(FRAME),
    "bagging": lambda m: ensemble.BaggingClassifier(m, n_estimators=3, random_state=0).fit(X, y).predict_proba(X),
    "voting": lambda m: ensemble.VotingClassifier([("a", m)], voting="soft").fit(X, y).predict_proba(X),
    "stacking": lambda m: ensemble.StackingClassifier([("a", m)], cv=3).fit(X, y).predict_proba(X),
    "self-training": lambda m: SelfTrainingClassifier(m).fit(X, np.where(WEIGHT > 2, -1, y)).predict_proba(X),
    "one-vs-rest": lambda m: OneVsRestClassifier(m).fit(X, y).predict_proba(X),
    "one-vs-one": lambda m: OneVsOneClassifier(m).fit(X, y).predict(X),
    "output codes": lambda m: OutputCodeClassifier(m, random_state=0).fit(X, y).predict(X),
    "several targets": lambda m: MultiOutputClassifier(m).fit(X, np.c_[y, y == 2]).predict(X),
    "chain": lambda m: ClassifierChain(m).fit(X, np.c_[y == 1, y == 2]).predict_proba(X),
    "calibration": lambda m: CalibratedClassifierCV(m, cv=3).fit(X, y).predict_proba(X),
    "frozen": lambda m: CalibratedClassifierCV(FrozenEstimator(m.fit(X, y))).fit(X, y).predict_proba(X),
    "threshold": lambda m: TunedThresholdClassifierCV(m, cv=3, thresholds=30).fit(X, y == 2).predict(X),
    "cross-validation": lambda m: cross_val_predict(m, X, y, method="predict_log_proba"),
    "scores": lambda m: cross_val_score(m, X, y, scoring="neg_log_loss", params={"sample_weight": WEIGHT}),
    "learning curve": lambda m: learning_curve(m, X, y, cv=2, train_sizes=[0.6, 1.0], shuffle=True, random_state=0)[2],
    "permutations": lambda m: permutation_importance(m.fit(X, y), X, y, random_state=0).importances,
    "partial dependence": lambda m: partial_dependence(m.fit(X, y == 1), X, [1]).average,
    "forward selection": lambda m: feature_selection.SequentialFeatureSelector(m, cv=2).fit(X, y).get_support(),
    "elimination": lambda m: feature_selection.RFE(m).fit(X, y).ranking_,
    "selection": lambda m: feature_selection.SelectFromModel(m).fit(X, y).get_support(),
}
SCORES = "these tools use decision_function if it exists, which is ln p(C_k | x) in our generative models"
INCOMPARABLE = {
    ("lda", "scores"): "scikit-learn's LDA has no sample_weight",
    ("lda", "calibration"): SCORES,
    ("lda", "frozen"): SCORES,
    ("naive_bayes", "calibration"): SCORES,
    ("naive_bayes", "frozen"): SCORES,
    ("naive_bayes", "output codes"): SCORES,
    ("naive_bayes", "chain"): "a column that is constant within a class has another vanishing variance",
    ("naive_bayes", "elimination"): "neither model has coef_",
    ("naive_bayes", "selection"): "neither model has coef_",
}
if SOLVER == "lsqr":
    INCOMPARABLE |= {("lda", tool): "lsqr does not centre coef_" for tool in ("elimination", "selection")}


# Tools that fit a model many times; with logistic regression, whose fits take longest, only `make test-all` runs them.
PATIENT = {
    "forward selection",
    "threshold",
    "cross-validation",
    "learning curve",
    "stacking",
    "self-training",
    "bagging",
}
PATIENT |= {"calibration", "elimination", "output codes", "several targets", "permutations"}


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        pytest.param(name, tool, marks=[pytest.mark.slow] * (name == "logistic" and tool in PATIENT))
        for name in PAIRS
        for tool in TOOLS
    ],
)
def test_a_tool_gives_the_same_numbers(name, tool):
    if (name, tool) in INCOMPARABLE:
        pytest.skip(INCOMPARABLE[name, tool])
    theirs, ours = (TOOLS[tool](clone(model)) for model in PAIRS[name])
    # GaussianNB adds 1e-9 of the largest variance; the fits of logistic regression end at a tolerance.
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
