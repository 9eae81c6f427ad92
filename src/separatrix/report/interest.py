# SPDX-License-Identifier: BSD-3-Clause
"""Two classes seen from the side of the one that matters: odds, effects, thresholds and calibration are all of it.

A study has its classes in the order of their labels, in which "repaid" comes after "defaulted". What people ask for is
the rarer one, as a rule: who leaves, who falls ill. A study is turned once, so that the class of interest is the second
one, and no section has to know.
"""

from __future__ import annotations

from dataclasses import replace

from separatrix.study import Coefficient, Effect, HeldOut, Study

__all__ = ["facing"]


def facing(study: Study) -> Study:
    """The same study with the class of interest second: the one it names, or else the rarer of two.

    Of more classes none comes first, and the study is left as it is. The model keeps the order of its ``classes_``.
    """
    if len(study.classes) != 2 or _interest(study) == 1:
        return study
    held = study.held_out
    return replace(
        study,
        classes=study.classes[::-1],
        counts=study.counts[::-1],
        held_out=HeldOut(1 - held.codes, held.P[:, ::-1], held.classes[::-1]),
        coefficients=tuple(_turned_weight(c, study.classes.tolist()[0]) for c in study.coefficients),
        effects=tuple(map(_turned_effect, study.effects)),
    )


def _interest(study: Study) -> int:
    """Position of the class of interest; of two that are equally frequent, the second."""
    if study.positive is not None:
        return int(study.classes.tolist().index(study.positive))
    return int(study.counts[1] <= study.counts[0])


def _turned_weight(c: Coefficient, label: object) -> Coefficient:
    return replace(c, label=label, weight=-c.weight, lower=-c.upper, upper=-c.lower, per_spread=-c.per_spread)


def _turned_effect(effect: Effect) -> Effect:
    return replace(effect, mean=effect.mean[:, ::-1], lower=effect.lower[:, ::-1], upper=effect.upper[:, ::-1])
