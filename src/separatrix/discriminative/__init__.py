# SPDX-License-Identifier: BSD-3-Clause
"""Models of p(C_k | x) itself."""
