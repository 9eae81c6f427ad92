"""`TableClassifier`: encoding, prior scales, curves (`Ramps`), weights (`contrasts`, `explain`), and `PriorOnly`."""

from decimal import Decimal

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import ApproximationWarning, DataError
from separatrix.study import PriorOnly
from separatrix.table import TableEncoder
from separatrix.table_model import Ramps, TableClassifier, continuous_columns, explain
from separatrix.table_model.classifier import functions_of
from separatrix.table_model.ramps import knots_of

TABLE, Y = make_mixed_types(300, as_frame=True, rng=0)
THREE = np.where(Y == "leaves", "leaves", np.where(TABLE["calls"] > 1, "calls", "rests"))
TUNED = sx.BayesianLogisticRegression(tune="evidence")
MODEL = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)


# -- the classifier ----------------------------------------------------------------------------------------------------


def test_a_table_classifier_is_the_encoder_followed_by_the_model():
    features = TableEncoder().fit(TABLE).transform(TABLE)
    direct = sx.LogisticRegression().fit(features, Y)
    assert_allclose(MODEL.predict_proba(TABLE), direct.predict_proba(features), atol=1e-12)
    assert_array_equal(MODEL.predict(TABLE), direct.predict(features))
    assert TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y).predict_proba(TABLE).shape == (300, 2)


def test_the_default_has_a_posterior_with_the_names_of_the_encoded_columns():
    model = TableClassifier().fit(TABLE, Y)
    assert isinstance(model.estimator_, sx.BayesianLogisticRegression)
    assert model.summary().names == ("intercept", *model.encoder_.schema_.columns)
    bounds, p = model.predict_interval(TABLE), model.predict_proba(TABLE)[:, 1]
    assert ((bounds[:, 0] <= p) & (p <= bounds[:, 1])).all()
    assert model.plan_ is model.estimator_.plan_


def test_types_weights_rows_and_names():
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    weighted = TableClassifier(sx.LogisticRegression(), types={"contract": "drop"}).fit(TABLE, Y, weight)
    assert not [name for name in weighted.encoder_.schema_.columns if "contract" in name]
    features = MODEL.encoder_.transform(TABLE)
    assert MODEL.feature_names_in_.tolist() == list(TABLE.columns)
    assert MODEL.n_rows_ == 300
    assert_allclose(MODEL.spread_, features.std(axis=0))
    assert_allclose(MODEL.centre_, features.mean(axis=0))
    assert (MODEL.sources_[0], MODEL.sources_[-1]) == ("charge", "contract")
    assert TableClassifier(sx.LogisticRegression()).fit(features, Y).sources_[0] == "x0"
    mixed = TableClassifier(sx.LogisticRegression(alpha=1.0, basis=sx.basis.RBF("random", n_centres=7))).fit(TABLE, Y)
    assert mixed.sources_ == ("",) * 7


def test_methods_that_the_model_lacks_do_not_exist():
    with pytest.raises(NotFittedError):
        TableClassifier().predict(TABLE)
    point = TableClassifier(sx.LogisticRegression()).fit(TABLE, Y)
    for name in ("predict_interval", "decision_distribution"):
        with pytest.raises(AttributeError, match=f"LogisticRegression has no {name}.*BayesianLogisticRegression"):
            getattr(point, name)
    assert not hasattr(point, "plan_")
    assert TableClassifier(TUNED).fit(TABLE, Y).decision_distribution(TABLE).mean.shape == (300,)
    with pytest.raises(AttributeError):
        TableClassifier(sx.Perceptron()).predict_proba  # noqa: B018
    for estimator in (sx.QuadraticDiscriminantAnalysis(shrinkage=0.1), PriorOnly()):
        with pytest.raises(AttributeError):
            TableClassifier(estimator).fit(TABLE, Y).contrasts  # noqa: B018


@pytest.mark.parametrize("value", ["12O0", np.inf, 10**400, "1e999", Decimal("-Infinity")])
def test_odd_values_of_new_rows_are_missing_with_a_warning(value):
    new = TABLE.head(5).astype({"charge": object})
    new.loc[new.index[3], "charge"] = None
    with pytest.warns(UserWarning, match="'charge'"):
        expected = MODEL.predict_proba(new)
    new.loc[new.index[3], "charge"] = value
    with pytest.warns(UserWarning, match=r"'charge' has 1 value that is not a number, .* in row 4: treated as missing"):
        np.testing.assert_array_equal(MODEL.predict_proba(new), expected)


