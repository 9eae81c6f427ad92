import numpy as np

import separatrix as sx
from problems import blobs
from separatrix.rows import Counted, as_source
from separatrix.stats import Tally


def test_reads_are_counted_at_any_block_size():
    source = Counted(as_source(np.zeros((9, 2)), np.zeros(9, dtype=int)))
    source.reduce(lambda block: Tally(np.ones(1)))
    source.sized_for(500).fold(lambda state, block: state, 0)
    source.map(lambda rows: rows[:, 0])
    assert source.passes == 2
    assert (source.n_rows, source.columns) == (9, ("x0", "x1"))


def test_a_basis_that_looks_at_the_rows_costs_its_passes():
    X, y = blobs(60)
    assert sx.LeastSquaresClassifier().fit(X, y).n_passes_ == 1
    assert sx.LeastSquaresClassifier(basis=sx.basis.Polynomial(2)).fit(X, y).n_passes_ == 1
    assert sx.LeastSquaresClassifier(basis=sx.basis.RBF("kmeans", n_centres=5)).fit(X, y).n_passes_ == 2
