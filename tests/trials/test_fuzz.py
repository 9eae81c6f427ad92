"""Fuzz: hostile fits. Each ends with finite probabilities that sum to one, or with an error of this package.

Case i is drawn from the seed i: an estimator with options, a table, labels and weights. By default the first 300 cases
run; SEPARATRIX_FUZZ=5000 runs all of them, SEPARATRIX_FUZZ=1234:1235 a single case.
"""

from __future__ import annotations

import os
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from separatrix import exceptions

CHUNK = 100
MAX_CPU_SECONDS = 8.0
FIRST, _, LAST = os.environ.get("SEPARATRIX_FUZZ", "0:300").rpartition(":")
CASES = range(int(FIRST or 0), int(LAST))
OUR_ERRORS = tuple(
    error for error in vars(exceptions).values() if isinstance(error, type) and issubclass(error, Exception)
)
OUR_FOLDERS = (Path(sx.__file__).parent, Path(pytest.importorskip("sklearn").__file__).parent / "utils")


def pick(rng: np.random.Generator, *options: Any) -> Any:
    return options[rng.integers(len(options))]


def basis(rng: np.random.Generator) -> Any:
    return pick(rng, *[None] * 5, sx.basis.Polynomial(2), sx.basis.RBF("random", 3), sx.basis.Spline())


def generative(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "basis": basis(rng),
        "shrinkage": pick(rng, 0.0, 0.0, 0.1, 1.0, "evidence", "ledoit-wolf"),
        "estimate": pick(rng, "ml", "ml", "map", "predictive"),
        "unlabelled": pick(rng, "error", "error", "missing"),
    }


def linear(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "alpha": pick(rng, 1.0, 0.0, 1e-8, 1e8, 1e-200, 1e200),
        "basis": basis(rng),
        "fit_intercept": pick(rng, True, True, False),
        "solver": pick(rng, "auto", "auto", "newton", "lbfgs"),
    }


def family(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "estimate": pick(rng, "map", "ml", "predictive"),
        "pseudo_count": pick(rng, 1.0, 1e-8, 1e8),
        "unlabelled": pick(rng, "error", "missing"),
    }


FAMILIES = ("normal", "bernoulli", "categorical", "poisson", "exponential", "gamma", "beta", "normal_known_variance")


def estimator(rng: np.random.Generator) -> Any:
    match rng.integers(16):
        case 0:
            options = {"alpha": pick(rng, 0.0, 1e-8, 1.0, 1e200), "targets": pick(rng, "one-of-K", "fisher")}
            return sx.LeastSquaresClassifier(basis(rng), fit_intercept=pick(rng, True, False), **options)
        case 1:
            options = {"scatter": pick(rng, "pooled", "mean"), "threshold": pick(rng, "mean", "normal")}
            return sx.FisherDiscriminant(basis(rng), shrinkage=pick(rng, 0.0, 0.1, 1.0), **options)
        case 2:
            keep = pick(rng, "last", "average", "pocket")
            return sx.Perceptron(basis(rng), weights=keep, shuffle=pick(rng, True, False), max_epochs=20)
        case 3 | 4:
            return sx.LinearDiscriminantAnalysis(**generative(rng))
        case 5:
            return sx.QuadraticDiscriminantAnalysis(**generative(rng))
        case 6 | 7:
            return sx.NaiveBayes(pick(rng, "auto", "auto", *FAMILIES), temper=pick(rng, False, True), **family(rng))
        case 8:
            kind = pick(rng, *FAMILIES, "multinomial", "dirichlet", "multivariate_normal")
            return sx.ExponentialFamilyClassifier(kind, shared_scale=pick(rng, True, False), **family(rng))
        case 9 | 10:
            return sx.LogisticRegression(**linear(rng))
        case 11:
            return sx.ProbitRegression(**linear(rng))
        case 12:
            options = {"noise": pick(rng, None, 0.1), "rates": pick(rng, "one", "per-class", "full")}
            return sx.LabelNoiseLogisticRegression(**linear(rng), **options)
        case 13:
            likelihood, tune = pick(rng, "logit", "logit", "probit"), pick(rng, None, None, "evidence")
            approximation = pick(rng, "auto", "laplace", "ep", "variational")
            return sx.BayesianLogisticRegression(likelihood=likelihood, tune=tune, approximation=approximation)
        case 14:
            return pick(rng, sx.OneVsRest, sx.OneVsOne)(
                pick(rng, sx.LogisticRegression(), sx.Perceptron(max_epochs=20), sx.LinearDiscriminantAnalysis())
            )
        case _:
            return sx.TableClassifier(
                pick(rng, None, sx.LogisticRegression(), sx.NaiveBayes(), sx.LinearDiscriminantAnalysis())
            )


