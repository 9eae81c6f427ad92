import pyarrow as pa
import pytest

from separatrix import LinearDiscriminantAnalysis
from separatrix.data.scan import scan
from separatrix.data.scan.watch import begin_pass, watched


def test_a_watcher_sees_rows_grow_to_the_total_in_every_pass(table):
    calls = []
    with watched(lambda *call: calls.append(call)):
        model = LinearDiscriminantAnalysis().fit(scan(table.drop(["is_oak"]), target="kind"))
    assert [number for _, _, number in calls] == sorted(number for _, _, number in calls)
    last = {number: (done, total) for done, total, number in calls}
    assert set(last.values()) == {(900, 900)}
    assert len(last) == model.n_passes_ + 1  # one more for the classes


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
