# SPDX-License-Identifier: BSD-3-Clause
"""The functions `save` and `load` write and read a fitted model as one file.

Before `load` returns a model, the model predicts one row. Even if every part of a file is valid, the model may fail at
its first use, for example because an array has the wrong shape.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix._output import output_problem, write_atomically
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.exceptions import PACKAGE, FileError
from separatrix.export.archive import FORMAT, REVISION, TREE, parse_json, read_archive, write_archive
from separatrix.export.reader import Reader
from separatrix.export.writer import Writer
from separatrix.generative import FamilyClassifier
from separatrix.meta import is_ours
from separatrix.study import TableClassifier


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

    Returns the path. The file is written completely or not at all: FileError is raised if it exists or cannot be
    written, or a part of the model is not of this package.
    """
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"save: path={path!r} is not a path. Give the name of a file, such as 'model.sx'.")
    target, content = Path(path), packed(model, about)
    if problem := output_problem(target, force=force):
        raise FileError(f"save: {problem}")
    try:
        write_atomically(target, content)
    except OSError as error:
        raise FileError(
            f"save: {target} could not be written ({error.strerror}). Nothing was changed: choose another place."
        ) from error
    return target


def packed(model: Any, about: Mapping[str, str | None] | None = None) -> bytes:
    """Content of the file that `save` writes; raises the same errors as `save`."""
    if not isinstance(model, BaseEstimator) or not is_ours(type(model)):
        raise FileError(f"save: {type(model).__name__} is not a model of this package.")
    check_is_fitted(model)
    writer = Writer()
    tree = json.dumps(writer.node(model, "model"), allow_nan=False).encode()
    members = {TREE: tree} | {f"arrays/{i}.npy": data for i, data in enumerate(writer.arrays)}
    version = importlib.import_module(PACKAGE).__version__
    return write_archive(members, {"version": version, "model": type(model).__name__, "about": dict(about or {})})


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
    manifest, members = read_archive(path)
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
        _require_prediction(model)
    except Exception as error:
        raise FileError(
            f"{file} contains a {type(model).__name__} that cannot predict ({type(error).__name__}: {error}). Save the "
            "model again with this version."
        ) from error
    return model, _about(manifest)


def _require_prediction(model: Any) -> None:
    """Predict one row (for a table, one row of encoded columns); errors are raised unchanged."""
    labels, model = getattr(model, "classes_", ()), model.estimator_ if isinstance(model, TableClassifier) else model
    D = int(model.n_features_in_)
    row = np.full((1, D), 0.5)
    if isinstance(model, FamilyClassifier):  # a row in the support of all families, with text for text columns
        if any(hasattr(density, "prior") for density in model._density_of_rows.densities):
            return  # numerical integrals, which take 16 kB per column and class
        fractions = {"beta": 0.5, "dirichlet": 1.0 / D}
        row = np.array([[fractions.get(family, 1.0) for family in model.families_]], dtype=object)
        for d, values in model.facts_.categories.items():
            row[0, d] = values[0].item() if len(values) else None
        row = row if model._texts else row.astype(np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no column names
        if isinstance(model, BayesianLogisticRegression):  # its prediction would first compute tables of integrals
            found = model.decision_distribution(row)
            values = [*np.ravel(found.mean), *np.ravel(found.variance)]
            n_rows = len(found.variance)
        else:
            n_rows = len(model.predict(row))
            name = next((each for each in ("predict_proba", "decision_function") if hasattr(model, each)), "predict")
            values = np.ravel(getattr(model, name)(row))
            if len(values) not in (1, len(labels)):
                raise ValueError(f"{len(values)} scores for {len(labels)} classes")
    if n_rows != 1:
        raise ValueError(f"{n_rows} predictions for one row")
    if any(isinstance(value, float) and np.isnan(value) for value in values):
        raise ValueError("its weights are not numbers")
