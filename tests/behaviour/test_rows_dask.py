"""Rows in the partitions of a Dask collection: the numbers of memory, in a fixed order, and no rows on the client."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from problems import blobs
from separatrix.exceptions import DataError
from separatrix.rows import LabelRules, as_source, in_memory, labels_of, open_rows, pair, watched
from separatrix.rows.dask import Dask
from separatrix.stats import ClassScatter, collect_moments

X, y = blobs()
N = len(X)
CHUNKS = {"one": (300,), "even": (100,) * 3, "ragged": (7, 0, 250, 1, 42, 0), "many": (10,) * 30}


def partitioned(chunks, t=y, rows=X):
    return open_rows(da.from_array(rows, chunks=(chunks, rows.shape[1]))).with_numbers(t)


def numbers(block):
    return tuple(block.row)  # tuples add in order, so that their order shows the order of additions


def forbidden(graph, keys, **options):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_additions_follow_the_order_of_the_rows(chunks):
    assert partitioned(chunks).reduce(numbers) == tuple(range(N))
    whole, parts = (collect_moments(s, 3, ClassScatter) for s in (as_source(X, y), partitioned(chunks)))
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(parts.scatter.matrices, whole.scatter.matrices, rtol=1e-9, atol=1e-9)


def test_equal_runs_give_equal_bits_with_any_scheduler():
    runs = []
    for scheduler in ("threads", "synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            runs.append(collect_moments(partitioned(CHUNKS["many"]), 3, ClassScatter).scatter.matrices.tobytes())
    assert len(set(runs)) == 1


def test_processes_give_the_bits_of_threads():
    lazy, model = da.from_array(X, chunks=(90, 4)), sx.LinearDiscriminantAnalysis(basis=sx.basis.Polynomial(2))
    expected = model.fit(lazy, y).coef_
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, dask.config.set(scheduler="processes", pool=pool):
        assert model.fit(lazy, y).coef_.tobytes() == expected.tobytes()


def test_the_callers_floating_point_policy_holds_in_a_task():
    def overflow(block):
        return float(np.float64(1e308) * 10)

    source = partitioned(CHUNKS["even"])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        source.reduce(overflow)
    with np.errstate(over="ignore"):
        assert source.reduce(overflow) == np.inf


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_mapped_rows_are_read_in_the_blocks_and_with_the_policy_of_memory(scheduler):
    def seen(rows):
        return np.tile([len(rows), np.geterr()["over"] == "raise"], (len(rows), 1))

    rows = np.zeros((70_000, 40))  # several blocks
    lazy = open_rows(da.from_array(rows, chunks=(35_000, 40)))
    with dask.config.set(scheduler=scheduler), np.errstate(over="raise"):
        height, raises = lazy.map(seen).T
    assert height.max() == as_source(rows).map(seen)[:, 0].max() == 2 * lazy.height
    assert raises.all()


def test_a_large_statistic_is_sent_to_the_given_client_once():
    class Client:
        """Runs tasks in this thread; Dask and the runner take it for the client of a cluster."""

        __module__ = "distributed"
        asynchronous = False

        def get(self, graph, keys, **_):
            collection = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
            sent.append(sum(len(cloudpickle.dumps(task)) for task in dict(collection).values()))
            return dask.get(collection, keys)

    sent, large = [], np.ones(100_000)
    source = replace(partitioned(CHUNKS["many"], rows=np.ones((N, 4))), runner=Dask(Client()))
    assert source.reduce(lambda block: large[0] * len(block)) == N
    assert large.nbytes < sent[0] < 1.5 * large.nbytes


def test_ordered_work_is_refused_with_alternatives():
    with pytest.raises(DataError, match=r"one row after the other.*solver='auto'.*X.compute\(\)"):
        partitioned(CHUNKS["even"]).fold(lambda state, block: state, 0)
    for model in (sx.Perceptron(), sx.LogisticRegression(solver="stochastic")):
        with pytest.raises(DataError, match="one row after the other"):
            model.fit(da.from_array(X, chunks=(100, 4)), y)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_progress_counts_the_rows_of_each_partition_once(scheduler):
    told = []
    with dask.config.set(scheduler=scheduler), watched(lambda *call: told.append(call)):
        partitioned(CHUNKS["even"]).reduce(numbers)
    assert [done for done, _, _ in told] == [100, 200, 300]


def test_rows_that_change_between_passes_are_an_error():
    calls = []

    def grows():
        calls.append(1)
        return np.ones((len(calls), 2))

    lazy = da.from_delayed(dask.delayed(grows, pure=False)(), shape=(np.nan, 2), dtype=float)
    with pytest.raises(DataError, match=r"had 1 in the first pass.*persist"):
        open_rows(lazy).reduce(numbers)


def test_filters_types_and_sparse_chunks():
    lazy, labels = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=75)
    keep = lazy[:, 0] > 0
    found = sx.LogisticRegression().fit(lazy[keep], labels[keep])
    np.testing.assert_allclose(
        found.coef_, sx.LogisticRegression().fit(X[X[:, 0] > 0], y[X[:, 0] > 0]).coef_, rtol=1e-8
    )
    rows = (X > 0).astype(float)
    expected = sx.LogisticRegression().fit(rows, y).coef_
    for convert in (lambda part: part.astype(bool), lambda part: part.astype("f4"), sparse.csr_matrix):
        found = sx.LogisticRegression().fit(da.from_array(rows, chunks=(90, 4)).map_blocks(convert), y)
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-6)


LENGTHS = (25, 0, 30, 5)
WORDS = np.array(["lot", "few", "none"])[np.random.default_rng(0).integers(3, size=60)]
WEIGHT = np.random.default_rng(1).integers(1, 4, size=60) / 2


def labelled(y, weight=None, rules=None):
    rules = rules or LabelRules()
    source = open_rows(da.zeros((60, 1), chunks=(LENGTHS, 1))).with_labels(y, weight, rules)
    return source, source.reduce(lambda block: (block,))


def joined(blocks, name):
    return np.concatenate([getattr(block, name) for block in blocks])


def lazy(values, chunks):
    return da.from_array(np.asarray(values), chunks=chunks)


@pytest.mark.parametrize(
    ("y", "weight"),
    [
        (lazy(WORDS, 60), lazy(WEIGHT, 11)),
        (lazy(WORDS, 7), lazy(WEIGHT, 11)),
        (lazy(WORDS, (LENGTHS,)), WEIGHT),
        (list(WORDS), lazy(WEIGHT, 9)),
        (dd.from_pandas(pd.Series(WORDS), npartitions=4), WEIGHT),
    ],
)
def test_codes_and_weights_are_those_of_memory(y, weight):
    source, blocks = labelled(y, weight)
    expected = pair(WORDS, WEIGHT, 60, LabelRules())
    assert source.classes.tolist() == expected.classes.tolist()
    np.testing.assert_array_equal(joined(blocks, "t"), expected.targets[0].t)
    np.testing.assert_array_equal(joined(blocks, "weight"), WEIGHT)


@pytest.mark.parametrize("kind", [int, bool, float, object])
def test_classes_have_the_type_they_have_in_memory(kind):
    labels = (np.arange(60) % 2).astype(kind)
    assert labelled(lazy(labels, 13))[0].classes.dtype == pair(labels, None, 60, LabelRules()).classes.dtype


def test_known_classes_keep_their_codes():
    known = np.array(["none", "some", "lot", "few"])
    np.testing.assert_array_equal(
        known[joined(labelled(lazy(WORDS, 10), None, LabelRules(known=known))[1], "t")], WORDS
    )
    with pytest.raises(DataError, match="'few' is not one of the classes"):
        labelled(lazy(WORDS, 10), None, LabelRules(known=known[:3]))


def test_soft_targets_of_three_classes_and_of_two(rng):
    T = rng.dirichlet(np.ones(3), 60)
    source, blocks = labelled(lazy(T, (11, 2)), None, LabelRules(soft=True))
    assert source.is_soft
    np.testing.assert_allclose(joined(blocks, "t"), T, rtol=1e-15)
    two = pd.DataFrame(T[:, :2] / T[:, :2].sum(axis=1, keepdims=True), columns=["q", "p"])
    source, blocks = labelled(dd.from_pandas(two), None, LabelRules(soft=True))
    assert source.classes.tolist() == ["q", "p"]
    np.testing.assert_allclose(joined(blocks, "t"), two["p"])


@pytest.fixture(scope="module")
def model():
    return sx.LogisticRegression().fit(X, np.array(["u", "v", "w"])[y])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_are_lazy_and_have_the_form_of_memory(model, method):
    with dask.config.set(scheduler=forbidden):
        found = getattr(model, method)(da.from_array(X, chunks=((100, 0, 200), (1, 3))))
    expected = getattr(model, method)(X)
    assert found.chunks[0] == (100, 0, 200)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if method == "predict":
        np.testing.assert_array_equal(found.compute(), expected)
    else:
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-13)


def test_a_dataframe_must_have_the_names_of_the_fit():
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = sx.LinearDiscriminantAnalysis().fit(dd.from_pandas(frame, npartitions=3), y)
    assert named.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(dd.from_pandas(frame, npartitions=3)[["b", "a", "c", "d"]])


def test_nan_is_traced_to_its_column_in_fits_and_predictions(model):
    broken = X.copy()
    broken[250, 2] = np.nan
    lazy = da.from_array(broken, chunks=(100, 4))
    with pytest.raises(DataError, match=r"column 'x2' \(1 of 300 rows\)"):
        sx.LogisticRegression().fit(lazy, y)
    found = model.predict_proba(lazy)
    np.testing.assert_allclose(found[:200].compute(), model.predict_proba(X[:200]), rtol=1e-13)
    with pytest.raises(DataError, match=r"column 'x2' \(1 of 100 rows\)"):
        found.compute()


def test_intervals_scores_and_labels_of_lazy_rows(model):
    bayes, rows = sx.BayesianLogisticRegression(sx.Gaussian(1.0)).fit(X, y), da.from_array(X, chunks=(128, 4))
    np.testing.assert_allclose(bayes.predict_interval(rows).compute(), bayes.predict_interval(X), rtol=1e-12)
    labels = np.array(["u", "v", "w"])[y]
    assert model.score(rows, dd.from_pandas(pd.Series(labels), npartitions=2)) == model.score(X, labels)
    assert labels_of(np.array(["a", "b"]), np.array([1, 0])).tolist() == ["b", "a"]
    kept = np.arange(3)
    first, second, third = in_memory(kept, da.arange(3, chunks=2), None)
    assert (first is kept, type(second), third) == (True, np.ndarray, None)


def test_a_model_that_rejects_zeros_predicts_lazily(rng):
    rows = rng.gamma(2.0, size=(60, 2)) + 0.1
    gamma = sx.NaiveBayes("gamma").fit(rows, (rows[:, 0] > rows[:, 1]).astype(int))
    found = gamma.predict_proba(da.from_array(rows, chunks=((0, 40, 20), 2)))
    np.testing.assert_allclose(found.compute(), gamma.predict_proba(rows), rtol=1e-13)
