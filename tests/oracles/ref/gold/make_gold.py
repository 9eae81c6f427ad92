"""Compute the reference posteriors: Hamiltonian Monte Carlo, bridge sampling, quadrature. Tests never run this.

    PYTHONPATH=tests OMP_NUM_THREADS=1 python tests/oracles/ref/gold/make_gold.py [problem ...]

The script does not use the library. It first checks the compiled density against gold.py, which uses NumPy. A file is
written only if the chains agree with each other and with importance sampling. README.md describes the content.
"""

from __future__ import annotations

import json
import math
import sys
import time

import numpy as np
from scipy import optimize, special, stats

from oracles.gold import ALL_PROBLEMS, FOLDER, Problem, make
from oracles.ref.gold.chains import CHAINS, DRAWS, effective_size, in_batches, log_joint_grad, run_chain, split_rhat

LIKELIHOODS = {"logit": 0, "probit": 1, "label_noise": 2, "softmax": 3}
LEVELS = (0.025, 0.5, 0.975)


def bridge(problem: Problem, x: np.ndarray, efficiency: float, rng: np.random.Generator) -> dict:
    """Return ln p(D) by bridge sampling (Meng & Wong 1996) with a Student's t fitted to the first half of each chain.

    The standard error is Frühwirth-Schnatter's (2004). Draws from the same t give estimates of evidence and
    means by importance sampling, which depend on the chains only through the proposal.
    """
    half = x.shape[1] // 2
    first, second = x[:, :half].reshape(-1, x.shape[2]), x[:, half:].reshape(-1, x.shape[2])[::2]
    q = stats.multivariate_t(first.mean(axis=0), np.atleast_2d(np.cov(first.T)), df=8, seed=rng)
    proposed = q.rvs(len(second)).reshape(second.shape)
    l1 = _in_parts(problem.log_joint, second) - q.logpdf(second)
    l2 = _in_parts(problem.log_joint, proposed) - q.logpdf(proposed)
    n1, n2 = len(l1), len(l2)
    s1, s2 = n1 / (n1 + n2), n2 / (n1 + n2)
    log_z = special.logsumexp(l2) - np.log(n2)
    for _ in range(1000):
        top = special.logsumexp(l2 - np.logaddexp(np.log(s1) + l2, np.log(s2) + log_z)) - np.log(n2)
        bottom = special.logsumexp(-np.logaddexp(np.log(s1) + l1, np.log(s2) + log_z)) - np.log(n1)
        change, log_z = top - bottom - log_z, top - bottom
        if abs(change) < 1e-12:
            break
    f1 = np.exp(-np.logaddexp(np.log(s1) + l1 - log_z, np.log(s2)))
    f2 = np.exp(l2 - log_z - np.logaddexp(np.log(s1) + l2 - log_z, np.log(s2)))
    ess = min(1.0, 2 * efficiency) * n1  # every other draw is used, so they are less correlated
    error = math.sqrt(f2.var() / f2.mean() ** 2 / n2 + f1.var() / f1.mean() ** 2 / ess)
    r = np.exp(l2 - l2.max())
    weights = r / r.sum()
    means = weights @ proposed
    return {
        "log_evidence": log_z,
        "log_evidence_se": error,
        "importance": np.log(r.mean()) + l2.max(),
        "importance_se": r.std() / r.mean() / math.sqrt(n2),
        "means": means,
        "means_se": np.sqrt(weights**2 @ (proposed - means) ** 2),
    }


