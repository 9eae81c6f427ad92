# SPDX-License-Identifier: BSD-3-Clause
"""Report of a study as one self-contained HTML file, with light and dark themes, for screens and paper.

``performance`` computes the metrics for the positive class, ``summary`` writes the sentences, ``weights`` and
``sections`` fill the tables, ``drawing`` draws SVG, ``words`` formats numbers, and ``document`` renders the page.
"""

from separatrix.report.document import render, write_report
from separatrix.report.performance import one_against_rest, performance_of, positive_view
from separatrix.report.summary import severe_warnings
from separatrix.report.weights import (
    GIVES_AWAY,
    NOT_DETERMINED,
    Step,
    effect_text,
    is_stated,
    merge_two_levels,
    steps_of,
)

__all__ = [
    "GIVES_AWAY",
    "NOT_DETERMINED",
    "Step",
    "effect_text",
    "is_stated",
    "merge_two_levels",
    "one_against_rest",
    "performance_of",
    "positive_view",
    "render",
    "severe_warnings",
    "steps_of",
    "write_report",
]
