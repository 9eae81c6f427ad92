"""A scan read by workers: the numbers of the same scan read by one process."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import separatrix as sx
from problems import blobs, names
from separatrix.exceptions import DataError
from separatrix.scanning import QueryError, RowsChangedError, scan, watched
from separatrix.scanning.scan import Scan
from separatrix.scanning.shares import SharedScan

X, y = blobs(500, seed=2)
WEIGHT = np.random.default_rng(2).integers(1, 4, size=500) / 2


@pytest.fixture
def folder(tmp_path):
    """Three files, each of several row groups; one of them has no rows."""
    table = pd.DataFrame(X, columns=names(X)).assign(y=np.array(["few", "lot", "none"])[y], weight=WEIGHT)
    for name, rows in {"a": table[:180], "b": table[:0], "c": table[180:]}.items():
        rows.to_parquet(tmp_path / f"{name}.parquet", row_group_size=70)
    return tmp_path


def both(folder, **how):
    path = str(folder / "*.parquet")
    settings = {"target": "y", "columns": names(X)} | how
    return scan(path, **settings), scan(path, **settings, client=True)


@pytest.mark.parametrize(
    "model",
    [sx.LinearDiscriminantAnalysis(), sx.LogisticRegression(), sx.LogisticRegression(basis=sx.basis.Polynomial(2))],
)
def test_the_fit_is_that_of_one_reader(folder, model):
    alone, shared = both(folder, weight="weight")
    expected = model.fit(alone)
    coef, passes = expected.coef_, expected.n_passes_
    found = model.fit(shared)
    np.testing.assert_allclose(found.coef_, coef, rtol=1e-8)
    assert found.n_passes_ == passes
    np.testing.assert_array_equal(found.classes_, ["few", "lot", "none"])


def test_labels_and_weights_in_memory_stand_beside_their_rows(folder):
    alone, shared = both(folder, target=None)
    fits = [sx.LinearDiscriminantAnalysis().fit(rows, y, sample_weight=WEIGHT) for rows in (alone, shared)]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-10)


def test_rows_that_no_file_counts_are_counted(folder):
    alone, shared = both(folder, where="c0 > 0")
    assert shared.open_rows(None).rows().n_rows == int((X[:, 0] > 0).sum())
    np.testing.assert_allclose(
        sx.LinearDiscriminantAnalysis().fit(shared).coef_,
        sx.LinearDiscriminantAnalysis().fit(alone).coef_,
        rtol=1e-10,
    )


def test_answers_come_back_in_the_order_of_the_rows(folder):
    alone, shared = both(folder)
    model = sx.LogisticRegression().fit(alone)
    np.testing.assert_allclose(model.predict_proba(shared), model.predict_proba(alone), rtol=1e-12)


def test_sparse_answers_stay_sparse(folder):
    alone, shared = (rows.open_rows(None).rows().map(sparse.csr_array) for rows in both(folder))
    np.testing.assert_array_equal(shared.toarray(), alone.toarray())


@pytest.mark.parametrize("model", [sx.Perceptron(), sx.LogisticRegression(solver="stochastic")])
def test_ordered_work_is_refused_with_the_remedy(folder, model):
    shared = both(folder, where="y <> 'none'")[1]
    with pytest.raises(DataError, match=r"one row after the other.*scan\(\.\.\.\) without client="):
        model.fit(shared)


def test_rows_are_counted_once_and_on_one_column(folder, monkeypatch):
    from separatrix.scanning import shares

    counted = []
    monkeypatch.setattr(shares, "_count", lambda part: counted.append(part) or sum(b.num_rows for b in part.batches()))
    shared = both(folder, where="c0 > 0")[1]
    sx.LinearDiscriminantAnalysis().fit(shared)
    assert len(counted) == len(set(map(id, counted))) == len(shared.parts())
    assert {part.columns for part in counted} == {("c0",)}


def test_a_label_that_is_missing_has_the_number_of_its_row(tmp_path):
    labels = np.where(np.arange(500) == 333, None, np.array(["few", "lot", "none"])[y])
    pd.DataFrame(X, columns=names(X)).assign(y=labels).to_parquet(tmp_path / "a.parquet", row_group_size=70)
    with pytest.raises(DataError, match=r"1 of 500 labels in column 'y' are missing, the first in row 333"):
        sx.LinearDiscriminantAnalysis().fit(scan(tmp_path / "a.parquet", target="y", client=True))


def test_no_row_passes_the_client(folder, monkeypatch):
    """Other processes read the parts, labels and all."""
    from separatrix.scanning.passes import Passes

    def refuse(*arguments, **settings):
        raise AssertionError("the client has read rows")

    _, shared = both(folder)
    expected = sx.LinearDiscriminantAnalysis().fit(both(folder)[0]).coef_
    monkeypatch.setattr(Passes, "run", refuse)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, dask.config.set(scheduler="processes", pool=pool):
        np.testing.assert_allclose(sx.LinearDiscriminantAnalysis().fit(shared).coef_, expected, rtol=1e-10)


def test_a_share_that_changes_between_passes_is_an_error(folder):
    _, shared = both(folder)
    source = shared.open_rows(None).rows()
    assert isinstance(source, SharedScan)
    vars(source.workers)["lengths"] = tuple(n + 1 for n in source.workers.lengths)
    with pytest.raises(DataError, match=r"Part \d of the scan has \d+ rows now and had \d+ before"):
        source.reduce(lambda block: len(block))


def test_a_source_leaves_what_stands_beside_it_behind(folder):
    import pickle

    source = both(folder)[1].open_rows(None).attached(np.arange(500), None, None)
    sent = pickle.loads(pickle.dumps(source))
    assert (sent.beside, sent.scanned.t, sent.columns) == ((), None, source.columns)


def test_a_table_of_words_is_encoded_by_those_who_read_it(tmp_path):
    table = pd.DataFrame(X, columns=names(X)).assign(word=np.array(["a", "b", "c"])[np.arange(500) % 3], y=y)
    table.to_parquet(tmp_path / "a.parquet", row_group_size=70)
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0))
    shared = scan(tmp_path / "a.parquet", target="y", client=True)
    expected = model.fit(table.drop(columns="y"), y).predict_proba(table)
    np.testing.assert_allclose(model.fit(shared).predict_proba(shared), expected, rtol=1e-6)


def test_columns_are_understood_by_those_who_read_them(tmp_path, monkeypatch):
    """No batch comes to this process, not even to find out what the columns are."""
    from separatrix.scanning.passes import Passes

    words = np.array(["a", "b", None], dtype=object)[np.arange(500) % 3]
    table = pd.DataFrame(X, columns=names(X)).assign(word=words, y=y)
    for i in range(2):
        table[250 * i :][:250].to_parquet(tmp_path / f"{i}.parquet", row_group_size=70)
    alone, shared = (scan(tmp_path, target="y", client=client) for client in (None, True))
    expected = sx.TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(alone)
    for name in ("run", "batches"):
        monkeypatch.setattr(Passes, name, lambda *_, **__: pytest.fail("the client has read rows"))
    model = sx.TableClassifier(sx.LogisticRegression(alpha=1.0)).fit(shared)
    assert model.encoder_.schema_.describe() == expected.encoder_.schema_.describe()
    assert list(model.feature_names_in_) == [*names(X), "word"]
    np.testing.assert_allclose(model.estimator_.coef_, expected.estimator_.coef_, rtol=1e-6)


def test_whoever_watches_is_told_of_each_share_that_is_done(folder, monkeypatch):
    monkeypatch.setattr("separatrix.scanning.groups.SHARE_ROWS", 100)
    shared, told = both(folder)[1], []
    lengths = [part.n_rows for part in shared.parts()]
    with watched(lambda *progress: told.append(progress)):
        model = sx.LinearDiscriminantAnalysis().fit(shared)
        model.predict_proba(shared)
    assert len([n for n in lengths if n]) == 5
    assert {total for _, total, _ in told} == {500}
    for number in (1, 2, 3):  # the classes, the moments, the predictions
        done = [rows for rows, total, n in told if n == number]
        assert done == sorted(done)
        assert done[-1] == 500
        assert len(set(done) - {0}) == 5  # a file without rows may be the first to be read


class Dropping:
    """An origin of two shares; the connection that reads the second drops as often as it is told to."""

    title, n_rows, reads_ahead, may_change = "the query 'SELECT ...'", None, True, True

    def __init__(self, table, drops):
        self.table, self.drops, self.columns = table, drops, tuple(table.column_names)

    def schema(self, columns):
        return self.table.select(list(columns)).schema

    def shares(self, columns):
        return tuple(_DroppingPart(self, self.table.slice(250 * i, 250).select(list(columns)), i) for i in range(2))

    parts = shares


class _DroppingPart:
    n_rows = 250

    def __init__(self, origin, table, number):
        self.origin, self.table, self.number, self.columns = origin, table, number, tuple(table.column_names)

    def batches(self):
        first, second = self.table.to_batches(125)
        yield first
        if self.number and self.origin.drops:
            self.origin.drops -= 1
            raise QueryError("PostgreSQL did not answer the query: server closed the connection unexpectedly.")
        yield second


def dropping(drops):
    return Dropping(pa.table(dict(zip(names(X), X.T, strict=True)) | {"y": y}), drops)


def test_a_worker_whose_connection_drops_begins_its_share_once_more(folder):
    expected = sx.LinearDiscriminantAnalysis().fit(X, y).coef_
    origin = dropping(1)
    model = sx.LinearDiscriminantAnalysis().fit(Scan(origin, names(X), "y", client=True))
    assert origin.drops == 0
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)


def test_one_that_drops_twice_is_an_error_and_leaves_no_half_of_a_model():
    model = sx.LinearDiscriminantAnalysis()
    with pytest.raises(QueryError, match=r"the query 'SELECT ...' broke off twice.*server closed.*postgresql://"):
        model.fit(Scan(dropping(2), names(X), "y", client=True))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_rows_that_change_between_passes_of_workers_are_noticed():
    tables = [pa.table(dict(zip(names(X), X.T, strict=True)) | {"y": y + shift}) for shift in (0, 0, 0, 0)]
    tables.append(tables[0].set_column(0, names(X)[0], pa.array(X[::-1, 0])))
    waiting = list(tables)
    rows = scan(lambda: waiting.pop(0) if len(waiting) > 1 else waiting[0], target="y", client=True)
    with pytest.raises(RowsChangedError, match="has other values than in the pass before"):
        sx.LogisticRegression().fit(rows)


def test_no_rows_are_an_error_here_too(folder):
    shared = both(folder, where="c0 > 1000")[1]
    with pytest.raises(DataError, match=r"a\.parquet and 2 more has no rows.*Look at where="):
        sx.LinearDiscriminantAnalysis().fit(shared)
    with pytest.raises(DataError, match="has no rows"):
        sx.LinearDiscriminantAnalysis().fit(both(folder)[0]).predict(shared)
