# SPDX-License-Identifier: BSD-3-Clause
"""How to use the model, in snippets that run as they stand, and how it came about."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from math import isfinite

import numpy as np

from separatrix.report.facts import Facts
from separatrix.report.words import brief, counted, percent, seconds
from separatrix.study import Study

__all__ = ["UsageView", "usage_of"]


@dataclass(frozen=True)
class UsageView:
    """The last two sections: snippets, and facts by name."""

    python: str
    shell: str
    columns: tuple[str, ...]
    provenance: tuple[tuple[str, str], ...]


def usage_of(study: Study, facts: Facts, written: datetime) -> UsageView:
    """Snippets for this model, and what is needed to make it again."""
    return UsageView(
        python=_python(study, facts),
        shell="separatrix predict model.sx new.csv -o out.csv\nseparatrix explain model.sx",
        columns=study.schema.inputs,
        provenance=tuple(_provenance(study, facts, written)),
    )


def _python(study: Study, facts: Facts) -> str:
    order = ", ".join(brief(label, 20) for label in facts.labels[:4]) + (", ..." if len(facts.labels) > 4 else "")
    lines = [
        "import pandas as pd",
        "import separatrix as sx",
        "",
        'model = sx.load("model.sx")',
        'rows = pd.read_csv("new.csv")',
        f"P = model.predict_proba(rows)  # a column for each of model.classes_: {order}",
        "decisions = model.predict(rows)",
    ]
    if getattr(study.model.estimator_, "predict_interval", None) is not None:
        of = "of the second class" if len(facts.labels) == 2 else "of each class"
        lines.append(f"interval = model.predict_interval(rows, {study.level:g})  # lower and upper probability {of}")
    return "\n".join(lines)


def _provenance(study: Study, facts: Facts, written: datetime) -> list[tuple[str, str]]:
    """Names and values, in the order in which one would ask for them."""
    estimator = study.model.estimator_
    options = estimator.get_params(deep=False)
    seed = options.get("rng")
    facts_by_name = [
        ("Table", study.name),
        ("Target", study.target),
        ("Rows", f"{counted(study.n_rows, 'row')}, of which {counted(facts.n_rows, 'row')} held out to judge by"),
        ("Model", " ".join(repr(estimator).split())),
        ("Intervals", percent(study.level)),
        ("Written", written.strftime("%Y-%m-%d %H:%M %Z").strip()),
        ("Versions", f"separatrix {version('separatrix')}, NumPy {np.__version__}, Python {platform.python_version()}"),
    ]
    if isinstance(seed, int):
        facts_by_name.insert(4, ("Seed", str(seed)))
    if isfinite(study.seconds):
        facts_by_name.insert(-2, ("Time taken", seconds(study.seconds)))
    return facts_by_name
