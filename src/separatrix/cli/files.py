# SPDX-License-Identifier: BSD-3-Clause
"""Input and output files of commands.

Output paths are checked before any work. A command writes all of its files completely, or none of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix._output import keep_permissions, new_draft, output_problem, place
from separatrix._text import did_you_mean
from separatrix.cli.errors import STANDARD, CommandError, writing, written

if TYPE_CHECKING:
    from separatrix.files import TableFile

TABLES = (".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".arrow", ".xlsx", ".db", ".sqlite", ".duckdb", ".gz")
TABLE_FIRST = "It has the name of a table. Name the saved model first, such as model.sx, and then the table."


def open_input(data: str, types: Mapping[str, str]) -> TableFile:
    """Open the table of a command; raises if its name is empty or the name of a model."""
    from separatrix.files import open_table

    if not data.strip():
        raise CommandError("data", "The name of the table is empty. Name a file, such as data.csv.")
    if data == STANDARD and sys.stdin is None:
        raise CommandError("data", "Standard input is closed. Pipe a table into the command, or name a file.")
    if data.endswith(".sx"):
        raise CommandError("data", f"{data} is a saved model, not a table. Name the table here, such as data.csv.")
    return open_table(data, types=types)


def read_rows(table: TableFile) -> Any:
    """Read the whole table into memory; raises if it has no rows."""
    rows = table.read()
    if not rows.num_rows:
        raise CommandError("data", f"{table.path} has column names, but no rows. Check that it is the right file.")
    return rows


@contextmanager
def about(path: object) -> Iterator[None]:
    """Add the name of this input file to data errors inside the block."""
    from separatrix.exceptions import DataError
    from separatrix.files import FileWriteError

    try:
        yield
    except FileWriteError:
        raise  # the message names the output file
    except DataError as error:
        where = "" if str(path) in str(error) else f"{path}: "
        raise CommandError("data", f"{where}{error.for_command_line}") from error


def require_columns(table: TableFile, names: Iterable[str], *, why: str) -> None:
    """Raise if columns are missing; the message lists up to ten of them with similar names of the table."""
    missing = [name for name in names if name not in table.columns]
    path = "Standard input" if str(table.path) == STANDARD else table.path
    if len(missing) == 1:
        near = did_you_mean(missing[0], table.columns)
        raise CommandError("data", f"{path} has no column {missing[0]!r}, which {why}.{near}")
    if missing:
        by_fold = {option.casefold(): option for option in table.columns}
        named = []
        for name in missing[:10]:
            near_names = get_close_matches(name.casefold(), by_fold, n=1)
            named.append(f"{name!r}" + "".join(f" ({by_fold[near]!r}?)" for near in near_names))
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        raise CommandError("data", f"{path} lacks {len(missing)} columns that {why}: {', '.join(named)}{more}.")


def weight_column(table: TableFile, given: str | None, names: Mapping[str, str]) -> str | None:
    """The given column of weights; by default that of the fit, if the table has it."""
    require_columns(table, [] if given is None else [given], why="--weight names")
    saved = names.get("weight")
    return given or (saved if saved in table.columns else None)


def load_model(path: str, *, of_tables: bool = False, with_rule: bool = False) -> tuple[Any, dict[str, str]]:
    """Load a model and the names saved with it: "target", "weight", "positive" and "model", if they are known.

    A rule of costs around a `TableClassifier` is returned ``with_rule``; otherwise the model inside is returned.
    With ``of_tables``, raises if the model is not a `TableClassifier`, perhaps inside a wrapper.
    """
    from separatrix.export import FileError, load_with_about

    if "://" in path:
        raise CommandError("data", f"{path} is a URL, and only local files can be read. Download it first.")
    file = Path(path)
    is_table = path.endswith(TABLES)
    if not file.exists() or file.is_dir():  # a pipe is neither a file nor a folder
        here = sorted(each.name for each in file.parent.glob("*.sx")) if file.parent.is_dir() else []
        near = get_close_matches(file.name, here, n=1) or here[:1]
        hint = f"Did you mean {file.parent / near[0]}?" if near else "Create a model first: separatrix fit."
        problem = f"{path} is a folder" if path and file.is_dir() else f"The model file {path!r} does not exist"
        raise CommandError("data", f"{problem}. {TABLE_FIRST if is_table else hint}")
    try:
        model, names = load_with_about(path)
    except FileError as error:
        raise CommandError("data", f"{path} is not a saved model. {TABLE_FIRST}" if is_table else str(error)) from error
    # In files of version 0.1, the names are attributes of the model.
    earlier = {"target": "target_name_", "positive": "positive_", "model": "name_"}
    found = {name: getattr(model, attribute, None) for name, attribute in earlier.items()}
    if of_tables and table_model_of(model) is None:
        raise CommandError(
            "data",
            f"{path} contains a {type(model).__name__} of numeric columns, without the types of a table. This "
            "command needs a model of separatrix fit, or a TableClassifier; predict accepts any model.",
        )
    model = model if with_rule else table_model_of(model) or model
    return model, {name: str(text) for name, text in found.items() if text is not None} | names


def table_model_of(model: Any) -> Any:
    """The `TableClassifier` of a saved model, which may be inside a wrapper such as a rule of costs; None if none."""
    from separatrix.meta import AbstractWrapper
    from separatrix.table_model import TableClassifier

    while isinstance(model, AbstractWrapper):
        model = getattr(model, "estimator_", model.estimator)
    return model if isinstance(model, TableClassifier) else None


def require_free(paths: Collection[str | None], *, force: bool, inputs: Iterable[str | None] = ()) -> None:
    """Raise unless every output path is writable, is not an input, and is named only once."""
    outputs, read = (
        [Path(path.partition("::")[0]) for path in group if path is not None and path != STANDARD]  # without the table
        for group in (paths, inputs)
    )
    require_local(filter(None, paths))
    for i, file in enumerate(outputs):
        if file in outputs[:i]:
            problem = f"{file} is named for two outputs. Give each output its own name."
        elif file.exists() and any(other.exists() and file.samefile(other) for other in read):
            problem = f"{file} is an input of this command and is not overwritten. Choose another name."
        else:
            problem = output_problem(file, force=force, option="--force")
        if problem:
            raise CommandError("output", problem)


def require_local(paths: Iterable[str]) -> None:
    """Raise if an output path is a URL."""
    for path in paths:
        if "://" in path:
            raise CommandError("output", f"{path} is a URL, and only local files can be written. Name a local file.")


def require_ending(path: str, endings: Iterable[str], *, what: str) -> None:
    """Raise unless the file name has one of the endings."""
    known = list(endings)
    if Path(path).suffix.lower() not in known:
        raise CommandError("output", f"{path}: the name of {what} must end in {' or '.join(known)}.")


def write_together(contents: Mapping[str, bytes], *, force: bool) -> None:
    """Write several files, or none. The first is the main file, such as a model; the others are about it.

    All are on disk under temporary names before the first gets its name. Without ``force``, an existing file is never
    replaced. With it, old versions of the other files are set aside before the main file is replaced, so that a process
    that is killed in between leaves no report of another model.
    """
    with ExitStack() as stack:
        drafts = {}
        for path, content in contents.items():
            with writing(path):
                drafts[path] = stack.enter_context(new_draft(Path(path)))
                with open(drafts[path], "xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        placed: list[str] = []
        aside: dict[Path, Path] = {}
        try:
            for path in list(drafts)[1:]:
                final, old = Path(os.path.realpath(path)), drafts[path].with_name("old")
                if force and final.is_file():
                    keep_permissions(drafts[path], final)
                    aside[final] = old
                    os.replace(final, old)
            for path, draft in drafts.items():
                with writing(path):
                    place(draft, Path(path), exclusive=not force)
                placed.append(path)
        except BaseException:
            for final, old in aside.items():
                if old.exists() and not placed:
                    os.replace(old, final)
            for path in () if force else placed:
                os.unlink(path)
            raise
    written.extend(contents)
