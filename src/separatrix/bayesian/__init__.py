# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over models: p(w | data), its predictions, and the evidence p(data).          PRML §4.4, §4.5

The modules follow the order of the book. A module imports only from modules above it in this list:

    costs                           the time and memory of each step, from one table of speeds
    laplace           §4.4          a Gaussian at the mode of any density
    posterior         §4.5.1        a Gaussian over the weights, with the full covariance
    uncoupled                       Gaussians without coupling between contrasts of classes, or between weights
    structures                      exact Gaussians for more columns than rows, and for thousands of levels
    logistic_normal   §4.5.2        averages of the sigmoid over a Gaussian: exact sums and a fast table (`_kernels`)
    predictive        §4.5.2        probabilities averaged over the posterior, and their intervals
    ep                §10.7         expectation propagation, a better Gaussian if Laplace's is inaccurate
    variational       §10.1, §10.6  the Gaussian nearest to the posterior in KL(q || p)
    sampling          §11.1.4       importance sampling and Hamiltonian chains: draws, without a Gaussian
    evidence          §4.4.1, §3.5  ln p(data) as a function of the prior
    tuning            §3.5          the most probable scales of the prior
    averaging         §3.5          the posterior averaged over these scales
    surface                         the evidence over a grid of widths and scales
    alignment                       a prior that follows the correlations of the columns
    arrow                           the posterior of a category with thousands of levels
    plan, record                    what the steps of an inference are given, have found, and report
    shapes                          one scale, an alignment, or a scale for each column, by evidence
    by_class                        the same for many weights of K classes, without a matrix of all weights
    checks                          the errors of probabilities and intervals, by draws
    joint                           the steps of an inference with the covariance of all weights
    sparse_ep                       expectation propagation on sparse rows, with independent weights
    contrasts                       the steps of an inference with a part of the covariance
    folds                           rows that are held out in folds
    mode_path                       modes for all folds along a path of prior scales
    mode_prior                      the prior of the modes that predict held-out rows
    hold_out                        the averages and modes that predict held-out rows best
    inference                       from an objective to a posterior: the table of strategies, and their steps
    logistic                        the classifier
    tune_model                      hyperparameters chosen by evidence, such as the width of basis functions
"""

from separatrix.bayesian.evidence import FitLaplace, Levels, Products
from separatrix.bayesian.laplace import LaplaceApproximation, LaplaceError, laplace_approximation
from separatrix.bayesian.logistic import BayesianLogisticRegression
from separatrix.bayesian.posterior import Approximation, AveragedApproximation
from separatrix.bayesian.structures import ArrowApproximation, DualApproximation
from separatrix.bayesian.surface import EvidenceSurface, evidence_surface
from separatrix.bayesian.tune_model import TunedModel, tune_model
from separatrix.bayesian.tuning import Limit
from separatrix.bayesian.uncoupled import ByClassApproximation, DiagonalApproximation
