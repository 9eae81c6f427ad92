from separatrix.report.columns import data_of
from separatrix.report.facts import facts_of


def test_every_column_of_the_table_is_told_of_once(study_of_two):
    data = data_of(study_of_two, facts_of(study_of_two))
    assert {row.name for row in data.columns} == set(study_of_two.schema.inputs)
    assert [row.name for row in data.dropped] == ["customer_id"]
    assert "different" in data.dropped[0].seen


def test_what_a_column_became_is_told_by_what_tells_its_numbers_apart(study_of_two):
    became = {row.name: row.becomes for row in data_of(study_of_two, facts_of(study_of_two)).columns}
    assert became["paperless"] == "one number"
    assert became["charge"] == "2 numbers: charge and charge is missing"
    assert became["contract"].startswith("3 numbers: ")
    assert "contract=" not in became["contract"]


def test_classes_come_from_the_largest_to_the_smallest(study_of_five):
    rows = data_of(study_of_five, facts_of(study_of_five)).classes
    counts = [int(row.count) for row in rows]
    assert counts == sorted(study_of_five.counts.tolist(), reverse=True)
    assert sum(counts) == study_of_five.n_rows
