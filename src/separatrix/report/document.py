# SPDX-License-Identifier: BSD-3-Clause
"""One HTML document of a study: sections as records, laid out by templates.

The document carries everything with it and asks for nothing: no script, no font, no address. Its content security
policy allows its own style sheet by hash and nothing else, so that a name in a table could not do harm even if it
slipped past the escaping.
"""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from separatrix._output import write_atomically
from separatrix.report.advice import advice_on, not_found
from separatrix.report.calibration import calibration_of
from separatrix.report.columns import data_of
from separatrix.report.decisions import decisions_of
from separatrix.report.effects import effects_of
from separatrix.report.facts import facts_of
from separatrix.report.interest import facing
from separatrix.report.models import models_of
from separatrix.report.usage import usage_of
from separatrix.report.verdict import verdict_of
from separatrix.report.weights import weights_of
from separatrix.report.words import percent
from separatrix.study import Study

__all__ = ["render", "write_report"]

TEMPLATES = files("separatrix.report") / "templates"


def render(study: Study, *, model_path: str | os.PathLike[str] | None = None, written: datetime | None = None) -> str:
    """The report of a study as one complete HTML document.

    Parameters
    ----------
    study : Study
        What was found.
    model_path : str or path, optional
        Where the model was saved, for the snippets that load it; ``model.sx`` by default.
    written : datetime, optional
        The time it states; now by default.

    Returns
    -------
    str
        HTML that needs no other file, and no network.
    """
    whole, study = study, facing(study)
    facts = facts_of(study)
    advice = advice_on(study, facts)
    style = TEMPLATES.joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return str(
        _templates().get_template("report.html").render(
            study=study,
            facts=facts,
            style=style,
            style_hash=digest,
            level=percent(study.level),
            verdict=verdict_of(study, facts, advice),
            data=data_of(whole, facts_of(whole)) if facts.is_one_of_many else data_of(study, facts),
            models=models_of(study),
            weights=weights_of(study, facts),
            effects=effects_of(study, facts),
            calibration=calibration_of(study, facts),
            decisions=decisions_of(study, facts),
            advice=advice,
            not_found=not_found(study, facts),
            usage=usage_of(study, facts, written or datetime.now(UTC).astimezone(), _text(model_path)),
        )
    )  # fmt: skip


def write_report(
    study: Study,
    path: str | os.PathLike[str],
    *,
    model_path: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Path:
    """Write the report of a study to a file, whole or not at all.

    Parameters
    ----------
    study : Study
        What was found.
    path : str or path
        Where to; by custom ``report.html``.
    model_path : str or path, optional
        As of `render`.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Raises
    ------
    FileExistsError
        Where there is a file, and ``force`` is not set.
    """
    target = Path(path)
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists. Choose another name, or pass force=True to replace it.")
    document = render(study, model_path=model_path)
    write_atomically(target, document.encode("utf-8", errors="replace"))  # lone surrogates, of badly decoded names
    return target


def _text(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


@cache
def _templates() -> Any:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "Reports need jinja2, which is not installed: pip install 'separatrix[app]'"
        ) from missing
    return Environment(
        loader=FunctionLoader(lambda name: TEMPLATES.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
