# SPDX-License-Identifier: BSD-3-Clause
"""Basis functions φ(x), one by one."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix.basis import AbstractBasis, BSplines, Cosines, Gaussians, Identity, Joined, Monomials, Sigmoids
from separatrix.onnx.graph import ExportError, Value
from separatrix.study import RampFunctions

__all__ = ["through_basis"]

SPREAD_OUT = 1e4  # widths between centres, beyond which |x|² + |c|² - 2 x'c has too few digits left


def through_basis(model: Any, X: Value) -> Value:
    """φ of the rows, or the rows themselves where the model has no basis."""
    return X if model.basis_ is None else functions(model.basis_, X)


@singledispatch
def functions(basis: Any, X: Value) -> Value:
    """Φ (N, M) of a fitted basis or row map."""
    raise ExportError(
        f"to_onnx: basis={basis!r} is not one of separatrix.basis, and only those have a form in ONNX here. Use one of "
        "them, or export that transformer by its own means and give its numbers to a model without basis."
    )


@functions.register
def _(basis: AbstractBasis, X: Value) -> Value:
    return functions(basis.functions_, X)


@functions.register
def _(basis: Identity, X: Value) -> Value:
    return X


@functions.register
def _(basis: Joined, X: Value) -> Value:
    return X.graph.join([functions(part, X) for part in basis.maps])


@functions.register
def _(basis: Monomials, X: Value) -> Value:
    """Products of as many columns as the degree, one of which may be the constant 1."""
    powers = np.asarray(basis.transformer.powers_)
    M, D = powers.shape
    degree = int(powers.sum(axis=1).max())
    factors = np.full((M, degree), D)
    for m, each in enumerate(powers):
        columns = np.repeat(np.arange(D), each)
        factors[m, : len(columns)] = columns
    one = X.graph.op("Shape", X, start=0, end=1)
    ones = X.graph.op("Expand", X.graph.constant(np.ones((1, 1))), X.graph.op("Concat", one, np.array([1]), axis=0))
    padded = X.graph.join([X, ones])
    product = padded.columns(factors[:, 0])
    for position in range(1, degree):
        product = product * padded.columns(factors[:, position])
    return product


@functions.register
def _(basis: Gaussians, X: Value) -> Value:
    """exp(-|x - c|² / 2s²), width by width; about the middle of the centres, as in training."""
    offset = np.median(basis.centres, axis=0)
    C, narrowest = basis.centres - offset, float(basis.widths.min())
    Z = X - offset
    if np.sqrt((C**2).sum(axis=1).max()) > SPREAD_OUT * narrowest:
        squared = (Z.expand(1) - C).square().sum(2)
    else:
        squared = (Z.square().sum(1, keep=True) + (C**2).sum(axis=1) - 2.0 * (Z @ C.T)).at_least(0.0)
    return X.graph.join([(squared * float(-0.5 / width**2)).exp() for width in basis.widths])


@functions.register
def _(basis: Sigmoids, X: Value) -> Value:
    return ((X.columns(basis.column) - basis.centre) / basis.width).sigmoid()


@functions.register
def _(basis: Cosines, X: Value) -> Value:
    angle = (X - basis.offset) @ basis.frequencies + basis.phases
    return X.graph.op("Cos", angle) * float(np.sqrt(2 / len(basis.phases)))


@functions.register
def _(basis: RampFunctions, X: Value) -> Value:
    ramps = ((X.columns(basis.bent) - basis.low) / (basis.high - basis.low)).at_least(0.0).at_most(1.0)
    return X.graph.join([X.columns(basis.straight), ramps])


@functions.register
def _(basis: BSplines, X: Value) -> Value:
    """Piecewise polynomials, column by column; beyond the knots there is one more piece at either end."""
    D = basis.knots.shape[1]
    return X.graph.join([_spline(basis, X.columns([d]), d) for d in range(D)])


def _spline(basis: BSplines, x: Value, d: int) -> Value:
    """The splines of one column x (N, 1)."""
    knots = basis.knots[:, d]
    if basis.transformer.extrapolation == "periodic":
        period = float(knots[-1] - knots[0])
        turns = ((x - float(knots[0])) / period).floor()
        x = x - period * turns
    starts = np.concatenate([knots[:1], knots])  # where the powers of each piece are counted from
    table = np.stack([_piece(basis, d, k) for k in range(len(starts))])
    piece = (x > knots).as_double().sum(1).as_codes()  # 0 below all knots
    z = x - x.graph.op("Gather", starts[:, None], piece, axis=0)
    powers = x.graph.join([z.where(z.is_nan(), 0.0 * z + 1.0), *_powers(z, table.shape[1] - 1)])
    coefficients = x.graph.op("Gather", table, piece, axis=0)  # (N, degree + 1, functions)
    return (powers.expand(1) @ coefficients).sum(1)


def _powers(z: Value, degree: int) -> list[Value]:
    powers = [z]
    while len(powers) < degree:
        powers.append(powers[-1] * z)
    return powers


def _piece(basis: BSplines, d: int, k: int) -> Float:
    """Coefficients (degree + 1, functions) of piece k, from as many values of the splines themselves.

    Inside the knots, and beyond them, each spline is one polynomial: no approximation is made.
    """
    knots, degree = basis.knots[:, d], int(basis.transformer.degree)
    edges = np.concatenate([[2 * knots[0] - knots[1]], knots, [2 * knots[-1] - knots[-2]]])
    width = edges[k + 1] - edges[k]
    inside = 0.5 - 0.5 * np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))  # Chebyshev's points
    X = np.repeat(basis.knots[:1], degree + 1, axis=0)
    X[:, d] = edges[k] + width * inside
    each = basis.evaluate(X).shape[1] // basis.knots.shape[1]
    values = basis.evaluate(X)[:, d * each : (d + 1) * each]
    start = np.concatenate([knots[:1], knots])[k]
    z = (X[:, d] - start) / width
    coefficients = np.linalg.solve(np.vander(z, increasing=True), values)
    return np.asarray(coefficients / width ** np.arange(degree + 1)[:, None])
