# SPDX-License-Identifier: BSD-3-Clause
"""An animation as a file: a GIF, or a page with a player that holds its pictures and asks nothing of the network."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["require_suffix", "write_animation"]

SUFFIXES = (".gif", ".html")
LARGEST = 100.0  # MB of pictures in a page; matplotlib leaves out what goes beyond its limit, which is 20 by default
# The player of matplotlib takes its icons from a font on the network; these signs are in every font.
SIGNS = {
    "minus": "−",
    "fast-backward": "«",
    "step-backward": "‹",
    "flip-horizontal": "◀",
    "pause": "❚❚",
    "play": "▶",
    "step-forward": "›",
    "fast-forward": "»",
    "plus": "+",
}


def require_suffix(owner: str, path: str | Path) -> Path:
    """The path, if its name ends in one of the kinds of file that can be written."""
    if Path(path).suffix not in SUFFIXES:
        raise ValueError(f"{owner}(path={str(path)!r}): the name must end in {' or '.join(SUFFIXES)}.")
    return Path(path)


def write_animation(moving: Any, path: Path, *, fps: int, title: str) -> None:
    """Write a matplotlib animation, as the name of the file says."""
    from matplotlib import rc_context
    from matplotlib.animation import PillowWriter

    if path.suffix == ".gif":
        moving.save(path, writer=PillowWriter(fps=fps))
        return
    with rc_context({"animation.embed_limit": LARGEST}):
        player = moving.to_jshtml(fps=fps)
    path.write_text(_page(player, title), encoding="utf-8")


def _page(player: str, title: str) -> str:
    """The player in a page of its own, with signs in place of the icon font."""
    # fa-play stands before fa-flip-horizontal, which must win where a button has both.
    order = sorted(SIGNS, key=lambda name: name == "flip-horizontal")
    rules = ["body { font-family: sans-serif; }", ".fa { font-style: normal; }"]
    rules += [f'.fa-{name}::before {{ content: "{SIGNS[name]}"; }}' for name in order]
    inside = re.sub(r"<link\b[^>]*>", f"<style>{chr(10).join(rules)}</style>", player, count=1)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{inside}\n</body>\n</html>\n'
