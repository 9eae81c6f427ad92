# SPDX-License-Identifier: BSD-3-Clause
"""Report of a study as one HTML file: self-contained, light and dark, for any screen width and for paper.

``performance`` computes the metrics for the positive class, ``summary`` writes the sentences, ``weights`` and
``sections`` fill the tables, ``drawing`` makes the pictures, ``words`` formats numbers, ``document`` renders it all.
"""

from separatrix.report.document import render, write_report
from separatrix.report.performance import Performance, one_against_rest, performance_of, positive_view

__all__ = [
    "Performance",
    "one_against_rest",
    "performance_of",
    "positive_view",
    "render",
    "write_report",
]
