# SPDX-License-Identifier: BSD-3-Clause
"""Fitted models as files: `save` and `load` store the whole model, `to_onnx` exports predictions to other languages.

saving            save, load, and the header of a file
archive           the file format: a zip archive of JSON and arrays with checksums, without pickle
writer, reader    convert a model to a tree of values and back; the reader also reads earlier formats
onnx              to_onnx: inputs, outputs and metadata of a graph; inputs for the columns of a table
graph             builds ONNX graphs from arithmetic expressions
onnx_models       graph of each kind of model and basis
onnx_integrals    predictive integrals in closed form
"""

from separatrix.exceptions import ExportError, FileError
from separatrix.export.archive import FORMAT
from separatrix.export.onnx import to_onnx
from separatrix.export.saving import load, load_with_about, packed, read_about, save
