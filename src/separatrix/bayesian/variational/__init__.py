# SPDX-License-Identifier: BSD-3-Clause
"""The Gaussian nearest to the posterior in KL(q || p), and its lower bound on ln p(data).           PRML §10.1

    ascent          steps up the bound, for any likelihood that can be averaged over a Gaussian
    two_classes     those averages for one activation a row, by quadrature
    softmax         and for K of them, by quasi-Monte-Carlo

PRML §10.6 bounds the logistic sigmoid as well, row by row. Here the bound is the one of (10.3), with averages as exact
as floating point, so that nothing is lost but what a Gaussian cannot be.
"""
