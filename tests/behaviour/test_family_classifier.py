# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers made of families: partial fits, merging, missing values, unlabelled rows, text and errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from separatrix.exceptions import DataError
from separatrix.generative import ExponentialFamilyClassifier, NaiveBayes

FAMILIES = {
    "size": "normal",
    "visits": "poisson",
    "member": "bernoulli",
    "wait": "exponential",
    "spend": "gamma",
    "share": "beta",
    "kind": "categorical",
    "grade": "categorical",
    "length": "normal_known_variance",
}


def table(n=300, seed=0, n_classes=3):
    """Every family at once, some values missing."""
    rng = np.random.default_rng(seed)
    t = rng.integers(0, n_classes, n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(1e3 + t, 1 + t),
            "visits": rng.poisson(1 + 2 * t).astype(float),
            "member": (rng.random(n) < 0.2 + 0.2 * t).astype(float),
            "wait": rng.exponential(1 + t),
            "spend": rng.gamma(2.0 + t, 3.0),
            "share": rng.beta(1.0 + t, 2.0),
            "kind": np.array(["red", "green", "blue", "grey"])[(t + rng.integers(0, 2, n)) % 4],
            "grade": rng.choice([-1.0, 5.0, 7.0], n),
            "length": rng.normal(t, 2.0),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05), np.array(["a", "b", "c", "d"])[t]


X, y = table()
MODEL = NaiveBayes(FAMILIES)


def agree(one, two, rows=X, rtol=1e-9):
    assert one.classes_.tolist() == two.classes_.tolist()
    np.testing.assert_allclose(one.predict_log_proba(rows), two.predict_log_proba(rows), rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.log_density(rows), two.log_density(rows), rtol=rtol)


@pytest.mark.parametrize("estimate", ["map", "ml"])
def test_batches_equal_one_fit(estimate):
    model = clone(MODEL).set_params(estimate=estimate)
    pieces = clone(model)
    for rows in (slice(0, 90), slice(90, 120), slice(120, 300)):
        pieces.partial_fit(X[rows], y[rows], classes=["a", "b", "c"])
    agree(pieces, clone(model).fit(X, y))


def test_merging_takes_the_union_of_categories_and_classes():
    first, second = X.index < 150, X.index >= 150
    first &= (X["kind"] != "red") & (y != "a")
    second &= (X["kind"] != "grey") & (y != "c")
    parts = [clone(MODEL).fit(X[rows], y[rows]) for rows in (first, second)]
    whole = parts[0].merge(parts[1])
    agree(whole, clone(MODEL).fit(X[first | second], y[first | second]))
    assert whole.categories_["kind"].tolist() == ["blue", "green", "grey", "red"]
    assert parts[0].categories_["kind"].tolist() == ["blue", "green", "grey"]


def test_a_missing_value_equals_a_model_without_the_column():
    model = clone(MODEL).fit(X, y)
    row = X.dropna().head(3).copy()
    for column in FAMILIES:
        gap = row.copy()
        gap[column] = None if column == "kind" else np.nan
        rest = [c for c in FAMILIES if c != column]
        small = NaiveBayes({c: FAMILIES[c] for c in rest}).fit(X[rest], y)
        np.testing.assert_allclose(model.predict_log_proba(gap), small.predict_log_proba(row[rest]), atol=1e-9)
        np.testing.assert_allclose(model.log_density(gap), small.log_density(row[rest]), rtol=1e-9)


def test_a_row_without_values_gets_the_prior_probabilities():
    model = clone(MODEL).fit(X, y)
    nothing = X.head(1).copy()
    nothing[:] = np.nan
    nothing["kind"] = pd.Series([None], dtype="str")
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.priors_, rtol=1e-12)


# -- rows without a label ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("estimate", ["map", "ml", "predictive"])
def test_em_never_decreases_the_posterior(estimate):
    few = np.where(np.arange(len(y)) % 4 == 0, y, "?")
    families = {c: f for c, f in FAMILIES.items() if f != "normal_known_variance"}
    rows = X[list(families)]
    model = NaiveBayes(families, estimate=estimate, unlabelled="?").fit(rows, few)
    trace = np.array(model.solution_.trace)
    assert len(trace) > 3
    assert np.diff(trace).min() > -1e-9 * abs(trace[-1])
    assert model.facts_.count.sum() == pytest.approx(len(y))
    assert model.n_passes_ == model.n_steps_ + 1


@pytest.mark.parametrize("family", ["normal", "gamma", "multivariate_normal"])
def test_em_never_decreases_the_posterior_with_shared_scales(family):
    rng = np.random.default_rng(4)
    t = rng.integers(0, 2, 200)
    rows = rng.gamma(3.0, 1 + t[:, None], (200, 3))
    few = np.where(rng.random(200) < 0.2, t, -1)
    trace = ExponentialFamilyClassifier(family, unlabelled=-1).fit(rows, few).solution_.trace
    assert np.diff(trace).min() > -1e-9 * abs(trace[-1])


