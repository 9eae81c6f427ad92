import pyarrow as pa
import pytest

import separatrix as sx
from separatrix.cli.plot import PICTURES
from separatrix.tables import TableClassifier

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def two(folder):
    """A model of two columns, saved, and its table; and one of the first column alone."""
    import pyarrow.csv

    X, y = sx.datasets.make_overlapping(80, rng=0)
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    pyarrow.csv.write_csv(table.append_column("y", pa.array(y)), "two.csv")
    for name, columns in (("two.sx", ["a", "b"]), ("one.sx", ["a"])):
        estimator = sx.BayesianLogisticRegression(approximation="laplace")
        model = TableClassifier(estimator).fit(table.select(columns), y)
        model.target_name_ = "y"
        sx.save(model, name)
    return folder


@pytest.mark.parametrize("kind", PICTURES)
def test_every_kind_draws_something(two, run, kind):
    model = "one.sx" if PICTURES[kind].n_columns == 1 else "two.sx"
    result = run("plot", model, "two.csv", "--kind", kind, "-o", "p.png")
    assert result.exit_code == 0, result.output
    assert len((two / "p.png").read_bytes()) > 5000


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_says_the_format(folder, run, run_json, ending):
    found = run_json("plot", "model.sx", "-o", f"p.{ending}")
    assert found["files"] == {"picture": f"p.{ending}"}
    assert (folder / f"p.{ending}").read_bytes().startswith(STARTS[ending])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--kind", "coeficients"], 2, "Did you mean coefficients?"),
        (["--kind", "reliability"], 2, "needs labelled rows"),
        (["-o", "p.jpeg"], 4, ".png, .svg, .pdf"),
        (["loans.csv", "--kind", "boundary"], 3, "models of 2 columns of numbers"),
        (
            ["loans.csv", "--kind", "reliability", "-t", "purpose"],
            3,
            "no row of 'purpose' is one of the model's classes",
        ),
    ],
)
def test_what_cannot_be_drawn(folder, run, words, code, said):
    result = run("plot", "model.sx", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.stderr.split())
    assert sorted(path.name for path in folder.iterdir()) == ["loans.csv", "model.sx"]
