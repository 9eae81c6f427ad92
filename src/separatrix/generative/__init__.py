# SPDX-License-Identifier: BSD-3-Clause
"""Generative models: p(x | C_k) p(C_k) (PRML §4.2)."""

from separatrix.generative.categories import ValuedCategorical
from separatrix.generative.classifier import GenerativeClassifier
from separatrix.generative.covariance import Covariance, DenseCovariance, FactoredCovariance
from separatrix.generative.exponential_family import ExponentialFamilyClassifier
from separatrix.generative.family_classifier import FamilyClassifier
from separatrix.generative.gaussian import GaussianClassifier
from separatrix.generative.lda import LinearDiscriminantAnalysis
from separatrix.generative.naive_bayes import NaiveBayes
from separatrix.generative.normal_classes import NormalClasses
from separatrix.generative.qda import QuadraticDiscriminantAnalysis

__all__ = [
    "Covariance",
    "DenseCovariance",
    "ExponentialFamilyClassifier",
    "FactoredCovariance",
    "FamilyClassifier",
    "GaussianClassifier",
    "GenerativeClassifier",
    "LinearDiscriminantAnalysis",
    "NaiveBayes",
    "NormalClasses",
    "QuadraticDiscriminantAnalysis",
    "ValuedCategorical",
]
