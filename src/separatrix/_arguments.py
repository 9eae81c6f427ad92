# SPDX-License-Identifier: BSD-3-Clause
"""Checks of constructor arguments. Errors name the given value and the accepted values."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache, wraps
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from separatrix._text import did_you_mean

# Arguments of scikit-learn's estimators, and our replacement for a class that has the named argument ("": any class).
REPLACEMENTS: dict[str, dict[str, str]] = {
    "C": {
        "standardize": "prior=sx.Gaussian(scale=C**0.5), standardize=False",
        "prior": "alpha=1/C or prior=sx.Gaussian(scale=C**0.5)",
        "alpha": "alpha=1/C",
    },
    "penalty": {
        "prior": "prior=sx.Gaussian(scale=...), an L2 penalty, or sx.ElasticNet(alpha=..., l1_ratio=...)",
        "alpha": "alpha, the strength of an L2 penalty (there is no L1 penalty)",
    },
    "l1_ratio": {"solver": "prior=sx.ElasticNet(alpha=..., l1_ratio=...)"},
    "max_iter": {"max_steps": "max_steps", "max_epochs": "max_epochs", "tol": "tol (the steps have no limit)"},
    "class_weight": {"family": "fit(X, y, sample_weight=...)"},
    "random_state": {"rng": "rng"},
    "eta0": {"learning_rate": "learning_rate"},
    "verbose": {"trace": "trace=True, which stores the steps of the fit"},
    "multi_class": {"": "sx.OneVsRest(model) for one-vs-rest; softmax is the default"},
    "reg_param": {"shrinkage": "shrinkage"},
    "solver": {"shrinkage": "shrinkage alone; one solver serves all values"},
    "store_covariance": {"shrinkage": "covariance_, which is always available"},
    "class_prior": {"priors": "priors"},
    "fit_prior": {"priors": "priors (equal numbers instead of fit_prior=False)"},
    "var_smoothing": {"families": "estimate='map', which has a weak prior, or estimate='ml'"},
    "alpha": {"pseudo_count": "pseudo_count", "prior": "prior=sx.Gaussian(scale=alpha**-0.5)"},
}

INTEGERS, NUMBERS = (int, Integral), (float, Real)  # the most frequent type is first: abstract classes are slow
MAX_JOBS = 2**15  # a process or thread for each; larger numbers overflow in the operating system
DEFAULT_SEED = 0  # repeated fits to the same data give identical results


class Estimator(BaseEstimator):
    """Base class of estimators. An unknown argument raises an error that names the class and our argument instead."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            return
        init, signature = cls.__init__, inspect.signature(cls.__init__)

        @wraps(init)  # scikit-learn reads the parameters from the signature of the wrapped function
        def checked(self: Any, *args: Any, **arguments: Any) -> None:
            owner, (_, *known) = type(self).__name__, signature.parameters
            for name in arguments:
                if name not in known:
                    raise TypeError(_unknown_argument(owner, name, known))
            try:
                init(self, *args, **arguments)
            except TypeError:
                try:
                    signature.bind(self, *args, **arguments)
                except TypeError as error:  # Python would name the base class that defines the constructor
                    raise TypeError(f"{owner}({', '.join(known)}): {error}.") from None
                raise

        cls.__init__ = checked  # type: ignore[method-assign]

    def __dir__(self) -> list[str]:
        """Names of attributes, without methods that are not available; properties may be expensive, so none is read."""
        kind = type(self)
        return [
            name
            for name in object.__dir__(self)
            if isinstance(inspect.getattr_static(kind, name, None), property) or hasattr(self, name)
        ]

    def set_params(self, **params: Any) -> Self:
        """Set arguments, as in scikit-learn.

        ``estimator__alpha`` is the argument of a model inside this one, and ``prior__alpha`` that of its prior.
        """
        known = self.get_params(deep=False)
        for name in list(params):
            owner, _, field = name.partition("__")
            if not field and name not in known:
                raise ValueError(_unknown_argument(type(self).__name__, name, list(known)))
            record = params.get(owner, known.get(owner))
            if field and is_dataclass(record) and not isinstance(record, BaseEstimator | type):
                options = [each.name for each in fields(record)]
                if field not in options:
                    raise ValueError(_unknown_argument(type(record).__name__, field, options))
                params[owner] = replace(record, **{field: params.pop(name)})
        super().set_params(**params)
        return self


