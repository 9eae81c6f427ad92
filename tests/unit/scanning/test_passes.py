import numpy as np
import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.exceptions import DataError
from separatrix.scanning import QueryError, RowsChangedError, scan
from separatrix.scanning.passes import Ledger, Passes
from separatrix.scanning.scan import Scan
from separatrix.scanning.stream import open_stream


class Dropping:
    """An origin whose connection drops after its first batch, as often as it is told to."""

    title, n_rows, reads_ahead, may_change = "the query 'SELECT ...'", None, True, True

    def __init__(self, table, drops, at_pass=1):
        self.table, self.drops, self.at_pass, self.begun = table, drops, at_pass, 0
        self.columns = tuple(table.column_names)

    def schema(self, columns):
        return self.table.select(list(columns)).schema

    def parts(self, columns):
        return (_DroppingPart(self, tuple(columns)),)

    shares = parts


class _DroppingPart:
    n_rows = None

    def __init__(self, origin, columns):
        self.origin, self.columns = origin, columns

    def batches(self):
        origin = self.origin
        origin.begun += 1
        for number, batch in enumerate(origin.table.select(list(self.columns)).to_batches(100)):
            if number == 1 and origin.begun >= origin.at_pass and origin.drops:
                origin.drops -= 1
                raise QueryError("PostgreSQL did not answer the query: server closed the connection unexpectedly")
            yield batch


def fitted_parts(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize("at_pass", [1, 2])
def test_a_connection_that_drops_is_tried_again_and_the_answer_is_the_same(at_pass, table):
    X = table.select(["x0", "x1", "kind"])
    whole = sx.LinearDiscriminantAnalysis().fit(scan(X, target="kind"))
    origin = Dropping(X, drops=1, at_pass=at_pass)
    again = sx.LinearDiscriminantAnalysis().fit(Scan(origin, ("x0", "x1"), "kind"))
    assert origin.begun == 3  # the classes, the moments, and one of them once more
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-12)


def test_one_that_drops_twice_is_an_error_and_leaves_the_model_as_it_was(table):
    X = table.select(["x0", "x1", "kind"])
    model = sx.LinearDiscriminantAnalysis().fit(scan(X, target="kind"))
    before = fitted_parts(model)
    with pytest.raises(QueryError, match=r"broke off twice.*server closed.*postgresql://"):
        model.fit(Scan(Dropping(X, drops=2), ("x0", "x1"), "kind"))
    assert fitted_parts(model).keys() == before.keys()
    assert all(value is before[name] for name, value in fitted_parts(model).items())


def test_ordered_work_is_not_begun_again_as_its_state_may_have_changed(table):
    rows = Scan(Dropping(table.select(["x0"]), drops=1), ("x0",)).open_rows(None).rows()
    with pytest.raises(QueryError, match="server closed"):
        rows.fold(lambda state, block: state + len(block), 0)


def test_the_number_of_rows_is_counted_once_and_held_against_every_pass():
    tables = [pa.table({"a": [1.0, 2.0]}), pa.table({"a": [1.0, 2.0]}), pa.table({"a": [1.0]})]
    passes = Passes(open_stream(lambda: tables.pop(0)), ("a",))
    assert passes.count() == passes.count() == 2
    assert sum(batch.num_rows for batch in passes.batches()) == 2
    with pytest.raises(RowsChangedError, match="had 2 rows before and 1 now.*CREATE TABLE"):
        list(passes.batches())


def test_no_rows_are_an_error_wherever_they_are_wanted():
    with pytest.raises(DataError, match="has no rows: nothing is left to fit or predict"):
        Ledger().settle(0, "it")
    empty = scan(pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.int64())}), target="y")
    with pytest.raises(DataError, match="has no rows"):
        sx.LinearDiscriminantAnalysis().fit(empty)
    with pytest.raises(DataError, match="has no rows"):
        empty.open_rows(None).rows().map(lambda X: X)
