import builtins

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from separatrix.plots.drawing import (
    COLOURS,
    LOOK,
    MARKERS,
    MAX_DRAWN_CLASSES,
    MUTED,
    class_style,
    look,
    new_axes,
    new_figure,
    per_unit,
    split_axes,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def luminance(colour):
    """Relative luminance, as the guidelines for accessible web content define it."""
    c = np.array(to_rgb(colour))
    return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_every_colour_has_its_marker():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)


def test_no_two_classes_are_drawn_alike():
    styles = [class_style(k) for k in range(MAX_DRAWN_CLASSES)]
    assert len({(style.colour, style.marker) for style in styles}) == MAX_DRAWN_CLASSES
    assert len({(style.colour, style.hatch) for style in styles}) == MAX_DRAWN_CLASSES
    assert len({(style.colour, style.line) for style in styles}) == MAX_DRAWN_CLASSES


def test_what_is_said_beside_can_be_read_on_white():
    assert 1.05 / (luminance(MUTED) + 0.05) >= 4.5


def test_letters_are_large_and_lines_are_wide_enough_for_a_projector():
    assert min(size for name, size in LOOK.items() if name.endswith("size") and "marker" not in name) >= 10
    assert LOOK["lines.linewidth"] >= 2


def test_the_look_ends_with_the_display():
    before = mpl.rcParams["axes.labelsize"], mpl.rcParams["lines.linewidth"]
    with look():
        assert mpl.rcParams["lines.linewidth"] == LOOK["lines.linewidth"]
    figure, ax = new_figure(size=(3, 2))
    assert tuple(figure.get_size_inches()) == (3, 2)
    assert ax.xaxis.label.get_size() == LOOK["axes.labelsize"]
    assert (mpl.rcParams["axes.labelsize"], mpl.rcParams["lines.linewidth"]) == before


@pytest.mark.parametrize("across", [False, True])
def test_axes_of_a_grid_give_their_place_to_the_panels(across):
    figure, (left, right) = new_figure(1, 2)
    panels = split_axes(right, [3.0, 1.0], across=across)
    figure.canvas.draw()
    room, beside = right.get_position(), left.get_position()
    first, second = (panel.get_position() for panel in panels)
    assert min(first.x0, second.x0) >= beside.x1
    assert max(first.x1, second.x1) <= room.x1 + 1e-9
    sizes = (first.width, second.width) if across else (first.height, second.height)
    assert sizes[0] > 2 * sizes[1]
    panels[0].set(xlim=(3, 4), ylim=(5, 6))
    assert panels[1].get_ylim() == (5, 6) if across else panels[1].get_xlim() == (3, 4)


def test_one_panel_alone_is_a_tuple_too():
    assert len(split_axes(None, [1.0])) == 1


def test_axes_for_each_panel_are_taken_as_they_are():
    _, axes = new_figure(2)
    assert split_axes(axes, [1, 1]) == tuple(axes)
    assert split_axes(list(axes), [1, 1]) == tuple(axes)
    with pytest.raises(ValueError, match="has 3 panels, but 2 axes were given"):
        split_axes(axes, [1, 1, 1])


def test_axes_that_stand_nowhere_in_a_grid_cannot_be_divided():
    with pytest.raises(ValueError, match="not a subplot.*Pass 2 axes"):
        split_axes(plt.figure().add_axes([0.1, 0.1, 0.8, 0.8]), [1, 1])


def test_units_are_read_from_the_name_of_a_column():
    assert per_unit("size (mm)") == "per mm"
    assert per_unit("petal length (cm) ") == "per cm"
    assert per_unit("f(x) of age") == "per unit of f(x) of age"


def test_a_missing_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'separatrix\[plots\]'"):
        new_axes(None)
