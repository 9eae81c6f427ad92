import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from separatrix.plots import drawing


def luminance(colour):
    """Relative luminance, as the guidelines for accessible web content define it."""
    c = np.array(to_rgb(colour))
    return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_the_styles_of_all_classes_differ():
    styles = [drawing.class_style(k) for k in range(drawing.MAX_DRAWN_CLASSES)]
    assert len({(style.colour, style.marker) for style in styles}) == drawing.MAX_DRAWN_CLASSES
    assert len({(style.colour, style.hatch) for style in styles}) == drawing.MAX_DRAWN_CLASSES
    assert len({(style.colour, style.line) for style in styles}) == drawing.MAX_DRAWN_CLASSES


def test_annotations_have_enough_contrast_on_white():
    assert 1.05 / (luminance(drawing.MUTED) + 0.05) >= 4.5


def test_the_style_of_other_figures_is_not_changed():
    before = mpl.rcParams["axes.labelsize"], mpl.rcParams["lines.linewidth"]
    with drawing.look():
        assert mpl.rcParams["lines.linewidth"] == drawing.LOOK["lines.linewidth"]
    figure, ax = drawing.new_figure(size=(3, 2))
    assert tuple(figure.get_size_inches()) == (3, 2)
    assert ax.xaxis.label.get_size() == drawing.LOOK["axes.labelsize"]
    assert (mpl.rcParams["axes.labelsize"], mpl.rcParams["lines.linewidth"]) == before


@pytest.mark.parametrize("across", [False, True])
def test_panels_replace_the_axes_of_a_subplot(across):
    figure, (left, right) = drawing.new_figure(1, 2)
    panels = drawing.split_axes(right, [3.0, 1.0], across=across)
    figure.canvas.draw()
    room, beside = right.get_position(), left.get_position()
    first, second = (panel.get_position() for panel in panels)
    assert min(first.x0, second.x0) >= beside.x1
    assert max(first.x1, second.x1) <= room.x1 + 1e-9
    sizes = (first.width, second.width) if across else (first.height, second.height)
    assert sizes[0] > 2 * sizes[1]
    panels[0].set(xlim=(3, 4), ylim=(5, 6))
    assert panels[1].get_ylim() == (5, 6) if across else panels[1].get_xlim() == (3, 4)


def test_one_axes_per_panel_may_be_given():
    _, axes = drawing.new_figure(2)
    assert drawing.split_axes(axes, [1, 1]) == tuple(axes)
    assert drawing.split_axes(list(axes), [1, 1]) == tuple(axes)
    with pytest.raises(ValueError, match="has 3 panels, but 2 axes were given"):
        drawing.split_axes(axes, [1, 1, 1])
    with pytest.raises(ValueError, match="not a subplot.*Pass 2 axes"):
        drawing.split_axes(plt.figure().add_axes([0.1, 0.1, 0.8, 0.8]), [1, 1])


def test_the_unit_is_read_from_the_name_of_the_column():
    assert drawing.per_unit("size (mm)") == "per mm"
    assert drawing.per_unit("petal length (cm) ") == "per cm"
    assert drawing.per_unit("f(x) of age") == "per unit of f(x) of age"


def test_without_matplotlib_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'separatrix\[plots\]'"):
        drawing.new_axes(None)