def test_it_passes_the_checks_of_scikit_learn():
    check_estimator(TableClassifier(sx.LogisticRegression(alpha=1.0)), on_skip=None)


def test_a_scan_needs_no_labels_and_a_file_of_numbers_no_encoder(tmp_path):
    rows = sx.scan(pl.from_pandas(TABLE.assign(label=Y)), target="label")
    assert MODEL.score(rows) == MODEL.score(TABLE, Y) > 0.6
    (tmp_path / "rows.svm").write_text("0 1:1\n1 1:2\n")
    with pytest.raises(DataError, match="only numbers.*Fit its estimator directly"):
        TableClassifier().fit(sx.scan(tmp_path / "rows.svm"))


@pytest.mark.parametrize("curved", [False, True])
def test_a_saved_model_needs_nothing_else(tmp_path, curved):
    model = TableClassifier(TUNED, curved=curved).fit(TABLE, Y)
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again.encoder_.schema_.describe() == model.encoder_.schema_.describe()
    assert again.sources_ == model.sources_
    few = TABLE[["charge", "contract"]]
    assert clone(again).fit(few, Y).predict_proba(few).shape == (300, 2)


# -- forms of the input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [sx.LogisticRegression(), None, LogisticRegression(max_iter=1000)])
@pytest.mark.parametrize("y", [Y, THREE])
def test_zero_rows_give_zero_rows_of_the_shape_of_other_rows(estimator, y):
    model = TableClassifier(estimator).fit(TABLE, y)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"):
        if hasattr(model, name):
            some, none = (getattr(model, name)(rows) for rows in (TABLE[:3], TABLE[:0]))
            assert (none.shape, none.dtype) == ((0, *some.shape[1:]), some.dtype)
    if estimator is None:
        assert model.decision_distribution(TABLE[:0]).mean.shape == (0, *model.decision_function(TABLE).shape[1:])


def test_a_row_is_a_series_or_a_dict_and_a_table_is_a_list_of_dicts_or_a_dict_of_columns():
    P, one, rows = MODEL.predict_proba(TABLE), MODEL.predict_proba(TABLE[3:4]), TABLE.to_dict("records")
    assert_allclose(one, P[3:4], rtol=1e-13)  # BLAS adds up the products of one row in another order
    for table, expected in ((TABLE.iloc[3], one), (rows[3], one), (rows, P), (TABLE.to_dict("list"), P)):
        assert_array_equal(MODEL.predict_proba(table), expected)
    lacking = {name: value for name, value in rows[0].items() if name != "charge"}
    with pytest.warns(UserWarning, match=r"'charge' \('\(missing\)'; 1 row\)"):
        MODEL.predict([rows[1], lacking])
    for table in (rows, TABLE.to_dict("list")):
        again = TableClassifier(sx.LogisticRegression()).fit(table, Y)
        assert_array_equal(again.predict_proba(table), P)
        assert again.n_features_in_ == 5


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_y_may_be_the_name_of_a_column(library):
    table = library(TABLE.assign(churn=Y))
    again = TableClassifier(sx.LogisticRegression()).fit(table, "churn")
    assert_array_equal(again.predict_proba(table), MODEL.predict_proba(TABLE))
    assert again.feature_names_in_.tolist() == list(TABLE.columns)
    assert again.score(table, "churn") == MODEL.score(TABLE, Y)


def test_x_may_be_the_path_of_a_file(tmp_path):
    path, table = tmp_path / "t.csv", TABLE.assign(zip=np.array(["07030", "10001", "60601"])[np.arange(300) % 3])
    table.assign(churn=Y).to_csv(path, index=False)
    make = TableClassifier(sx.LogisticRegression(), types={"zip": "categorical"})
    model = clone(make).fit(table, Y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    for again in (clone(make).fit(path, "churn"), clone(make).fit(str(tmp_path / "rows.csv"), Y)):
        assert "zip=07030" in again.get_feature_names_out()
        assert_allclose(again.predict_proba(path), model.predict_proba(table), rtol=1e-6)
    assert model.score(path, "churn") == model.score(table, Y)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pd.DataFrame.to_numpy])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, " "])
