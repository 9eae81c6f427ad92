# SPDX-License-Identifier: BSD-3-Clause
"""How to use the model, in snippets that run as they stand, and how it came about."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from math import isfinite
from pathlib import PurePath
from shlex import quote

import numpy as np

from separatrix.report.facts import Facts
from separatrix.report.words import brief, counted, percent, seconds, shortened
from separatrix.study import Study

__all__ = ["UsageView", "usage_of"]

N_LABELS = 4  # named in a comment
LONGEST = 160  # letters of the estimator with its options
READERS = {
    ".csv": 'rows = pd.read_csv("new.csv")  # sep=";" where semicolons divide the fields',
    ".tsv": 'rows = pd.read_csv("new.tsv", sep="\\t")',
    ".parquet": 'rows = pd.read_parquet("new.parquet")',
    ".xlsx": 'rows = pd.read_excel("new.xlsx")',
}


@dataclass(frozen=True)
class UsageView:
    """The last two sections: snippets, and facts by name."""

    python: str
    shell: str
    columns: tuple[str, ...]
    provenance: tuple[tuple[str, str], ...]


def usage_of(study: Study, facts: Facts, written: datetime, model_path: str | None = None) -> UsageView:
    """Snippets for this model, where it was saved, and what is needed to make it again."""
    path = model_path or "model.sx"
    ending = PurePath(study.name).suffix.lower()
    ending = ending if ending in READERS else ".csv"
    return UsageView(
        python=_python(study, path, ending),
        shell=f"separatrix predict {quote(path)} new{ending} -o out.csv\nseparatrix explain {quote(path)}",
        columns=study.schema.inputs,
        provenance=tuple(_provenance(study, facts, written)),
    )


def _python(study: Study, path: str, ending: str) -> str:
    """The order of classes is the model's own, whichever of them the report is about."""
    labels = [brief(label, 20) for label in study.model.classes_[:N_LABELS]]
    order = ", ".join(labels) + (", ..." if len(study.model.classes_) > N_LABELS else "")
    lines = [
        "import pandas as pd",
        "import separatrix as sx",
        "",
        f"model = sx.load({path!r})",
        READERS[ending],
        f"P = model.predict_proba(rows)  # a column for each of model.classes_: {order}",
        "decisions = model.predict(rows)",
    ]
    if getattr(study.model.estimator_, "predict_interval", None) is not None:
        of = f"of {labels[1]}" if len(study.model.classes_) == 2 else "of each class"
        lines.append(f"interval = model.predict_interval(rows, {study.level:g})  # lower and upper probability {of}")
    return "\n".join(lines)


def _provenance(study: Study, facts: Facts, written: datetime) -> Iterator[tuple[str, str]]:
    """Names and values, in the order in which one would ask for them."""
    yield "Table", study.name
    yield "Target", study.target
    yield "Rows", _rows(study, facts)
    if study.question.types:
        yield "Types", ", ".join(f"{column}={kind}" for column, kind in study.question.types.items())
    if study.positive is not None:
        yield "Class of interest", str(study.positive)
    if study.question.seed is not None:
        yield "Seed", str(study.question.seed)
    if study.choice is not None:
        yield "Model", study.choice.name
    with np.printoptions(threshold=4, edgeitems=1):  # a prior has a scale for each of hundreds of weights
        yield "Estimator", shortened(" ".join(repr(study.model.estimator_).split()), LONGEST)
    yield "Intervals", percent(study.level)
    if isfinite(study.seconds):
        yield "Time taken", seconds(study.seconds)
    yield "Written", written.strftime("%Y-%m-%d %H:%M %Z").strip()
    yield "Versions", f"separatrix {version('separatrix')}, NumPy {np.__version__}, Python {platform.python_version()}"


def _rows(study: Study, facts: Facts) -> str:
    every = counted(study.n_rows, "row")
    if not facts.is_held_out:
        return every
    share = f" ({percent(study.question.test_share)} of each class)" if study.question.test_share is not None else ""
    return f"{every}; models were compared on {counted(facts.n_rows, 'row')} held out{share}"
