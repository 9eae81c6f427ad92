# SPDX-License-Identifier: BSD-3-Clause
"""The two ways of Dask that are measured: threads of this process, and a cluster of two processes of one thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

__all__ = ["N_WORKERS", "SCHEDULERS"]

N_WORKERS = 2


@contextmanager
def threads() -> Iterator[None]:
    """Dask's threaded scheduler."""
    with import_module("dask").config.set(scheduler="threads", num_workers=N_WORKERS):
        yield


@contextmanager
def processes() -> Iterator[None]:
    """A cluster on this machine, on which all of Dask's work is done as long as it is there."""
    dask, distributed = import_module("dask"), import_module("distributed")
    quiet = {"distributed.logging.distributed": "critical", "distributed.admin.large-graph-warning-threshold": "1GB"}
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


SCHEDULERS: Mapping[str, Callable[[], AbstractContextManager[None]]] = {"threads": threads, "processes": processes}
