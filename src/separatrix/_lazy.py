# SPDX-License-Identifier: BSD-3-Clause
"""Optional libraries that are imported when one of their names is first used, so that `import separatrix` is fast."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used; ``extra`` installs it."""

    def __init__(self, name: str, extra: str) -> None:
        super().__init__(name)
        self.extra = extra

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # doctest and inspect look for such names in every object
            raise AttributeError(name)
        try:
            value = self.__dict__[name] = getattr(import_module(self.__name__), name)
            return value
        except ModuleNotFoundError as missing:
            message = f"This needs {missing.name}, which is not installed: pip install 'separatrix[{self.extra}]'"
            raise ModuleNotFoundError(message, name=missing.name) from missing

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyModule, (self.__name__, self.extra)  # a function that Dask sends to its workers may refer to it


if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import torch
else:
    pa, pc, pq = (LazyModule(name, "data") for name in ("pyarrow", "pyarrow.compute", "pyarrow.parquet"))
    duckdb, torch = LazyModule("duckdb", "data"), LazyModule("torch", "gpu")
