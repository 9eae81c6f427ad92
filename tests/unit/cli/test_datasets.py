import pandas as pd
import pytest

from separatrix import datasets as home
from separatrix.cli import datasets
from separatrix.cli.datasets import CATALOGUE


def test_the_list_names_functions_that_are_there(run, run_json):
    listed = run_json("datasets")["datasets"]
    assert [entry["name"] for entry in listed] == list(CATALOGUE)
    assert all(name in run("datasets").stdout for name in CATALOGUE)
    known = {entry.function for entry in CATALOGUE.values()} - {"make_loans"}
    assert known <= set(home.__all__)


@pytest.mark.parametrize("name", CATALOGUE)
def test_each_can_be_written_and_has_its_target(folder, run_json, name):
    found = run_json("datasets", name, "-o", "table.csv")
    frame = pd.read_csv("table.csv")
    assert len(frame) == found["rows"]
    assert frame[found["target"]].nunique() >= 2


def test_rows_and_seed(folder, run, run_json):
    assert run_json("datasets", "separable", "-o", "a.csv", "--rows", "30", "--seed", "1")["rows"] == 30
    run("datasets", "separable", "-o", "b.csv", "--rows", "30", "--seed", "2")
    run("datasets", "separable", "-o", "c.csv", "--rows", "30", "--seed", "1")
    a, b, c = ((folder / f"{name}.csv").read_text() for name in "abc")
    assert a == c != b


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["lobster", "-o", "a.csv"], 2, "Did you mean 'lobsters'?"),
        (["lobsters"], 2, "-o lobsters.csv"),
        (["lobsters", "-o", "a.csv", "--rows", "5"], 2, "leave out --rows"),
        (["loans", "-o", "loans.csv"], 4, "exists"),
    ],
)
def test_wrong_words(folder, run, words, code, said):
    result = run("datasets", *words)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())


@pytest.fixture
def small(monkeypatch):
    """The same way with fewer rows: 200 of the 3000."""
    monkeypatch.setattr(datasets, "ROWS", 200)


def test_the_whole_way_ends_with_where_the_report_is(folder, run, small):
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "The report is at separatrix-demo/report.html: open it in a browser."
    names = sorted(path.name for path in (folder / "separatrix-demo").iterdir())
    assert names == ["loans.csv", "model.sx", "report.html"]
    assert run("demo").exit_code == 4  # nothing is overwritten
    assert run("explain", "separatrix-demo/model.sx").exit_code == 0


def test_one_that_is_stopped_half_way_leaves_nothing_and_can_be_run_again(folder, run, small, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("separatrix.report.render", stop)
        result = run("demo")
    assert result.exit_code == 130
    assert "No file was written or changed" in result.stderr
    assert not (folder / "separatrix-demo").exists()
    assert run("demo").exit_code == 0