def _in_parts(function, draws: np.ndarray) -> np.ndarray:
    return np.concatenate([function(part) for part in np.array_split(draws, max(1, len(draws) // 1000))])


def quadrature(problem: Problem, mode: np.ndarray, S: np.ndarray) -> dict | None:
    """Compute all summaries by the trapezoidal rule, whose error decreases faster than any power of the spacing."""
    D = len(mode)
    if D > 2:
        return None
    L = np.linalg.cholesky(S)
    line = np.linspace(-15, 15, 601)
    v = np.stack(np.meshgrid(*[line] * D, indexing="ij"), axis=-1).reshape(-1, D)
    w = mode + v @ L.T
    log_p = _in_parts(problem.log_joint, w)
    log_mass = special.logsumexp(log_p)
    weights = np.exp(log_p - log_mass)
    means = weights @ w
    return {
        "means": means,
        "sds": np.sqrt(weights @ (w - means) ** 2),
        "probabilities": sum(
            weights[i : i + 1000] @ problem.probabilities(problem.X_test, w[i : i + 1000])
            for i in range(0, len(w), 1000)
        ),
        "log_evidence": log_mass + D * np.log(line[1] - line[0]) + np.log(np.diag(L)).sum(),
    }


def laplace(data: tuple, D: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode and the inverse Hessian there, by differences of gradients; chains start from them."""

    def objective(w):
        grad = np.empty(D)
        return -log_joint_grad(w, *data, grad), -grad

    mode = optimize.minimize(objective, np.zeros(D), jac=True, method="BFGS", options={"gtol": 1e-7}).x
    H = np.array([(objective(mode + e)[1] - objective(mode - e)[1]) / 2e-4 for e in 1e-4 * np.eye(D)])
    return mode, np.linalg.inv(0.5 * (H + H.T))


def check_density(problem: Problem, data: tuple, D: int) -> None:
    """Check the compiled density against gold.py, and its gradient against finite differences."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(20, D)) * problem.prior_sds
    grads = np.empty((20, D))
    values = np.array([log_joint_grad(w, *data, grad) for w, grad in zip(W, grads, strict=True)])
    plain = problem.log_joint(W)
    assert np.ptp(plain - values) < 1e-8 * np.abs(plain).max(), "densities differ"
    h = 1e-5 * problem.prior_sds
    for i in range(D):
        e = h[i] * np.eye(D)[i]
        slope = (problem.log_joint(W + e) - problem.log_joint(W - e)) / (2 * h[i])
        assert np.allclose(grads[:, i], slope, rtol=1e-4, atol=1e-3), "gradients differ"


def make_gold(name: str) -> dict:
    """Return the content of the file of one problem."""
    problem = make(name)
    C, P = problem.shape
    kind = LIKELIHOODS[problem.likelihood]
    Phi = np.ascontiguousarray(problem.design(problem.X))
    data = (Phi, problem.y.astype(np.int64), problem.prior_sds**-2.0, kind, problem.noise, C)
    check_density(problem, data, C * P)
    mode, S = laplace(data, C * P)
    runs = [run_chain(data, mode, S, 1000 * problem.seed + chain) for chain in range(CHAINS)]
    x = np.stack([draws for draws, _ in runs])
    flat = x.reshape(-1, C * P)
    means, sds = flat.mean(axis=0), flat.std(axis=0, ddof=1)
    squares = (x - means) ** 2
    size, size_squares = effective_size(x), effective_size(squares)
    rhat = max(split_rhat(x).max(), split_rhat(squares).max())

    def average(draws: np.ndarray) -> np.ndarray:
        return problem.probabilities(problem.X_test, draws).mean(axis=0)

    evidence = bridge(problem, x, float(size.min()) / len(flat), np.random.default_rng(problem.seed))
    means_mcse = sds / np.sqrt(size)
    gap = np.abs(evidence["means"] - means) / np.hypot(means_mcse, evidence["means_se"])
    checks = {
        "rhat": rhat,
        "effective_size": min(size.min(), size_squares.min()),
        "accepted": float(np.mean([info["accepted"] for _, info in runs])),
        "log_evidence_importance": evidence["importance"],
        "log_evidence_importance_se": evidence["importance_se"],
        "largest_gap_to_importance": gap.max(),
    }
    assert rhat < 1.005, checks
    assert checks["effective_size"] > 20_000, checks
    assert gap.max() < 5, checks
    return {
        "name": name,
        "seed": problem.seed,
        "prior": {"scale": problem.scale, "intercept_scale": problem.intercept_scale},
        "likelihood": {"name": problem.likelihood, "noise": problem.noise},
        "fingerprint": problem.fingerprint(),
        "draws": f"{CHAINS} x {DRAWS}",
        "diagnostics": checks,
        "means": means,
        "means_mcse": means_mcse,
        "sds": sds,
        "sds_mcse": squares.reshape(-1, C * P).std(axis=0) / (2 * sds * np.sqrt(size_squares)),
        "correlation": np.atleast_2d(np.corrcoef(flat.T))[np.tril_indices(C * P, -1)],
        "quantiles": np.quantile(flat, LEVELS, axis=0),
        "quantiles_mcse": in_batches(x, lambda part: np.quantile(part, LEVELS, axis=0)),
        "log_evidence": evidence["log_evidence"],
        "log_evidence_se": evidence["log_evidence_se"],
        "probabilities": np.mean([average(part) for part in np.split(flat, 100)], axis=0),
        "probabilities_mcse": in_batches(x, average),
        "quadrature": quadrature(problem, mode, S),
    }


def rounded(value, key: str = ""):
    """Round values: errors to 3 digits, correlations to 5 places, the rest to 8 digits."""
    if isinstance(value, dict):
        return {k: rounded(v, k) for k, v in value.items()}
    if isinstance(value, np.ndarray | list):
        return [rounded(v, key) for v in value]
    if isinstance(value, float | np.floating):
        if key == "correlation":
            return round(float(value), 5)
        digits = 12 if key == "fingerprint" else 3 if key.endswith(("mcse", "_se")) else 8
        return float(f"{value:.{digits}g}")
    return value


def write(name: str) -> None:
    start = time.perf_counter()
    record = rounded(make_gold(name))
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    (FOLDER / f"{name}.json").write_text(f"{{\n{lines}\n}}\n")
    print(f"{name:16s} {time.perf_counter() - start:5.1f} s", record["diagnostics"], record["log_evidence"], flush=True)


if __name__ == "__main__":
    for problem_name in sys.argv[1:] or ALL_PROBLEMS:
        write(problem_name)
