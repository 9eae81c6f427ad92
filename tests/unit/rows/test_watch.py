import numpy as np
import pyarrow as pa
import pytest

from separatrix import LinearDiscriminantAnalysis, LogisticRegression
from separatrix.rows import as_source
from separatrix.rows.watch import begin_pass, followed, watched
from separatrix.scanning import scan


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, 900)
    return rng.normal(size=(900, 3)) + np.eye(3)[codes], np.array(["ash", "elm", "oak"])[codes]


@pytest.fixture(scope="module")
def table(rows):
    X, kind = rows
    return pa.table({**{f"x{d}": X[:, d] for d in range(3)}, "kind": kind})


def test_a_watcher_sees_rows_grow_to_the_total_in_every_pass(table):
    calls = []
    with watched(lambda *call: calls.append(call)):
        model = LinearDiscriminantAnalysis().fit(scan(table, target="kind"))
    assert [number for _, _, number in calls] == sorted(number for _, _, number in calls)
    last = {number: (done, total) for done, total, number in calls}
    assert set(last.values()) == {(900, 900)}
    assert len(last) == model.n_passes_ + 1  # one more for the classes


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression()])
def test_passes_over_rows_in_memory_are_watched_too(rows, model):
    calls = []
    with watched(lambda *call: calls.append(call)):
        model.fit(*rows)
    last = {number: (done, total) for done, total, number in calls}
    assert len(last) >= model.n_passes_
    assert set(last.values()) == {(900, 900)}


def test_the_three_verbs_in_memory_tell_of_every_block_and_of_nothing_else(rows):
    source = as_source(rows[0]).sized_for(1000)  # blocks of 1000 rows and less
    source = type(source)(source.reader, None, None, 400)
    calls = []
    with watched(lambda *call: calls.append(call)):
        source.reduce(len)
        source.fold(lambda n, block: n + len(block), 0, np.random.default_rng(0))
        source.map(lambda X: X[:, 0])
    assert calls[:3] == [(400, 900, 1), (800, 900, 1), (900, 900, 1)]
    assert sorted(done for done, _, number in calls if number == 2)[-1] == 900
    assert [number for _, _, number in calls][-1] == 3
    results = [1, 2]
    assert followed(results, [slice(0, 1), slice(1, 2)]) is results  # where nobody watches


def test_where_the_number_of_rows_is_not_known_the_first_pass_has_no_total():
    rows = scan(lambda: pa.table({"a": [1.0, 2.0]}))
    calls = []
    with watched(lambda *call: calls.append(call)):
        rows.open_rows(None).rows().map(lambda X: X)
        rows.open_rows(None).rows().map(lambda X: X)
    assert calls == [(2, None, 1), (2, 2, 2)]


def test_nobody_is_called_after_the_block_and_errors_of_the_watcher_stop_the_fit(table):
    calls = []
    with watched(lambda *call: calls.append(call)):
        pass
    begin_pass(3).advance(3)
    assert calls == []

    def interrupt(done, total, number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watched(interrupt):
        scan(table).column("x0")
