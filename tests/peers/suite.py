# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own tests, run on adapters: its constructors outside, models of separatrix inside.

`peer_tests` executes a fresh copy of a test module of the installed scikit-learn in which estimators are replaced. The
texts of errors and warnings are not compared, because each library writes its own; their classes are.

Each file of this folder has two tables, ``{reason: names of tests}``. ``DIFFERENT`` are tests that must fail, because
separatrix differs. ``FOREIGN`` are tests that use none of its models. ``SLOW`` are names of tests for `make test-all`.
"test_x" is a test with all its parameters; "test_x[a-b]" those whose parameters contain a, b in a row.
"""

import importlib
import inspect
from contextlib import ExitStack
from functools import wraps
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

WRITTEN_FOR = "1.9"  # the tests change with each release of scikit-learn, and the tables with them
TAKE_ROWS = "predict", "predict_proba", "predict_log_proba", "decision_function", "transform"


class NotTranslatedError(Exception):
    """separatrix has no such parameter. Not a ValueError, so that no test of an error passes by accident."""


class Adapter(ClassifierMixin, BaseEstimator):
    """An estimator with the constructor of ``like``, whose other attributes are those of ``model_``, which is ours."""

    n_built = 0

    def __init_subclass__(cls, like, **options):
        super().__init_subclass__(**options)
        signature = inspect.signature(like.__init__)

        def init(self, *given, **named):
            bound = signature.bind(self, *given, **named)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        init.__signature__ = signature
        cls.__init__ = init

    def build(self, classes):
        """The model of separatrix for these parameters; ``classes`` is empty before the fit."""
        raise NotImplementedError

    def built(self, classes):
        """Result of `build`, which is counted."""
        Adapter.n_built += 1
        return self.build(classes)

    def table(self, X):
        """The rows that the model of separatrix is given."""
        return X

    def hides(self, name):
        """Whether an attribute of the model should be missing with these parameters."""
        return False

    def fit(self, X, y, sample_weight=None):
        model = self.built(y)
        is_warm = getattr(self, "warm_start", False) and "model_" in vars(self)
        self.model_ = self.model_.set_params(**model.get_params(deep=False)) if is_warm else model
        self.model_.fit(self.table(X), y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return self

    @available_if(lambda self: hasattr(self.built(()), "partial_fit"))
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if "model_" not in vars(self):
            self.model_ = self.built(() if classes is None else classes)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.model_.partial_fit(self.table(X), y, classes=classes, **weights)
        return self

    def __getattr__(self, name):
        if name.startswith("_") or name in inspect.signature(type(self).__init__).parameters or self.hides(name):
            raise AttributeError(name)
        found = getattr(vars(self).get("model_") or self.built(()), name)
        return wraps(found)(lambda X: found(self.table(X))) if name in TAKE_ROWS else found

    def __setattr__(self, name, value):
        is_fitted = name.endswith("_") and name != "model_"
        object.__setattr__(self.model_ if is_fitted else self, name, value)

    def __sklearn_tags__(self):
        return self.built(()).__sklearn_tags__()


def peer_tests(module, **replaced):
    """Names of a fresh copy of a test module; ``replaced`` has the adapters of each module of scikit-learn."""
    if not sklearn.__version__.startswith(f"{WRITTEN_FOR}."):
        pytest.skip(f"written for scikit-learn {WRITTEN_FOR}, not {sklearn.__version__}", allow_module_level=True)
    if find_spec(module.rpartition(".")[0]) is None or find_spec(module) is None:
        pytest.skip(f"the installed scikit-learn has no {module}", allow_module_level=True)
    importlib.import_module(module)  # loads all that it imports, before any name is replaced
    spec = find_spec(module)
    copy = module_from_spec(spec)
    replaced["utils._array_api"] = {"yield_namespace_device_dtype_combinations": lambda: [("numpy", None, "float64")]}
    with ExitStack() as stack:
        for home, adapters in replaced.items():
            stack.enter_context(patch.multiple(f"sklearn.{home}", **adapters))
        spec.loader.exec_module(copy)
    by_class = {"raises": without_text(pytest.raises), "warns": without_text(pytest.warns)}
    copy.pytest = SimpleNamespace(**vars(pytest) | by_class)
    fixture = type(pytest.fixture(lambda: None))
    names = vars(copy).items()
    return {name: value for name, value in names if name.startswith("test_") or isinstance(value, fixture)}


def without_text(expect):
    """`pytest.raises` or `pytest.warns`, which compare only the class."""
    return lambda *kinds, match=None, **options: expect(*kinds, **options)


def parameters(item):
    """The parameters of a collected test, with a dash before and after each."""
    return f"-{item.name.partition('[')[2][:-1]}-"


def is_named(item, names):
    """Whether a collected test is among these names."""
    given = parameters(item)
    parts = (name.rstrip("]").partition("[") for name in names.split())
    return any(test == item.originalname and f"-{wanted}-" in (given if wanted else "--") for test, _, wanted in parts)
