# SPDX-License-Identifier: BSD-3-Clause
"""Available memory: that of the machine or of the container, and the address space that a limit leaves."""

from __future__ import annotations

import os
from pathlib import Path

from separatrix.files.location import FileReadError

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
MIN_THREAD_BYTES = 2**27  # address space for the stacks of Arrow's threads, 8 MB each, and a few batches
UNKNOWN_MEMORY_BYTES = 2**31  # assumed if the system does not report its memory
#: Limit and usage files of a control group, by the name of the controller ("" is version 2).
CGROUP_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def available_memory() -> int:
    """Bytes that can be allocated before the machine swaps or the container is stopped.

    This is the smaller of the kernel's estimate and the memory left in each enclosing control group. Cached pages of
    files count as free.
    """
    meminfo = _numbers_by_name(PROC / "meminfo")
    if "MemAvailable:" in meminfo:
        room = [1024 * meminfo["MemAvailable:"]]
    else:
        try:
            room = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
        except (AttributeError, ValueError, OSError):  # some systems do not report it
            room = [UNKNOWN_MEMORY_BYTES]
    for line in _lines(PROC / "self" / "cgroup"):
        _, controller, path = line.split(":", 2)
        if controller in CGROUP_FILES:
            root = CGROUP / controller
            inside = root / path.lstrip("/")
            for folder in (inside, *inside.parents):
                if not folder.is_relative_to(root):
                    break
                limit, used = (_lines(folder / name) for name in CGROUP_FILES[controller])
                if limit and used and limit[0].isdigit():  # "max" means no limit
                    cached = _numbers_by_name(folder / "memory.stat").get("inactive_file", 0)
                    room.append(max(0, int(limit[0]) - max(0, int(used[0]) - cached)))
    return min(room)


def require_threads(path: object) -> None:
    """Raise FileReadError if little address space is left: without it, Arrow waits forever for a thread to start."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = 1024 * _status("VmSize:")
    if limit != resource.RLIM_INFINITY and used and limit - used < MIN_THREAD_BYTES:
        raise FileReadError(
            f"{path} cannot be read: the address space of this process is limited to {limit / 1e9:.2g} GB (ulimit -v "
            f"{limit // 1024}), and it uses {used / 1e9:.2g} GB of it. Raise the limit: ulimit -v unlimited"
        )


def _status(name: str) -> int:
    return _numbers_by_name(PROC / "self" / "status").get(name, 0)


def _numbers_by_name(path: Path) -> dict[str, int]:
    words = [line.split() for line in _lines(path)]
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # another system, or no permission
        return []
