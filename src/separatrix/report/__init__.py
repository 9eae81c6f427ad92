# SPDX-License-Identifier: BSD-3-Clause
"""Report of a study as one self-contained HTML file, with light and dark themes, for screens and paper.

``performance`` computes the metrics for the positive class, ``summary`` writes the sentences, ``weights`` and
``sections`` fill the tables, ``drawing`` draws SVG, ``words`` formats numbers, and ``document`` renders the page.
"""

from separatrix.report.document import render, write_report
from separatrix.report.performance import one_against_rest, performance_of, positive_view
from separatrix.report.weights import effect_text, merge_two_levels, steps_of
