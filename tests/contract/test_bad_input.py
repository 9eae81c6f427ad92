"""Bad input: an error names value, column and remedy, or the result is defined."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from problems import ESTIMATORS, MODELS, TWO_CLASSES, blobs
from separatrix.exceptions import CollinearWarning, DataError, NotSeparableWarning

X, Y = blobs(60, n_classes=2, distance=40.0)
NAMED = pd.DataFrame(X, columns=["age", "income", "height", "weight"])

ALL = MODELS | TWO_CLASSES
every_model = pytest.mark.parametrize("model", [make() for make in ALL.values()], ids=list(ALL))


@every_model
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["pandas", "polars", "csr", "float32"])
def test_nan_and_infinity_name_the_column_and_the_count(model, value, kind):
    bad = X.copy()
    bad[[3, 7, 20], 1] = value
    table = {
        "pandas": pd.DataFrame(bad, columns=NAMED.columns),
        "polars": pl.DataFrame(bad, schema=list(NAMED.columns)),
        "csr": sparse.csr_array(bad),
        "float32": bad.astype(np.float32),
    }[kind]
    name = "income" if kind in ("pandas", "polars") else "x1"
    with pytest.raises(DataError, match=rf"NaN or infinity in column '{name}' \(3 of 60 rows\)"):
        model.fit(table, Y)


@pytest.mark.parametrize("every", [100, 100_000])  # many, or one that a sample of the rows does not contain
def test_nan_in_a_large_table_is_counted_in_all_rows(every, rng):
    large = rng.normal(size=(100_000, 20))
    y = (large[:, 0] + rng.logistic(size=100_000) > 0).astype(int)
    large[3::every, 2] = np.nan
    with pytest.raises(DataError, match=rf"column 'x2' \({100_000 // every} of 100000 rows\)"):
        sx.LogisticRegression().fit(large, y)


@every_model
def test_nan_at_predict_names_the_column(model):
    bad = NAMED.copy()
    bad.loc[5, "height"] = np.nan
    with pytest.raises(DataError, match=r"'height' \(1 of 60 rows\)"):
        model.fit(NAMED, Y).predict(bad)


@every_model
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_every_prediction_of_a_single_bad_row_raises(model, value):
    model.fit(NAMED, Y)
    bad = NAMED[:1].assign(height=value)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        if hasattr(model, name):
            with pytest.raises(DataError, match=r"'height' \(1 of 1 rows\)"):
                getattr(model, name)(bad)


@every_model
@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_labels(model, missing):
    y = np.where(Y == 1, "a", "b").astype(object)
    y[[4, 9]] = missing
    for labels in (y, np.where(np.isin(np.arange(60), [4, 9]), np.nan, Y)):
        with pytest.raises(DataError, match=r"2 of 60 labels are missing .*, the first in row 5"):
            model.fit(X, labels)


@every_model
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 60, "only one class is present: every label is 'a'"),
        (Y[:-1], "X has 60 rows but y has 59 labels"),
        (X[:, 0], "Unknown label type"),
    ],
    ids=["one class", "too few", "real numbers"],
)
def test_invalid_labels_are_named(model, y, message):
    with pytest.raises(ValueError if "label type" in message else DataError, match=message):
        model.fit(X, y)


@every_model
def test_an_empty_table(model):
    for empty in (X[:0], NAMED[:0], pl.DataFrame(NAMED)[:0]):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            model.fit(empty, Y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        model.fit(X[:, :0], Y)


@every_model
def test_invalid_weights_are_named(model):
    weight = np.ones(60)
    for bad, message in [
        (np.where(np.arange(60) == 7, -2.0, weight), r"sample_weight\[7\] is -2"),
        (np.zeros(60), "Every sample_weight is zero"),
        (np.where(np.arange(60) == 7, np.nan, weight), "NaN or infinity"),
        (weight[:-1], "one weight for each row"),
        (np.ones((60, 2)), "must be 1D"),
    ]:
        with pytest.raises(DataError, match=message):
            model.fit(X, Y, sample_weight=bad)


@every_model
def test_rows_of_weight_zero_have_no_effect(model):
    noise = X + 1e3
    weight = np.repeat([1.0, 0.0], 60)
    whole = model.fit(np.vstack([X, noise]), np.append(Y, Y), sample_weight=weight).decision_function(X)
    assert_allclose(whole, model.fit(X, Y).decision_function(X), rtol=1e-8, atol=1e-8)


@every_model
def test_wrong_width_and_wrong_order_at_predict(model):
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.fit(X, Y).predict(X[:, :3])
    model.fit(NAMED, Y)
    with pytest.raises(ValueError, match="same order"):
        model.predict(NAMED[["income", "age", "height", "weight"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(NAMED.rename(columns={"age": "years"}))


@every_model
def test_strings_where_numbers_are_needed(model):
    frame = NAMED.assign(city="Oslo")
    with pytest.raises(DataError, match=r"not numbers: 'city' \(.*\)\. .*sx.TableClassifier"):
        model.fit(frame, Y)
    words = X.astype(object)
    words[2, 3] = "tall"
    with pytest.raises(ValueError, match="Column 'x3' holds 'tall' in row 3"):
        model.fit(words, Y)


def test_least_squares_names_collinear_columns_and_predicts_the_same():
    table = NAMED.assign(year=2020.0, age_again=NAMED["age"], sum=NAMED["income"] + NAMED["height"])
    with pytest.warns(CollinearWarning) as caught:
        model = sx.LeastSquaresClassifier().fit(table, Y)
    for words in ("'year' is constant", "is a linear function of", "is a combination of", "alpha > 0"):
        assert words in str(caught[0].message)
    assert_allclose(
        model.decision_function(table),
        sx.LeastSquaresClassifier().fit(NAMED, Y).decision_function(NAMED),
        rtol=1e-8,
    )
    assert model.coef_[0, 4] == 0  # the constant column has no weight
    assert_allclose(model.coef_[0, 0], model.coef_[0, 5], rtol=1e-6)  # equal columns have equal weights


@pytest.mark.parametrize("offset", [0.0, 3.7, 1e7, -1e12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_constant_column_is_recognised_at_any_offset(offset, dtype):
    table = np.column_stack([X, np.full(60, offset)]).astype(dtype)
    with pytest.warns(CollinearWarning, match="'x4' is constant"):
        model = sx.LeastSquaresClassifier().fit(table, Y)
    assert model.coef_[0, 4] == 0


def test_fisher_warns_of_constant_and_duplicate_columns_with_a_remedy():
    with pytest.warns(CollinearWarning, match=r"'year' is constant. Drop those columns.$"):
        sx.FisherDiscriminant().fit(NAMED.assign(year=2020.0), Y)
    with pytest.warns(CollinearWarning, match=r"'twin' is a linear function of 'age'.*or set shrinkage"):
        sx.FisherDiscriminant().fit(NAMED.assign(twin=2 * NAMED["age"]), Y)
    with pytest.warns(CollinearWarning, match="'year' is constant"):
        shrunk = sx.FisherDiscriminant(shrinkage=0.1).fit(NAMED.assign(twin=2 * NAMED["age"], year=2020.0), Y)
    assert shrunk.score(NAMED.assign(twin=2 * NAMED["age"], year=2020.0), Y) == 1


def test_fewer_rows_than_columns(rng):
    wide, y = rng.normal(size=(10, 30)), np.arange(10) % 2
    assert sx.LeastSquaresClassifier().fit(wide, y).score(wide, y) == 1
    assert sx.Perceptron().fit(wide, y).score(wide, y) == 1
    with pytest.warns(CollinearWarning, match=r"10 rows cannot determine a covariance of 30 columns.*shrinkage"):
        assert sx.FisherDiscriminant().fit(wide, y).score(wide, y) == 1
    assert sx.FisherDiscriminant(shrinkage=0.1).fit(wide, y).score(wide, y) == 1


@pytest.mark.parametrize("name", ["least_squares", "fisher"])
def test_huge_values(name):
    model = MODELS[name]()
    assert model.fit(X * 1e100, Y).score(X * 1e100, Y) == 1
    with pytest.raises(DataError, match=r"too large to square: column 'x0' \(up to .*e\+2.*Divide"):
        model.fit(X * 1e200, Y)


def test_overlapping_classes_warn_and_name_another_model():
    overlapping, y = blobs(100, n_classes=2, distance=0.1)
    with pytest.warns(NotSeparableWarning, match="FisherDiscriminant") as caught:
        model = sx.Perceptron(max_epochs=5).fit(overlapping, y)
    assert "cannot be separated" in str(caught[0].message)
    assert model.n_steps_ == 5
    assert model.solution_.status is sx.solvers.Status.MAX_STEPS


def test_separable_classes_after_too_few_epochs_warn_to_increase_max_epochs():
    X, y = np.array([[0.0, 1.0], [1e-3, 1.0], [5.0, -3.0]]), np.array([0, 1, 0])
    with pytest.warns(NotSeparableWarning, match=r"can be separated.*max_epochs"):
        sx.Perceptron(max_epochs=3).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (sx.LeastSquaresClassifier(alpha=-1), r"alpha=-1\): alpha must be a finite number, at least 0"),
        (sx.LeastSquaresClassifier(alpha="big"), "alpha='big'"),
        (sx.LeastSquaresClassifier(targets="two"), "choose one of 'one-of-K', 'fisher'"),
        (sx.FisherDiscriminant(shrinkage=1.5), "between 0 and 1"),
        (sx.FisherDiscriminant(scatter="total"), "choose one of 'pooled', 'mean'"),
        (sx.FisherDiscriminant(n_components=0), "an integer, at least 1"),
        (sx.Perceptron(max_epochs=0), "an integer, at least 1"),
        (sx.Perceptron(learning_rate=0), "learning_rate"),
        (sx.Perceptron(weights="best"), "choose one of 'last', 'average', 'pocket'"),
    ],
)
def test_invalid_arguments_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


@every_model
def test_masked_entries_are_missing_values(model):
    masked = np.ma.array(X, mask=np.zeros_like(X, dtype=bool))
    masked[3, 2] = np.ma.masked
    with pytest.raises(DataError, match=r"column 'x2' \(1 of 60 rows\)"):
        model.fit(masked, Y)


@pytest.mark.parametrize("convert", [pd.DataFrame.convert_dtypes, pl.from_pandas, pa.Table.from_pandas])
def test_nulls_in_frames_are_missing_values(convert):
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [1, 2, 3, 4]})
    with pytest.raises(DataError, match=r"column 'a' \(1 of 4 rows\)"):
        sx.LeastSquaresClassifier().fit(convert(frame), [0, 1, 0, 1])


def test_a_constant_column_of_many_weighted_blocks_gets_no_weight():
    """Means of blocks differ by rounding only, which must not count as variance."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        a, c = rng.standard_normal(200_000), 10 ** rng.uniform(-3, 9)
        y = (a + rng.standard_normal(200_000) > 0).astype(int)
        with pytest.warns(CollinearWarning, match="'x1' is constant"):
            model = sx.LeastSquaresClassifier().fit(np.column_stack([a, np.full(len(a), c)]), y, rng.random(len(a)))
        assert model.coef_[0, 1] == 0


