# SPDX-License-Identifier: BSD-3-Clause
"""What a verb found, as a document of plain values: the interface for scripts. docs/cli.md lists the keys."""

from __future__ import annotations

from math import exp, inf, log, nan
from sys import float_info
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.comparison import Comparison
    from separatrix.study import Coefficient, Compared, Study
    from separatrix.table import Schema

__all__ = [
    "coefficient_list",
    "column_list",
    "evidence_of",
    "figures_of",
    "model_list",
    "odds_ratio",
    "study_document",
]

LARGEST = log(float_info.max)


def study_document(study: Study | Compared, notes: list[str], files: dict[str, str]) -> dict[str, Any]:
    """Of `fit`, `compare`, `report` and `demo`; what was not asked for is empty."""
    from separatrix.study import Study

    whole = study if isinstance(study, Study) else None
    chosen = None if study.choice is None else {"name": study.choice.name, "reasons": list(study.choice.reasons)}
    return {
        "name": study.name,
        "rows": study.n_rows,
        "target": study.target,
        "positive": None if whole is None else whole.positive,
        "classes": [
            {"label": label, "rows": count}
            for label, count in zip(study.classes.tolist(), study.counts.tolist(), strict=True)
        ],
        "columns": column_list(study.schema),
        "models": [] if study.comparison is None else model_list(study.comparison),
        "chosen": chosen,
        "figures": {} if whole is None else {name: list(pair) for name, pair in figures_of(whole).items()},
        "coefficients": [] if whole is None else coefficient_list(whole.coefficients),
        "effects": [] if whole is None else [{"column": e.column, "importance": e.importance} for e in whole.effects],
        "level": None if whole is None else whole.level,
        "notes": notes,
        "files": files,
        "seconds": study.seconds,
    }


def figures_of(study: Study) -> dict[str, tuple[float, float]]:
    """Figures of merit on the rows that were judged: value and standard error by name, NaN where not known.

    Where one of many classes is of interest, they are those of it against all others.
    """
    from separatrix import metrics
    from separatrix.report import positive_view

    held = positive_view(study).held_out
    loss = metrics.log_likelihood(held.P, held.codes)
    found = {name: getattr(metrics, name)(held.P, held.codes) for name in ("accuracy", "auc", "brier", "ece")}
    pairs = {name: (float(each.value), float(each.standard_error)) for name, each in found.items()}
    calibrated = metrics.ece_if_calibrated(held.P, held.codes)
    return {
        "log_loss": (-float(loss.value), float(loss.standard_error)),
        **pairs,
        "ece_if_calibrated": (float(calibrated), nan),
    }


def column_list(schema: Schema) -> list[dict[str, Any]]:
    """What was inferred for each column of the table."""
    return [
        {"name": plan.column, "is": plan.kind, "seen": plan.why, "becomes": list(plan.names)} for plan in schema.plans
    ]


def model_list(comparison: Comparison) -> list[dict[str, Any]]:
    """The figures of each model, best first, under the names of ``Comparison.to_dict``."""
    columns = {name: values.tolist() for name, values in comparison.to_dict().items()}
    return [
        {"name": name} | {key: values[i] for key, values in columns.items()} for i, name in enumerate(comparison.names)
    ]


def coefficient_list(coefficients: tuple[Coefficient, ...]) -> list[dict[str, Any]]:
    """The weights, with the odds ratio that each stands for."""
    return [
        {
            "column": c.column,
            "name": c.name,
            "class": c.label,
            "weight": c.weight,
            "lower": c.lower,
            "upper": c.upper,
            "per_spread": c.per_spread,
            "odds_ratio": odds_ratio(c.weight),
            "odds_ratio_lower": odds_ratio(c.lower),
            "odds_ratio_upper": odds_ratio(c.upper),
        }
        for c in coefficients
    ]


def odds_ratio(weight: float) -> float:
    """What the odds are multiplied by; infinite beyond what a float can hold, NaN of an unknown weight."""
    return inf if weight > LARGEST else exp(weight)


def evidence_of(estimator: Any) -> dict[str, float] | None:
    """ln p(D) and its two parts, where the model states them."""
    names = {
        "log_evidence": "log_evidence_",
        "log_likelihood": "log_likelihood_",
        "occam_factor": "occam_factor_",
        "effective_parameters": "effective_parameters_",
        "bic": "bic_",
        "aic": "aic_",
        "pareto_k": "pareto_k_",
    }
    found = {key: getattr(estimator, name, None) for key, name in names.items()}
    return None if found["occam_factor"] is None else {k: float("nan" if v is None else v) for k, v in found.items()}
