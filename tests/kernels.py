"""Devices on which Triton kernels can be tested: CUDA, or a CPU with ``TRITON_INTERPRET=1``."""

import builtins
import os
from importlib.util import find_spec

import pytest


def device():
    """Device for the tensors of a test; the module is skipped if there is none."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed", allow_module_level=True)
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "cpu"
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device, and TRITON_INTERPRET is not 1", allow_module_level=True)
    return "cuda"


def plain_range(*ends):
    """``range`` for the numbers of the interpreter, which are arrays of one element."""
    return builtins.range(*(int(end.handle.data.item() if "handle" in dir(end) else end) for end in ends))