def test_rows_without_a_label_are_left_out_with_a_warning(library, missing):
    y, weight, kept = Y.astype(object), np.arange(300) % 4 + 1.0, np.arange(300) % 10 != 0
    y[~kept] = missing
    expected = TableClassifier(sx.LogisticRegression()).fit(library(TABLE[kept]), Y[kept], weight[kept])
    for labels in (y, y.tolist(), pd.Series(y)):
        with pytest.warns(UserWarning, match="30 of 300 labels are missing"):
            model = TableClassifier(sx.LogisticRegression()).fit(library(TABLE), labels, weight)
        assert model.n_rows_ == 270
        assert_array_equal(model.predict_proba(library(TABLE)), expected.predict_proba(library(TABLE)))


def test_notes_name_the_row_of_the_users_table_if_labels_are_missing(tmp_path):
    table = TABLE.assign(calls=TABLE["calls"] + np.arange(300) / 1000, churn=Y).astype(object)
    table.loc[[0, 3, 7, 100], "churn"], table.loc[40, "calls"] = None, "4O"
    for name, part in {"all": table, "first": table[:20], "second": table[20:]}.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    second = tmp_path / "second.csv"
    places = ["row 41", "row 41 (line 42)", f"row 21 of {second} (line 22)"]
    for X, place in zip([table, tmp_path / "all.csv", [tmp_path / "first.csv", second]], places, strict=True):
        with pytest.warns(UserWarning, match="4 of 300 labels"):
            model = TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(X, "churn")
        assert f"1 value that is not a number, '4O' in {place}: t" in " ".join(model.encoder_.schema_.notes)


def test_naive_bayes_predicts_rows_with_earlier_dates_than_the_training_rows():
    days = np.arange(60) ** 2
    table = pd.DataFrame({"joined": np.datetime64("2020-01-01", "ns") + days.astype("timedelta64[D]")})
    model = TableClassifier(sx.NaiveBayes()).fit(table, np.arange(60) % 2)
    early = table - pd.Timedelta(days=500)
    assert_allclose(model.predict_proba(early).sum(axis=1), 1)
    assert model.estimator_.families_[0] == "normal"


@pytest.mark.parametrize("place", ["memory", "path", "scan", "weighted scan", "column"])
def test_blanks_around_labels_are_not_part_of_them(tmp_path, place):
    spelled = np.array([f" {label}\t" if row % 3 else f"\u200b{label} " for row, label in enumerate(Y)], dtype=object)
    path = tmp_path / "rows.parquet"
    TABLE.assign(churn=spelled).to_parquet(path)
    given = {
        "memory": (TABLE, spelled),
        "path": (path, "churn"),
        "scan": (sx.scan(path, target="churn"),),
        "weighted scan": (sx.scan(path, target="churn"), None, np.full(len(TABLE), 2.0)),
        "column": (TABLE.assign(churn=spelled), "churn"),
    }
    model = TableClassifier(sx.LogisticRegression()).fit(*given[place])
    assert model.classes_.tolist() == np.unique(Y).tolist()
    assert model.score(*given[place]) == np.mean(model.predict(TABLE) == Y)
    plain = sx.LogisticRegression().fit(sx.scan(path, target="churn", columns=["charge"]))
    assert plain.classes_.tolist() == sorted(set(spelled))  # other models keep labels as they are


def test_weights_of_rows_without_a_label_are_checked():
    frame, y = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}), [0, 1, None, 1]
    with pytest.raises(DataError, match="sample_weight is not numeric"):
        TableClassifier(sx.NaiveBayes()).fit(frame, y, sample_weight=[[1], [1, 2], [1], [1]])


def test_an_estimator_that_is_no_classifier_is_refused():
    with pytest.raises(TypeError, match=r"TableClassifier\(estimator=Polynomial\(\)\): .* must be a classifier"):
        TableClassifier(sx.basis.Polynomial()).fit(pd.DataFrame({"a": [1.0, 2.0]}), [0, 1])


def test_a_model_that_uses_rows_without_a_label_gets_them():
    y = np.where(np.arange(300) % 10 == 0, None, Y.astype(object))
    model = TableClassifier(sx.LinearDiscriminantAnalysis(unlabelled="missing"), drop="first").fit(TABLE, y)
    assert model.n_rows_ == 300


