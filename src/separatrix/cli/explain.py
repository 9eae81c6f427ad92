# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix explain``: what a saved model learnt."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from separatrix.cli.console import Voice, noted
from separatrix.cli.document import coefficient_list, column_list, evidence_of
from separatrix.cli.options import Json, Level, Saved, examples

__all__ = ["EXAMPLES", "explain"]

SHOWN = 20
EXAMPLES = examples(
    "separatrix explain model.sx",
    "separatrix explain model.sx --all --level 0.9",
    "separatrix explain model.sx --json | jq '.coefficients\\[0]'",
)


def explain(
    model: Saved,
    level: Level = 0.95,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every weight, and not the strongest {SHOWN} alone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the weights of a saved model, strongest first, with intervals and odds ratios; its evidence; its doubts."""
    from separatrix.cli.inputs import load_model, require_of_tables, target_of
    from separatrix.study import explain as weights_of

    voice = Voice(as_json=as_json)
    fitted = load_model(model)
    require_of_tables(fitted, model)
    estimator = getattr(fitted, "estimator_", fitted)
    with noted() as warned:
        weights = tuple(sorted(weights_of(fitted, level), key=lambda c: -abs(c.per_spread)))
    target = target_of(fitted, None)
    notes = _notes(fitted, estimator, warned)
    evidence = evidence_of(estimator)
    _say(voice, model, fitted, target)
    _say_weights(voice, weights, fitted.classes_, level, everything=everything)
    _say_evidence(voice, evidence)
    voice.notes(notes)
    voice.finish(
        {
            "model": type(estimator).__name__,
            "target": target,
            "classes": fitted.classes_.tolist(),
            "columns": _columns(fitted),
            "level": level,
            "coefficients": coefficient_list(weights),
            "evidence": evidence,
            "notes": notes,
        }
    )


def _say(voice: Voice, path: str, fitted: Any, target: str | None) -> None:
    estimator = getattr(fitted, "estimator_", fitted)
    classes = ", ".join(map(str, fitted.classes_[:8])) + (", ..." if len(fitted.classes_) > 8 else "")
    predicted = f"predicts {target}: " if target else "classes "
    voice.say(f"{path}: {type(estimator).__name__}, {predicted}{classes}.")


def _say_weights(voice: Voice, weights: Any, classes: Any, level: float, *, everything: bool) -> None:
    from separatrix.cli.render import coefficient_table

    if not weights:
        voice.say("", "It has no weights that could be listed: its boundary is no plane.")
        return
    shown = weights if everything else weights[:SHOWN]
    many = len(classes) > 2
    toward = "its class, against the average of the others" if many else f"{weights[0].label}"
    voice.title(f"Weights, strongest first ({len(shown)} of {len(weights)})")
    voice.say(coefficient_table(list(shown), level, many=many))
    voice.say(
        "",
        f"A weight is added to the log-odds of {toward} for each unit of its column; odds are multiplied by the odds "
        "ratio. Per sd: the weight for one standard deviation, by which they are sorted.",
    )
    if len(shown) < len(weights):
        voice.say(f"{len(weights) - len(shown)} more: --all")


def _say_evidence(voice: Voice, evidence: dict[str, float] | None) -> None:
    if evidence is None:
        return
    voice.title("Evidence")
    voice.say(
        f"ln p(D) {evidence['log_evidence']:.1f} = log-likelihood {evidence['log_likelihood']:.1f} "
        f"+ Occam factor {evidence['occam_factor']:.1f}",
        f"{evidence['effective_parameters']:.1f} effective parameters; BIC {evidence['bic']:.1f}, "
        f"AIC {evidence['aic']:.1f}",
    )


def _notes(fitted: Any, estimator: Any, warned: list[str]) -> list[str]:
    encoder = getattr(fitted, "encoder_", None)
    dropped = () if encoder is None else encoder.schema_.notes
    return list(dict.fromkeys([*dropped, *getattr(estimator, "notes_", ()), *warned]))


def _columns(fitted: Any) -> list[dict[str, Any]]:
    encoder = getattr(fitted, "encoder_", None)
    return [] if encoder is None else column_list(encoder.schema_)
