# SPDX-License-Identifier: BSD-3-Clause
"""Displays in the style of scikit-learn: ``from_estimator`` computes, stores and draws; ``plot`` draws again.

A display stores its axes in ``ax_`` (the first panel) and ``axes_`` (if it has several panels), and its figure in
``figure_``. Plots need matplotlib: ``pip install separatrix[plots]``. `drawing` has the palette and drawing helpers.
"""

from separatrix.plots.boundary import DecisionBoundaryDisplay
from separatrix.plots.coefficient import CoefficientDisplay
from separatrix.plots.comparison import ComparisonDisplay
from separatrix.plots.density import ClassDensityDisplay
from separatrix.plots.effect import EffectDisplay
from separatrix.plots.evidence import EvidenceSurfaceDisplay
from separatrix.plots.explanation import ExplanationDisplay
from separatrix.plots.likelihood import LikelihoodSurfaceDisplay
from separatrix.plots.path import FitPathDisplay
from separatrix.plots.projection import ProjectionDisplay
from separatrix.plots.regularization import RegularizationPathDisplay
from separatrix.plots.reliability import ReliabilityDisplay
from separatrix.plots.threshold import ThresholdDisplay

__all__ = [
    "ClassDensityDisplay",
    "CoefficientDisplay",
    "ComparisonDisplay",
    "DecisionBoundaryDisplay",
    "EffectDisplay",
    "EvidenceSurfaceDisplay",
    "ExplanationDisplay",
    "FitPathDisplay",
    "LikelihoodSurfaceDisplay",
    "ProjectionDisplay",
    "RegularizationPathDisplay",
    "ReliabilityDisplay",
    "ThresholdDisplay",
]
