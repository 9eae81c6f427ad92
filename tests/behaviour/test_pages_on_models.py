# SPDX-License-Identifier: BSD-3-Clause
"""The snippets of the pages about generative models and families run and print what the pages show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["generative", "families", "naive_bayes"])
def test_the_page_prints_what_it_shows(page):
    names = {}
    blocks = re.findall(r"```(python|text)\n(.*?)```", (DOCS / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    printed = ""
    for kind, text in blocks:
        if kind == "text":
            assert printed.split() == text.split()
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(text, names)
        printed = out.getvalue()
