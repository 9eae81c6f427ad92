# SPDX-License-Identifier: BSD-3-Clause
"""The snippets of pages of the documentation run and print what the pages show."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["calibration", "coming_from_scikit_learn", "decisions", "geometry"])
def test_the_page_is_a_session_with_these_results(page):
    path = str(DOCS / f"{page}.md")
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert (failed, tried > 20) == (0, True)


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
