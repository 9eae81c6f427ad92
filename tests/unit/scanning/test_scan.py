import pickle
import sqlite3
from contextlib import ExitStack, closing

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import separatrix as sx
from problems import BAYESIAN, DISCRIMINATIVE, GENERATIVE, SUM_MODELS, TWO_CLASSES
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.files import open_writer
from separatrix.scanning import QueryError, Scan, scan
from separatrix.study import TableClassifier
from separatrix.table import TableEncoder

FEATURES = ["x0", "x1", "x2", "x3"]
MODELS = (
    GENERATIVE
    | DISCRIMINATIVE
    | BAYESIAN
    | SUM_MODELS
    | TWO_CLASSES
    | {
        "rbf": lambda: sx.LogisticRegression(basis=sx.basis.RBF("kmeans", n_centres=12), tol=1e-11),
        "one_vs_rest": lambda: sx.OneVsRest(sx.LogisticRegression(tol=1e-11)),
        "decision_rule": lambda: sx.DecisionRule(sx.LinearDiscriminantAnalysis(), reject=0.2),
    }
)
ANSWERS = ("predict_proba", "decision_function", "predict")


@pytest.fixture(scope="module")
def parquet(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "trees.parquet"
    pq.write_table(table, path, row_group_size=170)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_from_a_file_what_it_learns_in_memory(name, parquet, table):
    target = "is_oak" if name in TWO_CLASSES else "kind"
    X = table.select(FEATURES)
    inside = MODELS[name]().fit(X, table[target].to_numpy(zero_copy_only=False))
    outside = MODELS[name]().fit(scan(parquet, target=target, columns=FEATURES))
    assert outside.feature_names_in_.tolist() == FEATURES
    ask = next(getattr(inside, method) and method for method in ANSWERS if getattr(inside, method, None) is not None)
    np.testing.assert_allclose(getattr(outside, ask)(scan(parquet)), getattr(inside, ask)(X), rtol=1e-8, atol=1e-12)
    if "n_passes_" in vars(inside):
        assert outside.n_passes_ == inside.n_passes_


def test_a_regression_learns_the_same(parquet, table):
    X, y, w = (table.select(FEATURES), table["count"].to_numpy(), table["weight"].to_numpy())
    inside = sx.GeneralizedLinearModel("poisson").fit(X, y, w)
    outside = sx.GeneralizedLinearModel("poisson").fit(scan(parquet, target="count", columns=FEATURES, weight="weight"))
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8)
    np.testing.assert_allclose(outside.predict(scan(parquet)), inside.predict(X), rtol=1e-8)


def test_a_perceptron_reads_the_rows_in_order(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, 2.0] > 0.1
    X += np.where(y, 0.5, -0.5)[:, None] * [1.0, 2.0]
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), tmp_path / "a.parquet")
    model = sx.Perceptron(shuffle=False).fit(scan(tmp_path / "a.parquet", target="y"))
    np.testing.assert_allclose(model.coef_, sx.Perceptron(shuffle=False).fit(X, y).coef_, rtol=1e-12)


def kinds(table, tmp_path, stack):
    """A scan of each kind of place."""
    features = table.select([*FEATURES, "kind"])
    for suffix in ("csv", "jsonl", "arrow", "sqlite", "duckdb"):
        with open_writer(tmp_path / f"t.{suffix}") as writer:
            writer.write(features)
        yield suffix, scan(tmp_path / f"t.{suffix}", target="kind")
    yield "dataset", scan(ds.dataset(features), target="kind")
    duck = stack.enter_context(closing(duckdb.connect()))
    duck.register("trees", features)
    yield "DuckDB query", scan("SELECT * FROM trees", connection=duck, target="kind")
    lite = stack.enter_context(closing(sqlite3.connect(tmp_path / "t.sqlite")))
    yield "SQLite query", scan("SELECT * FROM data", connection=lite, target="kind")


def test_every_kind_of_place_gives_the_same_fit(table, tmp_path):
    y = table["kind"].to_numpy(zero_copy_only=False)
    inside = sx.LogisticRegression(tol=1e-11).fit(table.select(FEATURES), y)
    with ExitStack() as stack:
        for kind, rows in kinds(table, tmp_path, stack):
            outside = sx.LogisticRegression(tol=1e-11).fit(rows)
            np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8, err_msg=kind)


