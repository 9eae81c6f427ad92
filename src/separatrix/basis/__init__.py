# SPDX-License-Identifier: BSD-3-Clause
"""Basis functions φ(x) of a row, evaluated block by block.

The sum of two bases has the functions of both: ``Linear() + RBF(centres="kmeans", n_centres=20)``.

base          base class of all bases; unions; scikit-learn transformers as bases
polynomial    the columns themselves, and products of columns
columns       functions of one column each: sigmoids and splines
radial        Gaussians around centres, and random Fourier features
survey        range of each column and a sample of the rows, from one pass
"""

from separatrix.basis.base import AbstractBasis, Joined, Union, fit_basis
from separatrix.basis.columns import Sigmoid, Sigmoids, Spline
from separatrix.basis.polynomial import Identity, Linear, Monomials, Polynomial
from separatrix.basis.radial import RBF, Cosines, Gaussians, MultiScaleRBF, RandomFourier
from separatrix.basis.survey import survey

__all__ = [
    "RBF",
    "AbstractBasis",
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
    "Union",
    "fit_basis",
    "survey",
]
