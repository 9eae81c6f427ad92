import numpy as np
import pyarrow as pa
import pytest

from separatrix.exceptions import DataError
from separatrix.rows import LabelRules
from separatrix.scanning import scan

FEATURES = ("x0", "x1")


@pytest.fixture
def opened(table):
    return scan(table, columns=FEATURES, target="kind").open_rows(None)


def read(source):
    """Every row's class code and weight, as blocks bring them."""
    return source.fold(lambda seen, b: [*seen, *zip(b.t.tolist(), _ones(b), strict=True)], [])


def _ones(block):
    return [1.0] * len(block) if block.weight is None else block.weight.tolist()


def test_the_likeness_has_the_names_and_no_rows(opened):
    assert opened.likeness.column_names == list(FEATURES)
    assert opened.likeness.num_rows == 0
    assert opened.n_rows == 900


def test_labels_of_a_column_and_in_memory_make_the_same_codes(opened, table, numbers):
    codes = numbers[1]
    for y in (None, table["kind"].to_pylist()):
        labelled = opened.labelled(y, None, LabelRules())
        assert labelled.classes.tolist() == ["ash", "elm", "oak"]
        assert read(labelled.source) == [(k, 1.0) for k in codes.tolist()]
        assert (labelled.n_unlabelled, labelled.is_soft) == (0, False)


@pytest.mark.parametrize("y", [None, "memory"])
@pytest.mark.parametrize("weight", ["column", "memory"])
def test_weights_of_a_column_and_in_memory_are_the_same(y, weight, table, numbers):
    w = table["weight"].to_numpy()
    rows = scan(table, columns=FEATURES, target="kind", weight="weight" if weight == "column" else None)
    y = None if y is None else table["kind"].to_numpy(zero_copy_only=False)
    labelled = rows.open_rows(None).labelled(y, w if weight == "memory" else None, LabelRules())
    assert read(labelled.source) == list(zip(numbers[1].tolist(), w.tolist(), strict=True))


def test_rows_without_a_label_are_counted_where_a_rule_allows_them():
    rows = scan(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, None, 1, 1]}), target="y").open_rows(None)
    labelled = rows.labelled(None, None, LabelRules(unlabelled="missing"))
    assert labelled.n_unlabelled == 1
    assert [t for t, _ in read(labelled.source)] == [0, -1, 1, 1]
    with pytest.raises(DataError, match="1 of 4 labels in column 'y' are missing, the first in row 1"):
        rows.labelled(None, None, LabelRules())


def test_classes_may_be_known_before():
    rows = scan(pa.table({"a": [1.0, 2.0], "y": ["v", "v"]}), target="y").open_rows(None)
    labelled = rows.labelled(None, None, LabelRules(known=np.array(["u", "v"])))
    assert labelled.classes.tolist() == ["u", "v"]
    assert read(labelled.source) == [(1, 1.0), (1, 1.0)]
    with pytest.raises(DataError, match="Label 'v' is not one of the classes"):
        rows.labelled(None, None, LabelRules(known=np.array(["p", "q"])))


@pytest.mark.parametrize(
    ("y", "w", "said"),
    [
        (["u", "u", "u"], [1.0, 1.0, 1.0], "only one class is present"),
        (["u", "v", "v"], [0.0, 1.0, 1.0], "Every row of class 'u' has weight 0"),
        (["u", "v", "v"], [0.0, 0.0, 0.0], "Every sample_weight is zero"),
        (["u", "v", "v"], [1.0, -1.0, 1.0], "is -1 in row 1"),
    ],
)
def test_what_is_wrong_in_memory_is_wrong_in_a_column(y, w, said):
    rows = scan(pa.table({"a": [1.0, 2.0, 3.0], "y": y, "w": w}), target="y", weight="w").open_rows(None)
    with pytest.raises(DataError, match=said):
        rows.labelled(None, None, LabelRules())


def test_labels_and_weights_come_from_one_place(table, opened):
    weighted = scan(table, columns=FEATURES, target="kind", weight="weight").open_rows(None)
    for y in (None, table["kind"].to_pylist()):
        with pytest.raises(DataError, match="Weights were given twice"):
            weighted.labelled(y, np.ones(900), LabelRules())
    with pytest.raises(DataError, match="has no target: say which column"):
        scan(table, columns=FEATURES).open_rows(None).labelled(None, None, LabelRules())
    with pytest.raises(DataError, match="900 rows but y has 2 labels"):
        opened.labelled(["ash", "oak"], None, LabelRules())


def test_one_class_is_said_with_its_column_and_where_it_is(table):
    with pytest.raises(DataError, match=r"only one class.*every label in column 'kind' of .* is 'oak'"):
        scan(table, columns=["x0"], target="kind", where="kind = 'oak'").open_rows(None).labelled(
            None, None, LabelRules()
        )
