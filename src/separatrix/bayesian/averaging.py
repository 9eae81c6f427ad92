# SPDX-License-Identifier: BSD-3-Clause
"""Average a posterior over the scales of its prior.                                                 PRML §3.5

    p(θ | D) = ∫ p(θ | D, η) p(η | D) dη ≈ Σ_j weight_j p(θ | D, η_j),        p(η | D) ∝ p(D | η) p(η)

`tuning` finds the mode η* of p(η | D). If rows are few, many scales explain them, and intervals under η* alone are too
narrow: in simulations, 85 to 94 % of 95 % intervals contain the true weight. Averaged over η, it is 94 to 97 %.

**Nodes.** For one scale, the η_j are the nodes of a Gauss-Hermite rule about η*; their weights follow from the evidence
of fits. For several scales, p(η | D) is taken to be the Gaussian at η*. Its nodes are the corners η* + Σ_k ±u_k with
the signs of a Hadamard matrix and their negatives, which have equal weights and integrate cubic polynomials exactly.
The u_k are the axes of that Gaussian that are also orthogonal in their effects on the activations, largest effect first
(`effect_axes`), so the nodes do not depend on the order of the columns. Fits start at the prediction of a `Parabola`.
For several scales, and if fits are expensive, the prediction replaces a fit.

**Better approximations.** Only the method that tuned the scale is fitted at the nodes. A better Gaussian N(m, S) at η*
is moved to η_j as the tuned Gaussians are: by the linear map that takes N(m_0, A_0⁻¹) at η* to N(m_j, A_j⁻¹),

    θ → m_j + T (θ - m_0),        T = G_j⁻ᵀ G_0ᵀ,        A = G G', G lower triangular

For K classes, T = (A_j⁻¹ A_0)^½, so that the result does not depend on the order of the classes. The same map moves
weighted draws.

**The result** is one Gaussian with the moments of the mixture if this changes probabilities by less than
`MAX_GAUSSIAN_ERROR` on average over rows; otherwise it is the mixture. One Gaussian is not enough if the classes are
nearly separable: the scale may then be large, and few wide nodes determine the variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import NamedTuple, cast

import numpy as np
from scipy import linalg

from separatrix._array import Float
from separatrix._threads import single_thread_blas
from separatrix.bayesian.evidence import LEVEL_STD, Fitter, PriorScales, log_likelihood_near
from separatrix.bayesian.posterior import Approximation, AveragedApproximation
from separatrix.bayesian.predictive import class_probabilities, hermite_nodes
from separatrix.bayesian.sampling import inverse_factor
from separatrix.bayesian.tuning import Parabola
from separatrix.likelihoods import ClassLikelihood
from separatrix.solvers import Factor, Posterior, factorise, has_cheap_hessian
from separatrix.stats import collect_sample
from separatrix.weights import Draws

N_NODES = 5  # nodes for one scale; exact for polynomials of degree 9. With 10, a probability changes by 0.02
# Pairs of nodes for several scales, at least one per axis. On seven small tables with 5 to 12 scales, averages of
# probabilities are off by 0.0002 (at most 0.001); with half of them, of 10 and 12 scales, by 0.002 (0.01).
MIN_PAIRS, MAX_PAIRS = 8, 32
MIN_SPREAD = 0.05  # standard deviation of ln scale below which the average equals the posterior at its mode
MAX_SPREAD = 1.5 * LEVEL_STD  # larger estimates occur only if the evidence is not concave at its maximum
# Fraction of the precision of the tuned Gaussian that a moved one keeps in every direction. Without this limit, some
# standard deviations of a few posteriors of 6 to 20 rows are up to five times too large.
MIN_KEPT_PRECISION = 1 / 8
MAX_SPREAD_RATIO = 1.3  # last change of the spread
MAX_GAUSSIAN_ERROR = 1e-3  # average error of probabilities, up to which a mixture becomes one Gaussian


class Nodes(NamedTuple):
    """Fits at η_j, their weights (J,), the prior variances relative to η* (J, G), and ln p(D) - ln p(D | η*)."""

    fits: tuple[Approximation, ...]
    weights: Float
    widening: Float
    log_ratio: float

    @property
    def average_widening(self) -> Float:
        """Average prior variance of each group, relative to η*, (G,)."""
        return np.asarray(self.weights @ self.widening)


def scale_nodes(
    objective: Posterior, scales: PriorScales, found: Approximation, fitter: Fitter | None, *, n_fits: int = 3
) -> Nodes:
    """Return the nodes of the average; ``found`` is the fit at η* = 0, the prior of ``objective``.

    Without a ``fitter``, there is one node, and ln p(D) follows from the Gaussian at η*. ``n_fits`` is the largest
    number of fits on each side of one scale.
    """
    G = len(scales.labels)
    precision = scale_precision(scales, found, objective)
    values = linalg.eigvalsh(precision)
    spread = np.maximum(values, MAX_SPREAD**-2.0) ** -0.5
    top = scales.log_density(np.zeros(G))[0]
    log_volume = float(0.5 * G * np.log(2 * np.pi) + np.log(spread).sum())
    n_fits = n_fits if has_cheap_hessian(objective) else 0
    is_negligible = fitter is None or spread.max() < MIN_SPREAD
    if not is_negligible and G == 1 and n_fits == 0:
        is_negligible = spread[0] * largest_effect(objective, scales, found) < 0.1  # sd
    if fitter is None or is_negligible:
        return Nodes((found,), np.ones(1), np.ones((1, G)), top + log_volume)
    if G == 1:
        return _nodes_of_one_scale(objective, scales, found, fitter, float(spread[0]), n_fits)
    n_pairs = min(max(MIN_PAIRS, 2 ** int(np.ceil(np.log2(G)))), MAX_PAIRS)
    axes = effect_axes(precision, scale_effect(scales, found, objective))[:, :n_pairs]
    corners = linalg.hadamard(n_pairs)[:, : axes.shape[1]] @ axes.T
    etas, parabola = np.concatenate([corners, -corners]), Parabola(found, objective.prior)
    pairs = [(parabola.under(scales.prior(eta)), eta) for eta in etas]
    pairs.sort(key=lambda pair: pair[0].log_evidence)  # an order of their own, in which draws are moved to them
    fits, etas = tuple(fit for fit, _ in pairs), np.stack([eta for _, eta in pairs])
    return Nodes(fits, np.full(len(etas), 1 / len(etas)), np.exp(2 * etas), top + log_volume)


def merged(nodes: Nodes, others: Nodes, factors: Float) -> Nodes:
    """Merge the nodes of two priors; ``factors`` (G,) are the scales of the second over those of the first.

    Both log ratios are relative to ln p(D | η*) of the first prior, and include the prior probability of their prior.
    """
    total = float(np.logaddexp(nodes.log_ratio, others.log_ratio))
    parts = ((nodes, np.ones(1)), (others, factors**2))
    weights = np.concatenate([np.exp(part.log_ratio - total) * part.weights for part, _ in parts])
    widening = np.concatenate([times * part.widening for part, times in parts])
    return Nodes((*nodes.fits, *others.fits), weights, widening, total)


def _nodes_of_one_scale(
    objective: Posterior, scales: PriorScales, found: Approximation, fitter: Fitter, spread: float, n_fits: int
) -> Nodes:
    """Return Gauss-Hermite nodes of a normal distribution with a spread of its own on each side of η*.

    The spread starts at that of the Gaussian at η*. A fit at the inner node of a side shows how much ln p(D, η) falls
    there, and so the spread that explains it. If that differs much, there is another fit. The nodes of a side are the
    predictions of its last fit. The second side starts at the spread of the first, if that is far from the Gaussian's.
    """
    x, weight = hermite_nodes(N_NODES)
    inner, top = x[-2], scales.log_density(np.zeros(1))[0]
    fits, etas, masses = [found], [0.0], [0.0]
    sd = spread
    for sign in (-1.0, 1.0):
        fit, parabola, side = found, Parabola(found, objective.prior), fitter.fork()
        if abs(np.log(sd / spread)) < np.log(MAX_SPREAD_RATIO):
            sd = spread
        for _ in range(n_fits):
            eta = np.array([sign * inner * sd])
            here = replace(objective, prior=scales.prior(eta))
            ahead = parabola.under(here.prior)
            fit = side.fit(here, ahead.mean, ahead.factor)
            parabola = Parabola(fit, here.prior)
            fall = found.log_evidence + top - fit.log_evidence - scales.log_density(eta)[0]
            before, agreed = sd, inner * sd / np.sqrt(2 * max(fall, 0.05))
            sd = float(np.clip(agreed, sd / 3, min(3 * sd, MAX_SPREAD)))
            if abs(np.log(sd / before)) < np.log(MAX_SPREAD_RATIO):
                break
        masses[0] += 0.5 * sd * weight[N_NODES // 2]
        for z, w in zip(x[-2:], weight[-2:], strict=True):
            etas.append(sign * z * sd)
            node = parabola.under(scales.prior(np.array([etas[-1]])))
            fits.append(fit if node.factor.singular is not None else node)  # rounding can hide a small curvature
            masses.append(sd * w)
    total = sum(masses)  # ∫ p(D, η) dη / p(D, η*), up to √2π
    widening = np.exp(2 * np.array(etas))[:, None]
    log_ratio = top + float(np.log(total) + 0.5 * np.log(2 * np.pi))
    return Nodes(tuple(fits), np.array(masses) / total, widening, log_ratio)


def effect_axes(precision: Float, effect: Float) -> Float:
    """Return axes u_k (G, G) of the Gaussian with a precision: Σ_k u_k u_k' is its covariance, and u_k' F u_l = 0.

    F is the squared ``effect`` of η (`scale_effect`); the first axes have the largest. Their signs depend on no order.
    Changes of several scales may cancel in F, as those of equal columns do. So that rounding errors do not choose the
    axes among them, a small part of the effects of each scale alone is added to F.
    """
    effect = effect + 1e-6 * np.diag(np.diag(effect))
    values, vectors = linalg.eigh(precision)
    root = vectors * np.maximum(values, MAX_SPREAD**-2.0) ** -0.5
    axes = root @ linalg.eigh(root.T @ effect @ root)[1][:, ::-1]
    return np.asarray(axes * np.where((axes**3).sum(axis=0) < 0, -1.0, 1.0))


def scale_precision(scales: PriorScales, found: Approximation, objective: Posterior) -> Float:
    """Return -∂² ln p(D, η)/∂η∂η' (G, G) at η = 0, if the log-likelihood is the parabola of the fit.

    With d = m - m0, S = A⁻¹ and the rows and columns I_g of group g, D_g = -∂Λ/∂η_g = I_g Λ + Λ I_g, so

        -∂² ln p(D)/∂η_g∂η_h = ½ tr[(I_g D_h + D_h I_g) (S + d d')] - ½ tr(D_g S D_h S) - d'D_g S D_h d
    """
    (C, P), G = found.mean.shape, len(scales.labels)
    tuned, d = objective.prior.precision - scales.fixed, found.mean - objective.prior.mean
    at, S = (scales.groups[:, None] == np.arange(G)).astype(np.float64), found.covariance
    if tuned.ndim == 1:
        B, pull = tuned[:, None, None] * S.reshape(C, P, C, P), tuned * d
        first = np.einsum("cpcp->p", B) + (d * pull).sum(axis=0)
        second = np.einsum("cpkq,kqcp->pq", B, B) + 2 * np.einsum("cp,cpkq,kq->pq", d, B, pull)
        of_data = 2 * np.diag(at.T @ first) - 2 * at.T @ second @ at
    else:
        at, flat, L = np.tile(at, (C, 1)), d.ravel(), np.kron(np.eye(C), tuned)
        B, moved = L @ S, at * (L @ flat)[:, None] + L @ (at * flat[:, None])
        first = L * (S + np.outer(flat, flat))
        of_data = np.diag(at.T @ first.sum(axis=1)) + at.T @ (first - B * B.T - (B @ L) * S) @ at
        of_data -= moved.T @ S @ moved
    return np.asarray(0.5 * (of_data + of_data.T) + scales.log_density_precision())


def scale_effect(scales: PriorScales, found: Approximation, objective: Posterior) -> Float:
    """Return F (G, G): a small change dη moves the activations of the rows by dη'F dη.

    With Λ_g the precision of group g, d = m - m0, S = A⁻¹ and H the Hessian of the log-likelihood, ∂m/∂η_g = 2 S Λ_g d
    and ∂S/∂η_g = 2 S Λ_g S, so

        F_gh = 4 d'Λ_g S H S Λ_h d + 2 tr(Λ_g S H S Λ_h S H S)

    are squared changes of the mean in units of H⁻¹, and half the squared changes of the covariance. A weight that no
    row depends on, as that of a level without rows, has no effect.
    """
    S, prior, W = found.covariance, objective.prior, found.mean.size
    tuned = replace(prior, precision=prior.precision - scales.fixed).matrix()
    d = (found.mean - prior.mean).ravel()
    at = np.tile(scales.groups[:, None] == np.arange(len(scales.labels)), (W // len(scales.groups), 1))
    slopes = at * (tuned @ d)[:, None] + tuned @ (at * d[:, None])
    informed = S - S @ prior.matrix() @ S  # S H S
    change = tuned @ informed
    return np.asarray(slopes.T @ informed @ slopes + 2 * at.T.astype(np.float64) @ (change * change.T) @ at)


def largest_effect(objective: Posterior, scales: PriorScales, found: Approximation) -> float:
    """Return the largest change of a mean or variance with the logarithm of one scale, in units of sd or variance.

    For the part Λ of the precision that is tuned, ∂m/∂η = 2 S Λ (m - m0) and ∂S/∂η = 2 S Λ S.
    """
    S, away = found.covariance, (found.mean - objective.prior.mean).ravel()
    pull = replace(objective.prior, precision=objective.prior.precision - scales.fixed).matrix() @ S
    of_mean, of_variance = away @ pull, np.einsum("ij,ji->i", S, pull)
    return float(2 * max((np.abs(of_mean) / np.sqrt(np.diag(S))).max(), (of_variance / np.diag(S)).max()))


def average(objective: Posterior, found: Approximation, best: Approximation, nodes: Nodes) -> Approximation:
    """Return the average of a posterior over the scales.

    ``found`` is the fit of the tuned method at η*, the prior of ``objective``; ``best`` is a better one at the same
    prior, or the same. If there are several nodes, ln p(D | mean) may take a pass.
    """
    log_evidence = best.log_evidence + nodes.log_ratio
    if len(nodes.fits) == 1:
        return replace(best, log_evidence=log_evidence)
    moved = _moved(best, found, nodes.fits)
    weights, means = nodes.weights, np.stack([node.mean for node in moved])
    mean = np.tensordot(weights, means, 1)
    away = (means - mean).reshape(len(moved), -1)
    between = (away * weights[:, None]).T @ away

    def factor_of(roots: list[Float]) -> Factor:
        """Factorise the inverse covariance of the mixture."""
        return inverse_factor(between + sum(w * (root @ root.T) for w, root in zip(weights, roots, strict=True)))

    one = replace(
        best,
        mean=mean,
        factor=factor_of([node.factor.root for node in moved]),
        moments=None if best.moments is None else factor_of([node.root for node in moved]),
        log_likelihood=log_likelihood_near(objective, found, mean),
        log_evidence=log_evidence,
    )
    rows = collect_sample((objective if objective.sample is None else objective.of_sample()).source, 256)
    block, likelihood = rows.as_block(), cast(ClassLikelihood, objective.likelihood)
    a = (q.activations(block.X, objective.design) for q in (one, *moved))
    P, *others = (class_probabilities(likelihood, each, "exact") for each in a)
    errors = np.abs(np.tensordot(weights, others, 1) - P).mean(axis=1)
    if np.average(errors, weights=block.weight) <= MAX_GAUSSIAN_ERROR:
        return one
    widening = nodes.widening[:, 0] / nodes.average_widening[0]
    known = {each.name: getattr(one, each.name) for each in fields(one)}
    return AveragedApproximation(**known, weights=weights, nodes=moved, widening=widening)


def average_draws(draws: Draws, found: Approximation, nodes: Nodes, rng: np.random.Generator) -> Draws:
    """Move each weighted draw of the posterior at η* to a node, with its weight as probability.

    Multiples of the golden ratio choose the nodes, so that those of neighbouring draws are balanced.
    """
    u = (rng.random() + np.arange(len(draws.theta)) * (5**0.5 - 1) / 2) % 1.0
    node_of = np.minimum(np.searchsorted(np.cumsum(nodes.weights), u), len(nodes.weights) - 1)
    theta = draws.theta.copy()
    for j, fit in enumerate(nodes.fits):
        at = node_of == j
        away = (theta[at] - found.mean).reshape(-1, found.mean.size)  # of no draws, if a node has hardly any weight
        theta[at] = fit.mean + (away @ _transport(found, fit)[0].T).reshape(theta[at].shape)
    return replace(draws, theta=theta)


def _moved(best: Approximation, found: Approximation, fits: Sequence[Approximation]) -> tuple[Approximation, ...]:
    """Move the better Gaussian from η*, where ``found`` is the tuned one, to the node of each fit.

    The Gaussians of one output are products of the prior and a Gaussian of the likelihood. The better one replaces the
    latter, which adds the same difference to the precision, and to the precision times the mean, at every node. If a
    sum is too small (`MIN_KEPT_PRECISION`), and for K classes, the map of the tuned Gaussians moves the better one
    (`_transport`), which takes five times as long: a third of a fit of 1 500 x 300 with 64 nodes.
    """
    if best.factor is found.factor and best.moments is None and (best.mean == found.mean).all():
        return tuple(replace(best, mean=fit.mean, factor=fit.factor) for fit in fits)
    changes = _changes(best, found) if len(found.mean) == 1 else None
    return tuple((changes and _added(best, fit, *changes)) or _transported(best, found, fit) for fit in fits)


def _changes(best: Approximation, found: Approximation) -> tuple[Float, Float | None, Float]:
    """Return the differences of the better Gaussian in precision, of both kinds, and in precision times mean."""
    A, precision = found.factor.matrix, best.factor.matrix
    moments = None if best.moments is None else best.moments.matrix - A
    return precision - A, moments, precision @ best.mean[0] - A @ found.mean[0]


def _added(
    best: Approximation, fit: Approximation, change: Float, of_moments: Float | None, pull: Float
) -> Approximation | None:
    """Return the Gaussian at the node of a fit, or None if a precision is too small (`MIN_KEPT_PRECISION`)."""
    B, free = fit.factor.matrix, np.zeros(len(fit.factor.matrix), dtype=bool)
    changes = [change, *([] if of_moments is None else [of_moments])]
    for rest in ((1 - MIN_KEPT_PRECISION) * B + each for each in changes):
        if not (np.diag(rest) > 0).all() or factorise(rest, 1, free).singular is not None:
            return None
    factors = [factorise(B + each, 1, free) for each in changes]
    mean = factors[0].solve(B @ fit.mean[0] + pull)[None, :]
    return replace(best, mean=mean, factor=factors[0], moments=factors[1] if len(factors) > 1 else None)


def _transported(best: Approximation, found: Approximation, fit: Approximation) -> Approximation:
    """Move the better Gaussian by the linear map that takes the tuned Gaussian at η* to that of the fit."""
    T, inverse = _transport(found, fit)

    def factor_of(factor: Factor) -> Factor:
        """Factorise T⁻ᵀ A T⁻¹."""
        if factor is found.factor:
            return fit.factor
        with single_thread_blas():
            F = inverse.T @ _lower(factor)
            return factorise(F @ F.T, 1, np.zeros(len(F), dtype=bool))

    mean = fit.mean + (T @ (best.mean - found.mean).ravel()).reshape(fit.mean.shape)
    moments = None if best.moments is None else factor_of(best.moments)
    return replace(best, mean=mean, factor=factor_of(best.factor), moments=moments)


def _transport(found: Approximation, fit: Approximation) -> tuple[Float, Float]:
    """Return T = (A⁻¹ B)^-½ and its inverse; T maps the covariance of one Gaussian to another, T A⁻¹ T' = B⁻¹.

    A Cholesky factor would be cheaper, but the map would depend on the order of the weights.
    """
    A, B = _lower(found.factor), _lower(fit.factor)
    with single_thread_blas():
        mixed = linalg.solve_triangular(A, B, lower=True)
        values, axes = linalg.eigh(mixed @ mixed.T)
        left, right = found.factor.root @ axes, axes.T @ A.T
    return (left / np.sqrt(values)) @ right, (left * np.sqrt(values)) @ right


def _lower(factor: Factor) -> Float:
    """Return the lower triangular G with G G' equal to the factorised matrix."""
    return np.asarray(factor.scale[:, None] * np.tril(factor.L))