def test_weights_and_activations_are_those_of_the_model():
    model = TableClassifier(sx.LogisticRegression(), curved=True).fit(TABLE, Y)
    Phi = functions_of(model, model.encoder_.transform(TABLE))
    assert Phi.shape[1] == len(model.get_feature_names_out()) == model.coef_.shape[1]
    a = Phi @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(TABLE), a, atol=1e-10)
    assert_allclose(model.predict_log_proba(TABLE)[:, 1], log_expit(a), atol=1e-10)
    assert not hasattr(TableClassifier(sx.NaiveBayes()).fit(TABLE, Y), "coef_")
    assert not hasattr(TableClassifier(), "coef_")


def test_values_that_did_not_occur_in_training_give_one_warning_that_names_them():
    new = TABLE.assign(contract=["weekly", "daily", *TABLE["contract"][2:]], calls=[np.nan, *TABLE["calls"][1:]])
    with pytest.warns(UserWarning, match="did not occur in training") as caught:
        assert np.isfinite(MODEL.predict_proba(new)).all()
    assert len(caught) == 1
    for words in ("'contract' ('weekly', 'daily'; 2 rows)", "'calls' ('(missing)'; 1 row)"):
        assert words in str(caught[0].message)
    assert caught[0].filename == __file__


# -- priors and curves -------------------------------------------------------------------------------------------------


def test_numbers_and_dates_may_bend_and_indicators_may_not():
    table = pd.DataFrame(
        {
            "x": [np.nan, *np.random.default_rng(0).normal(size=59)],
            "flag": [True, False] * 30,
            "day": pd.date_range("2020-01-01", periods=60),
            "same": [3] * 60,
        }
    )
    schema = TableEncoder(types={"same": "number"}).fit(table).schema_
    assert {schema.columns[j] for j in continuous_columns(schema)} == {"x", "day: days"}


def test_curves_are_ramps_along_the_numbers_with_their_own_prior_scale():
    model = TableClassifier(TUNED, curved=True).fit(TABLE, Y)
    assert {"charge", "tenure", "calls"} <= {name.split(" from ")[0] for name in model.summary().names}
    bent = np.array([" from " in name for name in model.summary().names[1:]])
    scales = model.estimator_.prior_.scale
    owners = np.array(model.sources_)
    assert all(np.ptp(scales[bent & (owners == column)]) == 0 for column in ("charge", "tenure", "calls"))
    assert len(np.unique(scales[bent])) == 3
    is_level = owners[~bent] == "contract"
    unit = np.where(model.spread_ > 0, model.spread_, 1.0)[~bent]  # the indicator of new levels is constant
    assert_allclose(np.ptp((scales[~bent] / unit)[is_level]), 0, atol=1e-12)
    assert_allclose(np.ptp((scales[~bent] / unit)[~is_level]), 0, atol=1e-12)
    Phi, names = functions_of(model, model.encoder_.transform(TABLE)), model.contrasts().names
    assert Phi.shape == (300, len(names)) == (300, model.estimator_.coef_.shape[1])
    for level in TABLE["contract"].unique():
        assert_array_equal(Phi[:, names.index(f"contract={level}")], TABLE["contract"] == level)
    assert_array_equal(np.array(model.sources_) == "tenure", [name.startswith("tenure") for name in names])


def test_levels_have_a_prior_for_the_step_from_0_to_1_and_numbers_for_a_standard_deviation():
    model = TableClassifier().fit(TABLE, Y)
    is_number = np.isin(model.encoder_.schema_.columns, ["charge", "tenure", "calls"])
    per_unit = model.estimator_.prior_.scale / np.where(model.spread_ > 0, model.spread_, 1.0)
    assert np.ptp(model.estimator_.prior_.scale[is_number]) == 0
    is_level = np.array(model.sources_) == "contract"
    assert_allclose(np.ptp(per_unit[is_level]), 0, atol=1e-12)
    assert_allclose(
        np.ptp([*per_unit[~is_number & ~is_level], model.estimator_.prior_.scale[is_number][0]]), 0, atol=1e-12
    )
    given = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(0.5), tune="evidence")).fit(TABLE, Y)
    assert np.ndim(given.estimator_.prior_.scale) == 0  # a prior that was given keeps its shape


