# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of surfaces: the evidence over widths and prior scales, the likelihood over direction and length of w.

Not every model has them. Where one has not, the refusal says what the picture is of, and which model to draw instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cli.errors import CommandError

__all__ = ["draw", "require"]

CELLS = 15  # along each axis of the evidence
WIDTHS, SCALES = 8.0, 30.0  # how far the axes reach on either side of the model, as factors
FREE = 10.0  # standard deviation of a bias that the prior leaves free, as a Bayesian model has it
RADIAL = (
    "model = TableClassifier(sx.BayesianLogisticRegression(basis=sx.basis.RBF(), tune='evidence')).fit(table, labels), "
    "then sx.save(model, 'rbf.sx')"
)


def require(kind: str, estimator: Any) -> None:
    """The model has the surface.

    Raises
    ------
    CommandError
        Where it has not: why, and what to draw or fit instead.
    """
    (_require_radial if kind == "evidence" else _require_line)(estimator)


def draw(kind: str, estimator: Any, X: Any, y: Any) -> Any:
    """The figure of a model that has the surface, for the rows given."""
    return (_evidence if kind == "evidence" else _likelihood)(estimator, X, y)


def _require_radial(estimator: Any) -> None:
    from separatrix.basis import RBF

    is_radial = isinstance(getattr(estimator, "basis_", None), RBF)
    if not is_radial or getattr(estimator, "likelihood_", None) is None:
        raise CommandError(
            "data",
            "The picture evidence is ln p(D) over the width of radial basis functions and the scale of their prior; "
            f"this {type(estimator).__name__} has no such functions. separatrix explain tells its evidence, and "
            f"separatrix compare that of other models. In Python a model that has them is made by {RADIAL}.",
        )
    _prior_scales(estimator)


def _require_line(estimator: Any) -> None:
    what = "The picture likelihood is -ln p(t | x, w) over the direction and the length of w"
    name, n_classes = type(estimator).__name__, len(estimator.classes_)
    if getattr(estimator, "likelihood_", None) is None:
        why, remedy = f"; {name} does not maximise p(t | x, w)", "fit with --models logistic"
    elif getattr(estimator, "basis_", None) is not None:
        why = f"; this {name} acts by curves, and its boundary has no single direction"
        remedy = "fit straight lines with --models logistic"
    elif n_classes != 2:
        why, remedy = f" of two classes; this {name} has {n_classes}, and a w for each", "fit two of the classes"
    else:
        return
    raise CommandError("data", f"{what}{why}. Draw coefficients or reliability, or {remedy}.")


def _evidence(estimator: Any, X: Any, y: Any) -> Any:
    """ln p(D) around the width and the prior scale of the model, which is marked."""
    from separatrix.basis import RBF
    from separatrix.bayesian import evidence_surface
    from separatrix.plots import EvidenceSurfaceDisplay

    basis = estimator.basis_
    scale, intercept_scale = _prior_scales(estimator)
    surface = evidence_surface(
        X,
        y,
        basis_of_width=lambda width: RBF(centres=basis.centres_, width=width),
        widths=np.geomspace(basis.width_ / WIDTHS, basis.width_ * WIDTHS, CELLS),
        scales=np.geomspace(scale / SCALES, scale * SCALES, CELLS),
        likelihood=estimator.likelihood_,
        intercept_scale=intercept_scale,
        fit_intercept=estimator.fit_intercept,
        standardize=getattr(estimator, "standardize", False),  # a point estimate has its prior on columns as they are
    )
    marks = {"this model": (basis.width_, scale)}
    return EvidenceSurfaceDisplay.from_surface(surface, marks=marks, title=f"Evidence of {len(y):,} labels").figure_


def _likelihood(estimator: Any, X: Any, y: Any) -> Any:
    """-ln p(t | x, w) over direction and length of w about the model's boundary."""
    from separatrix.plots import LikelihoodSurfaceDisplay

    title = f"Negative log-likelihood of {len(y):,} rows"
    return LikelihoodSurfaceDisplay.from_estimator(estimator, X, y, title=title).figure_


def _prior_scales(estimator: Any) -> tuple[float, float]:
    """The one prior standard deviation of all weights, and that of the bias."""
    prior = getattr(estimator, "prior_", None) or getattr(estimator, "prior", None)
    if prior is None:  # a point estimate with alpha, the precision
        alpha = float(estimator.alpha)
        scale: Any = alpha**-0.5 if alpha > 0 else None
    else:
        scale = getattr(prior, "scale", None) if getattr(prior, "covariance", None) is None else None
    if scale is None or np.ptp(np.atleast_1d(scale)) > 0:
        raise CommandError(
            "data",
            f"The picture evidence has one axis for the prior scale; this {type(estimator).__name__} has no scale that "
            "all its weights share. Fit it with prior=sx.Gaussian(scale=1.0) and tune='evidence'.",
        )
    width = float(getattr(prior, "intercept_scale", np.inf))
    return float(np.atleast_1d(scale)[0]), width if np.isfinite(width) else FREE
