# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of the README and of every page runs, in one session per page, and prints what the page shows.

A block with ``>>>`` is checked as a doctest. A block of type ``text`` after any other Python block is its output.
"""

from __future__ import annotations

import contextlib
import doctest
import gzip
import inspect
import io
import pkgutil
import re
import shlex
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.datasets import dump_svmlight_file

import separatrix as sx
from separatrix.cli.app import app
from separatrix.datasets import make_overlapping

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BUILT = {"_build", "examples", "reference"}  # folders of docs that only `make docs` writes
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in path.read_text(encoding="utf-8") and not BUILT & set(path.relative_to(ROOT).parts)
}
NOT_HERE = {"docs/gpu.md": "needs a GPU"}
SLOW = {
    f"docs/{name}.md" for name in ("bayesian", "cli", "compare", "dask", "discriminative", "report", "study", "tables")
}
OTHER_DATA = {"docs/tables.md"}  # the printed schema is of a table that the project does not contain
# k-means differs between versions of scikit-learn, and shares of held-out candidates by rounding errors
TOLERANCE = {"docs/basis.md": 0.02, "README.md": 0.002, "docs/index.md": 0.002}
REPLACED = {
    'connection="postgresql://user@host/shop"': "connection=database",
    "ProcessPoolExecutor(4)": "ThreadPoolExecutor(2)",  # processes take seconds to start
    'scheduler="processes"': 'scheduler="threads"',
    'model.fit(table, "churn")': 'model.fit(table.assign(churn=labels), "churn")',  # popped before
}
# Names that a page uses and does not define, because its readers have their own.
NAMES = {
    "docs/cli.md": """
import separatrix as sx
from separatrix import TableClassifier
table, labels = sx.datasets.make_mixed_types(300, as_frame=True, rng=0)
table = table.select_dtypes("number").fillna(0)
""",
    "docs/dask.md": "import dask",
    "docs/files.md": "score = lambda batch: batch",
    "docs/scan.md": "import sqlite3; database = sqlite3.connect('shop.db')",
    "docs/tables.md": """
import pandas as pd
table = pd.read_csv("customers.csv")
batches = [table.assign(colour=table["zip"] % 3 == 0).iloc[part] for part in (slice(0, 300), slice(300, 600))]
batch = batches[0]
new_rows, labels = batch.drop(columns="churn"), table["churn"]
""",
}


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Folder with the files that pages read."""
    folder, rng, n = tmp_path_factory.mktemp("examples"), np.random.default_rng(0), 600
    X, y = make_overlapping(n, 3, rng=0)
    dump_svmlight_file(X, 2 * y - 1, str(folder / "train.svm"), zero_based=False)
    dump_svmlight_file(X[:50], 2 * y[:50] - 1, str(folder / "test.svm"), zero_based=False)
    (folder / "train.svm.gz").write_bytes(gzip.compress((folder / "train.svm").read_bytes()))
    customers = pd.DataFrame(
        {
            "age": (40 + 10 * X[:, 0]).round(),
            "contract": rng.choice(["monthly", "yearly"], n),
            "zip": rng.choice(["07030", "10001", "94110"], n),
            "churn": np.array(["no", "yes"])[y],
        }
    )
    customers.to_csv(folder / "customers.csv", index=False)
    customers.drop(columns="churn").to_parquet(folder / "new_customers.parquet")
    visits = pd.DataFrame(X, columns=["pages", "minutes", "price"]).assign(returned=y)
    visits.to_csv(folder / "visits.csv", index=False)
    loans = pd.DataFrame(X, columns=["income", "age", "debt"]).assign(default=y, weight=1.0)
    for name, table in (("visits/2025-05", visits[:300]), ("visits/2025-06", visits[300:]), ("loans/1", loans)):
        (folder / name).parent.mkdir(exist_ok=True)
        table.to_parquet(folder / f"{name}.parquet")
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as shop:
        visits.to_sql("visits", shop, index=False)
        customers[["age"]].assign(price=visits["price"]).to_sql("orders", shop, index=False)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_no_representation_that_only_newer_versions_of_numpy_print(page):
    assert "np.float64(" not in PAGES[page].read_text(encoding="utf-8")


def is_same(shown, printed, tolerance):
    """Whether two words are equal, or numbers that differ by at most the tolerance."""
    if shown == printed or not tolerance:
        return shown == printed
    with contextlib.suppress(TypeError, ValueError):
        return abs(float(shown.strip("[]")) - float(printed.strip("[]"))) <= tolerance
    return False


