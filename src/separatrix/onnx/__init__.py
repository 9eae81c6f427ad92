# SPDX-License-Identifier: BSD-3-Clause
"""Fitted models as ONNX graphs: the same probabilities in any language and on any server.

`to_onnx` converts; `graph` is the builder, `answer` the table of converters, and each file after that a family of
models. ``import onnx`` means the library in here too: names of this package are always written out in full.
"""

from separatrix.onnx.export import to_onnx
from separatrix.onnx.graph import ExportError

__all__ = ["ExportError", "to_onnx"]
