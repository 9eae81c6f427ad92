# SPDX-License-Identifier: BSD-3-Clause
"""The few words of Dask that are spoken here, all of them public: a task, and having tasks done.

Whoever is Dask's scheduler does them: threads, processes, or the cluster of the client that the user made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

__all__ = ["arrays", "as_array", "compute", "for_each", "frames", "is_cluster", "persist", "shared", "task"]

SMALL = 2**14  # bytes that may travel with each task


def task(function: Callable[..., Any]) -> Callable[..., Any]:
    """``task(f)(a, b)`` is a lazy f(a, b), in which lazy arguments, and lists of them, are computed first."""
    lazy: Callable[..., Any] = import_module("dask").delayed(function, pure=False, traverse=False)
    return lazy


def shared(value: Any) -> Any:
    """A value of which each worker gets one copy, however many tasks ask for it."""
    return import_module("dask").delayed(value, pure=False, traverse=False)


def for_each(value: Any) -> Any:
    """A value for every task of a graph: a small one travels with each, a large one once to each worker.

    To be shared takes a task, a journey from the worker that did it to the others, and 5 ms of a pass.
    """
    if not is_cluster():
        return value  # threads have it already
    return value if len(import_module("cloudpickle").dumps(value)) <= SMALL else shared(value)


def is_cluster() -> bool:
    """Whether a client's workers do the tasks, as Dask itself decides it."""
    scheduler = import_module("dask.base").get_scheduler()
    return type(getattr(scheduler, "__self__", None)).__module__.partition(".")[0] == "distributed"


def compute(*lazy: Any) -> tuple[Any, ...]:
    """The values, in memory."""
    return tuple(import_module("dask").compute(*lazy))


def persist(*lazy: Any) -> tuple[Any, ...]:
    """The same, computed once and kept where they were computed; recomputed where a worker is lost."""
    return tuple(import_module("dask").persist(*lazy))


def as_array(chunks: Sequence[Any], lengths: Sequence[float], shape: tuple[int, ...], dtype: Any) -> Any:
    """Lazy arrays of (n, *shape) numbers, one below another, as one Dask array with a chunk for each."""
    name = f"stacked-{chunks[0].key}"
    layer = {(name, i, *(0 for _ in shape)): chunk.key for i, chunk in enumerate(chunks)}
    graph = import_module("dask.highlevelgraph").HighLevelGraph.from_collections(name, layer, dependencies=chunks)
    return arrays().Array(graph, name, (tuple(lengths), *((n,) for n in shape)), dtype=dtype)


def arrays() -> Any:
    """`dask.array`."""
    return import_module("dask.array")


def frames() -> Any:
    """`dask.dataframe`."""
    return import_module("dask.dataframe")
