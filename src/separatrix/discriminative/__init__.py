# SPDX-License-Identifier: BSD-3-Clause
"""Models of p(C_k | x) itself."""

from separatrix.discriminative.glm import GeneralizedLinearModel

__all__ = ["GeneralizedLinearModel"]