def test_rare_levels_without_information_stay_small():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=1500), "place": rng.choice([f"p{i}" for i in range(60)], 1500)})
    y = table["x"] + rng.logistic(size=1500) > 0
    features = TableEncoder(sparse=False).fit(table).transform(table)
    laplace = sx.BayesianLogisticRegression(tune="evidence", approximation="laplace")
    by_unit, by_spread = TableClassifier(laplace).fit(table, y), clone(laplace).fit(features, y)
    assert by_unit.estimator_.log_evidence_ > by_spread.log_evidence_ + 3
    assert np.abs(by_unit.estimator_.coef_[0, 1:]).max() < np.abs(by_spread.coef_[0, 1:]).max()


# -- ramps -------------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=500), RNG.integers(0, 2, 500), RNG.exponential(size=500)])


def test_a_sum_of_ramps_is_linear_interpolation_between_the_knots():
    basis = Ramps([2], n_knots=6).fit(X)
    knots = np.append(basis.functions_.low, basis.functions_.high[-1])
    heights = RNG.normal(size=len(knots))
    x = np.linspace(-1, X[:, 2].max() + 2, 200)
    rows = np.column_stack([np.zeros(200), np.zeros(200), x])
    curve = basis.transform(rows)[:, 2:] @ np.diff(heights) + heights[0]
    assert_allclose(curve, np.interp(x, knots, heights), atol=1e-12)


def test_other_columns_and_columns_of_two_values_are_unchanged():
    basis = Ramps([1, 2], n_knots=5).fit(X)
    assert_array_equal(basis.functions_.straight, [0, 1])
    assert_array_equal(basis.transform(X)[:, :2], X[:, :2])
    assert basis.get_feature_names_out()[:2].tolist() == ["x0", "x1"]


def test_knots_are_the_ends_frequent_values_and_quantiles_of_the_rest():
    found = knots_of(np.concatenate([np.zeros(900), np.arange(1.0, 101.0)]), 6)
    assert (found[0], found[-1], len(found)) == (0, 100, 6)
    assert_allclose(np.diff(found[1:]), 99 / 4, atol=1)
    assert_array_equal(knots_of(np.array([3.0, 1.0, 2.0, 1.0]), 6), [1, 2, 3])
    far = Ramps([0], n_knots=5).fit(np.append(RNG.normal(size=50_000), [1e6, -1e6])[:, None]).functions_
    assert (far.low[0], far.high[-1]) == (-1e6, 1e6)  # the ends of all rows, not of a sample


def test_a_curve_is_found_if_there_is_one():
    x = RNG.uniform(-3, 3, size=(2000, 1))
    p = 1 / (1 + np.exp(-2 * np.cos(2 * x[:, 0])))
    y = RNG.random(2000) < p
    model = sx.BayesianLogisticRegression(tune="evidence", basis=Ramps([0])).fit(x, y)
    with pytest.warns(ApproximationWarning, match="irrelevant"):  # no line fits a cosine
        straight = sx.BayesianLogisticRegression(tune="evidence").fit(x, y)
    assert np.abs(model.predict_proba(x)[:, 1] - p).mean() < 0.05
    assert model.log_evidence_ > straight.log_evidence_ + 50


def test_names_of_ramps_distinguish_their_knots():
    names = Ramps([0]).fit(np.repeat([1.0, 1.0001, 1.0002], 3)[:, None]).get_feature_names_out(["age"])
    assert names.tolist() == ["age from 1 to 1.0001", "age from 1.0001 to 1.0002"]


# -- weights -----------------------------------------------------------------------------------------------------------


def fitted(labels, **options):
    return TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), approximation="laplace", **options)).fit(
        TABLE, labels
    )


def drawn(model, n=40_000):
    """Contrasts of draws of the weights, (n, C, M + 1), computed directly."""
    K = len(model.estimator_.coef_)
    W = model.estimator_.posterior_.sample(n, 0).reshape(n, K, -1)
    W = W - W.mean(axis=1, keepdims=True) if K > 1 else W.copy()
    names = np.array([*model.contrasts().names, "intercept"])
    levels = np.char.startswith(names, "contract")
    fraction = [(TABLE["contract"] == name.partition("=")[2]).mean() for name in names[levels]]
    average = W[:, :, levels] @ np.array(fraction)
    W[:, :, levels] -= average[:, :, None]
    W[:, :, -1] += average
    return W


