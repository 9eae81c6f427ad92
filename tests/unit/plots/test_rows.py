import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from separatrix.exceptions import DataError
from separatrix.plots.drawing import MOST_CLASSES, new_panels, read_rows, require_colours, scatter_classes


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_rows_of_any_table_with_codes_in_the_order_of_the_classes(rng):
    X = rng.normal(size=(4, 3))
    y, classes = ["b", "a", "c", "a"], np.array(["a", "b", "c"])
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    for table in (X, frame, sparse.csr_array(X)):
        rows = read_rows(table, y, classes)
        np.testing.assert_array_equal(rows.points, X)
        assert rows.codes.tolist() == [1, 0, 2, 0]
    assert read_rows(frame, y, classes).columns == ("one", "two", "three")


def test_labels_that_do_not_fit(rng):
    X, classes = rng.normal(size=(3, 2)), np.array([0, 1])
    with pytest.raises(DataError, match=r"X has 3 rows but y has shape \(2,\)"):
        read_rows(X, [0, 1], classes)
    with pytest.raises(DataError, match="never saw: 7. It knows 0, 1"):
        read_rows(X, [0, 7, 1], classes)


def test_as_many_classes_as_colours():
    require_colours(np.arange(MOST_CLASSES))
    with pytest.raises(ValueError, match=r"33 classes are more than the 32 .*Fit and draw fewer"):
        require_colours(np.arange(33))


def test_every_class_is_drawn_once_and_named():
    _, ax = plt.subplots()
    points = np.arange(10.0).reshape(5, 2)
    scatter_classes(ax, points, np.array([0, 1, 0, 1, 1]), np.array(["no", "yes"]))
    assert [len(drawn.get_offsets()) for drawn in ax.collections] == [2, 3]
    assert ax.get_legend_handles_labels()[1] == ["no", "yes"]


def test_panels_are_a_matrix_of_axes_of_the_size_asked_for():
    for shape in ((1, 1), (1, 3), (2, 2)):
        panels = new_panels(*shape, size=(2.0, 1.5))
        assert panels.shape == shape
        assert tuple(panels[0, 0].figure.get_size_inches()) == (2.0 * shape[1], 1.5 * shape[0])
