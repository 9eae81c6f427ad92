# SPDX-License-Identifier: BSD-3-Clause
"""Results as tables for a terminal of 80 columns, and as JSON documents (docs/cli.md lists their keys)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import exp, inf, isnan, nan
from typing import TYPE_CHECKING, Any

from separatrix._text import decimals
from separatrix.cli.layout import Cell, TextTable

if TYPE_CHECKING:
    from separatrix.comparison import Comparison
    from separatrix.study import Compared, Study
    from separatrix.table import Schema
    from separatrix.table_model import Coefficient

MAX_LISTED_COLUMNS = 40  # number of columns in the list of the columns of a table
MAX_LISTED_NOTES = 20
LEAK_TITLE = "Check first"
MAX_DECIMALS = 1e5  # larger weights are printed with an exponent
EVIDENCE_KEYS = ("log_evidence", "log_likelihood", "occam_factor", "effective_parameters", "bic", "aic", "pareto_k")


def column_table(schema: Schema) -> tuple[TextTable, int]:
    """Type, values and features of each column, and the number of columns left out.

    If there are too many columns, the first used and the first dropped columns are listed.
    """
    plans = list(schema.plans)
    if len(plans) > MAX_LISTED_COLUMNS:
        used, dropped = ([p for p in plans if bool(p.names) is is_used] for is_used in (True, False))
        kept = {plan.column for plan in (*used[: MAX_LISTED_COLUMNS // 2], *dropped[: MAX_LISTED_COLUMNS // 2])}
        plans = [plan for plan in plans if plan.column in kept]
    table = TextTable("column", "type", "values", "encoded as")
    for plan in plans:
        n = len(plan.names)
        is_renamed = n == 1 and plan.names[0] != plan.column
        features = plan.names[0] if is_renamed else "1 feature" if n == 1 else f"{n} features" if n else "dropped"
        table.add_row(plan.column, plan.kind, plan.why, features, style="" if n else "dim")
    return table, len(schema.plans) - len(plans)


def comparison_table(comparison: Comparison) -> TextTable:
    """Main metrics of each model with standard errors in brackets below; the JSON document has all metrics."""

    def known(value: float, digits: str) -> str:
        return "" if isnan(value) else decimals(value, digits)

    found = comparison.to_dict()
    is_compared = sum(not isnan(p) for p in found["probability"]) > 1  # a single model has probability 1
    columns = {"log_likelihood": "log-loss", "accuracy": "accuracy", "auc": "AUC", "ece": "ECE"}
    table = TextTable("model", *columns.values(), "ln p(D)", "P(model)", "fit (s)", right=range(1, 8))
    for i, trial in enumerate(comparison):
        if trial.failure:
            table.add_row(f"{trial.name} ({trial.outcome})")
            continue
        cells: list[Cell] = []
        for key in columns:
            value, error = found[f"test_{key}"][i], known(found[f"test_{key}_se"][i], ".4f")
            value = known(-value if key == "log_likelihood" else value, ".4f")
            cells.append((value, f"({error})") if error else value)
        evidence = (
            known(found["log_evidence"][i], ".1f"),
            known(found["probability"][i] if is_compared else nan, ".3f"),
        )
        table.add_row(trial.name, *cells, *evidence, known(trial.fit_seconds, ".2f"))
    return table


def coefficient_table(
    coefficients: Sequence[Coefficient],
    effects: Iterable[str],
    stated: Iterable[bool],
    level: float,
    *,
    has_classes: bool,
) -> TextTable:
    """Weights with their effects on the odds; weights whose interval excludes zero are bold.

    Weights that are not ``stated`` are left out, because only the prior determines their size.
    """
    heads = ("feature", *(("class",) if has_classes else ()), f"odds ({100 * level:g} % interval)", "weight", "per sd")
    table = TextTable(*heads, right=(len(heads) - 2, len(heads) - 1))
    for c, effect, is_stated in zip(coefficients, effects, stated, strict=True):
        excludes_zero = not (isnan(c.lower) or c.lower <= 0 <= c.upper)
        per_sd = (
            ""
            if isnan(c.per_spread) or not is_stated
            else f"{c.per_spread:+{'.3f' if abs(c.per_spread) < MAX_DECIMALS else '.1e'}}"
        )
        cells = (
            c.name,
            *((str(c.label),) if has_classes else ()),
            effect,
            f"{c.weight:.3g}" if is_stated else "",
            per_sd,
        )
        table.add_row(*cells, style="bold" if excludes_zero else "")
    return table


def leak_notes(notes: Iterable[Any]) -> list[str]:
    """Notes on columns that give the class away, which come before all results."""
    return [str(note) for note in notes if getattr(note, "topic", "") == "leak"]


def listed_notes(notes: Iterable[Any]) -> list[str]:
    """Distinct notes on the table and the chosen model without `leak_notes`; at most MAX_LISTED_NOTES of them."""
    from separatrix.study import OTHER_MODEL_TOPICS

    hidden = ("leak", *OTHER_MODEL_TOPICS)
    found = list(dict.fromkeys(str(note) for note in notes if getattr(note, "topic", "") not in hidden))
    more = len(found) - MAX_LISTED_NOTES
    return found if more <= 1 else [*found[:MAX_LISTED_NOTES], f"{more} more notes are in the report and in --json."]


def study_document(found: Study | Compared, notes: list[str], files: dict[str, str]) -> dict[str, Any]:
    """Document of `fit`, `compare`, `report` and `demo`; parts that a command does not compute are empty."""
    from separatrix.study import Study

    study, compared = (found, found.compared) if isinstance(found, Study) else (None, found)
    trials: dict[str, Any] = {}
    if compared is not None:
        trials = {key: values.tolist() for key, values in compared.comparison.to_dict().items()}
        trials = {"name": compared.comparison.names} | trials
    table = found if isinstance(found, Study) else found.table
    schema = found.schema if isinstance(found, Study) else found.encoder.schema_
    return {
        "name": found.question.name,
        "rows": table.n_rows,
        "target": found.question.target,
        "positive": None if study is None else study.positive,
        "classes": [
            {"label": label, "rows": count}
            for label, count in zip(table.classes.tolist(), table.counts.tolist(), strict=True)
        ],
        "columns": column_list(schema),
        "models": [dict(zip(trials, values, strict=True)) for values in zip(*trials.values(), strict=True)],
        "chosen": None if compared is None else asdict(compared.choice),
        "figures": {} if study is None else figures_of(study),
        "coefficients": [] if study is None else coefficient_list(study.coefficients),
        "effects": [] if study is None else [{"column": e.column, "importance": e.importance} for e in study.effects],
        "interactions": []
        if study is None
        else [{"columns": e.columns, "importance": e.importance} for e in study.pair_effects],
        "level": None if study is None else study.level,
        "notes": notes,
        "files": files,
        "seconds": found.seconds,
    }


def figures_of(study: Study) -> dict[str, tuple[float, float]]:
    """Metrics on the evaluated rows: value and standard error by name, NaN if unknown.

    If there are more than two classes and a positive class, the metrics compare it with all others.
    """
    from separatrix.report import performance_of, positive_view

    found = performance_of(positive_view(study))
    estimates = {name: getattr(found, name) for name in ("log_loss", "accuracy", "auc", "brier", "ece")}
    figures = {name: (float(each.value), float(each.standard_error)) for name, each in estimates.items()}
    return figures | {"ece_if_calibrated": (float(found.ece_if_calibrated), nan)}


def column_list(schema: Schema) -> list[dict[str, Any]]:
    """Inferred type, values and features of each column."""
    return [
        {"name": plan.column, "is": plan.kind, "seen": plan.why, "becomes": list(plan.names)} for plan in schema.plans
    ]


def coefficient_list(coefficients: Sequence[Coefficient]) -> list[dict[str, Any]]:
    """Weights with their odds ratios."""
    found = []
    for c in coefficients:
        named = {"column": c.column, "name": c.name, "class": c.label}
        weights = {"weight": c.weight, "lower": c.lower, "upper": c.upper, "per_spread": c.per_spread}
        odds = {"odds_ratio": c.weight, "odds_ratio_lower": c.lower, "odds_ratio_upper": c.upper}
        found.append(named | weights | {key: odds_ratio(weight) for key, weight in odds.items()})
    return found


def odds_ratio(weight: float) -> float:
    """Factor exp(w) on the odds; infinite beyond the range of a float, NaN for an unknown weight."""
    return inf if weight > 709 else exp(weight)


def evidence_of(estimator: Any) -> dict[str, float] | None:
    """Log evidence and its parts; None if the model reports no evidence."""
    found = {key: getattr(estimator, f"{key}_", None) for key in EVIDENCE_KEYS}
    return None if found["occam_factor"] is None else {k: nan if v is None else float(v) for k, v in found.items()}
