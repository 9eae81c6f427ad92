# SPDX-License-Identifier: BSD-3-Clause
"""What the evidence is worth: against cross-validation on real tables, and against a plain loop over a grid."""
