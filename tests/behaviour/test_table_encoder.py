"""The encoder is a scikit-learn transformer; labels of any type become codes."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from separatrix.table import TableEncoder, encode_target, infer_types, table_statistics


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(estimator_checks_generator(TableEncoder(), legacy=True)))
def test_scikit_learn_check(estimator, check):
    with np.errstate(divide="warn", over="warn", invalid="warn"):
        check(estimator)


@pytest.fixture
def table(rng):
    n = 300
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "blue", "green"], n),
            "key": [f"k{i}" for i in range(n)],
        }
    )


def test_table_and_batches_have_the_inferred_schema(table):
    schema = infer_types(table_statistics(table), drop="first")
    whole = TableEncoder(drop="first").fit(table)
    parts = TableEncoder(drop="first").fit_batches(table.iloc[i : i + 77] for i in range(0, 300, 77))
    assert whole.schema_ == schema
    for encoder in (whole, parts):
        np.testing.assert_allclose(encoder.transform(table), schema.encode(table), rtol=1e-12)
        assert encoder.get_feature_names_out().tolist() == list(schema.columns)
        assert encoder.feature_names_in_.tolist() == list(table)


def test_frames_out_and_columns_in_any_order(table):
    encoder = TableEncoder(sparse=False).set_output(transform="pandas").fit(pl.DataFrame(table.to_dict("list")))
    assert list(encoder.transform(table).columns) == list(encoder.schema_.columns)
    moved = table[["key", "colour", "size"]]
    pd.testing.assert_frame_equal(encoder.transform(moved), encoder.transform(table))


DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not in the folder next to the repository")
def test_types_of_the_telco_churn_table_are_inferred():
    telco = pd.read_parquet(DATA / "telco_churn" / "telco_churn.parquet")
    schema = infer_types(table_statistics(telco), target="Churn")
    kinds = {plan.column: plan.kind for plan in schema.plans}
    numbers = {name for name, kind in kinds.items() if kind == "number"}
    assert numbers == {"tenure", "MonthlyCharges", "TotalCharges"}  # the last is text, with blanks
    booleans = {name for name, kind in kinds.items() if kind == "boolean"}
    assert booleans == {"SeniorCitizen", "Partner", "Dependents", "PhoneService", "PaperlessBilling"}
    assert schema.notes == ()
    X = pd.DataFrame(schema.encode(telco), columns=schema.columns)
    assert X["TotalCharges is missing"].sum() == 11
    charges = pd.to_numeric(telco["TotalCharges"], errors="coerce")
    np.testing.assert_allclose(X["TotalCharges"], charges.fillna(charges.mean()), rtol=1e-12)
    one_hot = pd.get_dummies(telco["PaymentMethod"], prefix="PaymentMethod", prefix_sep="=").astype(float)
    pd.testing.assert_frame_equal(X[one_hot.columns], one_hot)


LABELS = {
    "text": (pd.Series(["b", "a", None, "b"]), ["a", "b"], [1, 0, 1]),
    "blank text": (pl.Series(["b", "a", " ", "b"]), ["a", "b"], [1, 0, 1]),
    "list": (["b", "a", None, "b"], ["a", "b"], [1, 0, 1]),
    "arrow": (pa.chunked_array([["b", "a"], [None, "b"]]), ["a", "b"], [1, 0, 1]),
    "bool": (np.array([True, False, True]), [False, True], [1, 0, 1]),
    "bool with gaps": (pd.Series([True, None, False], dtype="boolean"), [False, True], [1, 0]),
    "ints": (np.array([3, -1, 3]), [-1, 3], [1, 0, 1]),
    "whole floats": (pd.Series([2.0, np.nan, 1.0]), [1, 2], [1, 0]),
    "categorical": (pd.Series(pd.Categorical(["b", "a", None], ["unused", "b", "a"])), ["b", "a"], [0, 1]),
    "ordered": (pd.Series(pd.Categorical(["low", "high"], ["low", "high"], ordered=True)), ["low", "high"], [0, 1]),
    "categorical ints": (pd.Series(pd.Categorical([1, 3], categories=[3, 1])), [3, 1], [1, 0]),
    "enum": (pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])), ["b", "a"], [1, 0]),
    "one class": (["a", "a"], ["a"], [0, 0]),
}


@pytest.mark.parametrize("case", LABELS)
def test_classes_and_codes(case):
    column, classes, codes = LABELS[case]
    target = encode_target(column)
    assert target.classes.tolist() == classes
    assert [type(label) for label in target.classes.tolist()] == [type(label) for label in classes]
    assert target.codes.tolist() == codes
    assert len(target.labelled) == len(column)
    assert target.n_missing == len(column) - len(codes)
    given = [value for value, so in zip(list(column), target.labelled, strict=True) if so]
    given = [value.as_py() if isinstance(value, pa.Scalar) else value for value in given]
    assert target.labels.tolist() == given


def test_numeric_target_can_be_categorical():
    ratings = pd.Series([5.0, 1.5, np.nan, 1.5, 10.0])
    target = encode_target(ratings, name="rating", categorical=True)
    assert target.classes.tolist() == ["1.5", "5", "10"]
    assert target.codes.tolist() == [1, 0, 0, 2]
    assert target.notes == ()
    assert encode_target([3, 1, 3], categorical=True).classes.tolist() == [1, 3]
    halves = np.tile(np.arange(2, 11) / 2, 3)
    assert len(encode_target(halves, categorical=True).classes) == 9
    assert len(encode_target(np.arange(60) // 2, categorical=True).classes) == 30


@pytest.mark.parametrize("ordered", [True, False])
def test_an_order_of_categories_that_no_model_uses_has_a_note(ordered):
    size = pd.CategoricalDtype(["low", "mid", "high"], ordered=ordered)
    found = encode_target(pd.Series(["mid", "low", "high", "low"], dtype=size), name="size")
    assert found.classes.tolist() == ["low", "mid", "high"]
    assert [note for note in found.notes if "have an order, from 'low' to 'high'" in note] == list(found.notes)
    assert len(found.notes) == ordered
    assert not encode_target(pd.Series(["mid", "low"], dtype=size), name="size").notes


def test_many_whole_numbers_are_classes_with_a_note():
    many = np.tile(np.arange(60), 10)
    (note,) = encode_target(many, name="minute").notes
    assert note.startswith("minute has whole numbers in 60 distinct values, from 0 to 59")
    assert encode_target(many, categorical=True).notes == ()
    assert encode_target(many % 20).notes == ()
    assert encode_target([f"c{i}" for i in many]).notes == ()