def test_without_a_prior_the_trace_is_the_observed_likelihood():
    rows = X[["visits", "wait"]]
    few = np.where(np.arange(len(y)) % 2 == 0, y, "?")
    model = NaiveBayes({"visits": "poisson", "wait": "exponential"}, estimate="ml", unlabelled="?").fit(rows, few)
    joint = model._log_joint(rows.to_numpy())
    own = joint[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    seen = np.where(few == "?", np.logaddexp.reduce(joint, axis=1), own).sum()
    assert seen == pytest.approx(model.solution_.trace[-1], abs=1e-4)


def test_unlabelled_rows_help_if_the_model_is_correct():
    """Averaged over ten data sets of 12 labelled and 600 unlabelled rows from the model's own family."""

    def log_score(model):
        return model.predict_log_proba(rows[612:])[np.arange(988), t[612:]].mean()

    gain = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        t = rng.integers(0, 2, 1600)
        p = rng.uniform(0.2, 0.8, size=(2, 12))
        rows = (rng.random((1600, 12)) < p[t]).astype(float)
        few = np.where(np.arange(1600) < 12, t, -1)
        few[:2] = t[:2] = [0, 1]
        alone = NaiveBayes("bernoulli").fit(rows[:12], t[:12])
        helped = NaiveBayes("bernoulli", unlabelled=-1).fit(rows[:612], few[:612])
        gain.append(log_score(helped) - log_score(alone))
    assert np.mean(gain) > 2 * np.std(gain) / np.sqrt(10) > 0


# -- text --------------------------------------------------------------------------------------------------------------
def test_an_unknown_category_gets_the_mass_of_the_pseudo_count():
    rows = pd.DataFrame({"kind": ["u", "u", "v", "u"]})
    model = NaiveBayes(pseudo_count=2.0, priors=[0.5, 0.5]).fit(rows, [0, 0, 0, 1])
    np.testing.assert_allclose(np.exp(model._log_likelihood(np.array([[2.0]]))), [[2 / (3 + 4), 2 / (1 + 4)]])
    expected = np.array([2 / 7, 2 / 5]) / (2 / 7 + 2 / 5)
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame({"kind": ["w"]}))[0], expected)


def test_sampled_text_columns_are_text():
    model = clone(MODEL).fit(X, y)
    rows, labels = model.sample(400, rng=0)
    assert rows.dtype == object
    assert set(rows[:, 6]) <= {"red", "green", "blue", "grey"}
    again = NaiveBayes(dict(zip(range(9), FAMILIES.values(), strict=True))).fit(rows, labels)
    assert again.score(rows, labels) > 0.6


@pytest.mark.parametrize("model", [MODEL, NaiveBayes("auto")])
def test_frames_of_any_library_agree(model):
    import polars as pl
    import pyarrow as pa

    reference = clone(model).fit(X, y)
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        agree_across = clone(model).fit(other, y)
        np.testing.assert_allclose(agree_across.predict_proba(other), reference.predict_proba(X), atol=1e-12)


# -- bad input ---------------------------------------------------------------------------------------------------------
def with_value(column, value):
    bad = X.copy()
    bad.loc[3, column] = value
    return bad


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("visits", -1, "Column 'visits' contains -1 in row 4"),
        ("visits", 1.5, "Column 'visits' contains 1.5"),
        ("share", 1.0, "Column 'share' contains 1 in row 4"),
        ("member", 2, "Column 'member' contains 2"),
        ("spend", -5, r"Column 'spend' contains -5 in row 4 .*above 0\..*missing"),
        ("size", np.inf, "infinity in column 'size'"),
        ("grade", np.inf, "infinity in column 'grade'"),
    ],
)
def test_a_value_outside_the_support_is_named_at_fit_and_at_predict(column, value, message):
    with pytest.raises(DataError, match=message):
        clone(MODEL).fit(with_value(column, value), y)
    model = clone(MODEL).fit(X, y)
    if column != "grade":  # an unknown category has a defined probability
        with pytest.raises(DataError, match=message):
            model.predict(with_value(column, value))


def test_a_constant_column_changes_nothing_if_families_are_chosen():
    rows = np.column_stack([np.arange(6.0), np.full(6, 3.5)])
    one, two = (NaiveBayes().fit(rows[:, :d], [0, 0, 0, 1, 1, 1]) for d in (1, 2))
    np.testing.assert_allclose(one.predict_proba(rows[:, :1]), two.predict_proba(rows), rtol=1e-12)


def test_classes_without_rows_have_probability_zero():
    for estimate in ("map", "ml"):
        model = clone(MODEL).set_params(estimate=estimate).partial_fit(X, y, classes=["a", "b", "c", "zebra"])
        assert (model.predict_proba(X)[:, 3] == 0).all()
        np.testing.assert_allclose(model.predict_proba(X)[:, :3], clone(model).fit(X, y).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(("family", "least"), [("normal_known_variance", 300), ("normal", -300), ("poisson", -300)])
def test_extreme_weights_do_not_overflow(family, least):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(3.0, size=(60, 2)).astype(float), np.where(np.arange(60) % 7, np.arange(60) % 3, np.nan)
    model = NaiveBayes(family, pseudo_count=1e-8, unlabelled="missing")
    with np.errstate(all="raise", under="ignore"):
        P = model.fit(X, y, sample_weight=10.0 ** np.linspace(least, 300, 60)).predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
