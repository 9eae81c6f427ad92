# SPDX-License-Identifier: BSD-3-Clause
"""K classes from binary classifiers, and the ambiguous region that leaves."""

from separatrix.reductions.one_vs_one import OneVsOne
from separatrix.reductions.one_vs_rest import OneVsRest

__all__ = ["OneVsOne", "OneVsRest"]
