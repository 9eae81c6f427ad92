import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from separatrix.stats.scatter import ClassScatter, DiagonalScatter, FactoredScatter, PooledScatter, segments

BOUNDS = np.array([0, 4, 4, 10])  # three classes, the middle one without rows
Z = np.random.default_rng(0).normal(size=(10, 3))


def test_segments_skip_classes_without_rows():
    assert list(segments(BOUNDS)) == [(0, slice(0, 4)), (2, slice(4, 10))]


def test_the_four_kinds_tell_the_same_story():
    classes = ClassScatter.of(Z, BOUNDS)
    assert_allclose(PooledScatter.of(Z, BOUNDS).matrix, classes.matrices.sum(axis=0), rtol=1e-12)
    assert_allclose(DiagonalScatter.of(Z, BOUNDS).squares, np.einsum("kmm->km", classes.matrices), rtol=1e-12)
    factored = FactoredScatter.of(Z, BOUNDS)
    factor, w = np.array([0.5, 9.0, 2.0]), np.array([1.0, -2.0, 0.3])
    F = factored.combined(factor)
    assert_allclose(F.T @ F, classes.combined(factor), rtol=1e-12)
    assert_allclose(factored.spread(w), classes.spread(w), rtol=1e-12)


@pytest.mark.parametrize("kind", [PooledScatter, ClassScatter, DiagonalScatter])
def test_sparse_rows_without_their_mean(kind):
    rows = np.where(Z > 0, Z, 0.0)
    shift = np.zeros((3, 3))
    centred = rows.copy()
    for k, span in segments(BOUNDS):
        mean = rows[span].mean(axis=0)
        centred[span] -= mean
        shift[k] = np.sqrt(len(rows[span])) * mean
    got, want = kind.of(sparse.csr_array(rows), BOUNDS).without(shift), kind.of(centred, BOUNDS)
    name = kind.__slots__[0]
    assert_allclose(getattr(got, name), getattr(want, name), atol=1e-12)


def test_a_factor_gives_no_rows_back():
    with pytest.raises(TypeError, match="centred rows"):
        FactoredScatter.of(Z, BOUNDS).without(np.zeros((3, 3)))


def test_not_finite_is_noticed():
    bad = Z.copy()
    bad[1, 1] = np.nan
    for kind in (PooledScatter, ClassScatter, DiagonalScatter, FactoredScatter):
        assert kind.of(Z, BOUNDS).is_finite()
        assert not kind.of(bad, BOUNDS).is_finite()
