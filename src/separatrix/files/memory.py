# SPDX-License-Identifier: BSD-3-Clause
"""How much memory there is: what the machine has left, or the container, whichever is less."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory"]

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
UNKNOWN = 2**31  # said where the system does not tell: 2 GiB, which any machine of today has


def available_memory() -> int:
    """Bytes that can be allocated before the machine swaps or the container is killed.

    The least of what the kernel calls available and what each enclosing control group has left of its limit. Pages of
    files that are only cached count as free.
    """
    return min([_machine(), *_groups()])


def _machine() -> int:
    meminfo = _table(PROC / "meminfo")
    if "MemAvailable:" in meminfo:
        return 1024 * meminfo["MemAvailable:"]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on every system
        return UNKNOWN


def _groups() -> list[int]:
    """What is left in each control group that this process is in, of version 2 and version 1."""
    left = []
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            root = CGROUP / controllers
            names = ("memory.max", "memory.current") if not controllers else _VERSION_1
            inside = root / path.lstrip("/")
            folders = [folder for folder in (inside, *inside.parents) if folder.is_relative_to(root)]
            left += [room for folder in folders if (room := _room(folder, *names)) is not None]
    return left


_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def _room(folder: Path, limit_name: str, used_name: str) -> int | None:
    limit, used = _lines(folder / limit_name), _lines(folder / used_name)
    if not limit or not used or not limit[0].isdigit():  # "max": no limit
        return None
    cached = _table(folder / "memory.stat").get("inactive_file", 0)
    return max(0, int(limit[0]) - max(0, int(used[0]) - cached))


def _table(path: Path) -> dict[str, int]:
    """Names and numbers, one of each a line."""
    words = [line.split() for line in _lines(path)]
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # another system, or a group that may not be looked into
        return []
