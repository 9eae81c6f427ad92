# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over models: p(w | data), what it predicts, and how probable the data are under it."""

from separatrix.bayesian.laplace import LaplaceApproximation, LaplaceError, laplace_approximation

__all__ = ["LaplaceApproximation", "LaplaceError", "laplace_approximation"]
