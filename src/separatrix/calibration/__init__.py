# SPDX-License-Identifier: BSD-3-Clause
"""Calibrated probabilities for any classifier.

maps         functions from scores to probabilities: temperature, Platt, beta, Dirichlet, isotonic
calibrated   `Calibrated`, which fits and chooses a map, corrects for other class proportions and predicts sets
"""

from separatrix.calibration.calibrated import Calibrated as Calibrated
