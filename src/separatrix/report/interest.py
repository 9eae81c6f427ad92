# SPDX-License-Identifier: BSD-3-Clause
"""Classes seen from the side of the one that matters: odds, effects, thresholds and calibration are all of it.

A study has its classes in the order of their labels, in which "repaid" comes after "defaulted". What people ask for is
the rarer of two, as a rule: who leaves, who falls ill. Of more classes one may be named, and is then seen against all
others together: p(C_k | x) and 1 - p(C_k | x). A study is turned once, so that the class of interest is the second of
two, and no section has to know.

Weights are the exception. Of K classes the log-odds of one against the rest are ln p_k / Σ_j≠k p_j, which is no sum of
weights; what is kept are the weights of that class, against the mean of all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix._array import Array, Float
from separatrix.study import Coefficient, Effect, HeldOut, Study

__all__ = ["facing", "seen_from"]


def facing(study: Study) -> Study:
    """The same study of two classes with the one of interest second: that it names, or else the rarer of two.

    Of more classes none comes first unless it is named, and the study is left as it is. The model keeps the order of
    its ``classes_``, and the comparison its figures, which are of all classes.
    """
    k = _interest(study)
    if k is None or (len(study.classes) == 2 and k == 1):
        return study
    total = int(study.counts.sum())
    held = seen_from(study.held_out, k)
    return replace(
        study,
        classes=held.classes,
        counts=np.array([total - study.counts[k], study.counts[k]]),
        held_out=held,
        coefficients=_weights_of(study, k),
        effects=tuple(_turned_effect(effect, k) for effect in study.effects),
    )


def seen_from(held: HeldOut, k: int) -> HeldOut:
    """Class k second; first the other class, or all others together, called "not" it."""
    P = _two_sides(held.P, k)
    return HeldOut((held.codes == k).astype(np.intp), P, _names(held.classes, k))


def _two_sides(P: Float, k: int) -> Float:
    """Columns: the others, summed so that small ones keep their digits, and class k."""
    return np.stack([np.delete(P, k, axis=1).sum(axis=1), P[:, k]], axis=1)


def _names(classes: Array, k: int) -> Array:
    if len(classes) == 2:
        return classes[[1 - k, k]]
    sides: Array = np.empty(2, dtype=object)
    sides[:] = [f"not {classes.tolist()[k]}", classes.tolist()[k]]
    return sides


def _interest(study: Study) -> int | None:
    """Position of the class of interest; of two that are equally frequent, the second; of more, only where named."""
    if study.positive is not None:
        return int(study.classes.tolist().index(study.positive))
    return int(study.counts[1] <= study.counts[0]) if len(study.classes) == 2 else None


def _weights_of(study: Study, k: int) -> tuple[Coefficient, ...]:
    label = study.classes.tolist()[k]
    if len(study.classes) > 2:
        return tuple(c for c in study.coefficients if c.label == label)
    return tuple(
        replace(c, label=label, weight=-c.weight, lower=-c.upper, upper=-c.lower, per_spread=-c.per_spread)
        for c in study.coefficients
    )


def _turned_effect(effect: Effect, k: int) -> Effect:
    """The band of the others is that of class k, upside down."""
    lower, upper = effect.lower[:, k], effect.upper[:, k]
    return replace(
        effect,
        mean=_two_sides(effect.mean, k),
        lower=np.stack([1 - upper, lower], axis=1),
        upper=np.stack([1 - lower, upper], axis=1),
    )
