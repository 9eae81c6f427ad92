# SPDX-License-Identifier: BSD-3-Clause
"""Speed, memory and accuracy of fits, for several libraries in one run. See README.md for the protocol."""
