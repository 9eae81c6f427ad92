# SPDX-License-Identifier: BSD-3-Clause
"""Description of a run: type and speed of the machine, versions of libraries; no names of hosts or users."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
import numpy as np
import threadpoolctl

from benchmarks.measure import timed

__all__ = ["Config", "describe", "machine_name", "speeds", "to_toml"]

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
VENDORS = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
VECTORS = ("avx512f", "avx2", "avx", "asimd")  # widest instruction set first
ROWS, COLUMNS, REPEATS = 500_000, 100, 5  # table on which the speed of a machine is measured


def describe() -> Config:
    """Date, processor, caches, memory, load, versions, BLAS and its number of threads."""
    blas = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "vendor": _vendor(),
        "cpu": _cpu_model(),
        "cpu_family": f"{_cpuinfo('cpu family')}, {_cpuinfo('model')}".strip(", "),
        "vectors": next((name for name in VECTORS if name in f"{_cpuinfo('flags')} {_cpuinfo('Features')}"), ""),
        **_caches(),
        "cores": int(joblib.cpu_count()),
        "memory_gb": _memory_gb(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: _version(package) for name, package in PACKAGES.items()},
        "blas": ", ".join(sorted({f"{pool['internal_api']} {pool['version']}" for pool in blas})),
        "threads": max((int(pool["num_threads"]) for pool in blas), default=1),
    }


def speeds(rows: int = ROWS, columns: int = COLUMNS) -> Config:
    """Seconds of ``X @ w`` and of ``X.T @ X`` for a float64 table: the fastest of five."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((rows, columns)), rng.standard_normal(columns)
    products = {"xw_seconds": lambda: X @ w, "gram_seconds": lambda: X.T @ X}
    return {name: round(min(timed(product)[1] for _ in range(REPEATS)), 6) for name, product in products.items()}


def machine_name() -> str:
    """Short name of this kind of machine, for example ``amd-epyc-2-cores``."""
    words = re.findall(r"[a-z]{3,}", _cpu_model().lower())
    family = next((word for word in words if word not in {_vendor().lower(), "cpu"}), platform.machine().lower())
    return "-".join(filter(None, (_vendor().lower(), family, str(joblib.cpu_count()), "cores")))


def to_toml(config: Config) -> str:
    """Format as flat TOML, with strings in quotes."""
    return "".join(f"{key} = {_literal(value)}\n" for key, value in config.items())


def _literal(value: str | float) -> str:
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _cpuinfo(field: str) -> str:
    """First value of a field of /proc/cpuinfo; empty on systems without this file."""
    file = Path("/proc/cpuinfo")
    text = file.read_text() if file.exists() else ""
    found = re.search(rf"^{field}\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _cpu_model() -> str:
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def _vendor() -> str:
    return VENDORS.get(_cpuinfo("vendor_id"), _cpuinfo("vendor_id"))


def _caches() -> dict[str, str]:
    """Size of each level of data cache, with the number of cores of this machine that share it."""
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            shared = bin(int((folder / "shared_cpu_map").read_text().replace(",", ""), 16)).count("1")
            found[f"l{level}"] = size if shared == 1 else f"{size} for {shared} cores"
    return found


def _commit() -> str:
    """Short hash of the measured code, or empty without git."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


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
