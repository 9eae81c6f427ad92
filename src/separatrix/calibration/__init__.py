# SPDX-License-Identifier: BSD-3-Clause
"""Calibrated probabilities for any classifier.

maps         functions from scores to probabilities: temperature, Platt, beta, Dirichlet, isotonic; their choice; and
             probabilities for other class proportions, which EM estimates
sets         prediction sets with guaranteed coverage
calibrated   the estimator `Calibrated`
"""

from separatrix.calibration.calibrated import Calibrated
