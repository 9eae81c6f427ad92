import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from separatrix.rows.opening import RowStore, numbers_beside, open_rows
from separatrix.rows.pairing import LabelRules


def test_a_table_in_memory_is_opened_with_and_without_labels(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    opened = open_rows(frame)
    assert opened.n_rows == 50
    assert opened.likeness is frame
    assert_allclose(opened.rows(read_once=True).map(lambda X: X @ np.ones(3)), frame.sum(axis=1))
    y = np.arange(50) % 3
    rows = opened.labelled(y, None, LabelRules())
    assert rows.classes.tolist() == [0, 1, 2]
    assert rows.source.map(lambda X: X[:, 0]).shape == (50,)
    assert not rows.is_soft


def test_numbers_stand_beside_the_rows_in_their_order(rng):
    X, t, offset = rng.normal(size=(40, 2)), rng.normal(size=40), rng.normal(size=40)
    source = open_rows(X).attached(t, None, offset)
    seen = source.fold(lambda state, block: [*state, (block.X, block.t, block.offset)], [])
    for part, whole in zip(zip(*seen, strict=True), (X, t, offset), strict=True):
        assert_allclose(np.concatenate(part), whole)


def test_a_frame_may_have_columns_with_the_names_of_methods():
    frame = pd.DataFrame({"open_rows": [1.0, 2.0], "beside": [3.0, 4.0]})
    assert open_rows(frame).n_rows == 2
    assert numbers_beside(frame, "y", "weight") == ("y", "weight")
    assert not isinstance(frame, RowStore)
