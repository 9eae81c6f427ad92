# SPDX-License-Identifier: BSD-3-Clause
"""Discriminative models of p(C_k | x), and regression with standard errors.

model        `fit` and `predict_proba` of the classifiers
logistic     logistic and softmax regression;   probit: probit regression
label_noise  logistic regression with wrong labels;   noise_rates: joint estimate of weights and label noise
path         weights along a decreasing strength of the prior, and a choice by cross-validation
glm          generalised linear models;   glm_fit: maximum likelihood
coefficients the table of coefficients, with tests, covariances and separation, of all these models
maximum      the distribution of an estimate;   inference: tests and profile intervals;   sandwich: robust covariances
"""

from separatrix.discriminative.glm import GeneralizedLinearModel
from separatrix.discriminative.label_noise import LabelNoiseLogisticRegression
from separatrix.discriminative.logistic import LogisticRegression
from separatrix.discriminative.model import DiscriminativeClassifier, prior_shift, require_shiftable, start_of
from separatrix.discriminative.path import RegularizationPath, regularization_path
from separatrix.discriminative.probit import ProbitRegression
