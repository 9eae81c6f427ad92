from dataclasses import replace

from separatrix.comparison.notes import notes_on
from separatrix.report.models import models_of, notes_on_models
from separatrix.report.words import fixed


def test_models_stand_in_the_order_of_the_comparison_and_one_is_chosen(study_of_two):
    models = models_of(study_of_two)
    assert [row.name for row in models.rows] == list(study_of_two.comparison.names)
    assert [row.name for row in models.rows if row.is_chosen] == [study_of_two.choice.name]
    assert models.reasons == study_of_two.choice.reasons


def test_cells_hold_the_figures_of_the_comparison(study_of_two):
    models = models_of(study_of_two)
    accuracy = [row.cells[models.heads.index("accuracy")].value for row in models.rows]
    assert accuracy == [fixed(trial.test.accuracy.value, 3) for trial in study_of_two.comparison]
    assert models.rows[0].cells[models.heads.index("to the best")].value == "best"


def test_a_model_that_failed_says_why(study_of_two):
    comparison = study_of_two.comparison
    failed = replace(comparison.trials[-1], failure="ValueError: no")
    study = replace(study_of_two, comparison=replace(comparison, trials=(*comparison.trials[:-1], failed)))
    assert models_of(study).rows[-1].failure == "ValueError: no"


def test_one_model_alone_has_no_table(study_of_two):
    alone = replace(study_of_two, comparison=None, choice=None)
    assert models_of(alone) is None
    assert notes_on_models(alone) == ()


def test_notes_are_those_of_the_comparison_and_of_other_models(study_of_two):
    study = replace(study_of_two, notes=("naive Bayes: rough.", "logistic (Bayesian): stopped.", "else"))
    assert notes_on_models(study) == (*notes_on(study.comparison), "naive Bayes: rough.")