def values(rng: np.random.Generator) -> np.ndarray:
    """Numbers of one table: ordinary, counts, 0/1, fractions, or spoilt in one way."""
    N, M = int(pick(rng, pick(rng, 0, 1, 2), 5, 8, 8, 30, 30, 30, 60)), int(pick(rng, 1, 2, 3, 8, 20))
    X = rng.normal(size=(N, M))
    match pick(rng, *range(16)):
        case 0:
            X[:] = pick(rng, 0.0, 1.0, 1e300, 1e-300, -7.5)
        case 1:
            X = X[:, rng.integers(M, size=M)]
        case 2:
            X *= pick(rng, 1e-320, 1e-300, 1e-160, 1e-74, 1e-9)
        case 3:
            X *= pick(rng, 1e9, 1e74, 1e150, 1e160, 1e300, 1e307)
        case 4:
            X[rng.random(X.shape) < 0.1] = np.nan
        case 5:
            X[rng.random(X.shape) < 0.05] = pick(rng, np.inf, -np.inf)
        case 6:
            X = rng.integers(-3, 100, size=X.shape).astype(pick(rng, np.int64, np.int8, np.uint8, np.float64))
        case 7:
            X = rng.random(X.shape) < 0.3
        case 8:
            X = rng.random(X.shape) if pick(rng, True, False) else rng.dirichlet(np.ones(M), size=N)
        case 9:
            X = rng.poisson(2.0, size=X.shape).astype(float)
        case 10:
            X = X * 10.0 ** rng.integers(-300, 150, size=M)
        case 11:
            X += 10.0 ** rng.integers(0, 16)
        case 12:
            X = X[:, :1] + 1e-9 * X
        case 13:
            X = X[rng.integers(min(N, 2), size=N)] if N else X
        case 14:
            X[rng.random(X.shape) < 0.02] = pick(rng, 1e18, 1e200, 1e308, -1.7e308)
    return X


def labels(rng: np.random.Generator, N: int, model: Any) -> Any:
    """Labels of one of several types; soft targets and missing labels mostly for the models that accept them."""
    soft = isinstance(model, sx.LogisticRegression | sx.ProbitRegression | sx.BayesianLogisticRegression)
    unlabelled = getattr(model, "unlabelled", "error") == "missing"
    K = int(pick(rng, *[2] * 8, *[3] * 8, 7, 7, 1))
    y = rng.integers(K, size=N)
    kinds = (0, 1, 6, 6, 6) + (2, 3) * soft + (4, 5) * unlabelled
    match pick(rng, *kinds * 16, *range(6)):
        case 0:
            return np.array(["no", "yes", "perhaps", "a", "b", "c", "d"])[y]
        case 1:
            return y > 0
        case 2:
            return rng.dirichlet(np.ones(max(K, 2)), size=N)
        case 3:
            return np.eye(max(K, 2))[y]
        case 4:
            return y.astype(float) if pick(rng, True, False) else np.where(rng.random(N) < 0.2, np.nan, y)
        case 5:
            return [None if missing else int(label) for label, missing in zip(y, rng.random(N) < 0.2, strict=True)]
    return y


