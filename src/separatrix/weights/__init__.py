# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over the weights of a linear model, wherever they come from: a posterior, or sampling theory.

marginals       numbers that are linear in the weights: mean, standard deviation, quantiles, probability of the sign
approximation   one Gaussian over the weights of a fit, or a mixture of some; activations of rows
information     the inverse of an information matrix, for K classes and collinear columns too
draws           weighted draws of the weights
blend           predictions that combine averages over the distribution with single weight vectors
distribution    the distribution in the user's units, which every consumer asks
summary         the table of coefficients
side_by_side    the tables of several models
"""

from separatrix.weights.approximation import (
    AbstractApproximation,
    Activations,
    NormalApproximation,
    regressors,
    row_squares,
)
from separatrix.weights.blend import Blend
from separatrix.weights.distribution import WeightDistribution
from separatrix.weights.draws import MAX_DRAW_ACTIVATIONS, Draws, activations_of_draws
from separatrix.weights.information import inverse_information, require_few_weights
from separatrix.weights.marginals import Marginals, mixture_quantiles, quantiles, weighted_quantiles
from separatrix.weights.side_by_side import SideBySide, summary_table
from separatrix.weights.summary import (
    Coefficients,
    Heading,
    Reading,
    Summary,
    class_contrasts,
    columns_of,
    interval_tails,
    summarise,
    tabulated,
)
