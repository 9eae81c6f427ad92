# SPDX-License-Identifier: BSD-3-Clause
"""The models that take part: each with a name of its own, unfitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

__all__ = ["name_models"]


def name_models(models: Any, names: Any = None) -> dict[str, Any]:
    """Clones of the models by name: that of a mapping, the one given, or what kind of model it is.

    Models of one kind are told apart by the library they come from, and else by number.

    Raises
    ------
    ValueError
        Where there is no model, or two have one name.
    TypeError
        Where something is not a model.
    """
    if isinstance(models, Mapping):
        if names is not None:
            raise ValueError(
                "models is a mapping, which has names already. Leave out names=, or give a list of models."
            )
        names, models = list(models), list(models.values())
    models = _listed(models)
    for model in models:
        _require_model(model)
    names = _default_names(models) if names is None else _checked_names(names, len(models))
    return {name: clone(model, safe=False) for name, model in zip(names, models, strict=True)}


def _listed(models: Any) -> list[Any]:
    if getattr(models, "fit", None) is not None or not isinstance(models, Iterable):
        raise TypeError(f"models={models!r} is not a list of models; give [model, ...] or {{name: model, ...}}.")
    found = list(models)
    if not found:
        raise ValueError("models is empty; give at least one model, as [model, ...] or {name: model, ...}.")
    return found


def _require_model(model: Any) -> None:
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class, and not a model yet; give {model.__name__}().")
    if getattr(model, "fit", None) is None or not callable(getattr(model, "predict", None)):
        raise TypeError(f"{model!r} is not a classifier: it needs fit and predict, and predict_proba for more.")


def _default_names(models: list[Any]) -> list[str]:
    kinds = [type(model).__name__ for model in models]
    full = [f"{type(model).__module__.partition('.')[0]}.{kind}" for model, kind in zip(models, kinds, strict=True)]
    homes = {kind: {f for f, k in zip(full, kinds, strict=True) if k == kind} for kind in kinds}
    names = [f if len(homes[kind]) > 1 else kind for f, kind in zip(full, kinds, strict=True)]
    return [name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}" for i, name in enumerate(names)]


def _checked_names(names: Any, n_models: int) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if len(found) != n_models or not all(isinstance(name, str) for name in found):
        raise ValueError(f"names={names!r}: give one string for each of the {n_models} models.")
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise ValueError(f"names={names!r}: {twice[0]!r} stands for two models. Give each a name of its own.")
    return found
