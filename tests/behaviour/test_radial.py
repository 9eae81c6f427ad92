"""Radial functions of the numbers of a table: the basis, its width, and their use in `TableClassifier`."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import separatrix as sx
from separatrix.effects import partial_effects
from separatrix.exceptions import DataError
from separatrix.metrics import log_likelihood
from separatrix.study import BatchScorer
from separatrix.table_model import Radial, TableClassifier, explain

RNG = np.random.default_rng(0)
N = 500
TABLE = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"]).assign(g=RNG.choice(["u", "v"], N))
DISTANCE = TABLE.a**2 + TABLE.b**2
Y = np.where(RNG.random(N) < 1 / (1 + np.exp(3 * (DISTANCE - 1.4) - (TABLE.g == "u"))), "in", "out")


@pytest.fixture(scope="module")
def model():
    return TableClassifier(radial=30).fit(TABLE, Y)


def test_functions_are_all_columns_and_gaussians_of_the_standardised_numbers():
    X = RNG.normal(size=(50, 3)) * [1.0, 10.0, 100.0] + 5.0
    basis = Radial([0, 2], n_centres=4, factor=0.7).fit(X)
    found = basis.functions_
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    squared = ((Z[:, [0, 2]][:, None] - found.centres) ** 2).sum(axis=2)
    Phi = np.column_stack([X, np.exp(-squared / 2 / found.widths[0] ** 2)])
    assert_allclose(basis.transform(X), Phi, rtol=1e-12, atol=1e-14)
    assert_allclose(basis.transform(sparse.csr_array(X)).toarray(), Phi, rtol=1e-12, atol=1e-14)
    assert basis.get_feature_names_out().tolist() == ["x0", "x1", "x2", "rbf0", "rbf1", "rbf2", "rbf3"]
    assert found.sources[:, 0].tolist() == [0, 1, 2, -1, -1, -1, -1]
    assert np.isnan(basis.evaluate(np.full((1, 3), np.inf))[0, 3:]).all()  # not the value at a clipped number
    again = basis.frozen().fit(X[:5])
    assert_array_equal(again.transform(X), basis.transform(X))


def test_the_functions_do_not_depend_on_the_units_of_the_columns():
    X = RNG.normal(size=(60, 2))
    one, other = (Radial([0, 1], 5).fit(Z).transform(Z)[:, 2:] for Z in (X, X * [1e-3, 1e5] + [7.0, -3e6]))
    assert_allclose(other, one, rtol=1e-6)


def test_a_ring_is_found_with_a_width_chosen_by_evidence(model):
    rng = np.random.default_rng(1)
    new = pd.DataFrame(rng.normal(size=(4000, 2)), columns=["a", "b"]).assign(g=rng.choice(["u", "v"], 4000))
    p = 1 / (1 + np.exp(3 * (new.a**2 + new.b**2 - 1.4) - (new.g == "u")))
    codes = (rng.random(4000) >= p).astype(int)
    losses = [-log_likelihood(m.predict_proba(new), codes).value for m in (model, TableClassifier().fit(TABLE, Y))]
    entropy = -log_likelihood(np.column_stack([p, 1 - p]), codes).value
    assert losses[0] < entropy + 0.05  # 500 rows
    assert losses[1] > entropy + 0.2


def test_the_evidence_prefers_wide_functions_for_smooth_and_narrow_ones_for_wavy_log_odds(model):
    waves = np.sin(3 * TABLE.a) * np.sin(3 * TABLE.b)
    y = RNG.random(N) < 1 / (1 + np.exp(-6 * waves))
    assert TableClassifier(radial=30).fit(TABLE, y).basis_.factor < model.basis_.factor


def test_without_information_radial_functions_cost_little():
    labels = RNG.permutation(Y)
    rng = np.random.default_rng(2)
    new, codes = TABLE.iloc[rng.permutation(N)], (rng.random(N) < (Y == "out").mean()).astype(int)
    loss = -log_likelihood(TableClassifier(radial=True).fit(TABLE, labels).predict_proba(new), codes).value
    prior = -log_likelihood(np.tile([(Y == "in").mean(), (Y == "out").mean()], (N, 1)), codes).value
    assert loss < prior + 0.02


def test_effects_weights_and_intervals_of_a_radial_model(model):
    names = {c.name for c in explain(model)}
    assert names == {"a", "b", "g=u", "g=v"}  # the weight of a radial function says nothing by itself
    features = model.encoder_.transform(TABLE)
    effects = {effect.column: effect for effect in partial_effects(model, features)}
    inside, outside = (effects["a"].mean[np.argmin(np.abs(effects["a"].values - at)), 0] for at in (0.0, 2.0))
    assert inside > 2 * outside
    assert effects["a"].importance > 0
    bounds = model.predict_interval(TABLE)
    assert ((bounds[:, 0] <= bounds[:, 1]) & (bounds >= 0).all(axis=1) & (bounds <= 1).all(axis=1)).all()
    assert len(model.summary().names) == len(model.get_feature_names_out()) + 1
    assert "a" in BatchScorer(model)._range


def test_a_radial_model_is_saved_and_exported(model, tmp_path):
    sx.save(model, tmp_path / "radial.sx")
    loaded = sx.load(tmp_path / "radial.sx")
    assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(sx.to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    rows = {name: TABLE[[name]].to_numpy(object if name == "g" else np.float32) for name in TABLE}
    found = session.run(["probabilities"], rows)[0]
    assert_allclose(found, model.predict_proba(TABLE.astype({"a": np.float32, "b": np.float32})), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"radial": True, "curved": True}, ValueError, "excludes curved and interactions"),
        ({"radial": True, "estimator": sx.LogisticRegression()}, ValueError, "tunes the width by evidence"),
        ({"radial": 0}, ValueError, "radial=0"),
        ({"radial": True, "types": {"a": "drop"}}, DataError, "needs 2 columns of numbers or dates, and there are 1"),
    ],
)
def test_impossible_arguments_are_reported(arguments, error, words):
    with pytest.raises(error, match=words):
        TableClassifier(**arguments).fit(TABLE, Y)
