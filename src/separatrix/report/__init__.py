# SPDX-License-Identifier: BSD-3-Clause
"""Report of a study as one self-contained HTML file, with light and dark themes, for screens and paper.

``performance`` computes the metrics for the positive class, ``summary`` writes the sentences, ``weights`` and
``sections`` fill the tables, ``drawing`` draws SVG, ``words`` formats numbers, and ``document`` renders the page.
"""

from separatrix.report.document import render as render
from separatrix.report.document import write_report as write_report
from separatrix.report.performance import one_against_rest as one_against_rest
from separatrix.report.performance import performance_of as performance_of
from separatrix.report.performance import positive_view as positive_view
from separatrix.report.weights import effect_text as effect_text
from separatrix.report.weights import merge_two_levels as merge_two_levels
from separatrix.report.weights import steps_of as steps_of
