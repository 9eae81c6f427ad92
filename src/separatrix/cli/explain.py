# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix explain``: what a saved model learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from separatrix.cli.console import Voice, steps
from separatrix.cli.document import coefficient_list, column_list, evidence_of
from separatrix.cli.options import Json, Level, Positive, Saved, examples

if TYPE_CHECKING:
    from separatrix.cli.render import Curve
    from separatrix.study import Coefficient

__all__ = ["VERBS", "explain"]

SHOWN = 20
AGAINST_ALL = "against the geometric mean of all classes"


def explain(
    model: Saved,
    level: Level = 0.95,
    positive: Positive = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every weight, also the pieces of curves; else the strongest {SHOWN}.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the weights of a saved model, strongest first, with intervals and odds ratios; its evidence; its doubts."""
    from separatrix.cli.files import load_model, require_of_tables
    from separatrix.cli.render import curves_of, straight_weights
    from separatrix.cli.studies import positive_of
    from separatrix.study import captured

    voice = Voice(as_json=as_json)
    fitted, names = load_model(model)
    require_of_tables(fitted, model)
    side = positive_of(fitted.classes_.tolist(), positive or names.get("positive"))
    with steps("Weights and their intervals", hidden=as_json), captured() as warned:
        found = weights_for(fitted, level, side)
    weights, curves = sorted(found, key=_strength), curves_of(fitted, found)
    listed = weights if everything else sorted(straight_weights(fitted, found), key=_strength)
    target, evidence = names.get("target"), evidence_of(fitted.estimator_)
    schema = fitted.encoder_.schema_
    said = [*schema.notes, *getattr(fitted.estimator_, "notes_", ()), *map(str, warned)]
    notes = list(dict.fromkeys(said))
    many = len(fitted.classes_) > 2
    voice.say(_head(model, fitted, names))
    _say_weights(voice, listed, level, many=many, most=len(listed) if everything else SHOWN)
    _say_curves(voice, curves, many=many)
    _say_meaning(voice, fitted, found, curves)
    _say_evidence(voice, evidence, getattr(fitted, "n_rows_", None))
    voice.notes(notes)
    voice.finish(
        {
            "model": type(fitted.estimator_).__name__,
            "name": names.get("model"),
            "target": target,
            "classes": fitted.classes_.tolist(),
            "positive": side if found else None,
            "columns": column_list(schema),
            "level": level,
            "coefficients": coefficient_list(tuple(weights)),
            "curves": [{"name": c.name, "class": c.label, "knots": c.knots, "log_odds": c.log_odds} for c in curves],
            "evidence": evidence,
            "notes": notes,
        }
    )


def weights_for(fitted: Any, level: float, side: Any) -> tuple[Coefficient, ...]:
    """Weights of a table classifier for the class of interest; for all classes if it is None."""
    from dataclasses import replace

    from separatrix.study import explain as weights_of

    classes = fitted.classes_.tolist()
    found = weights_of(fitted, level)
    if side is None or side == classes[1] == classes[-1]:
        return found
    if len(classes) > 2:
        return tuple(c for c in found if c.label == side)
    return tuple(
        replace(c, label=side, weight=-c.weight, lower=-c.upper, upper=-c.lower, per_spread=-c.per_spread)
        for c in found
    )


def _strength(weight: Coefficient) -> float:
    return -abs(weight.per_spread)


def _head(path: str, fitted: Any, names: dict[str, str]) -> str:
    more = len(fitted.classes_) - 8
    classes = ", ".join(map(str, fitted.classes_[:8])) + (f" and {more} more" if more > 0 else "")
    predicted = f"predicts {names['target']}: " if "target" in names else "classes "
    name = names.get("model", type(fitted.estimator_).__name__)
    return f"{path}: {name}, {predicted}{classes}."


def _say_weights(voice: Voice, weights: Sequence[Coefficient], level: float, *, many: bool, most: int) -> None:
    from separatrix.cli.render import coefficient_table

    if not weights:
        return
    shown = list(weights[:most])
    voice.title(f"Weights, strongest first ({len(shown)} of {len(weights)})")
    voice.say(coefficient_table(shown, level, many=many))
    if len(shown) < len(weights):
        voice.say(f"{len(weights) - len(shown)} more: --all")


def _say_curves(voice: Voice, curves: Sequence[Curve], *, many: bool) -> None:
    from separatrix.cli.render import plain_table, sparkline

    if not curves:
        return
    table = plain_table(
        "along", *(("class",) if many else ()), "from", "to", "log-odds", "reach", right=(5 if many else 4,)
    )
    for curve in curves[:SHOWN]:
        ends = (f"{curve.knots[0]:.4g}", f"{curve.knots[-1]:.4g}")
        label = (str(curve.label),) if many else ()
        table.add_row(curve.name, *label, *ends, sparkline(curve.log_odds), f"{curve.reach:.2f}")
    voice.title("Curves, the longest reach first")
    voice.say(table)


def _say_meaning(voice: Voice, fitted: Any, weights: Sequence[Coefficient], curves: Sequence[Curve]) -> None:
    from separatrix.study import PriorOnly

    if isinstance(fitted.estimator_, PriorOnly):
        voice.say("", "It has no weights: it says the shares of the classes, whatever the row.")
        return
    if not weights:
        voice.say("", "It has no weights that could be listed: its boundary is no plane.")
        return
    classes = fitted.classes_.tolist()
    toward = (
        f"its class {AGAINST_ALL}" if len(classes) > 2 else f"{weights[0].label} against {_other(classes, weights)}"
    )
    text = (
        f"A weight is added to the log-odds of {toward} for each unit of its number, or for a level of a category "
        "against their average; the odds are multiplied by the odds ratio. Per sd: the weight of one standard "
        "deviation, by which they are sorted."
    )
    if curves:
        text += " A curve is drawn from knot to knot, each at a quantile; its reach is from its lowest to its highest."
    voice.say("", text)


def _other(classes: list[Any], weights: Sequence[Coefficient]) -> str:
    return str(next(label for label in classes if label != weights[0].label))


def _say_evidence(voice: Voice, evidence: dict[str, float] | None, n_rows: int | None) -> None:
    if evidence is None:
        return
    voice.title("Evidence" + (f", of all {n_rows:,} rows it learnt from" if n_rows else ""))
    voice.say(
        f"ln p(D) {evidence['log_evidence']:.1f} = log-likelihood {evidence['log_likelihood']:.1f} "
        f"+ Occam factor {evidence['occam_factor']:.1f}",
        f"{evidence['effective_parameters']:.1f} effective parameters; BIC {evidence['bic']:.1f}, "
        f"AIC {evidence['aic']:.1f}",
    )


VERBS = (
    (
        explain,
        examples(
            "separatrix explain model.sx",
            "separatrix explain model.sx --all --level 0.9",
            "separatrix explain model.sx --json | jq '.coefficients[0]'",
        ),
    ),
)
