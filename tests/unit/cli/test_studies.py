import pytest

from separatrix.cli.console import Voice
from separatrix.cli.errors import CommandError
from separatrix.cli.studies import Question, merged_notes, run_study, unsaid

FAST = ("prior only", "naive Bayes", "linear discriminant")


@pytest.fixture
def study(folder):
    return run_study(Question("loans.csv", "outcome", drop=("applied",), models=FAST), Voice(as_json=True))


def test_a_study_drops_what_is_named_and_notes_what_it_drops(study):
    found, notes = study
    assert found.name == "loans"
    assert (found.target, found.n_rows) == ("outcome", 300)
    assert "applied" not in found.schema.inputs
    assert any("currency" in note for note in notes)
    assert len(notes) == len(set(notes))


def test_types_are_obeyed(folder):
    question = Question("loans.csv", "outcome", types={"debts": "categorical"}, models=("prior only",))
    found, _ = run_study(question, Voice(as_json=True))
    assert {plan.column: plan.kind for plan in found.schema.plans}["debts"] == "categorical"


def test_notes_under_the_table_of_models_are_not_said_twice(study):
    found, notes = study
    assert not any(note in str(found.comparison).replace("\n", " ") for note in unsaid(notes, found))


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        (Question("loans.csv", "outcom"), 3, "Did you mean 'outcome'"),
        (Question("loans.csv", "outcome", types={"agee": "number"}), 3, "--types names. Did you mean 'age'"),
        (Question("loans.csv", "outcome", drop=("agee",)), 3, "--drop names. Did you mean 'age'"),
        (Question("loans.csv", "outcome", drop=("outcome",)), 2, "cannot be left out"),
    ],
)
def test_names_that_are_not_there(folder, question, code, said):
    with pytest.raises(CommandError, match=said) as raised:
        run_study(question, Voice(as_json=True))
    assert raised.value.code == code


def test_notes_are_merged_in_order_each_once():
    assert merged_notes(["a", "b"], ("b", "c"), []) == ["a", "b", "c"]
