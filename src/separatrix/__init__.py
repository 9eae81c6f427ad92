# SPDX-License-Identifier: BSD-3-Clause
"""separatrix: linear classification with honest probabilities."""

from separatrix import exceptions as exceptions
from separatrix import solvers as solvers
from separatrix.rules import FisherDiscriminant as FisherDiscriminant
from separatrix.rules import LeastSquaresClassifier as LeastSquaresClassifier
from separatrix.rules import Perceptron as Perceptron

__version__ = "0.1.0"
