# SPDX-License-Identifier: BSD-3-Clause
"""Past memory and past one machine: rows in files, rows on workers, and a model of what more of them would take."""
