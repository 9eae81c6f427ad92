# SPDX-License-Identifier: BSD-3-Clause
"""The two ways of Dask that are measured: threads of this process, and a cluster of two processes of one thread."""

from __future__ import annotations

import logging
import os
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
    dask, distributed = import_module("dask"), import_module("distributed")  # the second one has settings of its own
    here = {name: os.environ.get(name) for name in dask.config.get("distributed.nanny.pre-spawn-environ")}
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
        # Dask tells its workers through the environment of this process to use one thread, and leaves it so.
        for name, value in here.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        yield


SCHEDULERS: Mapping[str, Callable[[], AbstractContextManager[None]]] = {"threads": threads, "processes": processes}
