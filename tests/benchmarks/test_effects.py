"""The benchmark of effects: it runs, and both libraries find the same slopes."""

import pytest

from benchmarks.effects import Shape, run


@pytest.mark.slow
def test_slopes_in_memory_in_files_and_of_statsmodels_are_equal():
    pytest.importorskip("statsmodels")
    shape = Shape(2000, 3, 3)
    memory, file, peer = (run(task, shape) for task in ("slopes", "slopes, Parquet", "statsmodels get_margeff"))
    for found in (file, peer):
        assert found.estimate == pytest.approx(memory.estimate, rel=1e-6)
        assert found.error == pytest.approx(memory.error, rel=1e-6)
