"""Where Triton's kernels can run: on CUDA, or with ``TRITON_INTERPRET=1`` on a CPU, one instruction after another."""

import builtins
import os
from importlib.util import find_spec

import pytest


def device():
    """The device for the tensors of a test; the module is skipped where there is none."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed", allow_module_level=True)
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "cpu"
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device, and TRITON_INTERPRET is not 1", allow_module_level=True)
    return "cuda"


def plain_range(*ends):
    """``range`` of numbers as the interpreter keeps them: in arrays of one, which NumPy no longer takes for numbers."""
    return builtins.range(*(int(end.handle.data.item() if "handle" in dir(end) else end) for end in ends))
