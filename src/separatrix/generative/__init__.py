# SPDX-License-Identifier: BSD-3-Clause
"""Generative models of p(x | C_k) p(C_k) (PRML §4.2).

`classifier` has the base class of all models, and `em` has expectation maximisation.
Normal classes: `lda`, `qda`, their base `gaussian` (estimates, shrinkage) and `covariance` (densities, missing values).
Exponential families: `naive_bayes` (one family per column), `exponential_family` (one family for all columns), their
base `family_classifier` (EM, text columns), `densities` (estimates, linear form) and `temper`.
"""

from separatrix.generative.classifier import GenerativeClassifier, class_priors
from separatrix.generative.covariance import (
    Covariance,
    DenseCovariance,
    FactoredCovariance,
    NormalClasses,
    SingularCovariance,
)
from separatrix.generative.exponential_family import ExponentialFamilyClassifier
from separatrix.generative.family_classifier import FamilyClassifier
from separatrix.generative.gaussian import GaussianClassifier
from separatrix.generative.lda import LinearDiscriminantAnalysis
from separatrix.generative.naive_bayes import NaiveBayes
from separatrix.generative.qda import QuadraticDiscriminantAnalysis