def weights(rng: np.random.Generator, N: int) -> Any:
    match pick(rng, *range(16)):
        case 0:
            return np.full(N, pick(rng, 1e-300, 1e-30, 1e-20, 1e20, 1e30, 1e300, 0.0))
        case 1:
            return 10.0 ** (pick(rng, 300, 30, 30, 10) * rng.uniform(-1, 1, size=N))
        case 2:
            return rng.integers(0, 3, size=N).astype(float)
        case 3:
            return np.where(rng.random(N) < 0.1, pick(rng, np.nan, -1.0, np.inf, 1e308, 1e-308), 1.0)
    return None


def stored(rng: np.random.Generator, X: np.ndarray) -> Any:
    convert = [
        np.float32,
        sparse.csr_array,
        sparse.csc_matrix,
        lambda X: pd.DataFrame(X).add_prefix("c"),
        lambda X: X.astype(object),
        np.asfortranarray,
        np.ndarray.tolist,
        *[np.asarray] * 5,
    ]
    with np.errstate(over="ignore"):
        return pick(rng, *convert)(X)


def spoilt_targets(rng: np.random.Generator, X: np.ndarray, y: Any) -> np.ndarray:
    """Sometimes let a column give the classes away, nearly or entirely."""
    if X.dtype != np.float64 or not len(X) or pick(rng, *[True] * 7, False):
        return X
    codes = np.argmax(y, axis=1) if np.ndim(y) == 2 else pd.factorize(np.asarray(y, dtype=object))[0]
    X[:, 0] = codes + rng.normal(size=len(X)) * pick(rng, 0.0, 1e-12, 1e-9, 1e-6)
    return X


def is_ours(error: Exception) -> bool:
    """Whether an error is of this package: of its classes, or a ValueError or TypeError that it raises itself."""
    if isinstance(error, OUR_ERRORS):
        return len(str(error)) > 20
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = any(Path(last.filename).is_relative_to(folder) for folder in OUR_FOLDERS)
    is_raised = (last.line or "").startswith("raise") and len(str(error)) > 20
    return type(error) in (ValueError, TypeError) and own and is_raised


def wrong(case: int) -> str | None:
    """Run one case; return what is wrong with its outcome."""
    rng = np.random.default_rng(case)
    model, X = estimator(rng), values(rng)
    y, weight = labels(rng, len(X), model), weights(rng, len(X))
    X = spoilt_targets(rng, X, y)
    table = stored(rng, X)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # includes the warnings of this package
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model.fit(table, y, sample_weight=weight)
            if hasattr(model, "predict_proba"):
                P = np.asarray(model.predict_proba(table))
                if not (np.isfinite(P).all() and (P >= 0).all()):
                    return f"{case} {model}: probabilities are not finite"
                off = np.abs(P.sum(axis=1) - 1).max(initial=0.0)
                if off > 1e-12:
                    return f"{case} {model}: sums of probabilities are off by {off:.2g}"
            if len(model.predict(table)) != len(X):
                return f"{case} {model}: predictions are missing"
        except Exception as error:
            if not is_ours(error):
                where = traceback.extract_tb(error.__traceback__)
                own = [frame for frame in where if "separatrix" in frame.filename][-1]
                place = f"{Path(own.filename).name}:{own.lineno}"
                return f"{case} {model}: {type(error).__name__} at {place}: {str(error)[:150]}"
    taken = time.process_time() - start
    return f"{case} {model}: took {taken:.1f} s" if taken > MAX_CPU_SECONDS else None


@pytest.mark.parametrize("chunk", [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)], ids=str)
def test_hostile_fits_end_with_probabilities_or_an_error_of_this_package(chunk: range) -> None:
    found = [message for message in map(wrong, chunk) if message is not None]
    assert not found, "\n".join(found)
