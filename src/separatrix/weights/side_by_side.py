# SPDX-License-Identifier: BSD-3-Clause
"""Tables of coefficients of several models, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix._output import Table, format_cell
from separatrix.exceptions import DataError
from separatrix.weights.summary import POSTERIOR_NOTE, Summary

FACTS = ("N", "log likelihood", "deviance", "AIC", "BIC", "log evidence")  # rows below the coefficients
SHOWN = ("standard_error", "interval")


@dataclass(frozen=True, eq=False, repr=False)
class SideBySide(Table):
    """Result of `summary_table`: a line for each coefficient and fact, and a column for each model.

    It shows texts, such as ``1.2 (0.3)``. ``to_dict``, ``to_pandas`` and ``to_polars`` have numbers, with NaN for
    coefficients that a model does not have. ``summaries`` has the table of each model by name.
    """

    summaries: Mapping[str, Summary] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers: the coefficients and facts of each model, and the other columns of its table."""
        found: dict[str, Float] = {}
        for model, summary in self.summaries.items():
            for column, values in summary.columns.items():
                known = dict(zip(summary.names, values, strict=True))
                known |= summary.facts if column == "coefficient" else {}
                found[f"{model}: {column}"] = np.array([known.get(name, np.nan) for name in self.names])
        return found


def summary_table(
    models: Sequence[Any] | Mapping[str, Any],
    names: Sequence[str] | None = None,
    *,
    reference: Any = None,
    exponentiate: bool = False,
    level: float = 0.95,
    show: str = "standard_error",
) -> SideBySide:
    """Put the coefficients of several fitted models side by side, with N, log likelihood, deviance, AIC and BIC.

    Parameters
    ----------
    models : sequence of models, or mapping {name: model}
        Fitted models with ``summary``, such as `LogisticRegression` or `TableClassifier`.
    names : sequence of str, optional
        Names of the columns; by default, the classes of the models.
    reference, exponentiate, level
        As in ``model.summary``.
    show : {"standard_error", "interval"}
        What is shown in parentheses after each coefficient.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X, y = sx.datasets.load_lobsters(return_X_y=True)
    >>> logit, probit = sx.LogisticRegression(alpha=0).fit(X, y), sx.ProbitRegression(alpha=0).fit(X, y)
    >>> print(sx.summary_table([logit, probit], ["logit", "probit"]))
                               logit            probit
    intercept          -7.896 (1.39)   -4.7774 (0.779)
    x0              0.19586 (0.0342)  0.11833 (0.0191)
    N                            159               159
    log likelihood          -86.4357          -86.2682
    deviance                 172.871           172.536
    AIC                      176.871           176.536
    BIC                      183.009           182.674
    <BLANKLINE>
    In parentheses: standard errors.
    """
    if show not in SHOWN:
        raise ValueError(f"summary_table(show={show!r}): choose one of {', '.join(map(repr, SHOWN))}.")
    fitted = dict(models) if isinstance(models, Mapping) else dict(zip(_names(models, names), models, strict=True))
    if not fitted:
        raise ValueError("summary_table(models=[]): give at least one fitted model.")
    for name, model in fitted.items():
        if getattr(model, "summary", None) is None:
            raise DataError(f"summary_table: {name!r} ({type(model).__name__}) has no table of coefficients.")
    tables = {name: model.summary(reference, exponentiate, level) for name, model in fitted.items()}
    coefficients = list(dict.fromkeys(name for table in tables.values() for name in table.names))
    facts = [fact for fact in FACTS if any(fact in table.facts for table in tables.values())]
    columns = {name: [*_texts(table, coefficients, show), *_fact_texts(table, facts)] for name, table in tables.items()}
    notes = [f"In parentheses: {'standard errors' if show == SHOWN[0] else f'{100 * float(level):g} % intervals'}."]
    posteriors = [name for name, table in tables.items() if POSTERIOR_NOTE in table.notes]
    if posteriors:
        notes.append(f"{', '.join(posteriors)}: posterior under a prior.")
    notes += dict.fromkeys(note for table in tables.values() for note in table.notes if note != POSTERIOR_NOTE)
    if len({table.facts.get("N") for table in tables.values()}) > 1:
        notes.append("The models were fitted to different rows, so their likelihoods, AIC and BIC are not comparable.")
    return SideBySide((*coefficients, *facts), columns, notes=tuple(notes), summaries=tables)


def _names(models: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """Names of the columns; models of the same class are numbered."""
    if names is not None:
        if len(names) != len(models) or len(set(names)) != len(names):
            raise ValueError(f"summary_table(names={names!r}): give {len(models)} different names, one for each model.")
        return [str(name) for name in names]
    kinds = [type(model).__name__ for model in models]
    return [kind if kinds.count(kind) == 1 else f"{kind} {kinds[:at].count(kind) + 1}" for at, kind in enumerate(kinds)]


def _texts(table: Summary, names: Sequence[str], show: str) -> list[str | None]:
    """Text of each coefficient, None if the model does not have it."""
    rows = {name: at for at, name in enumerate(table.names)}

    def text(at: int) -> str:
        columns = ("standard_error",) if show == "standard_error" else ("lower", "upper")
        inside = " to ".join(format_cell(float(table[column][at]), ".3g") for column in columns)
        return f"{format_cell(float(table.coefficient[at]), '.5g')} ({inside})"

    return [text(rows[name]) if name in rows else None for name in names]


def _fact_texts(table: Summary, facts: Sequence[str]) -> list[str | None]:
    """Text of each fact, None if the model does not have it."""
    return [
        None if fact not in table.facts else f"{table.facts[fact]:{',.10g' if fact == 'N' else '.6g'}}"
        for fact in facts
    ]
