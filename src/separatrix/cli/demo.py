# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix demo``: the whole way on a table that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli.console import Voice
from separatrix.cli.document import study_document
from separatrix.cli.errors import writing
from separatrix.cli.options import Force, Json, examples
from separatrix.cli.outputs import require_free

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = examples("separatrix demo", "separatrix demo --folder /tmp/try --force")


def demo(
    folder: Annotated[
        str, typer.Option("--folder", metavar="DIR", help="Where the table, the model and the report go.")
    ] = "separatrix-demo",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Fit a table of loans that comes with the package, end to end, in less than a minute."""
    from separatrix.cli.datasets import CATALOGUE, write_dataset
    from separatrix.cli.studies import Question, run_study, say_choice, say_comparison, unsaid, write_files

    voice = Voice(as_json=as_json)
    home, target = Path(folder), CATALOGUE["loans"].target
    with writing(home):
        home.mkdir(exist_ok=True)
    data, model, report = (str(home / name) for name in ("loans.csv", "model.sx", "report.html"))
    require_free([data, model, report], force=force)
    write_dataset("loans", data, rows=None, seed=0, force=force)
    voice.say(f"The same as: separatrix fit {data} --target {target} -o {model} --report {report}", "")
    study, notes = run_study(Question(data, target), voice)
    say_comparison(study, voice)
    say_choice(study, voice)
    files = {"data": data} | write_files(study, model=model, report=report, force=force)
    voice.notes(unsaid(notes, study))
    voice.say("", f"Try: separatrix explain {model}", f"The report is at {report}: open it in a browser.")
    voice.finish(study_document(study, notes, files))
