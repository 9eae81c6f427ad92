import numpy as np
import pytest

from separatrix.exceptions import DataError
from separatrix.plots.drawing import true_codes

CLASSES = np.array(["a", "b", "c"])


def test_codes_are_positions_among_the_classes():
    y = ["c", "a", "b", "b"]
    assert np.array_equal(CLASSES[true_codes(y, CLASSES, 4)], y)


def test_labels_that_do_not_fit_are_named():
    with pytest.raises(DataError, match="labels that the model never saw: 'd', 'e'. It knows 'a', 'b', 'c'"):
        true_codes(["a", "d", "e", "d"], CLASSES, 4)
    with pytest.raises(DataError, match=r"X has 3 rows but y has shape \(2,\)"):
        true_codes(["a", "b"], CLASSES, 3)
