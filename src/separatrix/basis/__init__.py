# SPDX-License-Identifier: BSD-3-Clause
"""x -> φ(x): functions of a row, evaluated block by block.

``a + b`` of two bases has the functions of both: ``Linear() + RBF(centres="kmeans", n_centres=20)``.
"""

from separatrix.basis.base import AbstractBasis
from separatrix.basis.fit import fit_basis
from separatrix.basis.fourier import Cosines, RandomFourier
from separatrix.basis.polynomial import Identity, Linear, Monomials, Polynomial
from separatrix.basis.rbf import RBF, Gaussians, MultiScaleRBF
from separatrix.basis.sigmoid import Sigmoid, Sigmoids
from separatrix.basis.spline import BSplines, Spline
from separatrix.basis.survey import Survey, survey
from separatrix.basis.union import Joined, Union

__all__ = [
    "RBF",
    "AbstractBasis",
    "BSplines",
    "Cosines",
    "Gaussians",
    "Identity",
    "Joined",
    "Linear",
    "Monomials",
    "MultiScaleRBF",
    "Polynomial",
    "RandomFourier",
    "Sigmoid",
    "Sigmoids",
    "Spline",
    "Survey",
    "Union",
    "fit_basis",
    "survey",
]
