# SPDX-License-Identifier: BSD-3-Clause
"""Limit on the address space (``ulimit -v``), with which Arrow and OpenBLAS hang or end without a clear message.

If Arrow cannot start a thread, its CSV reader waits forever; if OpenBLAS cannot reserve 32 MB for each of its threads,
it retries for a long time. Both happen within C, so Ctrl-C does not help. The limit is therefore checked first.
"""

from __future__ import annotations

import os

from separatrix.cli.errors import CommandError

MIN_BYTES = 1_200_000_000  # libraries, thread stacks and a small table take 1.1 GB with one thread of OpenBLAS
FEW_THREADS_BYTES = 4_000_000_000  # below this limit, OpenBLAS has one thread, whatever the number of cores


def require_address_space() -> None:
    """Raise if the limit is too small for any command; call it before NumPy is imported."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit < MIN_BYTES:
        raise CommandError(
            "data",
            f"The limit on the address space is {limit / 1e9:.2g} GB (ulimit -v {limit // 1024}), and the libraries of "
            f"separatrix need {MIN_BYTES / 1e9:.2g} GB. Raise it: ulimit -v unlimited",
        )
    if limit < FEW_THREADS_BYTES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
