# SPDX-License-Identifier: BSD-3-Clause
"""Description of a run: the type of machine and the versions of libraries, without names of hosts or users."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
import threadpoolctl

__all__ = ["Config", "describe", "to_toml"]

Config = Mapping[str, str | int | float]

PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "numba": "numba",
    "glum": "glum",
    "skglm": "skglm",
    "statsmodels": "statsmodels",
}


def describe() -> Config:
    """Date, processor, memory, versions, BLAS and its number of threads."""
    blas = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu_model(),
        "cores": int(joblib.cpu_count()),
        "memory_gb": _memory_gb(),
        "python": platform.python_version(),
        **{name: _version(package) for name, package in PACKAGES.items()},
        "blas": ", ".join(sorted({f"{pool['internal_api']} {pool['version']}" for pool in blas})),
        "threads": max((int(pool["num_threads"]) for pool in blas), default=1),
    }


def to_toml(config: Config) -> str:
    """Format as flat TOML, with strings in quotes."""
    return "".join(f"{key} = {_literal(value)}\n" for key, value in config.items())


def _literal(value: str | float) -> str:
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float:
    """Physical memory, or 0 if it is unknown."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, OSError, ValueError):  # no sysconf on Windows; names differ between systems
        return 0.0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
