# SPDX-License-Identifier: BSD-3-Clause
"""A basis: M functions φ_1 .. φ_M of a row x. The constant φ_0 = 1 is never one of them.

The constant belongs to the model (``fit_intercept``). If a basis contained it too, the model would have two intercepts,
and the weights would not be unique.

Every basis consists of two objects. An `AbstractBasis` holds the arguments and is a scikit-learn transformer. A *row
map* holds the fitted parameters and evaluates Φ; it is frozen, so threads may share it.

This file also contains `Union`, which concatenates several bases, and `fit_basis`, which fits the ``basis=`` argument
of a model (a basis of this package, or any scikit-learn transformer of arrays) and returns a row map.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._arguments import Estimator, check_flags, unchanged_on_error
from separatrix._array import Array, Rows, is_device_aware, is_sparse, to_dense, working_dtype
from separatrix.rows import DeviceRows, RowMap, Source, as_source
from separatrix.stats import require_finite

MAX_FUNCTIONS = 10_000_000  # along a column, or in all; more would not fit into memory


class AbstractBasis(TransformerMixin, Estimator, ABC):
    """Base class of all bases. A new basis only needs to implement `_functions`.

    As a scikit-learn transformer it returns the whole Φ (``fit``, ``transform``). Inside an estimator (``basis=``) it
    evaluates one block at a time (``fit_source``, ``evaluate``), and Φ is never in memory as a whole. The targets and
    weights of the rows are not used.
    """

    functions_: RowMap

    @abstractmethod
    def _functions(self, source: Source) -> RowMap:
        """Fit the functions to the training rows."""

    def fit_source(self, source: Source) -> Self:
        """Fit to the rows of a source, in at most one pass."""
        check_flags(self)
        self.functions_ = self._functions(source)
        self.n_features_in_ = len(source.columns)
        return self

    def evaluate(self, X: Rows) -> Rows:
        """Φ (n, M) of the rows X (n, D), without checks. If a row is not finite, neither is its φ."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.functions_.evaluate(X)

    @property
    def is_device_aware(self) -> bool:
        """Whether rows on a GPU are evaluated there."""
        return is_device_aware(self.functions_)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the M functions, built from the column names."""
        return self.functions_.names(columns)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of a table; ``y`` is ignored."""
        with unchanged_on_error(self):
            source = as_source(X)
            validate_data(self, X, skip_check_array=True, reset=True)
            require_finite(source)
            return self.fit_source(source)

    def transform(self, X: Any) -> Rows:
        """Φ (N, M) of a table: float32 if X is float32, sparse if X is sparse and the functions keep it sparse."""
        check_is_fitted(self)
        source = as_source(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        require_finite(source)
        mapped = source.mapped(self)
        Phi = mapped.map(lambda Phi: Phi)
        if not np.isfinite(Phi.data if is_sparse(Phi) else Phi).all():
            require_finite(mapped)  # names the functions that overflow
        return Phi

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name of each function; ``input_features`` must be the columns seen in ``fit``."""
        check_is_fitted(self)
        D, known = self.n_features_in_, getattr(self, "feature_names_in_", None)
        if input_features is None:
            input_features = [f"x{d}" for d in range(D)] if known is None else known
        columns = tuple(input_features)
        if known is not None and columns != tuple(known):
            raise ValueError(f"input_features is not equal to feature_names_in_, {tuple(known)}: got {columns}.")
        if len(columns) != D:
            raise ValueError(f"input_features should have length equal to number of features ({D}), got {len(columns)}")
        return np.asarray(self.names(columns), dtype=object)

    def __add__(self, other: AbstractBasis) -> Union:
        """Union of both bases; (a + b) + c is one union of three bases."""
        if not isinstance(other, AbstractBasis):
            return NotImplemented
        parts = (basis.bases if isinstance(basis, Union) else [basis] for basis in (self, other))
        return Union([part for members in parts for part in members])

    def __sklearn_tags__(self) -> Any:
        """Tags that allow sparse rows, and declare that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class Joined:
    """Concatenated functions of several row maps: φ(x) = (φ^1(x), φ^2(x), ...)."""

    maps: tuple[RowMap, ...]

    @property
    def is_device_aware(self) -> bool:
        return all(map(is_device_aware, self.maps))

    def evaluate(self, X: Rows) -> Rows:
        """Φ of all parts; sparse if every part is sparse."""
        parts = [functions.evaluate(X) for functions in self.maps]
        if isinstance(X, DeviceRows):
            return X.concatenated(parts)
        if all(map(is_sparse, parts)):
            return sparse.csr_array(sparse.hstack(parts, format="csr"))
        return np.concatenate([to_dense(part) for part in parts], axis=1)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names of all functions; if two are equal, every name gets the number of its part as prefix."""
        parts = [functions.names(columns) for functions in self.maps]
        plain = tuple(name for part in parts for name in part)
        if len(set(plain)) == len(plain):
            return plain
        return tuple(f"{m}__{name}" for m, part in enumerate(parts) for name in part)


class Union(AbstractBasis):
    """Several bases, whose functions are concatenated; ``a + b`` of two bases is ``Union([a, b])``.

    Parameters
    ----------
    bases : basis or transformer
        At least one basis of this package or scikit-learn transformer. In `set_params`, ``0`` is the first part and
        ``0__width`` its argument ``width``, ``1`` is the second part, and so on. In a grid search over an estimator,
        these are ``basis__0`` and ``basis__0__width``.

    Attributes
    ----------
    functions_ : Joined
        The fitted parts, as one row map.

    Examples
    --------
    >>> from separatrix.basis import Linear, Polynomial, Sigmoid
    >>> basis = Linear() + Sigmoid(n_centres=2)
    >>> basis.fit([[0.0], [3.0]]).get_feature_names_out().tolist()
    ['x0', 'x0_sigmoid0', 'x0_sigmoid1']
    """

    def __init__(self, bases: Sequence[Any]) -> None:
        self.bases = bases

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments; an argument of part m is called ``m__name``."""
        params: dict[str, Any] = super().get_params(deep=False)
        for m, basis in enumerate(self.bases if deep and isinstance(self.bases, list | tuple) else ()):
            params[str(m)] = basis
            if isinstance(basis, BaseEstimator):
                params |= {f"{m}__{name}": value for name, value in basis.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set the list, then whole parts (``m``), then arguments of the parts (``m__name``)."""
        if "bases" in params:
            self.bases = params.pop("bases")
        parts = {name for name in params.keys() & self.get_params() if name.isdecimal()}
        if parts:
            bases = list(self.bases)  # a copy, because the list may belong to the user or to another union
            for m in parts:
                bases[int(m)] = params.pop(m)
            self.bases = bases
        super().set_params(**params)
        return self

    def _functions(self, source: Source) -> RowMap:
        if not isinstance(self.bases, list | tuple) or len(self.bases) == 0:
            raise TypeError(f"Union(bases={self.bases!r}): pass a list of at least one basis.")
        maps = []
        for m, basis in enumerate(self.bases):
            functions = fit_basis(basis, source)
            if functions is None:
                raise TypeError(f"Union: basis number {m} is None. Use Linear() for the columns themselves.")
            maps.append(functions)
        return Joined(tuple(maps))


def fit_basis(basis: Any, source: Source) -> RowMap | None:
    """Fit a copy of the basis and return its row map.

    Parameters
    ----------
    basis : basis, transformer or None
        None (the columns themselves), a basis of this package, or any scikit-learn transformer of arrays. A
        transformer is fitted to all rows at once, without column names, and then transforms rows block by block.
    source : Source
        The training rows. Their targets are not used; raises TypeError if a transformer needs targets.
    """
    if basis is None:
        return None
    if isinstance(basis, type):
        raise TypeError(f"basis={basis.__name__} is a class; write basis={basis.__name__}().")
    if isinstance(basis, AbstractBasis):
        fitted: AbstractBasis = clone(basis)
        return fitted.fit_source(source)
    if not all(callable(getattr(basis, method, None)) for method in ("fit", "transform")):
        raise TypeError(
            f"basis={basis!r} is neither a basis nor a transformer. Pass None, one of separatrix.basis "
            "(for example RBF()), or a scikit-learn transformer with fit and transform."
        )
    if isinstance(basis, BaseEstimator) and get_tags(basis).target_tags.required:
        raise TypeError(
            f"basis={basis!r} needs the targets, and a basis depends on the rows alone. "
            "Put it before the classifier in a sklearn.pipeline.Pipeline."
        )
    transformer = clone(basis, safe=False)
    X = source.map(lambda X: X)  # without column names, as in `transformed`
    try:
        with sklearn.config_context(transform_output="default"), np.errstate(invalid="ignore"):
            transformer.fit(X)  # NaN raises later, unless the transformer replaces it
    except Exception as error:
        error.add_note(
            f"basis={transformer!r} received the rows as an array of numbers without column names. If it needs a data "
            "frame (for example to select columns by name), put it before the classifier in a "
            "sklearn.pipeline.Pipeline, or select columns by position."
        )
        raise
    return Wrapped(transformer, n_functions=transformed(transformer, X[:1]).shape[1])


@dataclass(frozen=True)
class Wrapped:
    """A row map that calls a fitted scikit-learn transformer, which returns ``n_functions`` columns."""

    transformer: Any
    n_functions: int

    def evaluate(self, X: Rows) -> Rows:
        return transformed(self.transformer, X)

    def names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Names given by the transformer, or ``phi0, phi1, ...`` if it has none.

        If the steps of a pipeline exchange data frames, the pipeline generates the names ``x0, x1, ...`` and raises
        ValueError for any others. A pipeline has no names if a step does not implement them (AttributeError).
        """
        for given in (np.asarray(columns, dtype=object), None):
            try:
                return tuple(map(str, self.transformer.get_feature_names_out(given)))
            except (AttributeError, ValueError):
                continue
        return tuple(f"phi{m}" for m in range(self.n_functions))


def transformed(transformer: Any, X: Rows, *, assume_finite: bool = False) -> Rows:
    """``transformer.transform(X)`` as a float32 or float64 array or CSR array.

    A pass needs arrays, even if the user has configured scikit-learn to return data frames.
    """
    with sklearn.config_context(transform_output="default", assume_finite=assume_finite):
        Phi = transformer.transform(X)
    if is_sparse(Phi):
        return sparse.csr_array(Phi).astype(working_dtype(Phi.dtype), copy=False)
    Phi = np.asarray(Phi)
    return Phi.astype(working_dtype(Phi.dtype), copy=False)