class unchanged_on_error:  # noqa: N801  (called like a function)
    """Restore the model if the block fails, so that it never has old parameters with new classes."""

    def __init__(self, model: Estimator) -> None:
        self.model, self.before = model, dict(vars(model))

    def __enter__(self) -> None:
        return

    def __exit__(self, error: object, *details: object) -> None:
        if error is not None:  # also after Ctrl-C
            self.model.__dict__ = self.before


def _unknown_argument(owner: str, name: str, known: list[str]) -> str:
    message, options = f"{owner} has no argument {name!r}.", REPLACEMENTS.get(name, {})
    for needed, replacement in options.items():
        if needed in ("", *known):
            return f"{message} Use {replacement}."
    if options and "estimator" in known:
        return f"{message} Give it to the model inside, such as sx.LogisticRegression(...)."
    return message + did_you_mean(name, known)


def check_count(owner: str, name: str, value: Any, *, least: int = 1, most: float = math.inf) -> int:
    """Return the value as an int; raise if it is not an integer from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, INTEGERS) or not least <= int(value) <= most:
        reach = f"at least {least}" if math.isinf(most) else f"from {least} to {most}"
        raise ValueError(f"{owner}({name}={value!r}): {name} must be an integer, {reach}.")
    return int(value)


def check_number(owner: str, name: str, value: Any, *, low: float, high: float = math.inf) -> float:
    """Return the value as a float; raise if it is not a finite number from ``low`` to ``high``."""
    number = as_float(value)
    if not low <= number <= high or math.isinf(number):
        reach = f"at least {low:g}" if math.isinf(high) else f"between {low:g} and {high:g}"
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number, {reach}.")
    return number


def check_positive(owner: str, name: str, value: Any) -> float:
    """Return the value as a float; raise if it is not a finite number greater than zero."""
    number = as_float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{owner}({name}={value!r}): {name} must be a finite number greater than 0.")
    return number


def as_float(value: Any) -> float:
    """Return a number as a float: NaN if it is not a number, infinity if it is too large for a float."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if bool(value > 0) else -math.inf  # type: ignore[operator]


def check_numbers(owner: str, name: str, value: Any) -> NDArray[np.float64]:
    """Return an argument as an array of float64; raise if its values are not numbers. ``owner`` may be empty."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):  # also rows of different lengths, and too large integers
        given = f"{owner}({name}={value!r})" if owner else f"{name}={value!r}"
        raise ValueError(f"{given}: {name} must be a number, or an array of numbers.") from None


def check_flags(estimator: Any) -> None:
    """Raise if an argument of an estimator that is declared as bool is neither True nor False."""
    kind: Any = type(estimator)
    for name in _flags(kind):
        value = getattr(estimator, name)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{kind.__name__}({name}={value!r}): {name} must be True or False.")


@cache
def _flags(kind: type) -> tuple[str, ...]:
    """Names of the arguments of a class that are declared as bool."""
    parameters = inspect.signature(kind).parameters.values()
    return tuple(each.name for each in parameters if each.annotation in ("bool", bool))


def check_jobs(owner: str, n_jobs: Any) -> int | None:
    """Return the number of parallel jobs as joblib expects it: None or an integer other than 0."""
    is_count = isinstance(n_jobs, INTEGERS) and not isinstance(n_jobs, bool) and 0 < abs(int(n_jobs)) <= MAX_JOBS
    if n_jobs is not None and not is_count:
        raise ValueError(
            f"{owner}(n_jobs={n_jobs!r}): n_jobs must be None or an integer other than 0; -1 uses all CPUs."
        )
    return None if n_jobs is None else int(n_jobs)


def check_option(owner: str, name: str, value: Any, options: Iterable[str], *, otherwise: str = "") -> str:
    """Return the value; raise if it is not one of the options. ``otherwise`` names other accepted values."""
    known = tuple(options)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{owner}({name}={value!r}): choose one of {', '.join(map(repr, known))}{otherwise}.")
    return value


def generator(rng: Any) -> np.random.Generator:
    """Return the given generator, or a new generator with the given seed; None is the default seed.

    A RandomState of NumPy gives a seed, because its stream cannot be divided into independent streams.
    """
    if isinstance(rng, np.random.RandomState):
        rng = rng.randint(2**32, size=4, dtype=np.uint32)
    try:
        if isinstance(rng, bool | np.bool_):
            raise TypeError
        return np.random.default_rng(DEFAULT_SEED if rng is None else rng)
    except (TypeError, ValueError):
        raise ValueError(
            f"rng={rng!r}: pass None, an integer that is not negative, or a numpy.random.Generator."
        ) from None
