"""Small posteriors of linear models, and the same objective written directly in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special

from separatrix.likelihoods import Logit, Softmax
from separatrix.priors import Flat, Gaussian, penalty
from separatrix.rows import as_source
from separatrix.solvers import Posterior, Units, pose

FLAT = Flat()


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, targets and a prior: -ln p(t | a) - ln p(W), with a = X W' + w0 + offset."""

    X: Any
    t: Any
    prior: Any = FLAT
    weight: Any = None
    offset: Any = None
    fit_intercept: bool = True

    @property
    def n_outputs(self) -> int:
        n_classes = self.t.shape[1] if self.t.ndim == 2 else 2 if self.t.dtype.kind == "f" else int(self.t.max()) + 1
        return 1 if n_classes == 2 else n_classes

    def posterior(self, store=np.asarray, rows_per_block=None) -> Posterior:
        """The objective that solvers minimise; its source counts passes."""
        source = as_source(store(self.X)).with_numbers(self.t, self.weight, self.offset)
        if rows_per_block is not None:
            source = replace(source, height=rows_per_block)
        units = Units.of(source, fit_intercept=self.fit_intercept)
        design = units.design(fit_intercept=self.fit_intercept)
        shape = (self.n_outputs, design.width)
        prior = penalty(self.prior, shape, fit_intercept=self.fit_intercept, columns=source.columns)
        likelihood = Logit() if self.n_outputs == 1 else Softmax(self.n_outputs)
        return Posterior(source.with_numbers(self.t, self.weight, self.offset), likelihood, prior, design, units)

    def posed(self, store=np.asarray) -> Posterior:
        """The objective of an estimator: with a sample of the rows if there are many."""
        source = as_source(store(self.X)).with_numbers(self.t, self.weight, self.offset)
        likelihood = Logit() if self.n_outputs == 1 else Softmax(self.n_outputs)
        return pose(source, likelihood, self.prior, fit_intercept=self.fit_intercept)

    def plain(self, flat):
        """The objective and its gradient at (W, w0), as one flat vector, written independently of the library."""
        N, M = self.X.shape
        W, w0 = np.split(flat.reshape(self.n_outputs, -1), [M], axis=1)
        a = self.X.astype(np.float64) @ W.T + (w0.T if self.fit_intercept else 0.0)
        a = a if self.offset is None else a + self.offset[:, None]
        weight = np.ones(N) if self.weight is None else self.weight
        if self.n_outputs == 1:
            value = weight @ (np.logaddexp(0, a[:, 0]) - self.t * a[:, 0])
            residual = special.expit(a) - self.t[:, None]
        else:
            T = self.t if self.t.ndim == 2 else np.eye(self.n_outputs)[self.t]
            value = weight @ (special.logsumexp(a, axis=1) * T.sum(axis=1) - (T * a).sum(axis=1))
            residual = special.softmax(a, axis=1) - T
        residual = weight[:, None] * residual
        grad = residual.T @ self.X.astype(np.float64)
        if isinstance(self.prior, Gaussian):
            away = W - self.prior.mean
            covariance = self.prior.covariance
            if covariance is None:
                covariance = np.diag(np.broadcast_to(self.prior.scale, M) ** 2.0)
            pull = np.linalg.solve(covariance, away.T).T
            value, grad = value + 0.5 * (away * pull).sum(), grad + pull
        if self.fit_intercept:
            grad = np.column_stack([grad, residual.sum(axis=0)])
        return value, grad.ravel()

    def oracle(self):
        """The optimum by SciPy's BFGS on `plain`, in units of the columns' spread: (W, w0)."""
        M = self.X.shape[1]
        spread = np.append(self.X.std(axis=0), 1.0)[: M + self.fit_intercept]
        scale = np.tile(spread, self.n_outputs)

        def scaled(z):
            value, grad = self.plain(z / scale)
            return value, grad / scale

        with np.errstate(all="ignore"):
            found = optimize.minimize(scaled, np.zeros(len(scale)), jac=True, method="BFGS", options={"gtol": 1e-9})
        assert np.abs(found.jac).max() < 1e-6 * len(self.X), found.message
        return identified(np.split((found.x / scale).reshape(self.n_outputs, -1), [M], axis=1), self)


def identified(coefficients, problem):
    """(W, w0) up to a vector added to all K classes, which the likelihood does not determine without a prior."""
    W, w0 = (np.asarray(part, dtype=np.float64).reshape(problem.n_outputs, -1) for part in coefficients)
    if problem.n_outputs > 1:
        W = W if isinstance(problem.prior, Gaussian) else W - W.mean(axis=0)
        w0 = w0 - w0.mean(axis=0)
    return W, w0


def overlapping(n=240, n_features=4, n_classes=2, seed=0):
    """Rows with an offset and correlated columns, and labels that a linear model explains in part."""
    rng = np.random.default_rng(seed)
    X = 2.0 + rng.normal(size=(n, n_features)) @ (np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features)))
    W = rng.normal(size=(n_classes, n_features)) / np.sqrt(n_features)
    return X, ((X - 2.0) @ W.T + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def _problems():
    rng = np.random.default_rng(1)
    X, t = overlapping()
    X3, t3 = overlapping(n_classes=3)
    weight = rng.integers(0, 4, size=len(X)).astype(np.float64)
    offset = rng.normal(size=len(X))
    L = rng.normal(size=(4, 4))
    shares = rng.dirichlet([0.5, 0.5, 0.5], size=len(X))
    return {
        "logit": Problem(X, t, Gaussian(scale=1.0)),
        "logit_flat": Problem(X, t),
        "logit_mean": Problem(X, t, Gaussian(scale=[0.1, 1.0, 2.0, 0.5], mean=[1.0, 0.0, -1.0, 0.5])),
        "logit_covariance": Problem(X, t, Gaussian(covariance=L @ L.T + np.eye(4))),
        "logit_weights_offset": Problem(X, t, Gaussian(scale=2.0), weight=weight, offset=offset),
        "logit_no_intercept": Problem(X - 1.5, t, Gaussian(scale=1.0), fit_intercept=False),
        "logit_soft": Problem(X, shares[:, 0].copy(), Gaussian(scale=1.0)),
        "logit_units": Problem(X * np.array([1e-3, 1.0, 1e2, 1e4]), t),
        "softmax": Problem(X3, t3, Gaussian(scale=1.0)),
        "softmax_flat": Problem(X3, t3),
        "softmax_weights_offset": Problem(X3, t3, Gaussian(scale=2.0), weight=weight, offset=offset),
        "softmax_soft": Problem(X3, shares, Gaussian(scale=1.0)),
    }


PROBLEMS = _problems()
