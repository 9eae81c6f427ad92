# SPDX-License-Identifier: BSD-3-Clause
"""Generative models: p(x | C_k) p(C_k) (PRML §4.2)."""

from separatrix.generative.exponential_family import ExponentialFamilyClassifier
from separatrix.generative.lda import LinearDiscriminantAnalysis
from separatrix.generative.naive_bayes import NaiveBayes
from separatrix.generative.qda import QuadraticDiscriminantAnalysis

__all__ = [
    "ExponentialFamilyClassifier",
    "LinearDiscriminantAnalysis",
    "NaiveBayes",
    "QuadraticDiscriminantAnalysis",
]