@pytest.mark.parametrize("labels", [Y, THREE])
def test_mean_and_standard_deviation_of_contrasts_are_those_of_draws(labels):
    model = fitted(labels)
    found, draws = model.contrasts(), drawn(model)
    assert_allclose(found.mean, draws.mean(axis=0), atol=0.03)
    assert_allclose(found.std, draws.std(axis=0), rtol=0.03)
    by_class = TableClassifier(sx.BayesianLogisticRegression(sx.Gaussian(1.0), structure="by class")).fit(TABLE, THREE)
    assert_allclose(by_class.contrasts().std, drawn(by_class).std(axis=0), rtol=0.03)


@pytest.mark.parametrize("labels", [Y, THREE])
def test_contrasts_give_the_same_predictions(labels):
    model = fitted(labels)
    W, features = model.contrasts().mean, model.encoder_.transform(TABLE)
    moved = features @ W[:, :-1].T + W[:, -1] - (features @ model.estimator_.coef_.T + model.estimator_.intercept_)
    assert_allclose(moved - moved.mean(axis=1, keepdims=True), 0, atol=1e-10)
    if len(W) == 1:
        assert_allclose(moved, 0, atol=1e-10)


def test_contrasts_summary_coefficients_and_picture_agree():
    model = fitted(Y)
    found, summary = model.contrasts(), model.summary(level=0.9)
    assert summary.names == ("intercept", *found.names)
    assert_allclose(summary.coefficient, np.roll(found.mean[0], 1))
    assert_allclose(summary.lower[1:], found.interval(0.9)[0][0])
    display = sx.plots.CoefficientDisplay.from_estimator(model, level=0.9, most=99)
    order = [found.names.index(name) for name in display.names]
    assert_allclose(display.weight[0], found.weight[0, order])
    assert_allclose(display.upper[0], found.interval(0.9)[1][0, order])
    three = fitted(THREE)
    weights, summary = explain(three, 0.9), three.summary(level=0.9)
    kept = [j for j, name in enumerate(summary.names) if not name.endswith("intercept")]
    assert [f"{c.label}: {c.name}" for c in weights] == [summary.names[j] for j in kept]
    for field, column in [("weight", "coefficient"), ("lower", "lower"), ("upper", "upper")]:
        assert_allclose([getattr(c, field) for c in weights], summary.to_dict()[column][kept])
    assert {c.column for c in weights} == set(TABLE.columns)
    with pytest.raises(ValueError, match="level"):
        explain(model, 1.5)
    assert explain(three, 0.9, "leaves") == tuple(c for c in weights if c.label == "leaves")
    stays, leaves = explain(model, positive="stays"), explain(model, positive="leaves")
    assert stays == explain(model)
    assert [(c.label, -c.weight, -c.lower) for c in leaves] == [("leaves", c.weight, c.upper) for c in stays]


def test_without_a_bias_the_average_of_the_levels_is_identified():
    model = fitted(Y, fit_intercept=False)
    assert_allclose(model.contrasts().weight, model.estimator_.coef_)
    assert "intercept" not in model.summary().names
    assert_allclose(model.summary().standard_error, model.estimator_.posterior_.std)


def test_models_without_a_posterior_have_weights_without_intervals():
    model = TableClassifier(LogisticRegression(max_iter=1000)).fit(TABLE, Y)
    found, coefficients = model.contrasts(), {c.name: c for c in explain(model)}
    assert np.isnan(found.std).all()
    assert np.isnan([c.lower for c in coefficients.values()]).all()
    tenure = coefficients["tenure"]
    assert tenure.per_spread == pytest.approx(tenure.weight * TABLE["tenure"].to_numpy().std())
    levels = np.array(found.columns) == "contract"
    assert abs(found.weight[0, levels] @ model.centre_[levels]) < 1e-10
    reference = TableClassifier(LogisticRegression(max_iter=1000), drop="first").fit(TABLE, Y)
    assert_allclose(reference.contrasts().weight, reference.estimator_.coef_)  # already relative to the first level
    linear = TableClassifier(sx.LinearDiscriminantAnalysis(shrinkage=0.1)).fit(TABLE, THREE)
    W = np.reshape([c.weight for c in explain(linear)], (3, -1))
    assert_allclose(W.sum(axis=0), 0, atol=1e-10)
    assert_allclose(W[:, :4], (linear.estimator_.coef_ - linear.estimator_.coef_.mean(axis=0))[:, :4], atol=1e-10)
    for estimator in (PriorOnly(), sx.QuadraticDiscriminantAnalysis(shrinkage=0.1)):
        assert explain(TableClassifier(estimator).fit(TABLE, Y)) == ()


