# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian at the mode of any density: for functions that a user writes down.                     PRML §4.4

    density         the approximation itself, (4.134) and (4.135)
    peak            the climb to the mode, and whether it is one
    differences     the derivatives that the user did not give

The posterior of a classifier is a density too, but its mode comes from `solvers` and its Hessian from a pass over the
rows: see `posterior`.
"""

from separatrix.bayesian.laplace.density import LaplaceApproximation, laplace_approximation
from separatrix.bayesian.laplace.peak import LaplaceError

__all__ = ["LaplaceApproximation", "LaplaceError", "laplace_approximation"]
