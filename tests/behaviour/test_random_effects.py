"""Categories as random effects: a prior scale for the levels of each column, and new levels with its variance."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import separatrix as sx
from separatrix import effects
from separatrix.bayesian import Levels, Products, by_class, inference
from separatrix.bayesian.evidence import prior_scales
from separatrix.bayesian.structures import ArrowApproximation
from separatrix.likelihoods import Logit
from separatrix.priors import Gaussian
from separatrix.rows import as_source
from separatrix.solvers import pose
from separatrix.study import conduct, study_of
from separatrix.study.candidates import LOGISTIC
from separatrix.table import Schema, TableEncoder
from separatrix.table_model import explain, scale_groups

RNG = np.random.default_rng(0)
N = 600
CITY, SHOP = RNG.integers(12, size=N), RNG.integers(8, size=N)
TABLE = pd.DataFrame(
    {"age": RNG.normal(size=N), "city": [f"c{i}" for i in CITY], "shop": [f"s{i}" for i in SHOP], "club": SHOP % 2 == 0}
)
ACTIVATION = 0.5 * TABLE["age"].to_numpy() + RNG.normal(0, 1.5, 12)[CITY] - 0.3
Y = np.where(RNG.random(N) < expit(ACTIVATION), "yes", "no")
THREE = np.where(RNG.random(N) < 0.3, "maybe", Y)
NEW = TABLE.head(20).assign(city="elsewhere")


@cache
def fitted():
    return sx.TableClassifier().fit(TABLE, Y)


def of_new(model, rows=NEW):
    with pytest.warns(UserWarning, match="mean 0 and the variance of the levels"):
        return model.decision_distribution(rows)


def test_the_levels_of_each_category_share_a_scale():
    names = np.array(fitted().encoder_.schema_.columns)
    scale, spread = fitted().estimator_.prior_.scale, fitted().spread_
    unit = np.where(spread > 0, spread, 1.0)  # the indicator of new levels is constant
    scales = {}
    for column in ("city", "shop"):
        at = np.char.startswith(names.astype(str), f"{column}=")
        assert_allclose(np.ptp((scale / unit)[at]), 0, atol=1e-12)
        scales[column] = (scale / unit)[at][0]
    assert scales["city"] > 2 * scales["shop"]  # the shops have no effect
    assert fitted().estimator_.tuning_.labels == ("line", Levels("city"), Levels("shop"))


def test_a_category_counts_as_one_column_in_the_law_of_the_scales():
    """So the scale of numbers has the same law whether a category has 12 levels or 1200."""
    medians = []
    for L in (3, 40):
        X = np.column_stack([RNG.normal(size=(480, 2)), np.eye(L)[np.arange(480) % L], np.zeros(480)])
        groups = ("line",) * 2 + (Levels("city"),) * (L + 1)
        std = X.std(axis=0)
        prior = Gaussian(np.where(np.arange(L + 3) < 2, 1.0, np.where(std > 0, std, 1.0)), intercept_scale=10.0)
        objective = pose(as_source(X, X[:, 0] > 0), Logit(), prior, fit_intercept=True, standardize=True)
        scales = prior_scales(objective, groups)
        medians.append(scales.median)
        assert_allclose(scales.typical, [1.0, np.sqrt(1 - 1 / L)], rtol=1e-10)  # the constant column adds nothing
    assert medians[0] == medians[1] == 2 / np.sqrt(3)


@pytest.mark.parametrize("options", [{}, {"curved": True}], ids=["lines", "curves"])
@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_a_new_level_has_the_mean_and_the_variance_of_the_population_of_levels(options, y):
    model = sx.TableClassifier(sx.BayesianLogisticRegression(approximation="laplace"), **options).fit(TABLE, y)
    posterior, names = model.estimator_.posterior_, model.get_feature_names_out().tolist()
    P, C, at = len(names) + 1, len(np.atleast_2d(posterior.mean)), names.index("city=(new)")
    S, mean = posterior.covariance.reshape(C, P, C, P)[:, at], np.reshape(posterior.mean, (C, P))[:, at]
    assert_allclose(mean, 0, atol=1e-12)
    own = np.einsum("cc->c", S[:, :, at])
    others = S.copy()
    others[np.arange(C), np.arange(C), at] = 0.0
    assert_allclose(others, 0, atol=1e-8 * own.max())  # independent of all other weights
    prior = model.estimator_.prior_.scale[at] ** 2
    assert (own > prior * 0.999).all(), "averages over the scale are wider than its mode"
    assert (own < prior * 2).all()
    # The distribution of the activation is that of a row without any level, plus the weight of the new level.
    features = model.encoder_.transform(TABLE.head(20))
    features[:, [j for j, name in enumerate(model.encoder_.schema_.columns) if name.startswith("city=")]] = 0.0
    without = model.estimator_.decision_distribution(features)
    found = of_new(model)
    assert_allclose(found.mean, without.mean, atol=1e-10)
    assert_allclose(found.variance - without.variance, np.broadcast_to(own, (20, C)).squeeze(), rtol=1e-6)


def test_a_new_level_moves_probabilities_towards_one_half_and_widens_intervals():
    p, bounds = fitted().predict_proba(TABLE.head(20))[:, 1], fitted().predict_interval(TABLE.head(20))
    with pytest.warns(UserWarning, match="'city' \\('elsewhere'; 20 rows\\)"):
        q, wide = fitted().predict_proba(NEW)[:, 1], fitted().predict_interval(NEW)
    with pytest.warns(UserWarning, match="did not occur"):
        plain = expit(fitted().decision_function(NEW))  # at the mean of the weights
    assert (np.abs(q - 0.5) < np.abs(plain - 0.5)).all()
    assert (np.ptp(wide, axis=1) > 1.5 * np.ptp(bounds, axis=1)).all()
    assert np.isfinite(p).all()


def test_the_levels_share_a_scale_if_rows_are_weighted():
    """The indicator of a level has another standard deviation over weighted rows; c0 has hardly any weight."""
    weight = np.where(CITY == 0, 1e-12, np.where(CITY == 1, 50.0, 1.0))
    model = sx.TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(TABLE, Y, weight)
    features, names = model.encoder_.transform(TABLE), model.encoder_.schema_.columns
    away = features - np.average(features, axis=0, weights=weight)
    std = np.sqrt(np.average(away**2, axis=0, weights=weight))
    at = [j for j, name in enumerate(names) if name.startswith("city=")]
    scale = (model.estimator_.prior_.scale / np.where(std > 1e-12, std, 1.0))[at]
    assert_allclose(scale, scale[-1], rtol=1e-8)  # the last is that of new levels
    unseen, seen = of_new(model, NEW.head(1)), model.decision_distribution(NEW.head(1).assign(city="c0"))
    assert_allclose(seen.variance, unseen.variance, rtol=1e-6)


def test_missing_values_are_a_new_level_if_training_had_none_and_pooled_levels_are_not_new():
    city = TABLE["city"].where(TABLE.index >= 4, ["r0", "r1", "r2", "r3"] + [""] * (N - 4))
    model = sx.TableClassifier().fit(TABLE.assign(city=city), Y)
    assert "city=(other)" in model.encoder_.schema_.columns
    other = model.decision_distribution(NEW.assign(city="r1")).variance
    assert (of_new(model).variance > other).all()
    assert_allclose(of_new(model, NEW.assign(city=None)).variance, of_new(model).variance, rtol=1e-12)


def test_scans_saved_models_and_schemas_have_the_new_levels(tmp_path):
    sx.save(fitted(), tmp_path / "model.sx")
    NEW.to_csv(tmp_path / "new.csv", index=False)
    loaded = sx.load(tmp_path / "model.sx")
    expected = of_new(fitted())
    for found in (of_new(loaded), fitted().decision_distribution(tmp_path / "new.csv")):
        assert_allclose(found.mean, expected.mean, rtol=1e-10)
        assert_allclose(found.variance, expected.variance, rtol=1e-10)
    TABLE.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    scanned = sx.TableClassifier().fit(tmp_path / "rows.csv", "y")
    assert_allclose(of_new(scanned).variance, expected.variance, rtol=1e-5)
    schema = fitted().encoder_.schema_
    assert Schema.from_json(schema.to_json()) == schema
    assert "(new)" in schema.describe()


@pytest.mark.parametrize("y", [Y, THREE], ids=["two classes", "three classes"])
def test_onnx_graphs_have_the_new_levels(y):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = sx.TableClassifier(sx.BayesianLogisticRegression(approximation="laplace")).fit(
        TABLE.drop(columns="club"), y
    )
    session = onnxruntime.InferenceSession(sx.to_onnx(model, dtype="float64").SerializeToString())
    rows = pd.concat([TABLE.head(5), NEW.head(5), NEW.head(5).assign(city="")]).drop(columns="club")
    given = {
        "age": rows[["age"]].to_numpy(),
        "city": rows[["city"]].to_numpy(dtype=object),
        "shop": rows[["shop"]].to_numpy(dtype=object),
    }
    with pytest.warns(UserWarning, match="did not occur"):
        expected = model.predict_proba(rows.assign(city=rows["city"].replace("", None)))
    assert_allclose(session.run(["probabilities"], given)[0], expected, atol=1e-8)


def test_weights_are_explained_without_new_levels_and_a_reference_level_is_not_new():
    assert not [c.name for c in explain(fitted()) if "(new)" in c.name]
    assert "city=(new)" in fitted().contrasts().names
    first = sx.TableClassifier(drop="first").fit(TABLE, Y)
    common = TABLE["city"].value_counts().index[0]
    features = first.encoder_.transform(TABLE.head(1).assign(city=common))
    assert features[0, first.encoder_.schema_.new_levels["city"]] == 0
    assert (of_new(first).variance > first.decision_distribution(TABLE.head(20)).variance).all()


def test_the_effect_of_pooled_levels_is_that_of_their_rows():
    city = TABLE["city"].where(TABLE.index >= 4, ["r0", "r1", "r2", "r3"] + [""] * (N - 4))
    model = sx.TableClassifier().fit(TABLE.assign(city=city), Y)
    found = effects.partial_effects(model, model.encoder_.transform(TABLE.assign(city=city)), rng=0)
    effect = next(effect for effect in found if effect.column == "city")
    at = effect.values.tolist().index("(other)")
    expected = model.predict_proba(TABLE.assign(city="r2")).mean(axis=0)
    assert_allclose(effect.mean[at], expected, atol=0.02)


def test_the_model_of_a_study_has_the_levels_that_were_compared(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"zip": np.char.add("z", (np.arange(3000) % 150).astype(str)), "x": rng.normal(size=3000)})
    table["y"] = rng.random(3000) < expit(table.x)
    study = conduct(table, "y", models=[LOGISTIC])
    names = study.model.encoder_.schema_.columns
    assert "zip=(new)" in names
    assert "(other)" in next(effect.values for effect in study.effects if effect.column == "zip")
    assert not [note for note in study.notes if note.topic == "tuning" and "zip=" in note.text]
    assert len(names) == study.comparison[LOGISTIC].model.n_features_in_ + 1
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "all.parquet")  # as if it were larger than memory
    streamed = study_of(study.compared, everything=sx.scan(tmp_path / "all.parquet", target="y"))
    assert {"zip=(other)", "zip=(new)"} <= {*streamed.model.encoder_.schema_.columns}
    assert len(streamed.model.encoder_.schema_.columns) == len(names)


def test_other_models_and_stated_priors_have_no_new_levels():
    for model in (sx.LogisticRegression(), sx.BayesianLogisticRegression(sx.Gaussian(1.0))):
        fitted = sx.TableClassifier(model).fit(TABLE, Y)
        assert not fitted.encoder_.schema_.new_levels
        assert_array_equal(fitted.encoder_.transform(TABLE), TableEncoder().fit(TABLE).transform(TABLE))
    assert set(scale_groups(TableEncoder().fit(TABLE).schema_, levels=False)) == {"line"}


def test_categories_of_k_classes_have_scales_if_there_are_many_weights(monkeypatch):
    """They are those of the full covariance, without a matrix of all weights."""
    full = sx.TableClassifier().fit(TABLE, THREE).estimator_
    model = sx.TableClassifier(sx.BayesianLogisticRegression(structure="by class")).fit(TABLE, THREE)
    found = model.estimator_
    assert found.posterior_.approximation.structure == "by class"
    assert found.tuning_.labels == full.tuning_.labels
    assert_allclose(np.log(found.tuning_.factors), np.log(full.tuning_.factors), atol=0.3)
    assert (of_new(model).variance > model.decision_distribution(TABLE.head(20)).variance).all()


def test_too_many_weights_of_k_classes_share_one_scale_with_a_note(monkeypatch):
    monkeypatch.setattr(inference, "MAX_LEVEL_WEIGHTS", 20)
    monkeypatch.setattr(by_class, "MAX_SHAPED_PRODUCTS", 0.0)
    model = sx.TableClassifier().fit(TABLE, THREE)
    assert any("one scale for all columns" in note for note in model.estimator_.notes_)
    assert (of_new(model).variance > model.decision_distribution(TABLE.head(20)).variance).all()


def test_an_arrow_needs_a_log_concave_likelihood(monkeypatch):
    """Curvatures of a row with label noise may be negative, and eliminating levels divides by their sums."""
    monkeypatch.setattr(inference, "MAX_LEVEL_WEIGHTS", 20)
    models = {name: sx.BayesianLogisticRegression(likelihood=name) for name in ("probit", "label_noise")}
    found = {name: sx.TableClassifier(model).fit(TABLE, Y).estimator_ for name, model in models.items()}
    assert type(found["probit"].posterior_.approximation) is ArrowApproximation
    assert any("one scale for all columns" in note for note in found["label_noise"].notes_)


@pytest.mark.parametrize("other", ["age", "club"])
def test_a_new_level_has_the_variance_of_its_interactions(other):
    """Its interaction has the mean and the variance of the population of levels, and varies along the other column."""
    model = sx.TableClassifier(sx.BayesianLogisticRegression(approximation="laplace"), interactions=[("shop", other)])
    model.fit(TABLE, Y)
    schema, names = model.encoder_.schema_, model.get_feature_names_out().tolist()
    at = [names.index(name) for name in names if "shop=(new)" in name and " × " in name]
    posterior, prior = model.estimator_.posterior_, model.estimator_.prior_.scale[at]
    own = np.diag(posterior.covariance)[at]
    assert len(at) == (4 if other == "age" else 1)
    assert_allclose(np.reshape(posterior.mean, -1)[at], 0, atol=1e-12)
    assert (own > 0.999 * prior**2).all(), "averages over the scale are wider than its mode"
    # Prior standard deviation of the weight per unit of a product, for levels that occurred in training
    known = [i for i, name in enumerate(names) if "shop=s0" in name and " × " in name]
    per_unit = model.estimator_.prior_.scale[known] / model.spread_[known]
    assert_allclose(prior, per_unit, rtol=0.3)  # equal if the columns are independent
    rows = NEW.assign(city="c0", shop="elsewhere")
    features = schema.encode(rows)
    Psi = model.basis_.evaluate(features)[:, at]
    plain = features.copy()
    plain[:, schema.new_levels["shop"]] = 0.0
    without = model.estimator_.decision_distribution(plain)
    found, level = of_new(model, rows), np.diag(posterior.covariance)[names.index("shop=(new)")]
    assert_allclose(found.mean, without.mean, atol=1e-10)
    assert_allclose(found.variance - without.variance, level + Psi**2 @ own, rtol=1e-6)
    assert not [c.name for c in explain(model) if "(new)" in c.name]


def test_products_of_levels_count_as_one_column_in_the_law_of_the_scales():
    """A row has one pair of levels; products with new levels, which are zero in all rows, add nothing."""
    scales = []
    for new in (0, 5):
        shop, club = np.eye(8)[SHOP] - 1 / 8, np.eye(2)[TABLE["club"].astype(int)] - 0.5
        Psi = np.column_stack([(shop[:, :, None] * club[:, None]).reshape(N, -1), np.zeros((N, new))])
        X = np.column_stack([TABLE["age"], Psi])
        std = X.std(axis=0)
        prior = Gaussian(np.where(std > 0, std, 1.0) * np.append(1 / std[0], np.ones(16 + new)), intercept_scale=10.0)
        objective = pose(as_source(X, Y == "yes"), Logit(), prior, fit_intercept=True, standardize=True)
        scales.append(prior_scales(objective, ("line", *[Products("shop × club", 1)] * (16 + new))))
    assert_allclose(scales[0].typical, scales[1].typical, rtol=1e-12)
    assert_allclose(scales[0].typical, [1.0, np.sqrt(np.square(std[1:17]).sum())], rtol=1e-10)
    assert scales[0].median == scales[1].median == 2 / np.sqrt(2)
