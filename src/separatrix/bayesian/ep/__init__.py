# SPDX-License-Identifier: BSD-3-Clause
"""Expectation propagation: a posterior as a product of one Gaussian factor for each row.            PRML §10.7

    tilted          one row's likelihood times a Gaussian: its normaliser and moments
    sites           the factors of all rows, and one sweep that improves each of them
    fixed_point     sweeps until nothing changes: the approximation
    cumulants       what it leaves out first, and puts back: the third cumulants of pairs of rows

For one activation a row: two classes. It is the best of the Gaussians where a posterior is skewed, and its evidence can
be tuned.
"""
