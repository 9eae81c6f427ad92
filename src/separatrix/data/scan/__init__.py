# SPDX-License-Identifier: BSD-3-Clause
"""Rows in files and databases, read again for every pass, in memory that does not grow with their number."""

from separatrix.data.scan.part import BlockPlan, Part, block_of, blocks_of, pieces_of

__all__ = ["BlockPlan", "Part", "block_of", "blocks_of", "pieces_of"]
