import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.animation import FuncAnimation
from PIL import Image

from separatrix.plots.path import SIGNS, write_animation


@pytest.fixture
def moving():
    figure, ax = plt.subplots(figsize=(1, 1))
    line = ax.plot([0, 1])[0]
    yield FuncAnimation(figure, lambda k: [line.set_ydata([0, k])], frames=3)
    plt.close("all")


def test_a_gif_moves_at_the_speed_asked_for(moving, tmp_path):
    write_animation(moving, tmp_path / "a.gif", fps=4, title="")
    with Image.open(tmp_path / "a.gif") as picture:
        assert picture.n_frames == 3
        assert picture.info["duration"] == 250


def test_a_page_asks_nothing_of_the_network_and_shows_every_button(moving, tmp_path):
    write_animation(moving, tmp_path / "a.html", fps=4, title="a < b")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 3
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert "<title>a &lt; b</title>" in page
    used = set(re.findall(r'class="fa fa-([a-z-]+)', page)) | {"flip-horizontal"}
    assert used == set(SIGNS)
    assert page.index(".fa-play::before") < page.index(".fa-flip-horizontal::before")  # the later rule wins
