# SPDX-License-Identifier: BSD-3-Clause
"""The scale of the prior of K classes by Laplace's evidence, without a matrix of all weights.           PRML §3.5, §4.4

The full precision H of C classes is a (CP, CP) matrix. Its Gaussian without coupling between contrasts, with precision
M (`ByClassApproximation`), takes 1/C² of the time, but the evidence with |M| in place of |H| is too low. The difference

    ½ (ln |M| - ln |H|) = -½ tr ln E,        E = R' H R,        R R' = M⁻¹

is tens of nats and grows with the scale of the prior, so that the best scale would be too small. The trace is estimated
by Lanczos' method: for a vector z of random signs, z' ln(E) z has the mean tr ln E, and k products with E give a
tridiagonal matrix (k, k) whose eigenvalues and eigenvectors integrate ln over the spectrum of E that z sees. All
eigenvalues of E are near one, so few products are enough, and a product is a sum over rows.

Ubaru, Chen & Saad (2017).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix._array import Float
from separatrix.bayesian.evidence import LEVEL_STD, PriorScales
from separatrix.bayesian.posterior import ByClassApproximation, laplace_by_class, row_squares
from separatrix.bayesian.sampling import MAX_DRAW_ACTIVATIONS
from separatrix.bayesian.tuning import TuningReport, TuningStatus, TuningStep
from separatrix.likelihoods import Likelihood
from separatrix.rows import Block
from separatrix.solvers import Auto, Posterior
from separatrix.stats import Design, Grad

N_PROBES, N_LANCZOS_STEPS = 16, 12
MIN_OFF_DIAGONAL = 1e-6  # entry of the tridiagonal matrix below which a probe has seen its whole spectrum
MAX_FITS, LEVEL_STEP, LEVEL_TOL = 12, 0.7, 0.2  # fits; steps of the logarithm of the scale, and its accuracy
MODE_TOL = 1e-5  # tolerance of modes in tuning; the error of the evidence is its square


def tune_by_class(objective: Posterior, scales: PriorScales, tol: float) -> tuple[TuningReport, Float]:
    """Find the most probable η of one scale by Laplace's evidence; return a report, and the last mode (C, P).

    ln p(D, η) is nearly a parabola. Steps of about `LEVEL_STEP` end if the middle one of three neighbours is the
    highest, and η is the vertex of the parabola through them. The first step is that of MacKay's equation (PRML 3.92),
    which misses the coupling and the movement of the mode, and so leads to scales that are too small.
    """
    low, high = (float(bound[0]) for bound in scales.bounds(objective))
    eta, mode, values = float(np.clip(0.0, low, high)), np.zeros(objective.shape), dict[float, float]()
    status = TuningStatus.MAX_STEPS
    while len(values) < MAX_FITS:
        here = replace(objective, prior=scales.prior(np.array([eta])))
        mode = Auto(max(tol, MODE_TOL)).minimise(here, mode).value
        q = laplace_by_class(here, mode)
        log_density, pull = scales.log_density(np.array([eta]))
        values[eta] = q.log_evidence - 0.5 * log_det_ratio(here, q) + log_density
        x = sorted(values)
        best = x.index(max(values, key=values.__getitem__))
        if len(x) == 1:
            slope, steepness = level_slope(scales, eta, q)
            step = (slope + float(pull[0])) / (steepness + LEVEL_STD**-2) + LEVEL_STEP
            step = LEVEL_STEP if abs(step) < 0.5 * LEVEL_STEP else float(np.clip(step, -2 * LEVEL_STEP, 2 * LEVEL_STEP))
        elif 0 < best < len(x) - 1:
            near = x[best - 1 : best + 2]
            (left, right), (rise, fall) = np.diff(near), np.diff([values[each] for each in near])
            step = 0.5 * (rise * right**2 + fall * left**2) / (rise * right - fall * left)
            if abs(step) < LEVEL_TOL:
                eta, status = x[best] + step, TuningStatus.CONVERGED
                break
        else:
            step = LEVEL_STEP if best else -LEVEL_STEP
        eta = float(np.clip(x[best] + step, low, high))
        if eta in values:  # the best scale is a bound
            status = TuningStatus.CONVERGED
            break
    factor = np.exp([eta])
    trace = tuple(
        TuningStep(np.array([each]), values[each], np.full(1, np.nan)) for each in (next(iter(values)), x[best])
    )
    of_columns = np.full(len(objective.design.origin), factor[0])
    unknown = np.full(1, np.nan)  # the gradient, which the search does not use
    report = TuningReport(scales.labels, factor, of_columns, unknown, status, (), trace, len(values))
    return report, mode


def level_slope(scales: PriorScales, eta: float, q: ByClassApproximation) -> tuple[float, float]:
    """Return ∂ ln p(D)/∂η and -∂² ln p(D)/∂η², if the log-likelihood is the parabola of q.

    With λ the tuned precisions and d = m - m0, along each axis,

        ∂ ln p(D)/∂η = d'Λd + tr ΛS - n,        -∂² ln p(D)/∂η² = 2 (d'Λd + tr ΛS - tr ΛSΛS) - 4 d'ΛSΛd
    """
    tuned = np.exp(-2 * eta) * scales.tuned
    away, slope, steepness = q.axes.T @ (q.mean - scales.mean), 0.0, 0.0
    for d, factor in zip(away, q.factors, strict=True):
        R = factor.root
        W = R.T @ (tuned[:, None] * R)
        square = float(tuned @ (d**2 + row_squares(R)))
        slope += square - int((tuned > 0).sum())
        steepness += 2 * (square - float((W**2).sum())) - 4 * float(np.sum((R.T @ (tuned * d)) ** 2))
    return slope, max(steepness, 0.0)


def log_det_ratio(objective: Posterior, q: ByClassApproximation) -> float:
    """Estimate ln |H| - ln |M| at the mean of q, with the full precision H. The random signs are always the same."""
    D = q.mean.size
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(N_PROBES, *q.mean.shape))
    z = np.einsum("ki,skp->sip", q.axes, signs).reshape(N_PROBES, D) / np.sqrt(D)  # does not depend on signs of axes
    before, beta = np.zeros_like(z), np.zeros(N_PROBES)
    T = np.zeros((N_PROBES, N_LANCZOS_STEPS, N_LANCZOS_STEPS))
    for k in range(N_LANCZOS_STEPS):
        v = q.from_unit(z) - q.mean
        product = objective.reduce(curvature_products, theta=q.mean, V=v).grad
        pull = objective.prior.dot(v.reshape(-1, v.shape[2])).reshape(product.shape)
        w = q.to_unit_slope(product + pull) - beta[:, None] * before
        alpha = np.einsum("sd,sd->s", z, w)
        w -= alpha[:, None] * z
        T[:, k, k] = np.where((beta > MIN_OFF_DIAGONAL) | (k == 0), alpha, 1.0)  # such a probe has no weight here
        beta = np.sqrt(row_squares(w))
        beta[beta <= MIN_OFF_DIAGONAL] = 0.0
        if k + 1 < N_LANCZOS_STEPS:
            T[:, k, k + 1] = T[:, k + 1, k] = beta
        before, z = z, np.divide(w, beta[:, None], out=np.zeros_like(w), where=beta[:, None] > 0)
    values, vectors = np.linalg.eigh(T)
    of_probes = (vectors[:, 0] ** 2 * np.log(np.maximum(values, np.finfo(float).tiny))).sum(axis=1)
    return D * float(of_probes.mean())


def curvature_products(block: Block, theta: Float, V: Float, likelihood: Likelihood, design: Design) -> Grad:
    """Return H V of one block, without the prior, for the Hessian at θ and vectors V (S, C, P)."""
    S, C, P = V.shape
    total, step = np.zeros(V.shape), max(1, MAX_DRAW_ACTIVATIONS // (S * C))
    for start in range(0, len(block), step):
        rows = block.take(np.arange(start, min(start + step, len(block))))
        curvature = likelihood.derivatives(design.activate(rows, theta), rows.targets).curvature
        Phi, unit = design.single(rows.X)
        flat = (V.swapaxes(0, 1) * unit).reshape(C * S, P).astype(np.float32)
        A = (flat @ Phi.T).reshape(C, S, len(rows))
        p = np.asarray(curvature.p.T, dtype=np.float32)[:, None]
        A -= (p * A).sum(axis=0)
        A *= p if rows.weight is None else p * rows.weight.astype(np.float32)
        total += (A.reshape(C * S, -1) @ Phi).reshape(C, S, P).swapaxes(0, 1) * unit
    return Grad(total)
