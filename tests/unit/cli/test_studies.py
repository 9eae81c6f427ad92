import pytest

from separatrix.cli.console import steps
from separatrix.cli.errors import CommandError
from separatrix.cli.studies import (
    MOST_NOTES,
    Question,
    contents_of,
    notes_to_say,
    positive_of,
    run_comparison,
)
from separatrix.study import Note, study_of

FAST = ("prior only", "naive Bayes", "linear discriminant")


def asked(question):
    with steps("Reading") as progress:
        return run_comparison(question, progress)


def test_a_comparison_drops_what_is_named_and_notes_what_it_drops(folder):
    found, _ = asked(Question("loans.csv", "outcome", drop=("applied",), models=FAST))
    assert found.name == "loans"
    assert (found.target, found.n_rows) == ("outcome", 300)
    assert "applied" not in found.schema.inputs
    assert any("currency" in str(note) for note in found.notes)


def test_types_are_obeyed(folder):
    found, _ = asked(Question("loans.csv", "outcome", types={"debts": "categorical"}, models=("prior only",)))
    assert {plan.column: plan.kind for plan in found.schema.plans}["debts"] == "categorical"


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        (Question("loans.csv", "outcom"), 3, "Did you mean 'outcome'"),
        (Question("loans.csv", "outcome", types={"agee": "number"}), 3, "--types names. Did you mean 'age'"),
        (Question("loans.csv", "outcome", drop=("agee",)), 3, "--drop names. Did you mean 'age'"),
        (Question("loans.csv", "outcome", drop=("outcome",)), 2, "cannot be left out"),
        (Question("loans.csv", "outcome", types={"outcome": "number"}), 2, "whose values are classes"),
    ],
)
def test_names_that_are_not_there(folder, question, code, said):
    with pytest.raises(CommandError, match=said) as raised:
        asked(question)
    assert raised.value.code == code


def test_only_notes_on_the_table_and_the_model_chosen_are_said_each_once():
    notes = [Note("dropped", "a"), Note("other model", "b"), Note("failure", "c"), Note("warning", "a"), "file"]
    assert notes_to_say(notes) == ["a", "file"]
    many = notes_to_say(Note("dropped", f"column {d} was dropped.") for d in range(30))
    assert len(many) == MOST_NOTES + 1
    assert many[-1] == "10 more notes: the report and --json have all of them."


def test_of_two_classes_the_rarer_is_of_interest_unless_another_is_named():
    assert positive_of(["no", "yes"], None, counts=[5, 3]) == "yes"
    assert positive_of(["no", "yes"], None, counts=[3, 5]) == "no"
    assert positive_of(["no", "yes"], None) == "yes"
    assert positive_of([0, 1], "0", counts=[5, 3]) == 0
    assert positive_of(["a", "b", "c"], None, counts=[1, 2, 3]) is None
    with pytest.raises(CommandError, match="The classes are no, yes"):
        positive_of(["no", "yes"], "maybe")
    assert positive_of(["a", "b", "c"], "a") == "a"
    with pytest.raises(CommandError, match="Did you mean 'class 11'"):
        positive_of([f"class {k}" for k in range(12)], "clas 11")


def test_a_file_names_the_target_and_the_class_of_interest_of_its_model(folder):
    from separatrix.cli.files import load_model

    study = study_of(asked(Question("loans.csv", "outcome", models=FAST))[0])
    (folder / "new.sx").write_bytes(contents_of(study, model="new.sx")["new.sx"])
    assert load_model("new.sx")[1] == {"target": "outcome", "model": study.choice.name}
