# SPDX-License-Identifier: BSD-3-Clause
"""Curves and interactions against explainable boosting machines (EBM), on real tables and on tables made by rules."""
