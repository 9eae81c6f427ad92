# SPDX-License-Identifier: BSD-3-Clause
"""Separation: whether hyperplanes separate the classes, so that the maximum-likelihood estimate does not exist.

report       `is_separable`, for users
certificate  the check after a fit: a proof of overlap, or a warning that names the columns
program      constraint generation, which decides the status from the rows with the smallest margins
directions   the linear programs, and Newton's method on a squared hinge for large or collinear problems
margin       the largest margin and Novikoff's bound for two separable classes
"""

from separatrix.separation.certificate import Support as Support
from separatrix.separation.certificate import check_separation as check_separation
from separatrix.separation.certificate import has_free_weights as has_free_weights
from separatrix.separation.certificate import warn_if_collinear as warn_if_collinear
from separatrix.separation.margin import novikoff as novikoff
from separatrix.separation.margin import widest_margin as widest_margin
from separatrix.separation.program import Separability as Separability
from separatrix.separation.program import SeparationStatus as SeparationStatus
from separatrix.separation.program import separability as separability
from separatrix.separation.report import SeparabilityReport as SeparabilityReport
from separatrix.separation.report import is_separable as is_separable
