"""Real tables with columns of several kinds: held-out log loss against scikit-learn's naive Bayes, one kind per model.

Every peer gets the preprocessing that suits it: missing numbers as the mean (GaussianNB) or the median, missing texts
as the most frequent one; texts one-hot (BernoulliNB, GaussianNB) or as codes (CategoricalNB); numbers in ten quantile
bins where a peer knows no numbers.

A naive Bayes that is shown fewer columns counts less evidence twice, whoever fits it. Without an exponent on the
likelihood, models are compared on the same columns; with it, ours sees all columns and has to beat every peer, also
those that see the columns of numbers, or of texts, alone.
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
    pytest.mark.skipif(not DATA.exists(), reason="the data sets are kept beside the project, and are not here"),
    pytest.mark.filterwarnings("ignore::UserWarning:sklearn"),  # bins that coincide, categories not seen before
]


FREQUENT = SimpleImputer(strategy="most_frequent")
ONE_HOT = make_pipeline(FREQUENT, OneHotEncoder(handle_unknown="ignore", sparse_output=False))


def codes(blank=FREQUENT):
    """Texts as codes from 1; a text not seen before is 0."""
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(blank, encode, FunctionTransformer(_after_unknown))


def _after_unknown(codes):
    return codes + 1


def bins(encode):
    cut = KBinsDiscretizer(10, encode=encode, quantile_method="averaged_inverted_cdf")
    return make_pipeline(SimpleImputer(strategy="median"), cut)


def on_columns(model, *parts):
    """A peer behind a preparation for each set of columns; columns in no set are not shown to it."""
    return make_pipeline(make_column_transformer(*(part for part in parts if part[1])), model)


def kinds(X):
    numbers = X.select_dtypes("number").columns.tolist()
    return numbers, [name for name in X if name not in numbers]


def peers(X):
    """scikit-learn's single-kind models for all columns of a table."""
    numbers, texts = kinds(X)
    yield on_columns(CategoricalNB(), (bins("ordinal"), numbers), (codes(), texts))
    yield on_columns(BernoulliNB(), (bins("onehot-dense"), numbers), (ONE_HOT, texts))
    yield on_columns(GaussianNB(), (SimpleImputer(), numbers), (ONE_HOT, texts))


def more_peers(X):
    """Codes as if they were numbers, gaps as a text of their own, and peers that see one kind of column alone."""
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
    table["TotalCharges"] = pd.to_numeric(table["TotalCharges"], errors="coerce")  # blank for new customers
    X, y = table.drop(columns="Churn"), table["Churn"]
    a, b, ya, yb = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    return [(a, ya), (b, yb)]


@cache
def best_peer(load):
    train, test = load()
    return min(loss(peer, train, test) for peer in peers(train[0]))


@pytest.mark.parametrize("load", [adult, telco])
def test_mixed_families_beat_every_single_kind_on_the_same_columns(load):
    train, test = load()
    assert loss(NaiveBayes("auto"), train, test) < best_peer(load)


@pytest.mark.parametrize("load", [adult, telco])
def test_families_found_beat_normal_on_the_columns_of_numbers(load):
    train, test = ((X.select_dtypes("number"), y) for X, y in load())
    gaussian = make_pipeline(SimpleImputer(), GaussianNB())
    assert loss(NaiveBayes("auto"), train, test) < 0.95 * loss(gaussian, train, test)


@pytest.mark.parametrize("load", [adult, telco])
def test_tempered_on_all_columns_beats_every_peer_on_any(load):
    train, test = load()
    ours = loss(NaiveBayes("auto", temper=True), train, test)
    assert ours < min(best_peer(load), *(loss(peer, train, test) for peer in more_peers(train[0])))


def test_votes_with_gaps_beat_votes_filled_in_and_tempered_by_far():
    """Sixteen yes/no votes, 392 of them missing: two times five folds."""
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


def test_the_report_of_adult_reads_well():
    train, _ = adult()
    model = NaiveBayes("auto").fit(*train)
    lines = {line.split()[0]: line for line in model.report().splitlines()}
    assert "text, 16 categories" in lines["education"]
    assert "gamma" in lines["fnlwgt"]
    assert "whole numbers 0 to 99999, 119 distinct" in lines["capital-gain"]
