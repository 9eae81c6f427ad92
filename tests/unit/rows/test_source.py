import numpy as np
from numpy.testing import assert_array_equal

from separatrix.rows import ThroughBasis, as_source, memory
from separatrix.stats import Tally


class Squares:
    """x -> (x_0², ..., and so on), recording how many rows it is shown at a time."""

    def __init__(self):
        self.shown = []

    def evaluate(self, X):
        self.shown.append(len(X))
        return np.hstack([X, X**2])

    def names(self, columns):
        return (*columns, *(f"{c}^2" for c in columns))


def test_the_three_verbs_see_the_basis_functions_block_by_block(monkeypatch):
    monkeypatch.setattr(memory, "block_rows", lambda width: 5)
    monkeypatch.setattr(memory, "MAP_BLOCKS", 1)
    X, basis = np.arange(24.0).reshape(12, 2), Squares()
    source = ThroughBasis(as_source(X, np.zeros(12, dtype=int)), basis)
    assert source.columns == ("x0", "x1", "x0^2", "x1^2")
    assert source.n_rows == 12
    Phi = np.hstack([X, X**2])
    assert_array_equal(source.reduce(lambda b: Tally(b.X.sum(axis=0))).count, Phi.sum(axis=0))
    assert_array_equal(np.vstack(source.fold(lambda s, b: [*s, b.X], [])), Phi)
    assert_array_equal(source.map(lambda P: P[:, 3]), Phi[:, 3])
    assert max(basis.shown) == 5


def test_blocks_are_sized_for_the_basis_not_for_the_columns():
    X = np.zeros((100_000, 2))

    class Wide(Squares):
        def evaluate(self, X):
            self.shown.append(len(X))
            return np.zeros((len(X), 500))

        def names(self, columns):
            return tuple(map(str, range(500)))

    basis = Wide()
    ThroughBasis(as_source(X, np.zeros(100_000, dtype=int)), basis).reduce(lambda b: Tally(np.ones(1)))
    assert max(basis.shown) <= 2**21 // (8 * 500)
