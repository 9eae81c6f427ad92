"""Memory and time of whole studies: many classes, many rows, many columns, and little time.

The tables are smaller than the ones that users complained about, so that each study takes seconds. A study may take
ten times the memory of the table, plus that of the libraries and of blocks of rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FIXED_MEGABYTES = 600  # imports and compiled code take about 330 of them
FIT = """
import sys
from pathlib import Path
from separatrix.cli.app import app
try:
    app(sys.argv[1:])
finally:  # the peak of this program; getrusage would include the process that started it
    print(*(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line), file=sys.stderr)
"""


def many_classes(n_rows: int, n_columns: int, n_classes: int) -> pd.DataFrame:
    """Whole numbers from 0 to 15, as measurements of letters are; the classes overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    means = 7.5 + 1.5 * rng.standard_normal((n_classes, n_columns))
    X = np.clip(np.rint(means[y] + 2.0 * rng.standard_normal((n_rows, n_columns))), 0, 15).astype(int)
    return pd.DataFrame(X, columns=[f"x{m}" for m in range(n_columns)]).assign(letter=[f"c{k:02}" for k in y])


def fitted(table: pd.DataFrame, folder: Path, *options: str) -> tuple[dict[str, object], float]:
    """JSON document of `separatrix fit`, and the peak memory of its process in megabytes."""
    table.to_csv(folder / "table.csv", index=False)
    command = [sys.executable, "-c", FIT, "fit", "table.csv", "--target", "letter", "--json", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), float(done.stderr.split()[-1]) / 1000


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "options"),
    [
        (4000, 16, 26, ()),
        (20_000, 40, 23, ("--time", "20")),
        (4000, 16, 26, ("--models", "logistic")),
        (200, 1000, 2, ()),
        (200, 3000, 2, ()),
        (200, 5000, 2, ()),
    ],
)
def test_a_study_needs_ten_times_the_memory_of_its_table(tmp_path, n_rows, n_columns, n_classes, options):
    table = many_classes(n_rows, n_columns, n_classes)
    _, megabytes = fitted(table, tmp_path, *options)
    assert megabytes < FIXED_MEGABYTES + 10 * table.memory_usage().sum() / 1e6


def test_a_study_with_little_time_names_the_models_that_were_not_tried(tmp_path):
    document, _ = fitted(many_classes(20_000, 40, 23), tmp_path, "--time", "2")
    text = json.dumps(document)
    assert "logistic (Bayesian) was not tried" in text
    assert "--time" in text
