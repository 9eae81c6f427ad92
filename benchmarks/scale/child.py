# SPDX-License-Identifier: BSD-3-Clause
"""One task in a process of its own, so that its peak memory is its own.

    python -m benchmarks.scale.child TASK FOLDER        prints {"seconds": ..., "passes": ..., "peak_mb": ...}

Linux counts what a process held before it became another program: who starts a child should be small itself.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import timed

__all__ = ["READINGS", "TASKS", "Outcome", "run_child"]


@dataclass(frozen=True)
class Outcome:
    """What a task took; ``passes`` is the number of times that all rows were read."""

    seconds: float
    passes: int
    peak_mb: float


def run_child(task: str, folder: Path) -> Outcome:
    """The outcome of a task over the Parquet files of a folder, in a fresh process."""
    command = [sys.executable, "-m", __name__, task, str(folder)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(**json.loads(finished.stdout.splitlines()[-1]))


def read_by_file(folder: Path) -> Callable[[], int]:
    """Bare reading: every column of every file, batch by batch, columns on threads."""
    import pyarrow.parquet as pq

    def read() -> int:
        for path in sorted(folder.glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches(ROWS, use_threads=True):
                    pass
        return 1

    return read


def read_dataset(folder: Path) -> Callable[[], int]:
    """Bare reading: the same files as one data set, row groups on threads."""
    import pyarrow.dataset as ds

    def read() -> int:
        for _ in ds.dataset(folder, format="parquet").to_batches(batch_size=ROWS, use_threads=True):
            pass
        return 1

    return read


def fit(name: str) -> Callable[[Path], Callable[[], int]]:
    """A fit of a scan, once what is compiled is there."""

    def prepare(folder: Path) -> Callable[[], int]:
        from benchmarks.scale.tables import TARGET, Shape, make
        from benchmarks.scale.tasks import FITS
        from separatrix.files import scan

        FITS[name]().fit(*make(Shape(WARM_ROWS, 20)))
        model, rows = FITS[name](), scan(folder, target=TARGET)
        return lambda: int(model.fit(rows).n_passes_)

    return prepare


ROWS = 2**17  # of a batch: 20 MB of 20 columns
WARM_ROWS = 120_000  # of 20 columns: enough for every kernel that a large fit calls

READINGS: Mapping[str, Callable[[Path], Callable[[], int]]] = {
    "reading, file by file": read_by_file,
    "reading, data set": read_dataset,
}
TASKS = {**READINGS, **{name: fit(name) for name in ("logistic", "posterior", "lda")}}


def peak_bytes() -> int:
    """The peak of this process alone: Linux hands on that of its parent in what `getrusage` tells."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(task: str, folder: str) -> None:
    """Prepare, then measure."""
    passes, seconds = timed(TASKS[task](Path(folder)))
    print(json.dumps(asdict(Outcome(seconds, passes, peak_bytes() / 1e6))))


if __name__ == "__main__":
    main(*sys.argv[1:])
