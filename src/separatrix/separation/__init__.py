# SPDX-License-Identifier: BSD-3-Clause
"""Separation: whether hyperplanes separate the classes, so that the maximum-likelihood estimate does not exist.

report       `is_separable`, for users
certificate  the check after a fit: a proof of overlap, or a warning that names the columns
program      constraint generation, which decides the status from the rows with the smallest margins
directions   the linear programs, and Newton's method on a squared hinge for large or collinear problems
margin       the largest margin and Novikoff's bound for two separable classes
"""

from separatrix.separation.certificate import Support, check_separation, has_free_weights, warn_if_collinear
from separatrix.separation.margin import novikoff, widest_margin
from separatrix.separation.program import ANY_VALUE, Separability, SeparationStatus, separability, signs_at_infinity
from separatrix.separation.report import SeparabilityReport, is_separable
