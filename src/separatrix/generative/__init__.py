# SPDX-License-Identifier: BSD-3-Clause
"""Generative models of p(x | C_k) p(C_k) (PRML §4.2).

`classifier` has the base class of all models, and `em` has expectation maximisation.
Normal classes: `lda`, `qda`, their base `gaussian` (estimates, shrinkage) and `covariance` (densities, missing values).
Exponential families: `naive_bayes` (one family per column), `exponential_family` (one family for all columns), their
base `family_classifier` (EM, text columns), `densities` (estimates, linear form) and `temper`.
"""

from separatrix.generative.classifier import GenerativeClassifier as GenerativeClassifier
from separatrix.generative.classifier import class_priors as class_priors
from separatrix.generative.covariance import Covariance as Covariance
from separatrix.generative.covariance import DenseCovariance as DenseCovariance
from separatrix.generative.covariance import FactoredCovariance as FactoredCovariance
from separatrix.generative.covariance import NormalClasses as NormalClasses
from separatrix.generative.covariance import SingularCovariance as SingularCovariance
from separatrix.generative.exponential_family import ExponentialFamilyClassifier as ExponentialFamilyClassifier
from separatrix.generative.family_classifier import FamilyClassifier as FamilyClassifier
from separatrix.generative.gaussian import GaussianClassifier as GaussianClassifier
from separatrix.generative.lda import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
from separatrix.generative.naive_bayes import NaiveBayes as NaiveBayes
from separatrix.generative.qda import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
