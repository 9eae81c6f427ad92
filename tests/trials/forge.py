# SPDX-License-Identifier: BSD-3-Clause
"""Load forged files and predict one row with each, in a process of its own under a limit of memory.

    python forge.py FOLDER

The folder contains rows.pickle, a row for each model by name, and NAME.sx. Every number, truth value, text and list in
the tree of a model is replaced in turn. Prints a line for each forgery that takes too much memory or time.
"""

import contextlib
import hashlib
import io
import json
import pickle
import resource
import signal
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np

import separatrix as sx

MEGABYTE = 2**20
BASE, TIMES = 50 * MEGABYTE, 10  # bound of the memory of loading and of predicting one row: BASE + TIMES * size
SECONDS = 20  # of processor time, so that other work on the machine does not matter
VALUES = (3 * 10**8, -(10**9), 2**70, 1, True, 2.5, 1e18, "text", None)
METHODS = ("predict", "predict_proba", "decision_function", "predict_set", "predict_interval", "decision_distribution")


def walk(node, path=(), place=()):
    """Paths of all values of a tree, each with the class and the field that it belongs to."""
    yield path, place, node
    if isinstance(node, dict):
        for key, child in node.items():
            inside = place
            if node.get("is") == "record" and key == "fields":
                inside = (node["class"].partition(":")[2],)
            elif path and path[-1] == "fields":
                inside = (*place, key)
            elif key not in ("items", "fields"):
                inside = (*place, key) if node.get("is") in ("transformer", "range", "slice", "array") else place
            yield from walk(child, (*path, key), inside)
    elif isinstance(node, list):
        for at, child in enumerate(node):
            yield from walk(child, (*path, at), place)


def forged(tree, seen):
    """Changed trees, one for each kind of place, with a description."""
    for path, place, value in list(walk(tree)):
        if not path or path[-1] in ("is", "class") or isinstance(value, dict):
            continue
        key = (*place, type(value).__name__)
        if key in seen:
            continue
        seen.add(key)
        lists = ([], value * 2, value[:1] * 5000, value[:-1]) if isinstance(value, list) else ()
        parent = tree
        for step in path[:-1]:
            parent = parent[step]
        for new in (*VALUES, *lists):
            if new is value or (new == value and type(new) is type(value)):
                continue
            parent[path[-1]] = new
            shown = f"{type(new).__name__} of {len(new)}" if isinstance(new, list) else repr(new)
            yield f"{'.'.join(map(str, place))}: {json.dumps(value)[:40]} -> {shown}", json.dumps(tree).encode()
        parent[path[-1]] = value


def archive(members):
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    header = {"magic": "separatrix model", "format": 3, "version": "1", "sha256": sums}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", json.dumps(header))
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def use(path, row):
    """Load a model and predict one row by all of its methods; any exception but MemoryError is as good."""
    model = sx.load(path)
    for name in METHODS:
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError):
            getattr(model, name)(row)


def late(*_):
    raise TimeoutError


def problem(path, row):
    """Why using a file takes too much; empty if it does not."""
    tracemalloc.start()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path, row)
    except (MemoryError, TimeoutError) as error:
        return type(error).__name__
    except sx.export.FileError as error:
        causes = [error, error.__cause__, getattr(error.__cause__, "__cause__", None)]
        for cause in causes:
            if isinstance(cause, MemoryError | TimeoutError):
                return f"{type(cause).__name__} while loading"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    most = BASE + TIMES * path.stat().st_size
    return f"{peak / MEGABYTE:.0f} MB" if peak > most else ""


def main(folder):
    rows = pickle.loads((folder / "rows.pickle").read_bytes())  # written by the test itself
    path, seen, n = folder / "forged.sx", set(), 0
    signal.signal(signal.SIGPROF, late)
    np.seterr(all="ignore")
    for name, row in rows.items():
        use(folder / f"{name}.sx", row)  # imports and compiled functions do not count
        assert not (found := problem(folder / f"{name}.sx", row)), f"{name} itself: {found}"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 1024 * MEGABYTE,) * 2)
    for name, row in rows.items():
        with zipfile.ZipFile(folder / f"{name}.sx") as file:
            members = {each: file.read(each) for each in file.namelist() if each != "manifest.json"}
        for text, tree in forged(json.loads(members["model.json"]), seen):
            path.write_bytes(archive(members | {"model.json": tree}))
            n += 1
            if found := problem(path, row):
                print(f"{name}: {text}: {found}", flush=True)
    print(f"{n} forgeries")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
