# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, as scikit-learn style displays: compute, keep, then draw. Needs ``pip install separatrix[plots]``."""

from separatrix.plots.boundary import DecisionBoundaryDisplay

__all__ = ["DecisionBoundaryDisplay"]
