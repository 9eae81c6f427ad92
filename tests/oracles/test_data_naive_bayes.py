"""Real tables with columns of several kinds: held-out log loss against scikit-learn's naive Bayes, one kind per model.

Every peer gets the preprocessing that suits it: missing numbers as the mean (GaussianNB) or the median, missing texts
as the most frequent one; texts one-hot (BernoulliNB, GaussianNB) or as codes (CategoricalNB); numbers in ten quantile
bins where a peer knows no numbers. All models see the same columns. GaussianNB is also tried on the columns of numbers
alone, and then so is ours: a naive Bayes that is shown fewer columns counts less evidence twice, whoever fits it.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

from separatrix.generative import NaiveBayes

DATA = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.exists(), reason="the data sets are kept beside the project, and are not here"),
    pytest.mark.filterwarnings("ignore::UserWarning:sklearn"),  # bins that coincide, categories not seen before
]


def peers(X):
    """scikit-learn's single-kind models for a table."""
    numbers = X.select_dtypes("number").columns.tolist()
    texts = [name for name in X if name not in numbers]
    frequent = SimpleImputer(strategy="most_frequent")
    one_hot = make_pipeline(frequent, OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    codes = make_pipeline(
        frequent,
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        FunctionTransformer(_after_unknown),
    )

    def bins(encode):
        cut = KBinsDiscretizer(10, encode=encode, quantile_method="averaged_inverted_cdf")
        return make_pipeline(SimpleImputer(strategy="median"), cut)

    yield make_pipeline(make_column_transformer((bins("ordinal"), numbers), (codes, texts)), CategoricalNB())
    yield make_pipeline(make_column_transformer((bins("onehot-dense"), numbers), (one_hot, texts)), BernoulliNB())
    yield make_pipeline(make_column_transformer((SimpleImputer(), numbers), (one_hot, texts)), GaussianNB())


def _after_unknown(codes):
    """Codes from 1, so that a text not seen before is 0."""
    return codes + 1


def loss(model, train, test):
    return log_loss(test[1], model.fit(*train).predict_proba(test[0]))


def adult():
    tables = [pd.read_parquet(DATA / "adult" / f"adult_{part}.parquet") for part in ("train", "test")]
    return [(table.drop(columns="income"), table["income"]) for table in tables]


def telco():
    table = pd.read_parquet(DATA / "telco_churn" / "telco_churn.parquet")
    table["TotalCharges"] = pd.to_numeric(table["TotalCharges"], errors="coerce")  # blank for new customers
    X, y = table.drop(columns="Churn"), table["Churn"]
    a, b, ya, yb = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return [(a, ya), (b, yb)]


@pytest.mark.parametrize("load", [adult, telco])
def test_mixed_families_beat_every_single_kind_on_the_same_columns(load):
    train, test = load()
    ours = loss(NaiveBayes("auto"), train, test)
    assert ours < min(loss(peer, train, test) for peer in peers(train[0]))


@pytest.mark.parametrize("load", [adult, telco])
def test_families_found_beat_normal_on_the_columns_of_numbers(load):
    train, test = ((X.select_dtypes("number"), y) for X, y in load())
    gaussian = make_pipeline(SimpleImputer(), GaussianNB())
    assert loss(NaiveBayes("auto"), train, test) < 0.95 * loss(gaussian, train, test)


def test_votes_with_gaps_beat_votes_filled_in():
    """Sixteen yes/no votes, 392 of them missing: ten times five folds."""
    table = pd.read_parquet(DATA / "mlbench_housevotes84" / "housevotes84.parquet")
    X, y = table.drop(columns="Class"), table["Class"]
    losses = []
    for a, b in RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0).split(X, y):
        train, test = (X.iloc[a], y.iloc[a]), (X.iloc[b], y.iloc[b])
        codes = make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder())
        third = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OrdinalEncoder())
        models = [
            NaiveBayes("auto"),
            make_pipeline(codes, CategoricalNB()),
            make_pipeline(codes, BernoulliNB()),
            make_pipeline(codes, GaussianNB()),
            make_pipeline(third, CategoricalNB()),
        ]
        losses.append([loss(model, train, test) for model in models])
    ours, *others = np.mean(losses, axis=0)
    assert ours < min(others)


def test_the_report_of_adult_reads_well():
    train, _ = adult()
    model = NaiveBayes("auto").fit(*train)
    lines = {line.split()[0]: line for line in model.report().splitlines()}
    assert "text, 16 categories" in lines["education"]
    assert "gamma" in lines["fnlwgt"]
    assert "whole numbers 0 to 99999, 119 distinct" in lines["capital-gain"]
