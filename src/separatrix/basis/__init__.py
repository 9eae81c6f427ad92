# SPDX-License-Identifier: BSD-3-Clause
"""x -> φ(x): functions of a row, evaluated block by block.

``a + b`` of two bases has the functions of both: ``Linear() + RBF(centres="kmeans", n_centres=20)``.
"""

from separatrix.basis.base import AbstractBasis
from separatrix.basis.fit import fit_basis
from separatrix.basis.fourier import RandomFourier
from separatrix.basis.polynomial import Linear, Polynomial
from separatrix.basis.rbf import RBF, MultiScaleRBF
from separatrix.basis.sigmoid import Sigmoid
from separatrix.basis.spline import Spline
from separatrix.basis.union import Union

__all__ = [
    "RBF",
    "AbstractBasis",
    "Linear",
    "MultiScaleRBF",
    "Polynomial",
    "RandomFourier",
    "Sigmoid",
    "Spline",
    "Union",
    "fit_basis",
]
