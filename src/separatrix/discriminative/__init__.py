# SPDX-License-Identifier: BSD-3-Clause
"""Models of p(C_k | x) itself."""

from separatrix.discriminative.glm import GeneralizedLinearModel
from separatrix.discriminative.label_noise import LabelNoiseLogisticRegression
from separatrix.discriminative.logistic import LogisticRegression
from separatrix.discriminative.model import DiscriminativeClassifier
from separatrix.discriminative.probit import ProbitRegression

__all__ = [
    "DiscriminativeClassifier",
    "GeneralizedLinearModel",
    "LabelNoiseLogisticRegression",
    "LogisticRegression",
    "ProbitRegression",
]