# -- the baseline ------------------------------------------------------------------------------------------------------

COLUMN, THIRD = np.arange(60.0)[:, None], np.arange(60) % 3 == 0


@pytest.mark.parametrize("counts", [(300, 300), (980, 20), (4994, 6), (200, 100, 50), (40,) * 10])
def test_the_baseline_is_the_limit_of_a_logistic_model_with_a_narrow_prior(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    noise = np.random.default_rng(0).normal(size=(len(y), 3))
    narrow = sx.BayesianLogisticRegression(sx.Gaussian(1e-7)).fit(noise, y)
    model = PriorOnly().fit(noise, y)
    assert model.log_evidence_ == pytest.approx(narrow.log_evidence_, abs=1e-4)
    assert_allclose(model.predict_proba(noise[:1]), narrow.predict_proba(noise[:1]), atol=1e-6)


def test_evidence_and_proportions_are_integrals_over_the_bias():
    def posterior(b):
        return np.exp(20 * log_expit(b) + 40 * log_expit(-b) + 38) * stats.norm(0, 10).pdf(b)

    integral, _ = integrate.quad(posterior, -6, 5)
    share, _ = integrate.quad(lambda b: expit(b) * posterior(b) / integral, -6, 5)
    model = PriorOnly().fit(COLUMN, THIRD)
    assert_allclose(model.log_evidence_, np.log(integral) - 38, atol=0.005)
    assert_allclose(model.predict_proba(COLUMN)[0], [1 - share, share], atol=1e-3)


def test_intervals_of_the_baseline_are_quantiles_of_the_proportion():
    two = PriorOnly().fit(COLUMN, THIRD).predict_interval(COLUMN, 0.9)
    beta = stats.beta(20, 40).ppf([0.05, 0.95])  # a flat bias is Beta(0, 0)
    assert_allclose(two, np.tile(beta, (60, 1)), atol=0.01)
    three = PriorOnly().fit(COLUMN, np.arange(60) % 3).predict_interval(COLUMN)
    draws = np.random.default_rng(0).dirichlet([20, 20, 20], size=100_000)
    assert three.shape == (60, 3, 2)
    assert_allclose(three[0], np.quantile(draws, [0.025, 0.975], axis=0).T, atol=0.015)


def test_the_baseline_is_a_classifier_that_can_be_saved(tmp_path):
    model = PriorOnly().fit(COLUMN, np.array(list("abcabaa" * 9))[:60])
    again = sx.load(sx.save(model, tmp_path / "model.sx"))
    assert_array_equal(again.predict_proba(COLUMN), model.predict_proba(COLUMN))
    assert again.predict(COLUMN).tolist() == ["a"] * 60
    expected = {"check_classifiers_train": "it does not use the columns, so it cannot be accurate"}
    check_estimator(PriorOnly(), on_skip=None, expected_failed_checks=expected)
    before = model.classes_
    with pytest.raises(ValueError, match="infinity|NaN"):
        model.fit(np.full((3, 1), np.inf), ["a", "b", "b"])
    assert model.classes_ is before


@pytest.mark.parametrize("place", ["scan", "Dask"])
def test_the_baseline_counts_labels_anywhere(place):
    weight = np.linspace(0.5, 2, 60)
    if place == "scan":
        rows = sx.scan(pa.table({"x0": COLUMN[:, 0], "y": THIRD, "w": weight}), target="y", weight="w")
        given = {}
    else:
        rows = da.from_array(COLUMN, chunks=17)
        given = {"y": da.from_array(THIRD, chunks=20), "sample_weight": da.from_array(weight, chunks=23)}
    expected, found = PriorOnly().fit(COLUMN, THIRD, sample_weight=weight), PriorOnly().fit(rows, **given)
    assert_allclose(found.class_count_, expected.class_count_, rtol=1e-12)
    assert found.log_evidence_ == pytest.approx(expected.log_evidence_, rel=1e-10)
    assert_allclose(np.asarray(found.predict_proba(rows)), expected.predict_proba(COLUMN), rtol=1e-10)
