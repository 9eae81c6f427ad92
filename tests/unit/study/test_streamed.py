import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.datasets import make_mixed_types
from separatrix.exceptions import DataError
from separatrix.study import compare_models, study_of
from separatrix.study.progress import Stages
from separatrix.study.streamed import fit_streamed, spread_rows


@pytest.fixture(scope="module")
def table():
    X, y = make_mixed_types(3000, as_frame=True, rng=1)
    return pa.Table.from_pandas(X.assign(customer=y), preserve_index=False)


def test_rows_are_spread_evenly_however_they_are_batched():
    numbers = pa.table({"n": np.arange(10_000)})
    spread = [spread_rows(numbers.to_batches(max_chunksize=size), 10_000, 500) for size in (10_000, 999, 7)]
    assert spread[0].equals(spread[1])
    assert spread[0].equals(spread[2])
    found = spread[0].column("n").to_numpy()
    assert np.array_equal(found // 20, np.arange(500))  # one from each twenty
    assert len(np.unique(found % 20)) > 15


def test_few_rows_are_all_there():
    numbers = pa.table({"n": np.arange(50)})
    assert spread_rows(numbers.to_batches(), 50).equals(numbers.combine_chunks())


def test_a_study_of_rows_that_are_read_is_that_of_rows_in_memory(table, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "all.parquet", row_group_size=700)
    names = ["prior only", "logistic (Bayesian)"]
    compared = compare_models(table, "customer", models=names)
    heard = []
    monkeypatch.setattr("separatrix.study.progress.EVERY", 0.0)
    rows = sx.scan(tmp_path / "all.parquet", target="customer")
    streamed = study_of(compared, everything=rows, progress=lambda stage: heard.append(stage.text))
    whole = study_of(compared)
    assert streamed.choice.name == "logistic (Bayesian)"
    assert streamed.n_rows == whole.n_rows == 3000
    assert_allclose(
        [each.weight for each in streamed.coefficients],
        [each.weight for each in whole.coefficients],
        rtol=1e-6,
        atol=1e-8,
    )
    assert_allclose(streamed.effects[0].mean, whole.effects[0].mean, atol=1e-6)
    assert any("larger than a quarter of the memory" in str(note) for note in streamed.notes)
    assert any("pass 2, row" in stage for stage in heard)


def test_a_class_that_the_comparison_never_saw_is_said(table):
    rows = sx.scan(table, target="customer")
    with pytest.raises(DataError, match=r"too rare to be judged"):
        fit_streamed(sx.TableClassifier(), rows, np.array(["leaves"]), Stages(None, 1))
