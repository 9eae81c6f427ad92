# SPDX-License-Identifier: BSD-3-Clause
"""`save` and `load`."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix._output import write_atomically
from separatrix.io.archive import FORMAT, REVISION, TREE, FileError, archive_of, parse_json, read_archive
from separatrix.io.probe import require_answer
from separatrix.io.reader import Reader
from separatrix.io.writer import PACKAGE, Writer, is_ours

__all__ = ["load", "packed", "read_about", "save"]

STRICT = 2  # the format from which on a tree is JSON by the letter, without NaN


def save(
    model: Any, path: str | os.PathLike[str], *, force: bool = False, about: Mapping[str, str | None] | None = None
) -> Path:
    """Write a fitted model to one file.

    Parameters
    ----------
    model : estimator
        Fitted, and of this package.
    path : str or path
        Where to; by custom ``model.sx``.
    force : bool, default False
        Whether a file that is there already may be replaced.
    about : mapping of str, optional
        Names to keep in the header of the file, which the command line reads: "target" is the column that the model
        predicts, "positive" the class of interest, "model" the name of the model.

    Returns
    -------
    Path
        Where it is. It is there whole or not at all.

    Raises
    ------
    FileError
        Where the file exists, the disk is full, or a part of the model is not of this package.
    """
    target, content = Path(path), packed(model, about)
    if target.exists() and not force:
        raise FileError(f"save: {target} exists. Choose another name, or pass force=True to replace it.")
    try:
        write_atomically(target, content)
    except OSError as error:
        raise FileError(f"save: {target} cannot be written ({error.strerror}). Nothing was changed.") from error
    return target


def packed(model: Any, about: Mapping[str, str | None] | None = None) -> bytes:
    """What `save` writes, for those who put it elsewhere; raises as `save` does."""
    if not isinstance(model, BaseEstimator) or not is_ours(type(model)):
        raise FileError(f"save: {type(model).__name__} is not a model of this package.")
    check_is_fitted(model)
    writer = Writer()
    tree = json.dumps(writer.node(model, "model"), allow_nan=False).encode()
    members = {TREE: tree} | {f"arrays/{i}.npy": data for i, data in enumerate(writer.arrays)}
    version = importlib.import_module(PACKAGE).__version__
    return archive_of(members, {"version": version, "model": type(model).__name__, "about": dict(about or {})})


def read_about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Names that `save` kept in the header of a file; empty for files without them.

    Raises
    ------
    FileError
        If the file is damaged, of a later format, or not a model.
    """
    found = read_archive(path)[0].get("about")
    if not isinstance(found, dict):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote, with this version or an earlier one.

    Raises
    ------
    FileError
        Where the file is damaged, of a later format, or not one of ours.

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
    manifest, members = read_archive(path)
    number, revision = manifest["format"], manifest.get("revision", 0)
    newer = number == FORMAT and type(revision) is int and revision > REVISION
    by = f"{path}, written by separatrix {manifest.get('version')},"
    try:
        model = Reader(members, newer=newer).value(parse_json(members[TREE], finite=number >= STRICT))
    except Exception as error:
        raise FileError(f"{by} cannot be read: {error}. Save the model again with this version.") from error
    if not isinstance(model, BaseEstimator):
        raise FileError(f"{by} holds a {type(model).__name__} and no model.")
    try:
        check_is_fitted(model)
        require_answer(model)
    except Exception as error:
        raise FileError(
            f"{by} holds a {type(model).__name__} that cannot predict ({type(error).__name__}: {error}). Save the "
            "model again with this version."
        ) from error
    return model
