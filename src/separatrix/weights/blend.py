# SPDX-License-Identifier: BSD-3-Clause
"""Predictions that combine averages over the distribution of the weights with single weight vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._array import Float


@dataclass(frozen=True, eq=False)
class Blend:
    """Probabilities that predict held-out rows well: Σ_j share_j average_j + Σ_s share_s p(t | x, θ_s).

    Average j multiplies the variances of the activations by ``factors`` (J,), and has the share ``of_averages`` (J,).
    The weight vectors ``theta`` (S, C, P) have the shares ``of_vectors`` (S,). All shares add up to 1.
    """

    factors: Float
    of_averages: Float
    theta: Float
    of_vectors: Float

    @property
    def is_average(self) -> bool:
        """Whether the average over the distribution is used as it is."""
        return len(self.of_vectors) == 0 and bool(np.array_equal(self.factors, [1.0]))