def test_postgresql_gives_the_same_fit(table, postgres):
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(postgres)) as connection:
        with closing(connection.cursor()) as cursor:
            cursor.adbc_ingest("trees", table, mode="replace")
        connection.commit()
        query = "SELECT x0, x1, x2, x3, kind FROM trees"
        inside = sx.LogisticRegression(tol=1e-11).fit(table.select(FEATURES), table["kind"].to_pylist())
        for where in (postgres, connection):
            outside = sx.LogisticRegression(tol=1e-11).fit(scan(query, connection=where, target="kind"))
            np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8)


def test_rows_may_be_chosen_and_unlabelled_and_incomplete(parquet, table):
    some = table.filter(pa.compute.greater(table["x1"], 100.0))
    inside = sx.LinearDiscriminantAnalysis().fit(some.select(FEATURES), some["kind"].to_pylist())
    outside = sx.LinearDiscriminantAnalysis().fit(scan(parquet, target="kind", columns=FEATURES, where="x1 > 100"))
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8)
    holes = table.set_column(0, "x0", pa.array([None, *table["x0"].to_pylist()[1:]]))
    rows = scan(holes, target="kind", columns=FEATURES)
    with pytest.raises(DataError, match=r"NaN or infinity in column 'x0' \(1 of 900 rows\)"):
        sx.LogisticRegression().fit(rows)
    X = np.column_stack([holes[name].to_numpy() for name in FEATURES])
    inside = sx.QuadraticDiscriminantAnalysis().fit(X, table["kind"].to_pylist())
    np.testing.assert_allclose(sx.QuadraticDiscriminantAnalysis().fit(rows).means_, inside.means_, rtol=1e-8)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("model", [None, "logistic"])
def test_a_table_of_any_columns_learns_the_same_through_its_encoder(model, curved, tmp_path):
    frame, y = make_mixed_types(700, as_frame=True, rng=0)
    table = pa.Table.from_pandas(frame).append_column("label", pa.array(y))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=90)
    rows = scan(tmp_path / "a.parquet", target="label")
    estimator = None if model is None else sx.LogisticRegression(tol=1e-11)
    inside = TableClassifier(estimator, curved=curved).fit(table.drop(["label"]), y)
    outside = TableClassifier(estimator, curved=curved).fit(rows)
    assert outside.encoder_.schema_.columns == inside.encoder_.schema_.columns
    np.testing.assert_allclose(outside.spread_, inside.spread_, rtol=1e-12)
    np.testing.assert_allclose(outside.predict_proba(rows), inside.predict_proba(table), rtol=1e-8)


def test_encoded_rows_may_be_sparse(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"code": rng.integers(0, 60, 4000).astype(str), "y": rng.integers(0, 2, 4000)})
    schema = TableEncoder(types={"code": "categorical"}).fit(table.drop(["y"])).schema_
    rows = scan(table, target="y").encoded(schema, sparse=True).open_rows(None).rows()
    np.testing.assert_array_equal(rows.map(lambda X: X).toarray(), schema.encode(table, sparse=False))


def test_columns_that_are_no_numbers_are_named_with_the_remedy(parquet):
    with pytest.raises(DataError, match=r"trees.parquet that are not numbers: 'kind' \(string\). Put.*TableClassifier"):
        sx.LogisticRegression().fit(scan(parquet, target="is_oak"))
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(DataError, match="which only models of this package read"):
        TableClassifier(LogisticRegression()).fit(scan(parquet, target="is_oak"))


def test_pairs_of_classes_are_not_picked_from_a_scan(parquet):
    with pytest.raises(DataError, match="Use OneVsRest"):
        sx.OneVsOne(sx.LogisticRegression()).fit(scan(parquet, target="kind", columns=FEATURES))


def test_a_column_without_a_single_value_is_named(table):
    rows = scan(table.append_column("gone", pa.nulls(900)), target="kind", columns=["x0", "gone"])
    with pytest.raises(DataError, match=r"NaN or infinity in column 'gone' \(900 of 900 rows\)"):
        sx.LogisticRegression().fit(rows)


