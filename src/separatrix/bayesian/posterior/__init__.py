# SPDX-License-Identifier: BSD-3-Clause
"""A Gaussian over the weights, N(w | mode, A⁻¹), and how much of A is kept.                         PRML §4.5.1

    approximation   all of A in one Cholesky factor; Laplace's way to come by it, (4.142) - (4.144)
    dual            exact too, for fewer rows than columns
    by_class        for K classes: one factor for each contrast between them
    diagonal        one number for each weight
    structure       which of these four, and how much memory each takes
    memory          how much there is, and a refusal in words
    weights         the same Gaussian in the user's units, as a table with intervals

All four answer the same questions: the activations of rows (4.149, 4.150), standard deviations, draws, ln p(data).
"""
