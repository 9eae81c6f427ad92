import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from separatrix.scanning.part import BlockPlan, Piece, block_of, blocks_of, pieces_of
from separatrix.table import TableEncoder

BATCH = pa.record_batch({"a": [1.0, 2.0, None], "b": [1, 2, 3], "y": ["u", "v", "u"], "w": [1, 2, 1]})
PLAN = BlockPlan(("b", "a"), 2, target="y", classes=np.array(["u", "v"]), weight="w", first_row=10)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_blocks_hold_every_row_once_in_order_and_none_is_too_tall(rows):
    blocks = list(blocks_of([BATCH, BATCH.slice(0, 0), BATCH], replace(PLAN, rows=rows)))
    assert all(0 < len(block) <= rows for block in blocks)
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), [[1, 1], [2, 2], [3, np.nan]] * 2)
    assert [n for block in blocks for n in block.row] == list(range(10, 16))
    assert np.concatenate([block.t for block in blocks]).tolist() == [0, 1, 0] * 2
    assert np.concatenate([block.weight for block in blocks]).tolist() == [1.0, 2.0, 1.0] * 2


def test_pieces_of_a_batch_are_nearly_equal():
    batch = pa.record_batch({"a": np.arange(10)})
    assert [piece.batch.num_rows for piece in pieces_of([batch], 4)] == [3, 3, 4]


def test_a_plan_makes_the_same_blocks_on_the_other_side_of_a_pickle():
    sent = pickle.loads(pickle.dumps(PLAN))
    for here, there in zip(blocks_of([BATCH], PLAN), blocks_of([BATCH], sent), strict=True):
        np.testing.assert_array_equal(here.X, there.X)
        np.testing.assert_array_equal(here.t, there.t)


def test_without_classes_the_target_is_a_number():
    block = block_of(Piece(BATCH, 0), BlockPlan(("a",), 3, target="b"))
    assert block.t.dtype == np.float64
    assert block.t.tolist() == [1.0, 2.0, 3.0]
    assert block.weight is None


@pytest.mark.parametrize("sparse", [False, True])
def test_a_schema_makes_the_numbers(sparse):
    schema = TableEncoder().fit(pa.Table.from_batches([BATCH.select(["a", "y"])])).schema_
    block = block_of(Piece(BATCH, 0), BlockPlan(("a", "y"), 3, schema=schema, sparse=sparse))
    X = block.X.toarray() if sparse else block.X
    np.testing.assert_array_equal(X, schema.encode(BATCH, sparse=False))
