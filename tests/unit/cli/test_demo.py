import pytest


@pytest.fixture
def small(monkeypatch):
    """The same way with fewer rows: 200 of the 3000."""
    from separatrix.cli import datasets

    write = datasets.write_dataset
    monkeypatch.setattr(datasets, "write_dataset", lambda *words, rows, **rest: write(*words, rows=200, **rest))


def test_the_whole_way_ends_with_where_the_report_is(folder, run, small):
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "The report is at separatrix-demo/report.html: open it in a browser."
    names = sorted(path.name for path in (folder / "separatrix-demo").iterdir())
    assert names == ["loans.csv", "model.sx", "report.html"]
    assert run("demo").exit_code == 4  # nothing is overwritten
    assert run("explain", "separatrix-demo/model.sx").exit_code == 0
