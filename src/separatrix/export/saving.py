# SPDX-License-Identifier: BSD-3-Clause
"""The functions `save` and `load` write and read a fitted model as one file.

Before `load` returns a model, the model predicts one row. Before `save` writes a file, it reads the content as `load`
does, and compares the predictions of one row. The cost is bounded by that of writing: reading takes less time than
compressing the arrays, and no more memory, because the writer's copies of the arrays are released first.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array
from separatrix._output import output_problem, write_atomically
from separatrix.exceptions import PACKAGE, FileError
from separatrix.export.archive import FORMAT, REVISION, TREE, open_archive, parse_json, read_archive, write_archive
from separatrix.export.checks import predictions_of_one_row
from separatrix.export.reader import Reader
from separatrix.export.writer import Writer
from separatrix.meta import is_ours


def save(
    model: Any, path: str | os.PathLike[str], *, force: bool = False, about: Mapping[str, str | None] | None = None
) -> Path:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator
        A fitted model of this package.
    path : str or path
        File to write. The usual extension is ``.sx``.
    force : bool, default False
        Whether to replace an existing file.
    about : mapping of str, optional
        Names to store in the header of the file, for the command line: "target" is the column that the model
        predicts, "positive" is the class of interest, "model" is the name of the model.

    Returns
    -------
    Path
        The file, which is written completely or not at all. A file that is replaced keeps its permissions.

    Raises
    ------
    FileError
        If the file exists or cannot be written, a part of the model is not of this package, or `load` could not
        read the file.
    """
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"save: path={path!r} is not a path. Give the name of a file, such as 'model.sx'.")
    target, content = Path(path), packed(model, about)
    if problem := output_problem(target, force=force):
        raise FileError(f"save: {problem}")
    try:
        write_atomically(target, content, exclusive=not force)
    except OSError as error:
        raise FileError(
            f"save: {target} could not be written ({error.strerror}). Nothing was changed: choose another place."
        ) from error
    return target


def packed(model: Any, about: Mapping[str, str | None] | None = None) -> bytes:
    """Content of the file that `save` writes; raises the same errors as `save`."""
    name = type(model).__name__
    if not isinstance(model, BaseEstimator) or not is_ours(type(model)):
        best = getattr(model, "best_estimator_", None)
        parts = [each for each in (best, *getattr(model, "named_steps", {}).values()) if is_ours(type(each))]
        remedy = f" Save the {type(parts[-1]).__name__} in it." if parts else " Pass a fitted model of this package."
        raise FileError(f"save: {name} is not a model of this package.{remedy}")
    check_is_fitted(model)
    content = _written(model, about)
    try:
        again = _rebuilt(*open_archive(content, "The file"), "The file")[0]
        found, expected = predictions_of_one_row(again), predictions_of_one_row(model)
        if len(found) != len(expected) or not all(map(_is_close, found, expected)):
            raise FileError(f"a copy predicts {found} instead of {expected}")
    except Exception as error:
        raise FileError(
            f"save: {name} was not saved, because the file could not be used: {error} If attributes of the model were "
            "changed, fit it again."
        ) from error
    return content


def _written(model: Any, about: Mapping[str, str | None] | None) -> bytes:
    writer = Writer()
    tree = json.dumps(writer.node(model, "model"), allow_nan=False).encode()
    members = {TREE: tree} | {f"arrays/{i}.npy": data for i, data in enumerate(writer.arrays)}
    version = importlib.import_module(PACKAGE).__version__
    return write_archive(members, {"version": version, "model": type(model).__name__, "about": dict(about or {})})


def _is_close(found: Array, expected: Array) -> bool:
    if found.dtype.kind == "f" and found.shape == expected.shape:
        return np.allclose(found, expected, rtol=1e-9, atol=1e-12)  # sums of arrays at other addresses are rounded
    return np.array_equal(found, expected)


def read_about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Names that `save` stored in the header of a file; empty if it stored none. Raises FileError as `load` does."""
    return _about(read_archive(path)[0])


def _about(manifest: Mapping[str, Any]) -> dict[str, str]:
    found = manifest.get("about")
    return {name: text for name, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that was saved with this version or an earlier version.

    Raises
    ------
    FileError
        If the file is damaged, of a later format, or not a model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import separatrix as sx
    >>> model = sx.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with TemporaryDirectory() as folder:
    ...     again = sx.load(sx.save(model, f"{folder}/model.sx"))
    >>> again.predict([[2.5]]).tolist()
    ['high']
    """
    return load_with_about(path)[0]


def load_with_about(path: str | os.PathLike[str]) -> tuple[Any, dict[str, str]]:
    """Read a model, as `load` does, and the names stored with it."""
    return _rebuilt(*read_archive(path), str(path))


def _rebuilt(manifest: Mapping[str, Any], members: dict[str, bytearray], path: str) -> tuple[Any, dict[str, str]]:
    """Model of an archive, after it predicted one row, and the names stored with it."""
    revision = manifest.get("revision", 0)
    newer = manifest["format"] == FORMAT and type(revision) is int and revision > REVISION
    file = f"{path}, written by separatrix {manifest.get('version')},"
    try:
        model = Reader(members, newer=newer).value(parse_json(members.pop(TREE)))
    except Exception as error:
        raise FileError(f"{file} cannot be read: {error}. Save the model again with this version.") from error
    if not isinstance(model, BaseEstimator):
        raise FileError(f"{file} contains a {type(model).__name__}, which is not a model.")
    try:
        check_is_fitted(model)
        predictions_of_one_row(model)
    except Exception as error:
        raise FileError(
            f"{file} contains a {type(model).__name__} that cannot predict ({type(error).__name__}: {error}). Save the "
            "model again with this version."
        ) from error
    return model, _about(manifest)
