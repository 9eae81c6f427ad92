import pytest
import typer

from separatrix.cli.options import MODELS, examples, model_names, names_among, nearest, split_types


def test_types_are_split_at_commas_but_names_may_hold_them():
    assert split_types(["age=number, zip=Categorical", "size, in mm=number"]) == {
        "age": "number",
        "zip": "categorical",
        "size, in mm": "number",
    }
    assert split_types(None) == {}


@pytest.mark.parametrize("typed", ["age", "age=numbr", "age=number,zip", "=,"])
def test_what_is_no_type_is_named_with_those_there_are(typed):
    with pytest.raises(typer.BadParameter, match="number, boolean, categorical, date, drop"):
        split_types([typed])


def test_names_are_split_at_commas_unless_a_column_is_so_named():
    assert names_among(["a, b", "x,y"], ["a", "b", "x,y"]) == ["a", "b", "x,y"]
    assert names_among(None, ["a"]) == []


def test_short_words_stand_for_all_models_of_a_study():
    from separatrix.study import MODELS as STUDIED

    assert set(MODELS.values()) == set(STUDIED)
    assert model_names(["logistic,bayes"]) == ("logistic (Bayesian)", "naive Bayes")
    assert model_names(["curved logistic (Bayesian)"]) == ("curved logistic (Bayesian)",)
    with pytest.raises(typer.BadParameter, match="Did you mean 'logistic'"):
        model_names(["logstic"])


def test_a_word_near_to_none_gets_them_all():
    assert nearest("zzz", ["fit", "plot"]) == "There are 'fit', 'plot'."


def test_examples_keep_square_brackets():
    assert "\\[0]" in examples("jq '.a[0]'")
