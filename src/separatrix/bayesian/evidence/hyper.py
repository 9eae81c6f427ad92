# SPDX-License-Identifier: BSD-3-Clause
"""What can be tuned in a prior: by what factor each group of columns widens its scales.

    Λ(η) = Λ_fixed + Σ_g e^(-2 η_g) Λ_g,        η_g = ln (scale / scale given)

One group of all columns is the isotropic prior, or the shape of any prior given, made wider or narrower as a whole; a
group for each column is automatic relevance determination; the user may name groups. Outputs share their scales. The
prior of the bias, also where it is about x = 0 and so couples the weights (`Penalty.about`), stays as it is.

Scales are sought between bounds that have a meaning. The prior standard deviation of a weight, per standard deviation
of its column, is at most `WIDEST`: the column alone then turns a probability from 0 to 1 within a thousandth of its
spread. And it is at least `NARROWEST` of the narrowest posterior that so many rows could give, where the column is out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._array import Codes, Float, bincount
from separatrix.exceptions import DataError
from separatrix.priors import Gaussian, Penalty
from separatrix.solvers import Posterior

__all__ = ["Hyper", "hyper", "rescaled"]

WIDEST = 1e3
NARROWEST = 1e-3
DIAGONAL = 1e-12  # off it, relative to it: nothing but rounding
FIXED = -1  # the group of a weight whose prior is not tuned


@dataclass(frozen=True, eq=False)
class Hyper:
    """Λ(η): the group of each of P weights (-1: not tuned), and the two parts of the precision at η = 0."""

    groups: Codes
    labels: tuple[Any, ...]
    mean: Float
    fixed: Float
    tuned: Float

    @property
    def size(self) -> int:
        """G."""
        return len(self.labels)

    def per_weight(self, eta: Float) -> Float:
        """η of each weight's group, (P,); zero where it has none."""
        return np.asarray(np.append(eta, 0.0)[self.groups])

    def prior(self, eta: Float) -> Penalty:
        """The prior at η."""
        tuned = self._at(eta)
        if self.fixed.ndim > tuned.ndim:
            tuned = np.diag(tuned)
        return Penalty(self.mean, self.fixed + tuned)

    def gradient(self, eta: Float, slope: Float) -> Float:
        """∂ ln p(D)/∂η (G,) from ∂ ln p(D)/∂Λ, which is (P, P) or its diagonal: ∂Λ/∂η_g = -2 e^(-2 η_g) Λ_g."""
        if self.tuned.ndim == 1:
            each = -2 * self._at(eta) * (slope if slope.ndim == 1 else np.diag(slope))
        else:
            each = -2 * np.einsum("pq,pq->p", self._at(eta), slope)
        return self.sums(each)

    def sums(self, each: Float) -> Float:
        """Sums over the weights of each group, (G,)."""
        live = self.groups != FIXED
        return bincount(self.groups[live], each[live], self.size)

    def bounds(self, objective: Posterior) -> tuple[Float, Float]:
        """The least and the largest η of each group."""
        diagonal = self.tuned if self.tuned.ndim == 1 else np.diag(self.tuned)
        live = self.groups != FIXED
        variance = np.zeros(len(diagonal))  # of the prior, per standard deviation of each column
        variance[live] = objective.column_units[live] ** 2 / diagonal[live]
        typical = np.sqrt(self.sums(variance) / self.sums(np.ones(len(diagonal))))
        narrowest = NARROWEST * 2 / np.sqrt(objective.units.total)  # curvatures are at most a quarter per row
        return np.log(narrowest / typical), np.log(WIDEST / typical)

    def columns(self, group: int, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a group's columns."""
        return tuple(name for name, g in zip(names, self.groups, strict=False) if g == group)

    def _at(self, eta: Float) -> Float:
        widen = np.exp(-2 * self.per_weight(eta))
        return np.asarray(self.tuned * (widen if self.tuned.ndim == 1 else widen[:, None]))


def hyper(objective: Posterior, groups: str | Sequence[Any] | None = None) -> Hyper:
    """The scales of an objective's prior that can be tuned, η = 0 being the prior as it is.

    Parameters
    ----------
    objective : Posterior
        With a Gaussian prior that is proper and the same for every output.
    groups : None, "columns" or sequence of M labels
        None for one factor, "columns" for one each, or labels: columns with the same label share a factor.

    Raises
    ------
    DataError
        Where the prior is flat, differs between outputs, or the groups do not fit the columns.
    """
    M, P = len(objective.design.origin), objective.design.width
    precision = objective.prior.precision
    _require_tunable(objective)
    fixed, tuned = _split(precision, has_bias=P > M)
    labels, codes = _labels(groups, M, objective.source.columns)
    if tuned.ndim == 2 and len(labels) > 1:
        raise DataError(
            "A prior with a full covariance has one scale to tune, that of the whole, and groups= asks for "
            f"{len(labels)}. Leave groups=None, or give a prior with a scale for each column."
        )
    return Hyper(np.append(codes, np.full(P - M, FIXED)), labels, objective.prior.mean, fixed, tuned)


def rescaled(prior: Gaussian, factors: Float) -> Gaussian:
    """The prior that a user would have written, its scales multiplied by a factor for each column (M,).

    >>> rescaled(Gaussian(scale=2.0), np.array([3.0, 3.0]))
    Gaussian(scale=6.0, mean=0.0, covariance=None, intercept_scale=inf)
    """
    if prior.covariance is not None:
        return replace(prior, covariance=np.asarray(prior.covariance) * np.outer(factors, factors))
    scale = np.asarray(prior.scale, dtype=np.float64) * factors
    one = len(scale) > 0 and (scale == scale[0]).all()
    return replace(prior, scale=float(scale[0]) if one else scale)


def _require_tunable(objective: Posterior) -> None:
    precision, P = objective.prior.precision, objective.design.width
    if len(precision) != P:
        raise DataError(
            "This prior ties the outputs together, as a posterior that became a prior does. It has no scale to tune: "
            "fit all rows at once with tune='evidence', or leave tune=None."
        )
    if objective.prior.free.any():
        flat = [*objective.source.columns, "the bias"][int(np.flatnonzero(objective.prior.free)[0])]
        raise DataError(
            f"The prior of {flat!r} is flat, so the evidence of any data is zero and nothing can be tuned by it. "
            "Give it a finite scale (intercept_scale= for the bias)."
        )


def _split(precision: Float, *, has_bias: bool) -> tuple[Float, Float]:
    """The part of Λ that is the prior of the bias, b t t' with b t the last row of Λ, and the rest."""
    fixed = np.zeros_like(precision)
    if precision.ndim == 1:
        if has_bias:
            fixed[-1] = precision[-1]
        return fixed, precision - fixed
    if has_bias:
        fixed = np.outer(precision[-1], precision[-1]) / precision[-1, -1]
    tuned = precision - fixed
    if has_bias:
        tuned[-1] = tuned[:, -1] = 0.0
    size = np.sqrt(np.diag(precision))
    off = np.abs(tuned - np.diag(np.diag(tuned))) / np.outer(size, size)
    return fixed, np.diag(tuned).copy() if (off <= DIAGONAL).all() else tuned


def _labels(groups: str | Sequence[Any] | None, M: int, columns: tuple[str, ...]) -> tuple[tuple[Any, ...], Codes]:
    """The labels of the groups in the order of their first columns, and the group of each column."""
    if groups is None:
        return ("all",), np.zeros(M, dtype=np.intp)
    if isinstance(groups, str):
        if groups != "columns":
            raise DataError(f"groups={groups!r}: choose None, 'columns', or a label for each of {M} columns.")
        return tuple(columns[:M]), np.arange(M)
    given = list(groups)
    if len(given) != M:
        raise DataError(f"groups has {len(given)} labels, but there are {M} columns: give one label for each column.")
    labels = tuple(dict.fromkeys(given))
    place = {label: g for g, label in enumerate(labels)}
    return labels, np.array([place[label] for label in given], dtype=np.intp)
