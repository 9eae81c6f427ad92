# SPDX-License-Identifier: BSD-3-Clause
"""``separatrix compare``: the models side by side, and nothing written."""

from __future__ import annotations

from separatrix.cli.console import Voice
from separatrix.cli.document import study_document
from separatrix.cli.options import (
    Data,
    Drop,
    Json,
    Level,
    Models,
    Seed,
    Target,
    TestShare,
    Types,
    examples,
    model_names,
    split_types,
)

__all__ = ["EXAMPLES", "compare"]

EXAMPLES = examples(
    "separatrix compare customers.csv --target churn",
    "separatrix compare customers.csv -t churn --test-share 0.3 --seed 7 --json",
)


def compare(
    data: Data,
    target: Target,
    types: Types = None,
    drop: Drop = None,
    models: Models = None,
    test_share: TestShare = 0.2,
    seed: Seed = 0,
    level: Level = 0.95,
    as_json: Json = False,
) -> None:
    """Compare models on a table: held-out figures with standard errors, evidence, time. Writes no file."""
    from separatrix.cli.studies import Question, run_study, say_choice, say_comparison, unsaid

    voice = Voice(as_json=as_json)
    question = Question(
        data, target, split_types(types), tuple(drop or ()), model_names(models), test_share, seed, level
    )
    study, notes = run_study(question, voice)
    say_comparison(study, voice)
    say_choice(study, voice)
    voice.notes(unsaid(notes, study))
    voice.finish(study_document(study, notes, {}))