def test_a_fit_that_fails_leaves_the_model_as_it_was(parquet, tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    rows = scan(path, target="kind", columns=FEATURES)
    model = sx.LinearDiscriminantAnalysis().fit(rows)
    coef = model.coef_
    pq.write_table(table.slice(0, 500), path)
    with pytest.raises(DataError, match="has changed since it was opened"):
        model.fit(rows)
    assert model.coef_ is coef


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "kinds"}, "has no column 'kinds'. Did you mean 'kind'"),
        ({"columns": ["x9"]}, "has no column 'x9'. There are 'x0'"),
        ({"weight": "wheight"}, "has no column 'wheight'. Did you mean 'weight'"),
        ({"target": "x0", "columns": ["x0", "x1"]}, "must not see the answer"),
        ({"where": "x9 > 0"}, "no column 'x9'"),
        ({"columns": []}, "no column for a model to see"),
        ({"connection": 3}, "DuckDB, sqlite3 and ADBC"),
    ],
    ids=str,
)
def test_what_is_not_there_is_said_before_anything_is_read(arguments, said, parquet):
    with pytest.raises(DataError, match=said):
        scan(str(parquet), **arguments)


def test_other_arguments_that_make_no_sense(table, parquet):
    with pytest.raises(DataError, match="types= is for CSV files"):
        scan(table, types={"x0": "number"})
    with pytest.raises(DataError, match="With connection= the source is a query"):
        scan(parquet, connection=duckdb.connect())


def test_a_model_finds_its_columns_by_name_in_any_order(parquet, table):
    model = sx.LinearDiscriminantAnalysis().fit(scan(parquet, target="kind", columns=["x3", "x1"]))
    answers = model.predict_proba(table.select(["x3", "x1"]))
    np.testing.assert_allclose(model.predict_proba(scan(parquet)), answers, rtol=1e-12)
    with pytest.raises(DataError, match="has no column 'x3'"):
        model.predict(scan(table.drop(["x3"])))


def test_a_scan_says_what_it_is(parquet):
    rows = scan(parquet, target="kind", columns=["x0", "x1"], weight="weight")
    assert repr(rows) == f"<Scan of {parquet}: 900 rows x 2 columns (x0, x1); target 'kind'; weight 'weight'>"
    assert rows.shape == (900, 2)
    assert isinstance(rows, Scan)


def test_parts_can_be_sent_and_make_up_the_table(parquet, table):
    rows = scan(parquet, target="kind", columns=["x0"], weight="weight")
    parts = pickle.loads(pickle.dumps(rows.parts()))
    assert {part.columns for part in parts} == {("x0", "kind", "weight")}
    assert sum(part.n_rows for part in parts) == 900
    found = pa.Table.from_batches([batch for part in parts for batch in part.batches()])
    assert (
        found.equals(table.select(["x0", "kind", "weight"]).combine_chunks())
        or found.to_pydict() == table.select(["x0", "kind", "weight"]).to_pydict()
    )


def dropping(table, postgres, drops):
    """A query that ends its own connection in the middle of its rows, the first ``drops`` times it gets there."""
    from adbc_driver_postgresql import dbapi

    with closing(dbapi.connect(postgres)) as connection, closing(connection.cursor()) as cursor:
        cursor.adbc_ingest("trees", table.append_column("i", pa.array(range(len(table)))), mode="replace")
        cursor.execute("DROP SEQUENCE IF EXISTS drops")
        cursor.execute("CREATE SEQUENCE drops")  # which counts on whatever becomes of the transaction
        connection.commit()
    end = f"CASE WHEN i = 600 AND nextval('drops') <= {drops} THEN pg_terminate_backend(pg_backend_pid()) END"
    return f"SELECT x0, x1, x2, CASE WHEN ({end}) THEN x3 ELSE x3 END AS x3, kind FROM trees"


def test_a_backend_of_postgresql_that_is_ended_in_mid_stream_is_asked_again(table, postgres):
    inside = sx.LinearDiscriminantAnalysis().fit(table.select(FEATURES), table["kind"].to_pylist())
    query = dropping(table, postgres, 1)
    outside = sx.LinearDiscriminantAnalysis().fit(scan(query, connection=postgres, target="kind"))
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=1e-8)


def test_one_that_is_ended_each_time_is_an_error_and_leaves_the_model_as_it_was(table, postgres):
    model = sx.LinearDiscriminantAnalysis().fit(table.select(["x0", "x1"]), table["is_oak"].to_pylist())
    before = dict(vars(model))
    query = dropping(table, postgres, 100)
    with pytest.raises(QueryError, match=r"broke off twice while it was read\. PostgreSQL did not answer.*terminating"):
        model.fit(scan(query, connection=postgres, target="kind"))
    assert vars(model) == before


