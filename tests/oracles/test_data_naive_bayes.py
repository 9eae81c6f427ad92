"""Held-out log loss on tables with mixed columns, compared with scikit-learn's naive Bayes models (the *peers*).

Each peer has one family for all columns and gets suitable preprocessing: missing numbers become the mean (GaussianNB)
or the median, missing texts the most frequent one; texts are one-hot (BernoulliNB, GaussianNB) or codes
(CategoricalNB); numbers are put into ten quantile bins if a peer needs discrete values.

Naive Bayes counts correlated evidence twice, and less so with fewer columns. So models without tempering are compared
on the same columns. The tempered model uses all columns and must beat every peer, including the peers that use only
numeric columns or only texts.
"""

from functools import cache
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
    pytest.mark.skipif(not DATA.exists(), reason="the data sets are not in the folder next to the repository"),
    pytest.mark.filterwarnings("ignore::UserWarning:sklearn"),  # about equal bins and unknown categories
]


FREQUENT = SimpleImputer(strategy="most_frequent")
ONE_HOT = make_pipeline(FREQUENT, OneHotEncoder(handle_unknown="ignore", sparse_output=False))


def codes(blank=FREQUENT):
    """Return an encoder of texts as codes from 1, with 0 for unknown texts."""
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(blank, encode, FunctionTransformer(_after_unknown))


def _after_unknown(codes):
    return codes + 1


def bins(encode):
    cut = KBinsDiscretizer(10, encode=encode, quantile_method="averaged_inverted_cdf")
    return make_pipeline(SimpleImputer(strategy="median"), cut)


def on_columns(model, *parts):
    """Return a pipeline with one preprocessing step per set of columns, which drops all other columns."""
    return make_pipeline(make_column_transformer(*(part for part in parts if part[1])), model)


def kinds(X):
    numbers = X.select_dtypes("number").columns.tolist()
    return numbers, [name for name in X if name not in numbers]


def peers(X):
    """Return scikit-learn's models, each with one family for all columns of a table."""
    numbers, texts = kinds(X)
    yield on_columns(CategoricalNB(), (bins("ordinal"), numbers), (codes(), texts))
    yield on_columns(BernoulliNB(), (bins("onehot-dense"), numbers), (ONE_HOT, texts))
    yield on_columns(GaussianNB(), (SimpleImputer(), numbers), (ONE_HOT, texts))


def more_peers(X):
    """Return more peers: codes as numbers, missing values as a category, and models of only one type of column."""
    numbers, texts = kinds(X)
    gaps = codes(SimpleImputer(strategy="constant", fill_value="?"))
    yield on_columns(GaussianNB(), (SimpleImputer(), numbers), (codes(), texts))
    yield on_columns(CategoricalNB(), (bins("ordinal"), numbers), (gaps, texts))
    if numbers and texts:
        yield on_columns(CategoricalNB(), (codes(), texts))
        yield on_columns(CategoricalNB(), (gaps, texts))
        yield on_columns(BernoulliNB(), (ONE_HOT, texts))
        yield on_columns(GaussianNB(), (SimpleImputer(), numbers))
        yield on_columns(CategoricalNB(), (bins("ordinal"), numbers))
        yield on_columns(BernoulliNB(), (bins("onehot-dense"), numbers))


def loss(model, train, test):
    return log_loss(test[1], model.fit(*train).predict_proba(test[0]))


def adult():
    tables = [pd.read_parquet(DATA / "adult" / f"adult_{part}.parquet") for part in ("train", "test")]
    return [(table.drop(columns="income"), table["income"]) for table in tables]


def telco():
    table = pd.read_parquet(DATA / "telco_churn" / "telco_churn.parquet")
    table["TotalCharges"] = pd.to_numeric(table["TotalCharges"], errors="coerce")  # missing for new customers
    X, y = table.drop(columns="Churn"), table["Churn"]
    a, b, ya, yb = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return [(a, ya), (b, yb)]


@cache
def best_peer(load):
    train, test = load()
    return min(loss(peer, train, test) for peer in peers(train[0]))


@pytest.mark.parametrize("load", [adult, telco])
def test_mixed_families_beat_every_single_family_on_the_same_columns(load):
    train, test = load()
    assert loss(NaiveBayes("auto"), train, test) < best_peer(load)


@pytest.mark.parametrize("load", [adult, telco])
def test_detected_families_beat_the_normal_family_on_numeric_columns(load):
    train, test = ((X.select_dtypes("number"), y) for X, y in load())
    gaussian = make_pipeline(SimpleImputer(), GaussianNB())
    assert loss(NaiveBayes("auto"), train, test) < 0.95 * loss(gaussian, train, test)


@pytest.mark.parametrize("load", [adult, telco])
def test_the_tempered_model_on_all_columns_beats_every_peer(load):
    train, test = load()
    ours = loss(NaiveBayes("auto", temper=True), train, test)
    assert ours < min(best_peer(load), *(loss(peer, train, test) for peer in more_peers(train[0])))


def test_missing_votes_are_better_than_imputed_votes_and_tempering_is_better_still():
    """The table has sixteen yes/no votes, 392 of them missing. Five folds are repeated twice."""
    table = pd.read_parquet(DATA / "mlbench_housevotes84" / "housevotes84.parquet")
    X, y = table.drop(columns="Class"), table["Class"]
    losses = []
    for a, b in RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0).split(X, y):
        train, test = (X.iloc[a], y.iloc[a]), (X.iloc[b], y.iloc[b])
        models = [NaiveBayes("auto", temper=True), NaiveBayes("auto"), *peers(X), *more_peers(X)]
        losses.append([loss(model, train, test) for model in models])
    tempered, ours, *others = np.mean(losses, axis=0)
    assert ours < min(others)
    assert tempered < 0.5 * min(others)


def test_the_report_of_adult():
    train, _ = adult()
    model = NaiveBayes("auto").fit(*train)
    lines = {line.split()[0]: line for line in model.report().splitlines()}
    assert "text, 16 categories" in lines["education"]
    assert "gamma" in lines["fnlwgt"]
    assert "whole numbers 0 to 99999, 119 distinct" in lines["capital-gain"]
