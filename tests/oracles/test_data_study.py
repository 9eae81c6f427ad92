"""Studies of real tables are compared with scikit-learn."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import separatrix as sx
from separatrix.study import captured, compare_models, conduct

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA.exists(), reason="the data sets are not here")]


def cross_validated_line():
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        (StandardScaler(), make_column_selector(dtype_include="number")),
    )
    return make_pipeline(columns, LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000))


@pytest.mark.filterwarnings("ignore:Some columns have values that did not occur in training")
def test_adult_is_predicted_better_than_by_cross_validated_logistic_regression():
    rows, test = (pd.read_parquet(DATA / "adult" / f"adult_{part}.parquet") for part in ("train", "test"))
    rows = rows.sample(2000, random_state=0)
    found = conduct(rows, "income")
    with captured():  # ignore deprecation warnings of scikit-learn
        line = cross_validated_line().fit(rows.drop(columns="income"), rows["income"])
    codes = np.searchsorted(line.classes_, test["income"])
    theirs, ours = (
        np.log(m.predict_proba(test.drop(columns="income"))[np.arange(len(test)), codes]) for m in (line, found.model)
    )
    gain = ours - theirs  # gain on 16 281 held-out rows
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


@pytest.mark.slow
def test_nineteen_classes_with_few_rows_for_each_weight():
    table = pd.read_parquet(DATA / "mlbench_soybean" / "soybean.parquet")
    some = table[[*table.columns.drop("Class")[:35:3][:12], "Class"]]  # 547 rows for 19 x 25 weights
    found = compare_models(some, "Class", models=["prior only", "naive Bayes", "logistic (Bayesian)"], time=900)
    assert found.comparison["logistic (Bayesian)"].test.accuracy.value > 0.85
    train, test = (found.encoder.transform(part.X) for part in (found.train, found.test))
    with captured():  # a warning that the posterior is not Gaussian is expected
        plain = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
        plain.fit(train, found.train.labels)
    assert (plain.predict(test) == found.test.labels).mean() < 0.75
