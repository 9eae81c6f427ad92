# SPDX-License-Identifier: BSD-3-Clause
"""Rows in sparse text files, ``label index:value index:value ...``, read block by block as often as a fit needs.

``lines``      the bytes of a file, plain or packed, in chunks of whole lines
``_kernels``   a compiled loop from bytes to numbers
``parsing``    a chunk as sparse rows; errors that name the line
``rows``       the source: reduce, fold and map over such a file
``libsvm``     the file as a user sees it
"""

from separatrix.files.sparse.libsvm import LibsvmFile, is_libsvm

__all__ = ["LibsvmFile", "is_libsvm"]
