# SPDX-License-Identifier: BSD-3-Clause
"""From statistics to parameters, and how it went."""

from separatrix.solvers.result import Solution, Status
from separatrix.solvers.separation import Separability, separability

__all__ = ["Separability", "Solution", "Status", "separability"]
