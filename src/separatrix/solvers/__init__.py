# SPDX-License-Identifier: BSD-3-Clause
"""From statistics to parameters, and how it went."""

from separatrix.solvers.result import Solution, Status

__all__ = ["Solution", "Status"]
