# SPDX-License-Identifier: BSD-3-Clause
"""A study as one HTML file: self-contained, light and dark, for a screen of any width and for paper.

``facts`` and one module for each section turn a `Study` into plain records of text and pictures, ``svg*`` draw,
``templates`` lay out, ``document`` puts them together.
"""

from separatrix.report.document import render, write_report
from separatrix.report.interest import facing, seen_from

__all__ = [
    "facing",
    "render",
    "seen_from",
    "write_report",
]
