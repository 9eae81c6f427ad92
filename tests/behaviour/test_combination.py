# SPDX-License-Identifier: BSD-3-Clause
"""The combination of candidates in a study: its weights, its honest score, when it is chosen, and what it can do."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

import separatrix as sx
from separatrix.comparison import Comparison, Scores, Trial, stacking_weights
from separatrix.exceptions import DataError
from separatrix.metrics import weighted_mean
from separatrix.study import compare_models, conduct, examine, study_of
from separatrix.study.candidates import COMBINED, PRIOR
from separatrix.study.choice import choose, chosen_with_optimism
from separatrix.study.combination import MAX_PARTS, N_WEIGHT_FOLDS, combine, part_weights
from separatrix.table_model import TableClassifier

LINEAR, QUADRATIC = "linear discriminant", "quadratic discriminant"
FLIPPED = 0.15


def flipped_labels(n, rng):
    """Three distant normal classes with random labels in 15 % of the rows.

    Densities cannot describe such labels. The combination can: p(C_k | x) is 85 % of a discriminant and 15 % of the
    class proportions.
    """
    truth = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + 5.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    y = np.where(rng.random(n) < FLIPPED, rng.integers(0, 3, n), truth)
    return pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.array(["p", "q", "r"])[y])


TABLE = flipped_labels(400, np.random.default_rng(0))
NAMES = [PRIOR, LINEAR, QUADRATIC, COMBINED]


@pytest.fixture(scope="module")
def study():
    return conduct(TABLE, "kind", models=NAMES, time=1000.0)


def trials_of(L):
    """Trials whose log-likelihoods are the columns of L, and whose probabilities of class 0 are exp(L)."""
    return [
        Trial(
            f"m{k}",
            SimpleNamespace(classes_=np.array([0, 1])),
            test=Scores(log_likelihood=weighted_mean(rows), rows=rows),
            P=np.column_stack([np.exp(rows), 1 - np.exp(rows)]),
        )
        for k, rows in enumerate(L.T)
    ]


def compared(L):
    ranked = tuple(sorted(trials_of(L), key=lambda trial: trial.rank))
    return Comparison(ranked, np.array([0, 1]), np.arange(len(L)), np.arange(len(L)))


def combined(L, seed=0):
    models = {f"m{k}": TableClassifier() for k in range(L.shape[1])}
    return combine(compared(L), models, np.zeros(len(L), dtype=np.intp), np.random.default_rng(seed))


# -- the weights -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_weights_satisfy_the_conditions_of_the_maximum(spread, seed):
    """The score is concave. It is maximal if and only if no model has a slope above one, and those in use have one."""
    rng = np.random.default_rng(seed)
    L = -np.abs(rng.normal(0.7, 0.5, (300, 1)) + spread * rng.normal(size=(300, 6)))
    w = stacking_weights(L)
    slope = (np.exp(L) / (np.exp(L) @ w)[:, None]).mean(axis=0)
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1)
    assert (slope < 1 + 1e-3).all()
    assert_allclose(slope[w > 1e-3], 1, atol=1e-3)


def test_impossible_rows_have_no_say_unless_a_model_allows_them():
    L = np.log([[0.9, 0.5], [0.9, 0.5], [0.1, 0.5]])
    with np.errstate(divide="ignore"):
        for_all = np.log([[0.0, 0.0]])
        for_first = np.log([[0.0, 0.5]])
    assert_allclose(stacking_weights(np.vstack([L, for_all])), stacking_weights(L))
    assert stacking_weights(np.vstack([L, for_first]))[1] > stacking_weights(L)[1]
    assert_allclose(stacking_weights(for_all), [0.5, 0.5])


def test_few_models_are_parts_and_each_has_a_noticeable_weight():
    rng = np.random.default_rng(0)
    w = part_weights(-np.abs(rng.normal(0.7, 1.0, (500, 8))))
    assert np.count_nonzero(w) == MAX_PARTS
    best = stacking_weights(-np.ones((5, 1)))
    assert_array_equal(best, [1.0])
    assert_array_equal(part_weights(np.tile([-0.5, -0.9], (50, 1))), [1.0, 0.0])


# -- the score ---------------------------------------------------------------------------------------------------------


def test_the_weights_of_a_row_do_not_depend_on_the_row():
    rng = np.random.default_rng(1)
    L = -np.abs(rng.normal(0.7, 0.5, (100, 3)))
    folds = np.random.default_rng(0).permutation(100) % N_WEIGHT_FOLDS
    first = combined(L)
    changed = L.copy()
    changed[folds == 0] -= np.array([0.0, 2.0, 4.0]) * rng.random((np.count_nonzero(folds == 0), 3))
    second = combined(changed)

    def weights_of(found, L):
        """Weights of the rows of the first fold, from P = Σ_k w_k P_k."""
        at = folds == 0
        return np.linalg.lstsq(np.exp(L[at]), found.trial.P[at, 0], rcond=None)[0]

    assert_allclose(weights_of(first, L), weights_of(second, changed), atol=1e-8)
    w = weights_of(first, L)
    assert_allclose(first.trial.test.rows[folds == 0], np.log(np.exp(L[folds == 0]) @ w), atol=1e-8)


def test_the_mixture_of_means_over_repeats_is_at_most_the_mean_of_the_mixtures(rng):
    repeats = -np.abs(rng.normal(0.7, 0.5, (4, 50, 2)))
    log_w = np.log([0.3, 0.7])
    of_means = logsumexp(repeats.mean(axis=0) + log_w, axis=1)
    assert (of_means <= logsumexp(repeats + log_w, axis=2).mean(axis=0) + 1e-12).all()


def test_models_of_equal_rows_have_an_unbiased_combination():
    """Scores of four models are pure noise, so a combination gains only by averaging; its score must say how much."""
    errors, rng = [], np.random.default_rng(2)
    for seed in range(60):
        p = rng.uniform(0.3, 0.7, (60, 4))
        found = combined(np.log(p), seed)
        new = rng.uniform(0.3, 0.7, (20_000, 4))
        w = np.zeros(4)
        for name, weight in ({"m0": 1.0} if found is None else found.weights).items():
            w[int(name[1:])] = weight
        rows = np.log(p[:, 0]) if found is None else found.trial.test.rows
        errors.append(rows.mean() - np.log(new @ w).mean())
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(len(errors))


# -- the choice --------------------------------------------------------------------------------------------------------


def test_a_combination_is_chosen_only_if_it_leads_by_two_standard_errors(rng):
    sure = np.where(rng.random(400) < 0.85, 0.99, 0.005)
    clear = np.log(np.column_stack([sure, np.full(400, 1 / 3)]))
    found = combined(clear)
    choice = choose(compared(clear), found)
    assert choice.name == COMBINED
    assert "more than two standard errors, so the combination is chosen" in " ".join(choice.reasons)
    assert "% m0 and" in " ".join(choice.reasons)
    close = np.log(np.tile([[0.5, 0.7], [0.7, 0.5]], (50, 1)))  # the average is better, by 0.014 ± 0.017
    found = combined(close)
    choice = choose(compared(close), found)
    assert choice.name != COMBINED
    assert found.trial.test.log_likelihood.value > compared(close)[choice.name].test.log_likelihood.value
    assert "at most two standard errors, so the single model is kept" in " ".join(choice.reasons)


def test_the_score_of_a_chosen_combination_is_corrected_for_the_choice(rng):
    sure = np.where(rng.random(400) < 0.85, 0.99, 0.005)
    clear = np.log(np.column_stack([sure, np.full(400, 1 / 3)]))
    choice, optimism = chosen_with_optimism(compared(clear), rng, combined(clear))
    assert choice.name == COMBINED
    assert 0 <= optimism < 0.01


# -- the chosen combination --------------------------------------------------------------------------------------------


def test_flipped_labels_are_explained_by_a_discriminant_and_the_class_proportions(study):
    weights = study.model.estimator_.weights_
    assert study.choice.name == COMBINED
    assert weights[PRIOR] == pytest.approx(FLIPPED, abs=0.05)
    new = flipped_labels(20_000, np.random.default_rng(1))
    P = study.model.predict_proba(new.drop(columns="kind"))
    rows = np.log(P[np.arange(len(new)), np.searchsorted(study.classes, new["kind"])])
    expected, error = study.score
    assert abs(expected - rows.mean()) < 3 * error
    assert "probabilities are the weighted mean" in str(study)


def test_the_parts_are_those_of_the_comparison_and_predict_as_fitted_alone(study):
    names, P = [], 0.0
    columns = TABLE.drop(columns="kind")
    for name, weight in study.model.estimator_.weights_.items():
        alone = conduct(TABLE, "kind", models=[name], time=1000.0).model
        P = P + weight * alone.predict_proba(columns)
        names.append(name)
    assert_allclose(study.model.predict_proba(columns), P, atol=1e-12)
    assert set(names) <= set(NAMES)


def test_a_combination_that_is_fitted_again_equals_the_one_that_is_kept(study):
    found = compare_models(TABLE, "kind", models=NAMES, time=1000.0)
    again = study_of(replace(found, configured={}))  # as for a sample of the rows
    columns = TABLE.drop(columns="kind")
    assert_allclose(again.model.predict_proba(columns), study.model.predict_proba(columns), atol=1e-12)


def test_a_combination_is_saved_examined_and_reported(study, tmp_path):
    columns = TABLE.drop(columns="kind")
    sx.save(study.model, tmp_path / "model.sx")
    model = sx.load(tmp_path / "model.sx")
    assert_array_equal(model.predict_proba(columns), study.model.predict_proba(columns))
    later = examine(model, flipped_labels(200, np.random.default_rng(2)), "kind")
    (note,) = [note.text for note in later.notes if note.topic == "combination"]
    assert "% prior only" in note
    assert "neither weights of columns nor intervals" in note
    report = study.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "% prior only" in report
    assert [effect.column for effect in study.effects] == [effect.column for effect in later.effects]
    assert study.coefficients == ()


def test_a_combination_says_what_it_does_not_have(study):
    columns = TABLE.drop(columns="kind")
    with pytest.raises(TypeError, match="log-odds are not a sum over columns. Fit one of these models"):
        study.model.explain(columns.iloc[:1])
    with pytest.raises(DataError, match="ModelAverage has none: use"):
        sx.effects.slopes(study.model, columns)
    with pytest.raises(AttributeError, match="ModelAverage has no predict_interval"):
        study.model.predict_interval(columns)


def test_the_importance_of_a_column_is_the_increase_of_the_loss_of_the_combination(study):
    new = flipped_labels(2000, np.random.default_rng(3))
    X, codes = new[["a", "b"]], np.searchsorted(study.classes, new["kind"])
    found = sx.effects.importance(study.model, X, new["kind"], rng=0)
    log_p = study.model.predict_log_proba(X)
    assert_allclose(log_p, np.log(study.model.predict_proba(X)))
    for name, value, error in zip(found.names, found["estimate"], found["standard_error"], strict=True):
        permuted = X.assign(**{name: np.random.default_rng(0).permutation(X[name])})
        increase = (log_p - study.model.predict_log_proba(permuted))[np.arange(2000), codes].mean()
        assert abs(value - increase) < 4 * error


def test_a_combination_in_onnx_predicts_what_it_predicts(study):
    runtime = pytest.importorskip("onnxruntime")
    columns = TABLE.drop(columns="kind")
    session = runtime.InferenceSession(sx.to_onnx(study.model, dtype="float64").SerializeToString())
    feeds = {name: columns[[name]].to_numpy() for name in columns}
    label, P = session.run(["label", "probabilities"], feeds)
    assert_allclose(P, study.model.predict_proba(columns), atol=1e-12)
    assert_array_equal(label, study.model.predict(columns))


def test_a_study_combines_models_only_if_it_may_choose_among_all_or_is_told_to():
    found = compare_models(TABLE, "kind", models=NAMES[:-1])
    assert found.choice.name in NAMES[:-1]
    assert COMBINED not in " ".join(found.choice.reasons)


# -- averages of table models ------------------------------------------------------------------------------------------


def test_models_of_an_average_share_the_encoder_and_have_curves_of_their_own(rng):
    n = 300
    x, city = rng.uniform(-3, 3, n), rng.integers(0, 3, n)
    table = pd.DataFrame({"x": x, "city": np.array(["u", "v", "w"])[city]})
    y = np.sin(2 * x) + 0.5 * city + 0.3 * rng.logistic(size=n) > 0.5
    parts = {"straight": TableClassifier(), "curved": TableClassifier(curved=True)}
    average = TableClassifier(sx.ModelAverage(parts)).fit(table, y)
    assert average.estimator_.weights_["curved"] > 0.99
    given = TableClassifier(sx.ModelAverage(parts, weights={"straight": 1.0, "curved": 3.0})).fit(table, y)
    alone = [part.fit(table, y).predict_proba(table) for part in parts.values()]
    # Parts have no indicators of new levels, so probabilities agree to the accuracy of the tuned prior.
    assert_allclose(given.predict_proba(table), 0.25 * alone[0] + 0.75 * alone[1], atol=0.01)
    parts["curved"] = TableClassifier(curved=True, types={"x": "number"})
    with pytest.raises(ValueError, match="'curved' has other types, drop or hashing"):
        TableClassifier(sx.ModelAverage(parts)).fit(table, y)


def test_given_weights_replace_the_evidence(rng):
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    models = {"a": sx.LinearDiscriminantAnalysis(), "b": sx.QuadraticDiscriminantAnalysis()}
    found = sx.ModelAverage(models, weights={"a": 1, "b": 3}).fit(X, y)
    assert found.weights_ == {"a": 0.25, "b": 0.75}
    expected = 0.25 * models["a"].fit(X, y).predict_proba(X) + 0.75 * models["b"].fit(X, y).predict_proba(X)
    assert_allclose(found.predict_proba(X), expected, atol=1e-12)
    with pytest.raises(ValueError, match="weights=.*'b'"):
        sx.ModelAverage(models, weights={"a": 1}).fit(X, y)
    with pytest.raises(ValueError, match="prior= and weights="):
        sx.ModelAverage(models, prior={"a": 1, "b": 1}, weights={"a": 1, "b": 1}).fit(X, y)
