# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix export``: a saved model for other languages and servers, as ONNX."""

from __future__ import annotations

from typing import Annotated

import typer

from separatrix.cli.console import Voice, noted
from separatrix.cli.errors import writing
from separatrix.cli.options import Force, Json, Saved, examples
from separatrix.cli.outputs import require_ending, require_free

__all__ = ["EXAMPLES", "export"]

EXAMPLES = examples("separatrix export model.sx -o model.onnx")


def export(
    model: Saved,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to, ending in .onnx.", show_default=False)
    ],
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a saved model as ONNX, which runs without Python."""
    from separatrix.cli.inputs import load_model

    require_ending(output, [".onnx"], what="a model for other languages")
    require_free([output], force=force)
    fitted = load_model(model)
    from separatrix.onnx import to_onnx

    with noted() as warned, writing(output):
        to_onnx(fitted, output)
    voice = Voice(as_json=as_json)
    voice.notes(warned)
    voice.say(f"Written: {output}")
    voice.finish({"model": type(fitted).__name__, "notes": warned, "files": {"onnx": output}})
