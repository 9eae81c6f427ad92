# SPDX-License-Identifier: BSD-3-Clause
"""Fitted models as files: `save` and `load` keep everything, `to_onnx` exports predictions to other languages.

saving            save, load and the header of a file
archive           the container: a zip archive of JSON and arrays with checksums, without pickle
writer, reader    a model as a tree of values, and back; the reader also reads files of earlier formats
onnx              to_onnx: inputs, outputs and metadata of a graph
graph             builder of ONNX graphs, written as arithmetic
onnx_models       graph of each kind of model and basis
onnx_tables       columns of a table as inputs
onnx_integrals    predictive integrals in closed form
"""

from separatrix.exceptions import ExportError, FileError
from separatrix.export.archive import FORMAT
from separatrix.export.onnx import to_onnx
from separatrix.export.saving import load, packed, read_about, save

__all__ = ["FORMAT", "ExportError", "FileError", "load", "packed", "read_about", "save", "to_onnx"]
