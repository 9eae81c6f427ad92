import builtins

import pytest

from separatrix.plots.style import COLOURS, MARKERS, new_axes


def test_every_colour_has_its_marker():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)


def test_a_missing_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'separatrix\[plots\]'"):
        new_axes(None)
