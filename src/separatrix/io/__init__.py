# SPDX-License-Identifier: BSD-3-Clause
"""Fitted models in one file: no pickle, nothing that a reader could be made to run.

A file is a zip archive of

    manifest.json     format, versions, and the SHA-256 of every other member
    model.json        the model as a tree of plain values, records and arrays
    arrays/<n>.npy    the arrays, in NumPy's own format

`archive` is the outer form, `writer` and `reader` are the tree, `probe` asks whether a model that was read works. A
file that is damaged, truncated or made by a hostile hand gives a `FileError`, and nothing else.

Files of every earlier format are read. A file of a later *revision* of this format is read too, without what is not
known here; one of a later *format* is not, and the message says so.
"""

from separatrix.io.archive import FORMAT, FileError
from separatrix.io.model import load, packed, read_about, save

__all__ = ["FORMAT", "FileError", "load", "packed", "read_about", "save"]
