# SPDX-License-Identifier: BSD-3-Clause
"""Normal classes: linear and quadratic discriminant analysis, and Student's t where parameters were integrated out.

Rows with a gap are marginalised by the models, which takes a factorisation for each pattern of gaps; a graph says NaN.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from separatrix._array import Float
from separatrix.generative import (
    Covariance,
    DenseCovariance,
    FactoredCovariance,
    GaussianClassifier,
    LinearDiscriminantAnalysis,
    NormalClasses,
)
from separatrix.onnx.answer import Answer, answer, of_log_joint
from separatrix.onnx.basis import through_basis
from separatrix.onnx.graph import ExportError, Value

__all__ = ["class_distances"]


@answer.register
def _(model: GaussianClassifier, X: Value) -> Answer:
    model._require_parameters()
    Phi = through_basis(model, X)
    with np.errstate(divide="ignore"):
        log_priors = np.log(model.priors_)
    if isinstance(model, LinearDiscriminantAnalysis) and model._linear is not None:
        W, w0, origin = model._linear
        return of_log_joint(model.classes_, (Phi - origin) @ W.T + w0, model.priors_)
    return of_log_joint(model.classes_, _log_density(model._densities, Phi) + log_priors, model.priors_)


def _log_density(classes: NormalClasses, Phi: Value) -> Value:
    """ln p(x | C_k) (N, K), up to a term that all classes share."""
    K, M = classes.mean.shape
    columns = []
    for k in range(K):
        Sigma, nu, widening = classes.of_class(k), float(classes.freedom[k]), float(classes.widening[k])
        squared = class_distances(Phi, classes.mean[k], Sigma)
        log_det = Sigma.log_det + M * np.log(widening)
        if np.isinf(nu):
            columns.append(-0.5 * squared - 0.5 * (log_det + M * np.log(2 * np.pi)))
            continue
        constant = special.gammaln((nu + M) / 2) - special.gammaln(nu / 2) - 0.5 * (M * np.log(nu * np.pi) + log_det)
        columns.append(float(constant) - 0.5 * (nu + M) * (1.0 + squared / (widening * nu)).log())
    return Phi.graph.stack(columns)


def class_distances(Phi: Value, mean: Float, Sigma: Covariance) -> Value:
    """(x - mean)' Σ⁻¹ (x - mean), (N,)."""
    Z = Phi - mean
    match Sigma:
        case DenseCovariance():
            return (Z @ Sigma.whitener).square().sum(1)
        case FactoredCovariance():
            _, s, Vt = np.linalg.svd(Sigma.F / np.sqrt(Sigma.ridge), full_matrices=False)
            Z = Z / np.sqrt(Sigma.ridge)
            return Z.square().sum(1) - (Z @ Vt.T).square() @ np.asarray(s**2 / (1 + s**2))
        case other:
            raise ExportError(f"to_onnx: a {type(other).__name__} has no form in ONNX here.")
