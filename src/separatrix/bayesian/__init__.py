# SPDX-License-Identifier: BSD-3-Clause
"""Distributions over models: p(w | data), what it predicts, and how probable the data are under it."""