@pytest.mark.filterwarnings("default")  # a page may explain a warning
@pytest.mark.parametrize(
    "page", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PAGES]
)
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, examples, tmp_path, monkeypatch, request):
    if page in NOT_HERE:
        pytest.skip(NOT_HERE[page])
    monkeypatch.chdir(shutil.copytree(examples, tmp_path / "page"))
    text = PAGES[page].read_text(encoding="utf-8")
    for said, here in REPLACED.items():
        text = text.replace(said, here)
    names, printed = {"ThreadPoolExecutor": ThreadPoolExecutor}, ""
    exec(NAMES.get(page, ""), names)
    if "database" in names:  # a page does not close what it was given
        request.addfinalizer(names["database"].close)
    runner, parser = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), doctest.DocTestParser()
    for fence in FENCE.finditer(text):
        kind, block = fence.groups()
        line = text.count("\n", 0, fence.start(2))
        if kind == "text":
            if printed and page not in OTHER_DATA:
                pairs, tolerance = zip_longest(block.split(), printed.split()), TOLERANCE.get(page)
                assert [pair for pair in pairs if not is_same(*pair, tolerance)] == []
        elif block.startswith(">>>"):
            session = parser.get_doctest(block, names, page, str(PAGES[page]), line)
            report = io.StringIO()
            failed, _ = runner.run(session, out=report.write, clear_globs=False)
            assert not failed, report.getvalue()
            names, printed = session.globs, ""
        else:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * line + block, str(PAGES[page]), "exec"), names)
            printed = out.getvalue()


def attribute_exists(path):
    """Whether `separatrix` has this name; fitted attributes are listed in the docstring of their class."""
    owner, _, last = path.rpartition(".")
    found = sx
    for name in filter(None, owner.split(".")):
        found = getattr(found, name)
    described = inspect.getdoc(found) or ""
    return hasattr(found, last) or re.search(rf"^[\w, ]*\b{last}\b[\w, ]*( : |$)", described, re.MULTILINE) is not None


def test_every_line_of_the_formula_sheet_names_an_attribute_and_a_test_that_exist():
    page = (ROOT / "docs" / "formulas.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| `([\w.]+)` \| `([\w/]+\.py)::(\w+)` \|$", page, re.MULTILINE)
    assert len(rows) == page.count("::test_") > 30
    assert [name for name, _, _ in rows if not attribute_exists(name)] == []
    tests = {file: (ROOT / "tests" / file).read_text(encoding="utf-8") for _, file, _ in rows}
    assert [test for _, file, test in rows if f"\ndef {test}(" not in tests[file]] == []


def anchors(page):
    """The anchors that the headings of a page get."""
    headings = re.findall(r"^#{1,3} (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_idea_of_the_chapter_has_a_place():
    page = (ROOT / "docs" / "ideas.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| \[.+\]\((.+)\) \|$", page, re.MULTILINE)
    assert len(rows) == len({idea for idea, _ in rows}) == 191
    scripts = {link for _, link in rows if link.startswith("examples/")}
    assert [link for link in scripts if not (ROOT / link).with_suffix(".py").exists()] == []
    places = [link.split("#") for _, link in rows if link not in scripts]
    assert [place for place in places if place[1] not in anchors(ROOT / "docs" / place[0])] == []


def test_links_of_pages_lead_to_files_and_headings_of_the_repository():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("[pst]*/*.md")]
    broken = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            place = target.relative_to(ROOT).as_posix() if target.is_relative_to(ROOT) else ""
            if "://" in link or place.startswith("docs/reference/"):
                continue
            if place.startswith("docs/examples/"):  # written by `make docs` from a script
                target = ROOT / place.removeprefix("docs/").replace(".rst", ".py").replace("index.py", "README.rst")
            is_known = not anchor or target.suffix != ".md" or anchor in anchors(target)
            broken += [] if target.exists() and is_known else [f"{page.name}: {link}"]
    assert broken == []


def names_of_the_reference():
    """Module and name of each entry."""
    page = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")
    for section in page.split(".. currentmodule:: ")[1:]:
        module = section.split()[0]
        yield from [(module, name) for name in re.findall(r"^   ([\w.]+)$", section, re.MULTILINE)]


def test_every_command_line_of_a_page_is_accepted_by_its_command():
    commands = typer.main.get_command(app).commands
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [
        line for page in pages for line in re.findall(r"^\$ separatrix (.*)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(lines) > 15
    for line in lines:
        name, *arguments = shlex.split(line.partition(" | ")[0], comments=True)
        commands[name].make_context(name, arguments)  # raises if an option is unknown, or an argument is missing


def test_every_name_of_the_reference_exists():
    for module, name in names_of_the_reference():
        pkgutil.resolve_name(f"{module}.{name}")


SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\S.*)\n?((?: {4}.*\n?|\n)*)", re.MULTILINE)


@pytest.mark.parametrize(("module", "name"), list(names_of_the_reference()))
def test_parameters_and_attributes_of_the_reference_have_types_and_descriptions(module, name):
    described = inspect.getdoc(pkgutil.resolve_name(f"{module}.{name}")) or ""
    entries = [entry for section in SECTION.findall(described) for entry in ENTRY.findall(section)]
    assert [head for head, text in entries if not text.strip()] == []
    assert [head for head, text in entries if " : " not in head and "As in " not in text] == []


def test_the_reference_lists_every_public_name():
    listed = {name for _, name in names_of_the_reference()}
    wholly_public = (sx.basis, sx.datasets, sx.families, sx.geometry, sx.metrics, sx.plots)
    public = {*sx.__all__, *(name for module in wholly_public for name in module.__all__)}
    assert sorted(public - listed - {"__version__", *sx._MODULES}) == []
