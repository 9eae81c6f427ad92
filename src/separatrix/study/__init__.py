# SPDX-License-Identifier: BSD-3-Clause
"""From a table to a model that was chosen and explained: what the command line runs and the report shows."""

from separatrix.study.record import Choice, Coefficient, Effect, HeldOut, Study

__all__ = ["Choice", "Coefficient", "Effect", "HeldOut", "Study"]
