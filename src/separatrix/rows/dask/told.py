# SPDX-License-Identifier: BSD-3-Clause
"""How far a graph is: whoever watches a pass is told of each part of it as it is done.

Threads and processes of this machine report every task to a callback of Dask's. Of a cluster the parts are futures, of
which one can see when they are done; each is let go then, so that it is kept no longer than it would be unwatched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from separatrix.rows.dask.graph import compute, is_cluster, persist
from separatrix.rows.watch import begin_pass

__all__ = ["compute_told", "teller"]

Tell = Callable[[int], None]


def teller(rows: Sequence[int], total: int | None) -> Tell | None:
    """A pass begins over parts of so many rows: what to call with the number of one that is done; None: nobody asks."""
    progress = begin_pass(total)
    return None if progress.callback is None else lambda part: progress.advance(rows[part])


def compute_told(
    parts: Sequence[Any], combine: Callable[[Sequence[Any]], Sequence[Any]], tell: Tell | None
) -> tuple[Any, ...]:
    """What ``combine`` makes of lazy parts, in memory; ``tell(i)`` is called when the i-th part is done."""
    if tell is None:
        return compute(*combine(parts))
    place = {part.key: i for i, part in enumerate(parts)}
    if is_cluster():
        return _computed_by_cluster(parts, combine, place, tell)

    def after_task(key: Any, *_: Any) -> None:
        if key in place:
            tell(place[key])

    with import_module("dask.callbacks").Callback(posttask=after_task):
        return compute(*combine(parts))


def _computed_by_cluster(
    parts: Sequence[Any], combine: Callable[[Sequence[Any]], Sequence[Any]], place: dict[Any, int], tell: Tell
) -> tuple[Any, ...]:
    distributed = import_module("distributed")
    kept = persist(*parts)
    results = persist(*combine(kept))
    waiting = distributed.as_completed(distributed.futures_of(kept))
    del kept  # or all parts would stay with the workers until the last is done
    for future in waiting:
        if future.status == "finished":  # of one that failed, `compute` says why
            tell(place[future.key])
    return compute(*results)
