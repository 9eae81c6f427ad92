# SPDX-License-Identifier: BSD-3-Clause
"""What half and twice the value of each numeric constant of `separatrix.bayesian` changes in some posteriors.

    python -m benchmarks.sensitivity              # all constants; results go to results/sensitivity.csv
    python -m benchmarks.sensitivity --only MAX_DETERMINED

A constant is tried if a fit of the problems runs a function that reads it. Defaults of arguments keep their values. The
columns are the largest change of ln p(D), the mean and largest change of probabilities, the change of their mean error
on the reference posteriors, and the processor time of all fits, in seconds. The row without a constant is the present
state. A value that makes a fit fail has infinite changes.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import math
import pkgutil
import sys
import warnings
from pathlib import Path
from time import process_time
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

import separatrix as sx
from benchmarks.golden import Problem, _problems
from benchmarks.record import RESULTS

TABLES = (
    "few useful columns",
    "two classes 80 x 57",
    "correlated columns",
    "dual",
    "three classes, few rows",
    "three classes, 100 x 40",
    "words of four classes",
)
N_ROWS = 64  # rows of a table whose probabilities are compared
FACTORS = (0.5, 2.0)


class Outcome(NamedTuple):
    """Results of the fits of all problems."""

    evidence: list[float]
    probabilities: list[np.ndarray]
    error: float
    seconds: float


def modules() -> dict[str, ModuleType]:
    """The modules of `separatrix.bayesian`, by name."""
    package = importlib.import_module("separatrix.bayesian")
    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    return {name: importlib.import_module(f"separatrix.bayesian.{name}") for name in names}


def constants() -> list[tuple[str, str]]:
    """Return module and name of each constant that is a number, where it is defined."""
    found = []
    for name, module in modules().items():
        for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                each = target.elts if isinstance(target, ast.Tuple) else [target]
                ids = [part.id for part in each if isinstance(part, ast.Name) and part.id.lstrip("_").isupper()]
                values = {id: getattr(module, id) for id in ids}
                found += [(name, id) for id, value in values.items() if isinstance(value, int | float) and value > 0]
    return found


def problems() -> list[tuple[Problem, np.ndarray, Any]]:
    """Return model, table and labels of each problem, the rows that are predicted, and their true probabilities."""
    found: list[tuple[Problem, np.ndarray, Any]] = []
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    gold_posteriors = importlib.import_module("oracles.gold")
    for name in gold_posteriors.ALL_PROBLEMS:
        gold = gold_posteriors.load(name)
        posed = gold.problem
        scale = np.inf if posed.intercept_scale is None else posed.intercept_scale
        model = sx.BayesianLogisticRegression(
            sx.Gaussian(posed.scale, intercept_scale=scale),
            "logit" if posed.likelihood == "softmax" else posed.likelihood,
            posed.noise or 0.05,
            False,
            fit_intercept=posed.intercept_scale is not None,
        )
        found.append(((model, posed.X, posed.y), posed.X_test, gold.probabilities))
    for name in TABLES:
        problem = _problems()[name]()
        found.append((problem, problem[1][:N_ROWS], None))
    return found


def outcome(each: list[tuple[Problem, np.ndarray, Any]]) -> Outcome:
    """Fit all problems."""
    evidence, probabilities, errors, start = [], [], [], process_time()
    for (model, X, y), rows, true in each:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                P = model.fit(X, y).predict_proba(rows)
                evidence.append(float(model.log_evidence_))
            except (ArithmeticError, LookupError, TypeError, ValueError):  # such a value makes the fit fail
                P = np.full((rows.shape[0], len(np.unique(y))), np.nan)
                evidence.append(math.nan)
        probabilities.append(P)
        if true is not None:
            errors.append(float(np.abs((P if true.ndim == 2 else P[:, 1]) - true).mean()))
    return Outcome(evidence, probabilities, float(np.mean(errors)), process_time() - start)


def names_read(each: list[tuple[Problem, np.ndarray, Any]]) -> set[str]:
    """Return the global names that the functions read which run in the fits."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        outcome(each)
    finally:
        sys.setprofile(None)
    return {name for code in codes for name in code.co_names}


def scaled(value: float, factor: float) -> float:
    """Return half or twice a value; a whole number stays one."""
    return max(1, math.ceil(value * factor)) if isinstance(value, int) else value * factor


def with_value(name: str, old: Any, new: Any) -> None:
    """Set a constant in all modules that have it."""
    for module in modules().values():
        if getattr(module, name, None) is old or getattr(module, name, None) == old:
            setattr(module, name, new)


def largest(values: Any) -> float:
    """Return the largest size; NaN counts as infinite."""
    sizes = np.abs(np.concatenate([np.ravel(value) for value in values]))
    return float(np.where(np.isnan(sizes), np.inf, sizes).max())


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sensitivity", description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None, help="names of constants")
    parser.add_argument("--to", default=RESULTS / "sensitivity.csv", help="the file to write")
    options = parser.parse_args(arguments)
    each = problems()
    read, base = names_read(each), outcome(each)
    columns = "constant module value factor evidence mean_change largest_change error seconds".split()  # noqa: SIM905
    with Path(options.to).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([columns, ["", "", "", "", 0, 0, 0, f"{base.error:.5f}", f"{base.seconds:.2f}"]])
        for module, name in constants():
            if name not in read or (options.only is not None and name not in options.only):
                continue
            value = getattr(modules()[module], name)
            for new, factor in [(scaled(value, factor), factor) for factor in FACTORS]:
                with_value(name, value, new)
                now = outcome(each)
                with_value(name, new, value)
                pairs = zip(now.probabilities, base.probabilities, strict=True)
                change = [a - b if a.shape == b.shape else [np.nan] for a, b in pairs]
                evidence = largest([np.subtract(now.evidence, base.evidence)])
                mean = np.nan_to_num(np.mean([np.abs(part).mean() for part in change]), nan=np.inf)
                numbers = (evidence, mean, largest(change), now.error - base.error)
                table.writerow([name, module, value, factor, *(f"{x:.2g}" for x in numbers), f"{now.seconds:.2f}"])
                file.flush()


if __name__ == "__main__":
    main()
