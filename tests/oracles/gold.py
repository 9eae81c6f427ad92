"""Reference posteriors: problems, regenerated from their seeds, and summaries of long Markov chains.

Every problem is a linear model a = w'x + w0 with independent priors w_m ~ N(0, scale²) and w0 ~ N(0, intercept_scale²),
in the units of X, where w0 is the activation at x = 0. Parameters are a vector (w_1 .. w_M, w0) for two classes, and K
such vectors, concatenated, for K classes. `ref/gold/make_gold.py` computed the summaries as `ref/gold/README.md`
describes; `load` reads them.

    gold = load("correlated")
    gold.problem.X, gold.problem.y, gold.problem.X_test      the data
    gold.problem.scale, gold.problem.intercept_scale         the prior
    gold.means, gold.sds, gold.probabilities, gold.log_evidence, ...   summaries, with standard errors
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import special

FOLDER = Path(__file__).parent / "ref" / "gold"
N_TEST = 200


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, likelihood and prior of a posterior."""

    X: np.ndarray  # (N, M)
    y: np.ndarray  # (N,) codes 0 .. K-1
    X_test: np.ndarray  # (200, M)
    scale: float = 1.0
    intercept_scale: float | None = 5.0  # None if there is no bias
    likelihood: str = "logit"  # or "probit", "label_noise", "softmax"
    noise: float = 0.0  # probability of a flipped label, for "label_noise"
    seed: int = 0

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (C, P): one row of parameters for two classes, K rows for a softmax, each with the bias last."""
        C = self.n_classes if self.likelihood == "softmax" else 1
        return C, self.X.shape[1] + (self.intercept_scale is not None)

    @property
    def prior_sds(self) -> np.ndarray:
        """Prior standard deviation of each parameter, (C P,)."""
        weights = np.full(self.X.shape[1], self.scale)
        each = weights if self.intercept_scale is None else np.append(weights, self.intercept_scale)
        return np.tile(each, self.shape[0])

    def design(self, X: np.ndarray) -> np.ndarray:
        """Return X with a column of ones for the bias, (n, P)."""
        return X if self.intercept_scale is None else np.column_stack([X, np.ones(len(X))])

    def log_joint(self, draws: np.ndarray) -> np.ndarray:
        """Return ln p(y | X, w) + ln p(w) with all constants, for draws (S, C P)."""
        prior = -0.5 * (draws / self.prior_sds) ** 2 - np.log(self.prior_sds) - 0.5 * np.log(2 * np.pi)
        return self.log_likelihood(draws) + prior.sum(axis=1)

    def log_likelihood(self, draws: np.ndarray) -> np.ndarray:
        """Return ln p(y | X, w) for draws (S, C P)."""
        A = self._activations(self.X, draws)
        if self.likelihood == "softmax":
            A = A - special.logsumexp(A, axis=1, keepdims=True)
            return A[:, self.y, np.arange(len(self.y))].sum(axis=1)
        towards = np.where(self.y == 1, A[:, 0], -A[:, 0])
        if self.likelihood == "probit":
            return special.log_ndtr(towards).sum(axis=1)
        if self.likelihood == "label_noise":
            return np.log(self.noise + (1 - 2 * self.noise) * special.expit(towards)).sum(axis=1)
        return special.log_expit(towards).sum(axis=1)

    def probabilities(self, X: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return p(t = k | x, w) for draws (S, C P): (S, n) for class 1, or (S, n, K) for a softmax.

        t is the true class. An observed label is 1 with probability noise + (1 - 2 noise) p.
        """
        A = self._activations(X, draws)
        if self.likelihood == "softmax":
            return np.moveaxis(special.softmax(A, axis=1), 1, 2)
        return special.ndtr(A[:, 0]) if self.likelihood == "probit" else special.expit(A[:, 0])

    def _activations(self, X: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return activations (S, C, n)."""
        return draws.reshape(len(draws), *self.shape) @ self.design(X).T

    def fingerprint(self) -> list[float]:
        """Return a few sums that identify the data."""
        place = np.arange(1, len(self.y) + 1)
        sums = [self.X.sum(), (self.X**2).sum(), place @ self.X.sum(axis=1), self.X_test.sum(), place @ self.y]
        return [float(f"{s:.12g}") for s in sums]


@dataclass(frozen=True, eq=False)
class Gold:
    """A problem and its posterior. ``x_mcse`` is the Monte Carlo standard error of ``x``."""

    problem: Problem
    means: np.ndarray  # (C P,)
    means_mcse: np.ndarray
    sds: np.ndarray  # (C P,)
    sds_mcse: np.ndarray
    correlation: np.ndarray  # (C P, C P)
    quantiles: np.ndarray  # (3, C P) at 2.5, 50 and 97.5 %
    quantiles_mcse: np.ndarray
    probabilities: np.ndarray  # (200,) of class 1, or (200, K): posterior mean of p(t | x) at X_test
    probabilities_mcse: np.ndarray
    log_evidence: float
    log_evidence_se: float
    diagnostics: dict[str, float]  # worst split R-hat and effective size; evidence by importance sampling
    quadrature: dict[str, list[float]] | None  # the same quantities by quadrature, for 1 or 2 parameters

    @property
    def covariance(self) -> np.ndarray:
        return self.correlation * np.outer(self.sds, self.sds)


def load(name: str) -> Gold:
    """Load the summaries of one problem, regenerate its data, and check that they belong together."""
    stored = json.loads((FOLDER / f"{name}.json").read_text())
    problem = make(name)
    if not np.allclose(problem.fingerprint(), stored["fingerprint"], rtol=1e-9):
        raise AssertionError(
            f"{name}: the generator no longer gives the data that {name}.json is about. "
            "Restore the generator, or run ref/gold/make_gold.py again for this problem."
        )
    size = len(stored["means"])
    correlation = np.eye(size)
    correlation[np.tril_indices(size, -1)] = stored["correlation"]
    correlation = np.tril(correlation) + np.tril(correlation, -1).T
    arrays = ["means", "means_mcse", "sds", "sds_mcse", "quantiles", "quantiles_mcse"]
    arrays += ["probabilities", "probabilities_mcse"]
    return Gold(
        problem=problem,
        correlation=correlation,
        log_evidence=stored["log_evidence"],
        log_evidence_se=stored["log_evidence_se"],
        diagnostics=stored["diagnostics"],
        quadrature=stored["quadrature"],
        **{key: np.array(stored[key]) for key in arrays},
    )


# The problems. Only `Generator.random` is used, because its stream is the least likely to change between versions.


def _normals(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return special.ndtri(rng.random(shape))


def _labels(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    return (rng.random(len(p)) < p).astype(int)


def _split(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows, and the last 200 rows for testing."""
    return X[:-N_TEST], X[-N_TEST:]


def _logistic(X: np.ndarray, w: list[float] | np.ndarray, w0: float, rng: np.random.Generator, **prior) -> Problem:
    """Return a problem with labels drawn from the logistic model."""
    X, X_test = _split(X)
    return Problem(X, _labels(rng, special.expit(X @ w + w0)), X_test, **prior)


def one_weight(rng: np.random.Generator) -> Problem:
    """(a) One weight, no bias, 20 rows."""
    return _logistic(_normals(rng, 20 + N_TEST, 1), [1.2], 0.0, rng, intercept_scale=None)


def weight_and_bias(rng: np.random.Generator) -> Problem:
    """(b) One weight and a bias, 30 rows."""
    return _logistic(_normals(rng, 30 + N_TEST, 1), [1.5], -0.7, rng)


def correlated(rng: np.random.Generator) -> Problem:
    """(c) 200 rows, five columns with correlations of 0.8."""
    common = _normals(rng, 200 + N_TEST, 1)
    X = np.sqrt(0.8) * common + np.sqrt(0.2) * _normals(rng, 200 + N_TEST, 5)
    return _logistic(X, [1.0, -1.0, 0.5, 0.0, 0.8], 0.3, rng)


def moderate(rng: np.random.Generator) -> Problem:
    """(d) 100 rows, ten columns."""
    return _logistic(_normals(rng, 100 + N_TEST, 10), np.linspace(-1, 1, 10), 0.5, rng)


def well_identified(rng: np.random.Generator) -> Problem:
    """(e) 1000 rows, eight columns: nearly Gaussian."""
    return _logistic(_normals(rng, 1000 + N_TEST, 8), np.linspace(-0.8, 1.2, 8), -0.4, rng)


def few_rows(rng: np.random.Generator) -> Problem:
    """(f) 60 rows, twenty columns: the prior matters."""
    return _logistic(_normals(rng, 60 + N_TEST, 20), _normals(rng, 20), 0.0, rng)


def unbalanced(rng: np.random.Generator) -> Problem:
    """(g) 400 rows, of which one in twenty has class 1."""
    return _logistic(_normals(rng, 400 + N_TEST, 4), [0.8, -0.6, 0.4, 0.0], -3.2, rng)


def rare_dummy(rng: np.random.Generator) -> Problem:
    """(h) A 0/1 column that is 1 in six rows, all of class 1, so that only the prior bounds its weight."""
    X = np.column_stack([_normals(rng, 300 + N_TEST, 2), rng.random(300 + N_TEST) < 0.02]).astype(float)
    X[:6, 2], X[6:300, 2] = 1.0, 0.0
    problem = _logistic(X, [1.0, -0.5, 0.0], -1.0, rng, scale=10.0)
    problem.y[:6] = 1
    return problem


def separable(rng: np.random.Generator) -> Problem:
    """(i) Linearly separable classes, and a prior scale of 2."""
    X, X_test = _split(_normals(rng, 80 + N_TEST, 2))
    return Problem(X, (X @ np.array([1.0, 0.7]) > 0.2).astype(int), X_test, scale=2.0)


def three_classes(rng: np.random.Generator) -> Problem:
    """(j) Softmax of three classes, 150 rows, three columns."""
    X, X_test = _split(_normals(rng, 150 + N_TEST, 3))
    W = np.array([[1.2, -0.5, 0.0], [-0.8, 0.6, 0.5], [0.0, 0.3, -0.9]])
    P = special.softmax(X @ W.T + np.array([0.3, 0.0, -0.3]), axis=1)
    y = (rng.random((150, 1)) > np.cumsum(P, axis=1)).sum(axis=1)
    return Problem(X, y, X_test, intercept_scale=10.0, likelihood="softmax")


def probit(rng: np.random.Generator) -> Problem:
    """(k) Probit, 150 rows, four columns."""
    X, X_test = _split(_normals(rng, 150 + N_TEST, 4))
    p = special.ndtr(X @ np.array([0.8, -0.5, 0.3, 0.0]) + 0.2)
    return Problem(X, _labels(rng, p), X_test, likelihood="probit")


def label_noise(rng: np.random.Generator) -> Problem:
    """(l) One label in ten flipped, 200 rows, three columns."""
    X, X_test = _split(_normals(rng, 200 + N_TEST, 3))
    y = _labels(rng, special.expit(X @ np.array([2.0, -1.5, 0.5]) + 0.5))
    flipped = rng.random(len(y)) < 0.1
    y = np.where(flipped, 1 - y, y)
    return Problem(X, y, X_test, scale=2.0, likelihood="label_noise", noise=0.1)


def many_dummies(rng: np.random.Generator) -> Problem:
    """(m) A category of twenty rare levels as 0/1 columns, three numeric columns, 500 rows and a rare class."""
    numbers = _normals(rng, 500 + N_TEST, 3)
    share = 0.5 / np.arange(2, 22)
    level = (rng.random((500 + N_TEST, 1)) > np.cumsum(share / share.sum() * 0.6)).sum(axis=1)  # 20 is none of them
    X = np.column_stack([numbers, level[:, None] == np.arange(20)]).astype(float)
    w = np.concatenate([[1.0, -0.7, 0.4], np.tile([-4.0, 0.5, -4.0, 3.0], 5)])
    return _logistic(X, w, -2.0, rng, scale=5.0)


def _softmax(
    rng: np.random.Generator, X: np.ndarray, W: np.ndarray, w0: list[float] | np.ndarray, scale: float
) -> Problem:
    """Return a problem of K classes with labels drawn from the softmax model."""
    X, X_test = _split(X)
    P = special.softmax(X @ W.T + w0, axis=1)
    y = (rng.random((len(X), 1)) > np.cumsum(P, axis=1)).sum(axis=1)
    return Problem(X, y, X_test, scale=scale, intercept_scale=10.0, likelihood="softmax")


def four_classes(rng: np.random.Generator) -> Problem:
    """(n) Softmax of four classes, 80 rows, six columns: the prior matters."""
    return _softmax(rng, _normals(rng, 80 + N_TEST, 6), 1.5 * _normals(rng, 4, 6), [0.5, 0.0, 0.0, -0.5], 1.0)


def ten_classes(rng: np.random.Generator) -> Problem:
    """(o) Softmax of ten classes, 150 rows, three columns."""
    return _softmax(rng, _normals(rng, 150 + N_TEST, 3), 2 * _normals(rng, 10, 3), np.zeros(10), 1.0)


def skewed_classes(rng: np.random.Generator) -> Problem:
    """(p) Three nearly separable classes, 45 rows, four columns, one of them rare, and a prior scale of 5."""
    X = np.column_stack([_normals(rng, 45 + N_TEST, 3), rng.random(45 + N_TEST) < 0.1]).astype(float)
    W = np.array([[4.0, 0.0, 0.5, 0.0], [-1.0, 3.0, 0.0, 0.0], [-2.0, -3.0, 0.0, 4.0]])
    return _softmax(rng, X, W, [0.0, 0.5, -0.5], 5.0)


GENERATORS = [one_weight, weight_and_bias, correlated, moderate, well_identified, few_rows, unbalanced, rare_dummy]
GENERATORS += [separable, three_classes, probit, label_noise, many_dummies]
CLASS_GENERATORS = [four_classes, ten_classes, skewed_classes]
ALL_PROBLEMS = {generate.__name__: (generate, seed) for seed, generate in enumerate(GENERATORS + CLASS_GENERATORS, 1)}
PROBLEMS = [generate.__name__ for generate in GENERATORS]
CLASS_PROBLEMS = [generate.__name__ for generate in CLASS_GENERATORS]  # K classes and skewed posteriors


def make(name: str) -> Problem:
    """Return the problem with a given name."""
    generate, seed = ALL_PROBLEMS[name]
    return replace(generate(np.random.default_rng(seed)), seed=seed)
