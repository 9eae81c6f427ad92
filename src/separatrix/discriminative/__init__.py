# SPDX-License-Identifier: BSD-3-Clause
"""Discriminative models of p(C_k | x), and regression with standard errors.

model        `fit` and `predict_proba` of the classifiers
logistic     logistic and softmax regression;   probit: probit regression
label_noise  logistic regression with wrong labels;   noise_rates: joint estimate of weights and label noise
path         weights along a decreasing strength of the prior, and a choice by cross-validation
glm          generalised linear models;   glm_fit: maximum likelihood;   inference: tests, intervals, summary table
"""

from separatrix.discriminative.glm import GeneralizedLinearModel as GeneralizedLinearModel
from separatrix.discriminative.label_noise import LabelNoiseLogisticRegression as LabelNoiseLogisticRegression
from separatrix.discriminative.logistic import LogisticRegression as LogisticRegression
from separatrix.discriminative.model import DiscriminativeClassifier as DiscriminativeClassifier
from separatrix.discriminative.model import prior_shift as prior_shift
from separatrix.discriminative.model import require_shiftable as require_shiftable
from separatrix.discriminative.model import start_of as start_of
from separatrix.discriminative.path import RegularizationPath as RegularizationPath
from separatrix.discriminative.path import regularization_path as regularization_path
from separatrix.discriminative.probit import ProbitRegression as ProbitRegression
