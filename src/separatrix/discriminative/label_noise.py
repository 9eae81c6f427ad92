# SPDX-License-Identifier: BSD-3-Clause
"""Logistic and softmax regression for labels that are sometimes wrong.                     PRML (4.117)

    p(label j | x) = Σ_k C_kj p(true class k | x),        p(true class k | x) = σ(a) or softmax(a)

For two classes and one rate ε of wrong labels, p(label 1 | x) = ε + (1 - 2ε) σ(a). A label that contradicts its row by
far then costs no more than -ln ε, and is set aside instead of bending the boundary. The price is a likelihood that is
not concave, so the fit goes from the logistic regression of the labels as they are, which has one maximum and no other,
to the nearest maximum of this one. The rates are given, or estimated along with the weights (`noise_rates`).
"""

from __future__ import annotations

__all__ = ["LabelNoiseLogisticRegression"]

MOST_STEPS = 2000  # of the search for rates, where the user sets no limit
FAR = 1e3  # times the weights: a boundary that is sharp by any measure
