# SPDX-License-Identifier: BSD-3-Clause
"""Report of a study as one HTML document.

The document is self-contained: it has no script and loads no font or other file. Its content security policy allows
only its own style sheet, by hash. A malicious column name is therefore harmless even if escaping failed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from separatrix._output import output_problem, write_atomically
from separatrix._text import visible
from separatrix.exceptions import optional_import
from separatrix.report import sections, summary
from separatrix.report.curves import costs_section, curves_section
from separatrix.report.performance import performance_of, positive_view
from separatrix.report.rows import columns_section, explained_section, groups_section
from separatrix.report.weights import weights_section
from separatrix.report.words import counted, percent
from separatrix.study import Study
from separatrix.thresholds import Costs

TEMPLATES = files("separatrix.report") / "templates"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@contextmanager
def _without_noted_cells() -> Iterator[None]:
    """No warnings about unreadable cells of the study's own rows, which are among its notes already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*treated as missing", category=UserWarning)
        yield


@_without_noted_cells()
def render(
    study: Study,
    *,
    model_path: str | os.PathLike[str] | None = None,
    written: datetime | None = None,
    costs: Costs | None = None,
) -> str:
    """Return the report of a study as an HTML document that needs no other file and no network.

    Parameters
    ----------
    study : Study
        Result of `conduct` or `examine`.
    model_path : str or path, optional
        File of the saved model, for the lines of code that load it; by default ``model.sx``.
    written : datetime, optional
        Time that the report shows; by default the current time.
    costs : Costs, optional
        Costs of decisions on the evaluated rows; the saved model is then a `DecisionRule`.
    """
    whole, study = study, positive_view(study)
    perf = performance_of(study)
    warned = summary.warnings_on(study, perf)
    style = TEMPLATES.joinpath("report.css").read_text(encoding="utf-8")
    path = "model.sx" if model_path is None else os.fspath(model_path)
    importance = sections.importance_rows(study)
    page = str(
        _template().render(
            study=study,
            perf=perf,
            style=style,
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            sentences=summary.answer_sentences(study, perf),
            figures=summary.headline_figures(perf, has_leak=bool(study.leaks)),
            caveat=summary.main_caveat(warned, study.leaks),
            data=sections.data_section(whole if perf.is_one_of_many else study) | {"positive": whole.on_positive},
            models=sections.models_section(study),
            importance=importance,
            has_spreads=any("whisker" in picture for _, picture, _ in importance),
            weights=weights_section(study, perf),
            effects=sections.effects_section(study, perf),
            interactions=sections.interactions_section(study, perf),
            calibration=sections.calibration_section(study, perf),
            calibration_sentence=summary.calibration_sentence(perf, study.leaks),
            decisions=sections.decisions_section(study, perf, costs),
            curves=curves_section(study, perf, costs),
            explained=explained_section(study, perf, costs),
            groups=groups_section(study, perf),
            distributions=columns_section(study, perf),
            costs=costs_section(costs, perf.evaluated_rows),
            warnings=warned,
            passed_checks=summary.passed_checks(study, perf, warned),
            same_source="" if study.leaks else summary.SAME_SOURCE,  # with a leak, they do not hold at all
            usage=sections.usage_section(study, path, "model" if costs is None else "model.fitted_"),
            provenance=sections.provenance(study, perf, written or datetime.now(UTC).astimezone(), path),
        )
    )
    return visible(page, keep="\n\t")  # HTML allows no other control characters


def write_report(
    study: Study, path: str | os.PathLike[str], *, model_path: str | os.PathLike[str] | None = None, force: bool = False
) -> Path:
    """Write the report of a study to a file, usually ``report.html``, completely or not at all.

    Parameters
    ----------
    study, model_path : Study, and str or path
        As in `render`.
    path : str or path
        File to write.
    force : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    FileExistsError
        If the file exists, unless ``force``.
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    if problem := output_problem(target, force=force):
        raise (FileExistsError if "exists. " in problem else OSError)(problem)
    document = render(study, model_path=model_path)
    content = document.encode("utf-8", errors="replace")  # badly decoded names have lone surrogates
    write_atomically(target, content, exclusive=not force)
    return target


def _with_options(text: str) -> Any:
    """Text as HTML whose options of the command line are code, and not broken at their hyphens."""
    from markupsafe import Markup, escape

    return Markup(OPTION.sub(r"<code>\g<0></code>", str(escape(text))))  # escaped before


@cache
def _template() -> Any:
    with optional_import("Reports need jinja2", "app"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    environment = Environment(
        loader=FunctionLoader(lambda name: TEMPLATES.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "counted": counted, "options": _with_options}
    return environment.get_template("report.html")
