# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers that predict a class without a probability model (PRML §4.1).

`least_squares`, `fisher` and `perceptron` contain one model each; `_online` is the compiled loop of the perceptron.
"""

from separatrix.rules.fisher import FisherDiscriminant, log_priors
from separatrix.rules.least_squares import LeastSquaresClassifier
from separatrix.rules.perceptron import Perceptron, Update