def test_duckdb_that_fails_in_mid_stream_is_a_query_error():
    query = (
        "SELECT i::DOUBLE AS a, CASE WHEN i = 1100000 THEN error('gone') ELSE i % 2 END AS y FROM range(1200000) t(i)"
    )
    with closing(duckdb.connect()) as connection:
        rows = scan(query, connection=connection, target="y")
        with pytest.raises(QueryError, match="broke off twice.*DuckDB did not answer the query.*gone"):
            sx.LinearDiscriminantAnalysis().fit(rows)


@pytest.mark.parametrize("model", [sx.OneVsRest, sx.OneVsOne])
def test_reductions_take_the_column_of_weights(model, table):
    reduction = model(sx.LogisticRegression(tol=1e-11))
    rows = scan(table, target="is_oak", weight="weight", columns=FEATURES)
    inside = sx.LogisticRegression(tol=1e-11).fit(table.select(FEATURES), table["is_oak"], table["weight"])
    np.testing.assert_allclose(reduction.fit(rows).estimators_[0].coef_, inside.coef_, rtol=1e-8)


def test_one_vs_rest_of_several_classes_takes_it_too(table):
    model = sx.OneVsRest(sx.LogisticRegression(tol=1e-11))
    inside = model.fit(table.select(FEATURES), table["kind"].to_pylist(), table["weight"].to_numpy()).estimators_
    outside = model.fit(scan(table, target="kind", weight="weight", columns=FEATURES)).estimators_
    for a, b in zip(inside, outside, strict=True):
        np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"columns": ["x0", "x1", "x0"]}, "columns= names 'x0' 2 times"),
        ({"target": "is_oak", "weight": "is_oak"}, "'is_oak' is both the target and the weight"),
    ],
)
def test_a_column_has_one_part_to_play(arguments, said, table):
    with pytest.raises(DataError, match=said):
        scan(table, **arguments)


def test_the_remedy_for_labels_that_are_nan_works_everywhere(tmp_path, postgres):
    rows = pa.table({"a": [1.0, 2.0, 3.0, 5.0, 4.0], "y": [0.0, 1.0, np.nan, 1.0, np.inf]})
    pq.write_table(rows, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="are missing") as said:
        sx.LinearDiscriminantAnalysis().fit(scan(rows, target="y"))
    where = str(said.value).partition("where='")[2].removesuffix("'.")
    values = "(VALUES (1.0::float8, 0.0::float8), (2, 1), (3, 'NaN'), (5, 1), (4, 'Infinity'), (6, NULL)) AS t(a, y)"
    query = f"SELECT a, y FROM {values}"
    with closing(duckdb.connect()) as connection:
        for source, to in ((rows, None), (tmp_path / "a.parquet", None), (query, connection), (query, postgres)):
            chosen = scan(source, connection=to, target="y", where=where)
            assert chosen.column("y").tolist() == [0.0, 1.0, 1.0]


def test_labels_of_a_scan_serve_partial_fit_and_score(table):
    rows = scan(table, target="kind", columns=FEATURES, weight="weight")
    X, y, weight = table.select(FEATURES), table["kind"].to_pylist(), table["weight"].to_numpy()
    for model in (sx.LinearDiscriminantAnalysis(), sx.BayesianLogisticRegression()):
        assert model.partial_fit(rows).score(rows) == pytest.approx(model.score(X, y, weight), rel=1e-12)
    for wrapper in (sx.OneVsRest(model), sx.DecisionRule(model)):
        assert wrapper.fit(rows).score(rows) == pytest.approx(wrapper.score(X, y, weight), rel=1e-12)
    with pytest.raises(DataError, match="Give y"):
        model.score(X)
    counts = scan(table, target="count", columns=FEATURES, weight="weight")
    glm = sx.GeneralizedLinearModel(family="poisson").fit(counts)
    assert glm.score(counts) == pytest.approx(glm.score(X, table["count"].to_numpy(), weight), rel=1e-10)


def test_a_file_without_rows_is_said_to_have_none(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("a,b,y\n")
    with pytest.raises(DataError, match=r"empty\.csv has no rows"):
        sx.LogisticRegression().fit(scan(path, target="y"))