def test_a_constant_column_of_wide_rows_gets_no_weight(rng):
    wide = rng.standard_normal((60, 90))
    wide[:, 5] = 1e7 / 3
    assert sx.LeastSquaresClassifier().fit(wide, np.arange(60) % 2, rng.random(60)).coef_[0, 5] == 0


def test_the_rarer_a_class_the_farther_the_normal_threshold(rng):
    x, y = np.r_[rng.normal(0, 1, 20_000), rng.normal(1, 0.9, 20_000)][:, None], np.repeat([0, 1], 20_000)
    shares = [
        sx.FisherDiscriminant(threshold="normal").fit(x, y, np.where(y, share, 1.0)).predict(x).mean()
        for share in (1.0, 0.1, 1e-2, 1e-3, 1e-4)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.01


def test_nan_among_text_labels_is_a_missing_label():
    with pytest.raises(DataError, match="1 of 6 labels are missing"):
        sx.LeastSquaresClassifier().fit(X[:6], ["a", "b", float("nan"), "a", "b", "a"])
    with pytest.raises(DataError, match="Labels of different types cannot be sorted: int, str"):
        sx.LeastSquaresClassifier().fit(X[:6], [1, "b", 2, "a", "b", "a"])


def test_arrow_batches_and_streams_are_checked_by_name():
    batch = pa.RecordBatch.from_pandas(NAMED)
    model = sx.FisherDiscriminant().fit(batch, Y)
    assert list(model.feature_names_in_) == list(NAMED.columns)
    assert np.array_equal(model.predict(batch), model.predict(NAMED))
    with pytest.raises(ValueError, match="same order"):
        model.predict(pa.RecordBatch.from_pandas(NAMED[NAMED.columns[::-1]]))
    once = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    assert np.array_equal(sx.FisherDiscriminant().fit(once, Y).predict(NAMED), model.predict(NAMED))


def test_a_frame_of_sparse_columns_gives_the_same_predictions():
    stored = NAMED.astype(pd.SparseDtype("float64", 0.0))
    model = sx.FisherDiscriminant().fit(stored, Y)
    assert np.array_equal(model.predict(stored), sx.FisherDiscriminant().fit(NAMED, Y).predict(NAMED))


def test_float32_that_overflows():
    huge = (X * 1e20).astype(np.float32)
    with pytest.raises(DataError, match="too large to square in float32: column 'x0'.*float64"):
        sx.LeastSquaresClassifier().fit(huge, Y)
    model = sx.Perceptron(max_epochs=50).fit(X.astype(np.float32), Y)
    assert np.isfinite(model.decision_function(huge.astype(np.float32))).all()


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - {"bayesian_importance"}))  # its draws coincide
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the fit, not of overflow
def test_every_model_accepts_tiny_and_huge_weights(name, scale):
    model = ESTIMATORS[name]().fit(X, Y, sample_weight=np.full(60, scale))
    assert np.isfinite(getattr(model, "predict_proba", model.predict)(X)).all()
