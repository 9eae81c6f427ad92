"""Fuzz: calls of all public estimators with tables, labels, weights and arguments of odd types.

Each call ends with a result that obeys the laws of its method, or with an error that this package (or the checks of
scikit-learn) raises in words, without a warning of NumPy. After a failed fit the model is as before. Case i is drawn
from the seed i. The first 200 cases take a few seconds; the others, up to 5 000, are slow (about 40 s). The variable
SEPARATRIX_FUZZED_CALLS chooses the cases: 50000 runs more of them, 1234:1235 a single one.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import inspect
import linecache
import os
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import DataConversionWarning, NotFittedError

import separatrix as sx
from separatrix import exceptions, table_model

N_QUICK, N_ALL, CHUNK = 200, 5000, 200
MAX_CPU_SECONDS = 8.0
FIRST, _, LAST = os.environ.get("SEPARATRIX_FUZZED_CALLS", f"0:{N_ALL}").rpartition(":")
CASES = range(int(FIRST or 0), int(LAST))
N, D = 24, 3
OUR_FOLDER, SKLEARN_CHECKS = Path(sx.__file__).parent, Path(sklearn.__file__).parent / "utils"
for source in OUR_FOLDER.rglob("*.py"):  # tracebacks show their lines even if no file can be opened then
    linecache.getlines(str(source))
OURS = tuple(error for error in vars(exceptions).values() if isinstance(error, type) and issubclass(error, Exception))
PREDICTIONS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "score", "predict_interval", "summary"),
    *("transform", "predict_set", "expected_cost", "claims", "is_ambiguous", "log_density", "decision_distribution"),
    *("predict_with_error", "outputs"),
)


def pick(rng: np.random.Generator, *options: Any) -> Any:
    return options[rng.integers(len(options))]


# Estimators, with settings that are cheap to fit.

BASES: dict[str, Callable[[], Any]] = {
    "RBF": lambda: sx.basis.RBF("kmeans", 3),
    "RBF of rows": sx.basis.RBF,
    "Linear": sx.basis.Linear,
    "MultiScaleRBF": lambda: sx.basis.MultiScaleRBF(2, 2),
    "Polynomial": lambda: sx.basis.Polynomial(2),
    "RandomFourier": lambda: sx.basis.RandomFourier(4),
    "Sigmoid": lambda: sx.basis.Sigmoid(n_centres=3),
    "Spline": lambda: sx.basis.Spline(n_knots=3),
    "Union": lambda: sx.basis.Union([sx.basis.Linear(), sx.basis.Sigmoid(n_centres=2)]),
    "Ramps": lambda: table_model.Ramps([0], 3),
    "Radial": lambda: table_model.Radial([0, 1], 3),
}
MODELS: dict[str, Callable[[], Any]] = {
    "LeastSquaresClassifier": sx.LeastSquaresClassifier,
    "FisherDiscriminant": sx.FisherDiscriminant,
    "Perceptron": lambda: sx.Perceptron(max_epochs=5),
    "LinearDiscriminantAnalysis": sx.LinearDiscriminantAnalysis,
    "LinearDiscriminantAnalysis shrunk": lambda: sx.LinearDiscriminantAnalysis(shrinkage="evidence", estimate="map"),
    "QuadraticDiscriminantAnalysis": sx.QuadraticDiscriminantAnalysis,
    "NaiveBayes": sx.NaiveBayes,
    "NaiveBayes tempered": lambda: sx.NaiveBayes("normal", temper=True, unlabelled="missing"),
    "ExponentialFamilyClassifier": sx.ExponentialFamilyClassifier,
    "ExponentialFamilyClassifier full": lambda: sx.ExponentialFamilyClassifier("multivariate_normal"),
    "ExponentialFamilyClassifier of counts": lambda: sx.ExponentialFamilyClassifier("poisson"),
    "ExponentialFamilyClassifier of amounts": lambda: sx.ExponentialFamilyClassifier("gamma"),
    "ExponentialFamilyClassifier of fractions": lambda: sx.ExponentialFamilyClassifier("dirichlet"),
    "ExponentialFamilyClassifier of codes": lambda: sx.ExponentialFamilyClassifier("categorical", estimate="ml"),
    "LogisticRegression": sx.LogisticRegression,
    "LogisticRegression weighed": lambda: sx.LogisticRegression(class_weight="balanced", prior_correction=True),
    "LogisticRegression sparse": lambda: sx.LogisticRegression(prior=sx.ElasticNet(0.5)),
    "LogisticRegression on a basis": lambda: sx.LogisticRegression(basis=sx.basis.Polynomial(2)),
    "LogisticRegression on bumps": lambda: sx.LogisticRegression(basis=sx.basis.RBF("random", 3)),
    "ProbitRegression": sx.ProbitRegression,
    "LabelNoiseLogisticRegression": sx.LabelNoiseLogisticRegression,
    "BayesianLogisticRegression": lambda: sx.BayesianLogisticRegression(approximation="laplace", tune=None),
    "BayesianLogisticRegression tuned": sx.BayesianLogisticRegression,
    "PriorOnly": sx.study.PriorOnly,
}
GOOD_TABLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # from normal numbers
    "ExponentialFamilyClassifier of counts": lambda X: np.abs(np.rint(X)),
    "ExponentialFamilyClassifier of amounts": np.exp,
    "ExponentialFamilyClassifier of fractions": lambda X: softmax(X, axis=1),
    "ExponentialFamilyClassifier of codes": lambda X: np.abs(np.rint(X)),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "GeneralizedLinearModel": sx.GeneralizedLinearModel,
    "GeneralizedLinearModel of counts": lambda: sx.GeneralizedLinearModel("poisson"),
    "GeneralizedLinearModel of times": lambda: sx.GeneralizedLinearModel("gamma", "log", alpha=0.1),
    "GeneralizedLinearModel of 0 and 1": lambda: sx.GeneralizedLinearModel("binomial", alpha=0.1),
}
INNER = ("LogisticRegression", "LinearDiscriminantAnalysis", "Perceptron", "NaiveBayes", "BayesianLogisticRegression")
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "OneVsRest": sx.OneVsRest,
    "OneVsRest that rejects": lambda model: sx.OneVsRest(model, ambiguous="reject"),
    "OneVsOne": sx.OneVsOne,
    "DecisionRule": lambda model: sx.DecisionRule(model, reject=0.2),
    "Calibrated": lambda model: sx.Calibrated(model, "platt", cv=2),
    "Calibrated by isotonic": lambda model: sx.Calibrated(model, "isotonic", cv=2),
    "TableClassifier": sx.TableClassifier,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "TableClassifier alone": sx.TableClassifier,
    "DecisionRule for tables": lambda: sx.DecisionRule(sx.TableClassifier(sx.LogisticRegression()), reject=0.1),
    "OneVsRest for tables": lambda: sx.OneVsRest(sx.TableClassifier(sx.LogisticRegression())),
    "ModelAverage": lambda: sx.ModelAverage(
        {name: sx.BayesianLogisticRegression(sx.Gaussian(scale), tune=None) for name, scale in (("a", 1.0), ("b", 2.0))}
    ),
    "ModelAverage for tables": lambda: sx.ModelAverage(
        {"a": sx.TableClassifier(), "b": sx.TableClassifier(curved=True)}
    ),
}
NAMES = (
    *BASES, *MODELS, *REGRESSORS, *OTHERS,
    *(f"{wrapper} of {model}" for wrapper in WRAPPERS for model in INNER if (wrapper, model) != ("DecisionRule", "Perceptron")),
)  # fmt: skip


def made(name: str) -> Any:
    if name in (plain := BASES | MODELS | REGRESSORS | OTHERS):
        return plain[name]()
    wrapper, _, inner = name.rpartition(" of ")
    return WRAPPERS[wrapper](MODELS[inner]())


def test_every_public_estimator_is_fuzzed() -> None:
    spaces = (sx, sx.basis, sx.study, table_model)
    public = {name for space in spaces for name in names_of(space) if is_estimator(getattr(space, name))}
    assert {type(made(name)).__name__ for name in NAMES} == public


def names_of(space: Any) -> list[str]:
    return getattr(space, "__all__", [name for name in vars(space) if not name.startswith("_")])


def is_estimator(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseEstimator) and not inspect.isabstract(thing)


# Tables: numbers of some kind in a container of some kind.


def numbers(rng: np.random.Generator, n: int = N, d: int = D) -> np.ndarray:
    X = rng.normal(size=(n, d))
    match pick(rng, *range(20)):
        case 0:
            X[:] = pick(rng, 0.0, 1.0, 1e300)
        case 1:
            X[:, -1] = X[:, 0]
        case 2:
            X *= pick(rng, 5e-324, 1e-310, 1e-160)
        case 3:
            X = np.clip(X, -1, 1) * pick(rng, 1e74, 1e154, 1e300, 1.7e308)
        case 4:
            X[rng.random(X.shape) < 0.1] = np.nan
        case 5:
            X[rng.random(X.shape) < 0.1] = pick(rng, np.inf, -np.inf)
        case 6:
            X = rng.integers(0, 9, size=X.shape).astype(float)
        case 7:
            X = (rng.random(X.shape) < 0.4).astype(float)
        case 8:
            X = rng.random(X.shape)
        case 9:
            X[rng.integers(len(X)) :, 0] = np.finfo(float).max * pick(rng, 1, -1)
        case 10:
            X[:, 0] = pick(rng, np.nan, 3.0, 1e16)
        case 11:
            X += 1e9
        case 12:
            X = rng.dirichlet(np.ones(d), size=n)
    return X


def mapped(X: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryFile() as file:
        found = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
    found[:] = X
    return found


def unaligned(X: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8, offset=1).view(X.dtype).reshape(X.shape)


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def whole(X: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(np.nan_to_num(X), -100, 100)).astype(np.int64)


def holed(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flat[:: max(5, X.size // 3)] = np.nan
    return X


def frame(X: Any, **options: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{d}" for d in range(np.shape(X)[1])], **options)


def words(X: np.ndarray) -> np.ndarray:
    return np.array(["red", "green", "blue", "a b c", ""], dtype=object)[np.abs(whole(X)) % 5]


def days(X: np.ndarray) -> np.ndarray:
    return np.datetime64("2024-01-01") + whole(X).astype("timedelta64[D]")


def unsorted(X: np.ndarray) -> Any:
    S = sparse.csr_array(X)
    S.indices = np.concatenate([S.indices[a:b][::-1] for a, b in zip(S.indptr, S.indptr[1:], strict=False)])
    S.data = np.concatenate([S.data[a:b][::-1] for a, b in zip(S.indptr, S.indptr[1:], strict=False)])
    return S


def with_long_indices(X: np.ndarray) -> Any:
    S = sparse.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def with_zeros(X: np.ndarray) -> Any:
    S = sparse.csr_array(np.ones_like(X))
    S.data[:] = X.ravel()
    S.data[::3] = 0.0
    return S


def arrow(X: np.ndarray) -> pa.Table:
    return pa.table({f"c{d}": x for d, x in enumerate(X.T.copy())})


def arrow_of(convert: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], pa.Table]:
    return lambda X: pa.table({f"c{d}": convert(x) for d, x in enumerate(X.T.copy())})


def nulls(x: np.ndarray) -> list[float | None]:
    return [None if n % 5 == 0 else float(v) for n, v in enumerate(x)]


def polars(X: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({f"c{d}": x for d, x in enumerate(X.T.copy())})


class Subclass(np.ndarray):
    pass


ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "plain": np.asarray,
    "object": lambda X: X.astype(object),
    "object of ints": lambda X: whole(X).astype(object),
    "object with None": lambda X: np.where(np.isnan(holed(X)), None, X.astype(object)),
    "object with words": lambda X: np.where(np.isnan(holed(X)), "a", X.astype(object)),
    "object with huge ints": lambda X: np.array([[10**400, *row[1:]] for row in X.tolist()], dtype=object),
    "object with decimals": lambda X: np.array([[decimal.Decimal(int(v)) for v in row] for row in whole(X)]),
    "object with lists": lambda X: np.array(
        [[[v], *row[1:]] for v, row in zip(X[:, 0], X.tolist(), strict=True)], object
    ),
    "object with NA": lambda X: np.where(np.isnan(holed(X)), pd.NA, X.astype(object)),
    "memmap": mapped,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "negative strides": lambda X: X[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "big-endian float32": lambda X: X.astype(">f4"),
    "big-endian ints": lambda X: whole(X).astype(">i4"),
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "unaligned": unaligned,
    "broadcast": lambda X: np.broadcast_to(X[0], X.shape),
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "longdouble": lambda X: X.astype(np.longdouble),
    "huge longdouble": lambda X: X.astype(np.longdouble) * np.longdouble("1e4000"),
    "complex": lambda X: X.astype(complex),
    "complex64": lambda X: (X + 1j).astype(np.complex64),
    "int8": lambda X: whole(X).astype(np.int8),
    "uint64": lambda X: whole(X).astype(np.uint64),
    "bool": lambda X: X > 0,
    "text": lambda X: words(X).astype(str),
    "digits": lambda X: whole(X).astype(str),
    "bytes": lambda X: whole(X).astype(bytes),
    "dates": days,
    "durations": lambda X: whole(X).astype("timedelta64[s]"),
    "Python dates": lambda X: days(X).astype(object),
    "NaT": lambda X: np.full(X.shape, np.datetime64("NaT")),
    "records": lambda X: np.array(
        [tuple(row) for row in X.tolist()],
        dtype=[("a", float)] * 0 + [("a", float), ("b", float), ("c", float)][: X.shape[1]],
    ),
    "void": lambda X: np.zeros(X.shape, dtype="V4"),
    "StringDType": lambda X: words(X).astype(np.dtypes.StringDType()),
    "matrix": np.asmatrix,
    "subclass": lambda X: X.view(Subclass),
    "masked": lambda X: np.ma.array(X, mask=np.isnan(holed(X))),
    "masked nothing": np.ma.array,
    "masked ints": lambda X: np.ma.array(whole(X), mask=np.isnan(holed(X))),
    "masked text": lambda X: np.ma.array(words(X).astype(str), mask=np.isnan(holed(X))),
    "0-d": lambda X: np.float64(1.0),
    "0-d array": lambda X: np.array(1.0),
    "1-d": lambda X: X[:, 0],
    "3-d": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "nothing": lambda X: X[:0, :0],
    "one row": lambda X: X[:1],
    "one column": lambda X: X[:, :1],
    "another column": lambda X: np.column_stack([X, X[:, 0]]),
}
LISTS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "list of ints": lambda X: whole(X).tolist(),
    "list of huge ints": lambda X: [[10**400, *row[1:]] for row in X.tolist()],
    "list of arrays": list,
    "list of tuples": lambda X: [tuple(row) for row in X.tolist()],
    "tuple of tuples": lambda X: tuple(tuple(row) for row in X.tolist()),
    "ragged": lambda X: [row[: 1 + n % len(row)] for n, row in enumerate(X.tolist())],
    "deep": lambda X: [[[v] for v in row] for row in X.tolist()],
    "ragged within": lambda X: [[[v] * (1 + n % 2) for v in row] for n, row in enumerate(X.tolist())],
    "list of numbers": lambda X: X[:, 0].tolist(),
    "list of None": lambda X: [[None, *row[1:]] for row in X.tolist()],
    "list of dicts": lambda X: [{"a": v} for v in X[:, 0].tolist()],
    "list of words": lambda X: words(X)[:, 0].tolist(),
    "list of lists of words": lambda X: words(X).tolist(),
    "list of series": lambda X: [pd.Series(row) for row in X],
    "list of empty lists": lambda X: [[] for _ in X],
    "empty list": lambda X: [],
    "dict": lambda X: {f"c{d}": x for d, x in enumerate(X.T)},
    "set": lambda X: set(X[:, 0].tolist()),
    "generator": lambda X: (row for row in X),
    "range": lambda X: range(len(X)),
    "word": lambda X: "rows.csv",
    "path": lambda X: Path("rows.csv"),
    "bytes object": lambda X: b"rows",
    "memoryview": lambda X: memoryview(np.ascontiguousarray(X)),
    "None": lambda X: None,
    "number": lambda X: 1.5,
    "class": lambda X: np.ndarray,
    "object without rows": lambda X: object(),
    "list that contains itself": lambda X: [loop := [], loop.append(loop)][:1],
}
PANDAS: dict[str, Callable[[np.ndarray], Any]] = {
    "frame": frame,
    "frame without names": pd.DataFrame,
    "Int64": lambda X: frame(whole(X)).astype("Int64"),
    "Int64 with NA": lambda X: frame(whole(X)).astype("Int64").where(frame(~np.isnan(holed(X)))),
    "Float64 with NA": lambda X: frame(holed(X)).astype("Float64"),
    "boolean": lambda X: frame(X > 0).astype("boolean"),
    "boolean with NA": lambda X: frame(X > 0).astype("boolean").where(frame(~np.isnan(holed(X)))),
    "categorical numbers": lambda X: frame(whole(X)).astype("category"),
    "categorical words": lambda X: frame(words(X)).astype("category"),
    "Arrow floats": lambda X: frame(X).astype("double[pyarrow]"),
    "Arrow ints with NA": lambda X: frame(whole(X)).astype("int64[pyarrow]").where(frame(~np.isnan(holed(X)))),
    "Arrow text": lambda X: frame(words(X)).astype("string[pyarrow]"),
    "Arrow dates": lambda X: frame(days(X)).astype("timestamp[ns][pyarrow]"),
    "Arrow booleans": lambda X: frame(X > 0).astype("bool[pyarrow]"),
    "text": lambda X: frame(words(X)),
    "object numbers": lambda X: frame(X).astype(object),
    "object numbers with None": lambda X: frame(holed(X)).astype(object).where(frame(~np.isnan(holed(X))), None),
    "objects of many kinds": lambda X: (
        frame(X).astype(object).assign(c0=[[1], {}, "a", None, 1.0, b"x"] * (len(X) // 6))
        if len(X) % 6 == 0
        else frame(X)
    ),
    "mixed": lambda X: frame(X).assign(c0=whole(X[:, 0]), c1=X[:, -1] > 0),
    "mixed with text": lambda X: frame(X).assign(c0=words(X)[:, 0]),
    "mixed with float32": lambda X: frame(X).assign(c0=X[:, 0].astype(np.float32)),
    "complex": lambda X: frame(X.astype(complex)),
    "float16": lambda X: frame(X.astype(np.float16)),
    "longdouble": lambda X: frame(X.astype(np.longdouble)),
    "huge longdouble": lambda X: frame(X.astype(np.longdouble) * np.longdouble("1e4000")),
    "StringDType": lambda X: frame(words(X).astype(np.dtypes.StringDType())),
    "nested frame": lambda X: frame(X).assign(c0=[frame(X[:1])] * len(X)),
    "array columns": lambda X: frame(X).assign(c0=[np.ones(2)] * len(X)),
    "dates": lambda X: frame(days(X)),
    "zoned dates": lambda X: frame(days(X)).apply(lambda x: x.dt.tz_localize("UTC")),
    "durations": lambda X: frame(whole(X).astype("timedelta64[s]")),
    "periods": lambda X: frame(days(X)).apply(lambda x: x.dt.to_period("D")),
    "intervals": lambda X: frame(X).assign(c0=pd.interval_range(0, len(X), periods=len(X))),
    "repeated names": lambda X: pd.DataFrame(X, columns=["a"] * X.shape[1]),
    "names of two types": lambda X: pd.DataFrame(X, columns=["a", *range(1, X.shape[1])]),
    "tuples as names": lambda X: pd.DataFrame(
        X, columns=pd.MultiIndex.from_tuples([("a", d) for d in range(X.shape[1])])
    ),
    "None as name": lambda X: pd.DataFrame(X, columns=[None, *range(1, X.shape[1])]),
    "other names": lambda X: frame(X).add_prefix("other "),
    "reordered": lambda X: frame(X).iloc[:, ::-1],
    "odd index": lambda X: frame(X, index=[0] * len(X)),
    "sparse": lambda X: frame(np.round(X)).astype(pd.SparseDtype(float, 0.0)),
    "sparse with NaN": lambda X: frame(X).astype(pd.SparseDtype(float, np.nan)),
    "sparse of booleans": lambda X: frame(X > 0).astype(pd.SparseDtype(bool, False)),
    "partly sparse": lambda X: frame(X).astype({"c0": pd.SparseDtype(float, 0.0)}),
    "no rows": lambda X: frame(X[:0]),
    "no columns": lambda X: frame(X)[[]],
    "one row": lambda X: frame(X[:1]),
    "series": lambda X: pd.Series(X[:, 0]),
    "index": lambda X: pd.Index(X[:, 0]),
    "group": lambda X: frame(X).groupby("c0"),
}
OTHER_FRAMES: dict[str, Callable[[np.ndarray], Any]] = {
    "polars": polars,
    "polars ints": lambda X: polars(whole(X)),
    "polars booleans": lambda X: polars(X > 0),
    "polars with nulls": lambda X: pl.DataFrame({f"c{d}": nulls(x) for d, x in enumerate(X.T)}),
    "polars text": lambda X: pl.DataFrame(words(X).tolist(), orient="row"),
    "polars categories": lambda X: pl.DataFrame(words(X).tolist(), orient="row").cast(pl.Categorical),
    "polars decimals": lambda X: polars(whole(X)).cast(pl.Decimal(10, 2)),
    "polars dates": lambda X: polars(whole(X)).cast(pl.Int32).cast(pl.Date),
    "polars lists": lambda X: pl.DataFrame({"c0": X.tolist()}),
    "polars nulls only": lambda X: pl.DataFrame({f"c{d}": [None] * len(X) for d in range(X.shape[1])}),
    "polars no rows": lambda X: polars(X[:0]),
    "polars no columns": lambda X: pl.DataFrame(),
    "polars lazy": lambda X: polars(X).lazy(),
    "polars series": lambda X: pl.Series(X[:, 0]),
    "polars structs": lambda X: pl.DataFrame({"c0": [{"a": v} for v in X[:, 0].tolist()]}),
    "Arrow": arrow,
    "Arrow batch": lambda X: pa.record_batch({f"c{d}": x for d, x in enumerate(X.T.copy())}),
    "Arrow stream": lambda X: arrow(X).to_reader(),
    "Arrow with nulls": arrow_of(lambda x: pa.array(nulls(x))),
    "Arrow booleans": arrow_of(lambda x: pa.array(x > 0)),
    "Arrow half floats": arrow_of(lambda x: pa.array(x.astype(np.float16))),
    "Arrow dictionary": arrow_of(lambda x: pa.array(words(x[:, None])[:, 0]).dictionary_encode()),
    "Arrow text": arrow_of(lambda x: pa.array(words(x[:, None])[:, 0])),
    "Arrow bytes": arrow_of(lambda x: pa.array([b"x"] * len(x))),
    "Arrow nulls only": arrow_of(lambda x: pa.nulls(len(x))),
    "Arrow dates": arrow_of(lambda x: pa.array(days(x))),
    "Arrow decimals": arrow_of(lambda x: pa.array([decimal.Decimal(int(v)) for v in whole(x)])),
    "Arrow lists": lambda X: pa.table({"c0": X.tolist()}),
    "Arrow repeated names": lambda X: pa.Table.from_arrays([pa.array(x.copy()) for x in X.T], ["a"] * X.shape[1]),
    "Arrow array": lambda X: pa.array(X[:, 0]),
    "Arrow chunks": lambda X: pa.chunked_array([X[:2, 0], X[2:, 0]]),
    "Arrow no rows": lambda X: arrow(X[:0]),
    "Arrow no columns": lambda X: pa.table({}),
    "Arrow many chunks": lambda X: pa.concat_tables([arrow(X[:2]), arrow(X[2:])]),
}
SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"{kind}_array": getattr(sparse, f"{kind}_array") for kind in ("csr", "csc", "coo", "bsr", "dok", "lil", "dia")},
    **{
        f"{kind}_matrix": getattr(sparse, f"{kind}_matrix")
        for kind in ("csr", "csc", "coo", "bsr", "dok", "lil", "dia")
    },
    "int64 indices": with_long_indices,
    "explicit zeros": with_zeros,
    "unsorted indices": unsorted,
    "repeated entries": lambda X: sparse.coo_array(
        (np.ones(9), (np.arange(9) % len(X), np.zeros(9, int))), shape=X.shape
    ),
    "sparse ints": lambda X: sparse.csr_array(whole(X)),
    "sparse booleans": lambda X: sparse.csc_array(X > 0),
    "sparse float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "sparse longdouble": lambda X: sparse.csr_array(X.astype(np.longdouble)),
    "sparse huge longdouble": lambda X: sparse.csr_array(X.astype(np.longdouble) * np.longdouble("1e4000")),
    "sparse complex": lambda X: sparse.csr_array(X.astype(complex)),
    "sparse no rows": lambda X: sparse.csr_array((0, X.shape[1])),
    "sparse no columns": lambda X: sparse.csr_array((len(X), 0)),
    "sparse no entries": lambda X: sparse.csr_array(X.shape),
    "sparse one row": lambda X: sparse.csr_array(X[:1]),
    "sparse 1-d": lambda X: sparse.coo_array(X[:, 0]),
    "sparse 3-d": lambda X: sparse.coo_array(X[None]),
}
CONTAINERS = [(f"{group}: {name}", convert) for group, kinds in (("array", ARRAYS), ("list", LISTS), ("pandas", PANDAS), ("frame", OTHER_FRAMES), ("sparse", SPARSE)) for name, convert in kinds.items()]  # fmt: skip


def table(rng: np.random.Generator, n: int = N, d: int = D) -> tuple[str, Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        name, convert = pick(rng, *CONTAINERS) if rng.random() < 0.8 else pick(rng, *CONTAINERS[:1], ("frame", frame))
        return name, convert(numbers(rng, n, d))


# Labels and weights.

LABELS: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "ints": lambda y, rng: y,
    "int8": lambda y, rng: y.astype(np.int8),
    "uint64": lambda y, rng: y.astype(np.uint64) + np.uint64(2**63),
    "big-endian": lambda y, rng: y.astype(">i8"),
    "strided": lambda y, rng: np.repeat(y, 2)[::2],
    "read-only": lambda y, rng: read_only(y),
    "memmap": lambda y, rng: mapped(y),
    "text": lambda y, rng: np.array(["no", "yes", "perhaps"])[y],
    "text with NUL": lambda y, rng: np.array(["no", "no\x00x", "\x00"])[y],
    "object text": lambda y, rng: np.array(["no", "yes", "perhaps"], dtype=object)[y],
    "StringDType": lambda y, rng: np.array(["no", "yes", "perhaps"], dtype=np.dtypes.StringDType())[y],
    "bools": lambda y, rng: y > 0,
    "floats": lambda y, rng: y.astype(float),
    "float16": lambda y, rng: y.astype(np.float16),
    "longdouble": lambda y, rng: y.astype(np.longdouble),
    "fractions": lambda y, rng: y + 0.5,
    "real": lambda y, rng: rng.normal(size=len(y)),
    "huge": lambda y, rng: y * pick(rng, 1e129, 1e150, 1e160, 1e308),
    "tiny": lambda y, rng: (1 + y) * pick(rng, 5e-324, 1e-310, 1e-160),
    "successes and failures": lambda y, rng: np.column_stack([y, rng.poisson(2.0, size=len(y))]) * pick(rng, 1, 1e308),
    "complex": lambda y, rng: y.astype(complex),
    "objects": lambda y, rng: np.array([1, "a", None], dtype=object)[y],
    "ints and text": lambda y, rng: np.array([1, "a", 2.5], dtype=object)[y],
    "objects without order": lambda y, rng: np.array([object(), object(), object()], dtype=object)[y],
    "None": lambda y, rng: None,
    "all None": lambda y, rng: [None] * len(y),
    "all NaN": lambda y, rng: np.full(len(y), np.nan),
    "some NaN": lambda y, rng: np.where(y == 0, np.nan, y),
    "some infinite": lambda y, rng: np.where(y == 0, np.inf, y),
    "some NA": lambda y, rng: np.array([0, 1, pd.NA], dtype=object)[y],
    "dates": lambda y, rng: np.datetime64("2024-01-01") + y,
    "Python dates": lambda y, rng: [datetime.date(2024, 1, 1 + int(v)) for v in y],
    "timestamps": lambda y, rng: pd.Series(np.datetime64("2024-01-01") + y),
    "zoned timestamps": lambda y, rng: pd.Series(np.datetime64("2024-01-01") + y).dt.tz_localize("UTC"),
    "durations": lambda y, rng: y.astype("timedelta64[s]"),
    "some NaT": lambda y, rng: np.where(y == 0, np.datetime64("NaT"), np.datetime64("2024-01-01")),
    "bytes": lambda y, rng: np.array([b"a", b"b", b"c"])[y],
    "void": lambda y, rng: np.array([b"a", b"b", b"c"], dtype="V1")[y],
    "tuples": lambda y, rng: [(int(v), 1) for v in y],
    "object tuples": lambda y, rng: pd.Series([(int(v), 1) for v in y], dtype=object).to_numpy(),
    "sets": lambda y, rng: [{int(v)} for v in y],
    "dicts": lambda y, rng: [{"a": int(v)} for v in y],
    "decimals": lambda y, rng: [decimal.Decimal(int(v)) for v in y],
    "huge ints": lambda y, rng: [10**400 + int(v) for v in y],
    "one class": lambda y, rng: np.zeros_like(y),
    "class of one row": lambda y, rng: np.where(np.arange(len(y)) == 0, 7, y),
    "a class for each row": lambda y, rng: np.arange(len(y)),
    "column": lambda y, rng: y[:, None],
    "row": lambda y, rng: y[None],
    "3-d": lambda y, rng: y[:, None, None],
    "0-d": lambda y, rng: np.array(1),
    "one-hot": lambda y, rng: np.eye(3)[y],
    "one-hot bools": lambda y, rng: np.eye(3)[y] > 0,
    "soft": lambda y, rng: rng.dirichlet(np.ones(3), size=len(y)),
    "soft of two": lambda y, rng: rng.dirichlet(np.ones(2), size=len(y)).astype(np.float32),
    "soft frame": lambda y, rng: pd.DataFrame(rng.dirichlet(np.ones(2), size=len(y)), columns=["a", "b"]),
    "soft polars": lambda y, rng: pl.DataFrame(rng.dirichlet(np.ones(2), size=len(y)), schema=["a", "b"]),
    "soft Arrow": lambda y, rng: arrow(rng.dirichlet(np.ones(2), size=len(y))),
    "soft with NaN": lambda y, rng: np.where(y[:, None] == 0, np.nan, np.eye(3)[y]),
    "soft that do not sum to 1": lambda y, rng: np.full((len(y), 2), 0.7),
    "text columns": lambda y, rng: np.full((len(y), 2), "a"),
    "ragged": lambda y, rng: [[0] * (1 + int(v)) for v in y],
    "sparse": lambda y, rng: sparse.csr_array(np.eye(3)[y]),
    "shorter": lambda y, rng: y[:-1],
    "longer": lambda y, rng: np.append(y, 0),
    "empty": lambda y, rng: y[:0],
    "empty list": lambda y, rng: [],
    "categorical": lambda y, rng: pd.Series(np.array(["no", "yes", "perhaps"])[y]).astype("category"),
    "bare categorical": lambda y, rng: pd.Categorical(np.array(["no", "yes", "perhaps"])[y]),
    "categorical with NaN": lambda y, rng: pd.Series(np.where(y == 0, np.nan, y)).astype("category"),
    "Int64": lambda y, rng: pd.Series(y).astype("Int64"),
    "Int64 with NA": lambda y, rng: pd.Series(y).astype("Int64").where(y != 0),
    "boolean": lambda y, rng: pd.Series(y > 0).astype("boolean"),
    "boolean with NA": lambda y, rng: pd.Series(y > 0).astype("boolean").where(y != 1),
    "string": lambda y, rng: pd.Series(np.array(["no", "yes", "perhaps"])[y]).astype("string"),
    "Arrow string": lambda y, rng: pd.Series(np.array(["no", "yes", "perhaps"])[y]).astype("string[pyarrow]"),
    "Arrow ints with NA": lambda y, rng: pd.Series(y).astype("int64[pyarrow]").where(y != 0),
    "sparse series": lambda y, rng: pd.Series(y).astype(pd.SparseDtype(int, 0)),
    "frame": lambda y, rng: pd.DataFrame({"y": y}),
    "frame of text": lambda y, rng: pd.DataFrame({"y": np.array(["no", "yes", "perhaps"])[y]}),
    "index": lambda y, rng: pd.Index(y),
    "odd index": lambda y, rng: pd.Series(y, index=np.arange(len(y))[::-1]),
    "periods": lambda y, rng: pd.Series(np.datetime64("2024-01-01") + y).dt.to_period("D"),
    "pyarrow": lambda y, rng: pa.array(y),
    "pyarrow text": lambda y, rng: pa.array(np.array(["no", "yes", "perhaps"])[y]),
    "pyarrow dictionary": lambda y, rng: pa.array(np.array(["no", "yes", "perhaps"])[y]).dictionary_encode(),
    "pyarrow nulls": lambda y, rng: pa.array([None if v == 0 else int(v) for v in y]),
    "pyarrow chunks": lambda y, rng: pa.chunked_array([y[:1], y[1:]]),
    "pyarrow table": lambda y, rng: pa.table({"y": y}),
    "polars": lambda y, rng: pl.Series(y),
    "polars text": lambda y, rng: pl.Series(np.array(["no", "yes", "perhaps"])[y].tolist()),
    "polars categories": lambda y, rng: pl.Series(np.array(["no", "yes", "perhaps"])[y].tolist(), dtype=pl.Categorical),
    "polars nulls": lambda y, rng: pl.Series([None if v == 0 else int(v) for v in y]),
    "polars frame": lambda y, rng: pl.DataFrame({"y": y}),
    "list": lambda y, rng: y.tolist(),
    "tuple": lambda y, rng: tuple(y.tolist()),
    "list of arrays": lambda y, rng: [np.array([v]) for v in y],
    "list of text and NaN": lambda y, rng: [["no", "yes", np.nan][v] for v in y],
    "range": lambda y, rng: range(len(y)),
    "generator": lambda y, rng: (v for v in y),
    "set": lambda y, rng: {0, 1},
    "dict": lambda y, rng: {n: int(v) for n, v in enumerate(y)},
    "word": lambda y, rng: "target",
    "column name": lambda y, rng: "c0",
    "bytes object": lambda y, rng: b"target",
    "number": lambda y, rng: 1,
    "object": lambda y, rng: object(),
    "class": lambda y, rng: int,
    "matrix": lambda y, rng: np.asmatrix(y).T,
    "masked": lambda y, rng: np.ma.array(y, mask=y == 0),
    "masked nothing": lambda y, rng: np.ma.array(y),
    "masked column": lambda y, rng: np.ma.array(y[:, None], mask=y[:, None] == 0),
    "counts": lambda y, rng: rng.poisson(2.0, size=len(y)),
    "negative": lambda y, rng: -1 - y,
}  # fmt: skip
WEIGHTS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "ints": lambda n, rng: rng.integers(0, 3, size=n),
    "list": lambda n, rng: [1.0] * n,
    "float16": lambda n, rng: np.ones(n, np.float16),
    "longdouble": lambda n, rng: np.full(n, np.longdouble("1e4000")),
    "bools": lambda n, rng: np.arange(n) % 2 == 0,
    "zero": lambda n, rng: np.zeros(n),
    "zero for most": lambda n, rng: np.where(np.arange(n) < 2, 1.0, 0.0),
    "negative": lambda n, rng: np.full(n, -1.0),
    "NaN": lambda n, rng: np.full(n, np.nan),
    "infinite": lambda n, rng: np.full(n, np.inf),
    "shorter": lambda n, rng: np.ones(max(n - 1, 0)),
    "empty": lambda n, rng: [],
    "huge": lambda n, rng: np.full(n, 1e308),
    "tiny": lambda n, rng: np.full(n, 5e-324),
    "huge and tiny": lambda n, rng: 10.0 ** (300 * rng.uniform(-1, 1, size=n)),
    "text": lambda n, rng: ["a"] * n,
    "digits": lambda n, rng: ["1"] * n,
    "word": lambda n, rng: "balanced",
    "number": lambda n, rng: 2.0,
    "True": lambda n, rng: True,
    "column": lambda n, rng: np.ones((n, 1)),
    "2-d": lambda n, rng: np.ones((n, 2)),
    "ragged": lambda n, rng: [[1], [1, 2]] * (n // 2),
    "None within": lambda n, rng: [None] * n,
    "complex": lambda n, rng: np.ones(n, complex),
    "dates": lambda n, rng: np.zeros(n, "datetime64[s]"),
    "Int64 with NA": lambda n, rng: pd.Series([1, None] * (n // 2), dtype="Int64"),
    "Float64": lambda n, rng: pd.Series(np.ones(n), dtype="Float64"),
    "Arrow": lambda n, rng: pa.array(np.ones(n)),
    "Arrow with nulls": lambda n, rng: pa.array([None] * n),
    "polars": lambda n, rng: pl.Series(np.ones(n)),
    "categorical": lambda n, rng: pd.Series(np.ones(n)).astype("category"),
    "masked": lambda n, rng: np.ma.array(np.ones(n), mask=np.arange(n) == 1),
    "frame": lambda n, rng: pd.DataFrame({"w": np.ones(n)}),
    "sparse": lambda n, rng: sparse.csr_array(np.ones((1, n))),
    "dict": lambda n, rng: {0: 1.0},
    "object": lambda n, rng: object(),
    "huge ints": lambda n, rng: [10**400] * n,
    "generator": lambda n, rng: (1.0 for _ in range(n)),
}
ODD: dict[str, Callable[[], Any]] = {
    repr(value): lambda value=value: value
    for value in (
        None, -1, 0, 1, 2, 1.5, -0.5, 1e-320, 1e308, np.nan, np.inf, -np.inf, 2**70, -(10**400), True, "x", "", "auto", b"x",
        1j, (), (1,), {}, {0: 1}, {"a": 1}, {0: -1.0}, {0: np.nan}, {0: "x"}, {(0, 1): 5}, {None: None}, int, np.float32(0.5), np.int8(1),
        decimal.Decimal("0.5"), datetime.date(2024, 1, 1), pd.NA, pd.NaT, range(3), "\x00", "ä",
    )
} | {
    "list": list,
    "list of numbers": lambda: [0.5, 0.5],
    "list of text": lambda: ["x", "y"],
    "nested list": lambda: [[0.2, 0.8], [0.5, 0.5]],
    "ragged list": lambda: [[1], [1, 2]],
    "array": lambda: np.array([0.5, np.nan]),
    "long array": lambda: np.ones(D),
    "matrix": lambda: np.eye(2),
    "singular": lambda: np.ones((D, D)),
    "0-d": lambda: np.array(1.0),
    "text array": lambda: np.array(["a", "b"]),
    "object": object,
    "function": lambda: len,
    "lambda": lambda: lambda *_: 1,
    "model": sx.LogisticRegression,
    "fitted model": lambda: sx.LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1]),
    "class of a model": lambda: sx.LogisticRegression,
    "basis": lambda: sx.basis.Polynomial(2),
    "prior": lambda: sx.Gaussian(2.0),
    "other prior": lambda: sx.ElasticNet(0.1, 0.5),
    "no prior": sx.Flat,
    "generator of numbers": lambda: np.random.default_rng(0),
    "old generator": lambda: np.random.RandomState(0),
    "frame": lambda: pd.DataFrame({"a": [1.0]}),
    "series": lambda: pd.Series([0.5, 0.5]),
    "set": lambda: {0, 1},
    "dict of models": lambda: {"a": sx.BayesianLogisticRegression(), "b": sx.LogisticRegression()},
    "list of bases": lambda: [sx.basis.Linear(), None],
    "costs": lambda: np.array([[0.0, 1.0], [np.nan, 0.0]]),
}  # fmt: skip
ITERATIONS = (str(2**70),)  # arguments that allow a fit to run forever


def targets(rng: np.random.Generator, n: int, is_regressor: bool) -> tuple[str, Any]:
    y = np.arange(n) % pick(rng, 2, 3)
    if rng.random() < 0.5:
        return "good", (1.0 + y if is_regressor else y)
    name = pick(rng, *LABELS)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return name, LABELS[name](y, rng)


def rows_in(X: Any) -> int:
    """Number of rows of a table; of something that has none, the usual number."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape and isinstance(shape[0], int):
        return shape[0]
    try:
        return len(X) if not isinstance(X, str | bytes | dict) else N
    except TypeError:
        return N


