import numpy as np
from sklearn.metrics import confusion_matrix

from separatrix.rows import Block
from separatrix.stats import confusion


def test_confusion_is_scikit_learns(rng):
    t, guess, weight = rng.integers(3, size=50), rng.integers(3, size=50), rng.random(50)
    block = Block(np.zeros((50, 1)), t, weight, range(50))
    np.testing.assert_allclose(confusion(block, guess, 3).count, confusion_matrix(t, guess, sample_weight=weight))
