# SPDX-License-Identifier: BSD-3-Clause
"""Other class proportions in new rows.

If p(x | C_k) is the same in new rows but the class proportions π_k are not, Bayes' theorem gives

    p_new(C_k | x) ∝ p(C_k | x) π_k^new / π_k                                                    PRML §1.5.4

EM estimates π^new from the new rows, without their labels (Saerens, Latinne & Decaestecker 2002). The likelihood of
π^new is concave, so EM finds its maximum.
"""

from __future__ import annotations

import numpy as np

from separatrix._array import Float
from separatrix.calibration.maps import LEAST_LOG
from separatrix.exceptions import ConvergenceWarning, warn

MAX_STEPS = 10_000


def shifted_log_proba(log_p: Float, old: Float, new: Float) -> Float:
    """ln p_new(C_k | x) (N, K) for the proportions ``new`` (K,), from ln p(C_k | x) for the proportions ``old``."""
    with np.errstate(divide="ignore"):
        shifted = np.maximum(log_p, LEAST_LOG) + np.log(new / old)
    return np.asarray(shifted - np.logaddexp.reduce(shifted, axis=1, keepdims=True))


def estimate_proportions(P: Float, old: Float, *, tol: float = 1e-8) -> Float:
    """Class proportions (K,) of new rows, by EM from their probabilities P (N, K) for the proportions ``old``."""
    pi = old
    for _ in range(MAX_STEPS):
        R = P * (pi / old)
        new = (R / R.sum(axis=1, keepdims=True)).mean(axis=0)  # E step; its mean over the rows is the M step
        if np.abs(new - pi).max() <= tol:
            return np.asarray(new)
        pi = new
    warn(
        f"Calibrated: the class proportions of {len(P)} new rows still changed after {MAX_STEPS} steps of EM, because "
        "the probabilities hardly distinguish the classes. Give prior_shift the proportions, if they are known.",
        ConvergenceWarning,
    )
    return np.asarray(pi)