# One case.


@cache
def fitted(name: str, is_named: bool) -> tuple[Any, Any, np.ndarray]:
    """A model that was fitted to a good table, the table, and its targets."""
    rng = np.random.default_rng(1)
    model = made(name)
    y = np.arange(N) % (2 if name in REGRESSORS or isinstance(model, sx.ProbitRegression) else 3)
    X = GOOD_TABLES.get(name, np.asarray)(rng.normal(size=(N, D)) + y[:, None])
    X, y = (frame(X) if is_named else X), (y + 1.0 if "times" in name else y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    return model, X, y


def answer(model: Any, X: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict(X) if hasattr(model, "predict") else model.transform(X)
        return found.toarray() if sparse.issparse(found) else np.asarray(found)


def is_in_words(error: BaseException) -> bool:
    """Whether an error is one of this package, or is raised in words by it or by scikit-learn's checks."""
    if isinstance(error, OURS):
        return True
    if type(error) not in (ValueError, TypeError, AttributeError) or len(str(error).split()) < 3:
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = Path(last.filename)
    ours = place.is_relative_to(OUR_FOLDER) or place.is_relative_to(SKLEARN_CHECKS)
    return ours and (last.line or "").startswith("raise")


def is_meant(warning: warnings.WarningMessage) -> bool:
    """Whether a warning is one of this package, which points to this file, or one of scikit-learn's checks."""
    if not issubclass(warning.category, UserWarning):
        return False
    place = Path(warning.filename)
    known = issubclass(warning.category, (DataConversionWarning, *OURS))
    return known or place == Path(__file__) or place.is_relative_to(SKLEARN_CHECKS)


def is_nan(label: Any) -> bool:
    return isinstance(label, float) and np.isnan(label)


def broken_law(model: Any, method: str, found: Any, n: int | None) -> str | None:
    """What is wrong with the result of a method, for n rows (None if unknown)."""
    if method in ("summary", "outputs", "log_density", "predict_with_error", "decision_distribution"):
        return None
    if method == "score":
        fine = isinstance(found, float) and not np.isnan(found) and (0 <= found <= 1 or not hasattr(model, "classes_"))
        return None if fine else f"score {found!r}"
    A = found.toarray() if sparse.issparse(found) else np.asarray(found)
    if n is not None and len(A) != n:
        return f"{len(A)} results for {n} rows"
    is_classifier = hasattr(model, "classes_")
    if method == "predict" and is_classifier:
        reject = model.get_params().get("reject_label")
        allowed = [*np.asarray(model.classes_).tolist(), -1, "reject", np.nan if is_nan(reject) else reject]
        strange = [label for label in A.tolist() if (np.nan if is_nan(label) else label) not in allowed]
        return f"labels {strange}" if strange else None
    if method in ("predict_proba", "predict_log_proba"):
        if method == "predict_log_proba":
            if np.isnan(A).any() or (A > 1e-12).any():
                return f"log probabilities {A[~(A <= 1e-12)][:3]}"
            A = np.exp(A)
        if A.shape[1:] != (len(model.classes_),):
            return f"shape {A.shape}"
        if not (np.isfinite(A).all() and (A >= 0).all()):
            return f"probabilities {A[~(np.isfinite(A) & (A >= 0))][:3]}"
        off = np.abs(A.sum(axis=1) - 1).max(initial=0.0)
        return f"sums are off by {off:.2g}" if off > 1e-12 else None
    if method == "predict_interval" and is_classifier:
        lower, upper = (A[..., 0], A[..., 1]) if A.shape[-1] == 2 and A.ndim > 1 else (A, A)
        return None if (A >= 0).all() and (A <= 1 + 1e-12).all() and (lower <= upper + 1e-12).all() else "interval"
    if method in ("decision_function", "predict", "expected_cost") and A.dtype.kind == "f" and np.isnan(A).any():
        return "NaN"
    is_missing = np.isnan(A) if isinstance(model, sx.LinearDiscriminantAnalysis) and method == "transform" else False
    if method == "transform" and not (np.isfinite(A) | is_missing).all():
        return "not finite"
    return None


class Call:
    """Run calls; remember the first outcome that is neither a lawful result nor an error in words."""

    def __init__(self, story: str) -> None:
        self.story, self.fault, self.done = story, None, ""

    def __call__(self, function: Callable[..., Any], *args: Any, **options: Any) -> tuple[bool, Any]:
        start = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                found, ended = function(*args, **options), True
                self.done = "result"
            except (Exception, pytest.fail.Exception) as error:
                found, ended = error, False
                self.done = "error"
                if not is_in_words(error) and not isinstance(error, NotFittedError):
                    frames = traceback.extract_tb(error.__traceback__)
                    own = [frame for frame in frames if OUR_FOLDER in Path(frame.filename).parents] or frames
                    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
                    inner = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
                    self.say(f"{type(error).__name__} at {place} (in {inner}): {str(error)[:150]}")
        for warning in caught:
            if not is_meant(warning):
                self.say(
                    f"{warning.category.__name__} at {warning.filename}:{warning.lineno}: {str(warning.message)[:150]}"
                )
        if (taken := time.process_time() - start) > MAX_CPU_SECONDS:
            self.say(f"took {taken:.1f} s")
        return ended, found

    def say(self, fault: str) -> None:
        self.fault = self.fault or f"{self.story}: {fault}"


def predictions(call: Call, model: Any, X: Any, kind: str, y: Any, methods: tuple[str, ...]) -> None:
    n = None if "stream" in kind or "generator" in kind else rows_in(X)
    ended, names = call(dir, model)
    for method in methods:
        is_there, function = call(getattr, model, method, None) if ended and method in names else (False, None)
        if not is_there or not callable(function):
            continue
        call.story += f" .{method}"
        arguments = () if method == "summary" else (X, y) if method == "score" else (X,)
        ended, found = call(function, *arguments)
        if ended and (fault := broken_law(model, method, found, n)):
            call.say(f"law of {method}: {fault}")


def wrong(case: int) -> str | None:
    """Run one case; return what is wrong with its outcome."""
    rng = np.random.default_rng([19, case])
    name = pick(rng, *NAMES) if rng.random() < 0.5 else pick(rng, *MODELS, *REGRESSORS, *BASES, *OTHERS)
    call, (old, good, y) = Call(f"{case} {name}"), fitted(name, bool(rng.random() < 0.4))
    methods = tuple(rng.permutation(PREDICTIONS)[: pick(rng, 2, 4, 6)])
    match pick(rng, *["predict"] * 7, *["arguments"] * 5, *["fit"] * 8):
        case "predict":
            kind, X = table(rng)
            label_kind, y = targets(rng, rows_in(X), name in REGRESSORS)
            call.story += f" on {kind}, y {label_kind}"
            predictions(call, copy.deepcopy(old), X, kind, y, methods)
        case "arguments":
            fit_with_odd_argument(rng, call, old, good, y, methods)
        case "fit":
            kind, X = table(rng) if rng.random() < 0.75 else ("good", good)
            label_kind, y = targets(rng, rows_in(X), name in REGRESSORS)
            call.story += f" to {kind}, y {label_kind}"
            fit(rng, call, old, good, kind, X, y, methods)
    return call.fault


def fit(
    rng: np.random.Generator, call: Call, old: Any, good: Any, kind: str, X: Any, y: Any, methods: tuple[str, ...]
) -> None:
    """Fit a model to an odd table; if the fit fails, its earlier fit is kept."""
    is_fitted = rng.random() < 0.6
    model = copy.deepcopy(old) if is_fitted else clone(old)
    method = "partial_fit" if hasattr(model, "partial_fit") and rng.random() < 0.3 else "fit"
    options: dict[str, Any] = {}
    if rng.random() < 0.3 and "sample_weight" in inspect.signature(getattr(model, method)).parameters:
        weight = pick(rng, *WEIGHTS)
        options["sample_weight"] = WEIGHTS[weight](rows_in(X), rng)
        call.story += f", weights {weight}"
    if method == "partial_fit" and (not is_fitted or rng.random() < 0.2):
        options["classes"] = pick(rng, *[[0, 1, 2]] * 5, None, ["a"], np.array([]), [[0]], "x", [0, None], [0, "a"], 1)
    names = set(vars(model))
    call.story += f" .{method}"
    ended, _ = call(getattr(model, method), X, y, **options)
    if ended:
        predictions(call, model, X, kind, np.arange(rows_in(X)) % 2, methods)
    elif set(vars(model)) != names:
        call.say(f"the failed {method} changed {set(vars(model)) ^ names}")
    elif is_fitted:
        ended, found = call(answer, model, good)
        if not ended or not np.array_equal(found, answer(old, good)):
            call.say(f"the failed {method} changed the predictions")


def fit_with_odd_argument(
    rng: np.random.Generator, call: Call, old: Any, good: Any, y: np.ndarray, methods: tuple[str, ...]
) -> None:
    """Fit a model with an odd argument to the good table, and predict."""
    model = clone(old)
    parameters = model.get_params(deep=bool(rng.random() < 0.3))
    if not parameters:
        return
    parameter, odd = pick(rng, *parameters), pick(rng, *ODD)
    if odd in ITERATIONS and parameter.rpartition("__")[2] in ("max_epochs", "max_steps"):
        return
    call.story += f" {parameter}={odd}"
    ended, _ = call(model.set_params, **{parameter: ODD[odd]()})
    names = set(vars(model))
    if ended:
        call.story += " .fit"
        ended, _ = call(model.fit, good, y)
    if ended:
        predictions(call, model, good, "good", y, methods)
    elif set(vars(model)) != names:
        call.say(f"the failed fit changed {set(vars(model)) ^ names}")


def chunks() -> list[Any]:
    starts = range(0, len(CASES), CHUNK)
    return [
        pytest.param(CASES[i : i + CHUNK], marks=[pytest.mark.slow] * (CASES[i] >= N_QUICK), id=str(CASES[i]))
        for i in starts
    ]


@pytest.mark.parametrize("chunk", chunks())
def test_odd_calls_end_with_a_lawful_result_or_an_error_in_words(chunk: range) -> None:
    found = [message for message in map(wrong, chunk) if message is not None]
    assert not found, "\n".join(found)
