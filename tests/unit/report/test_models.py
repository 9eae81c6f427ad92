from dataclasses import replace

from separatrix.comparison import notes_on
from separatrix.report.models import models_of, notes_on_models
from separatrix.report.words import fixed, percent
from separatrix.study import Note


def test_models_stand_in_the_order_of_the_comparison_and_one_is_chosen(study_of_two):
    models = models_of(study_of_two)
    assert [row.name for row in models.rows] == list(study_of_two.comparison.names)
    assert [row.name for row in models.rows if row.is_chosen] == [study_of_two.choice.name]
    assert models.reasons == study_of_two.choice.reasons


def test_cells_hold_the_figures_of_the_comparison(study_of_two):
    models = models_of(study_of_two)
    accuracy = [row.cells[models.heads.index("accuracy")].value for row in models.rows]
    assert accuracy == [fixed(trial.test.accuracy.value, 3) for trial in study_of_two.comparison]
    assert models.rows[0].cells[models.heads.index("behind the best")].value == "best"


def test_a_model_that_failed_says_why(study_of_two):
    comparison = study_of_two.comparison
    failed = replace(comparison.trials[-1], failure="ValueError: no")
    compared = replace(study_of_two.compared, comparison=replace(comparison, trials=(*comparison.trials[:-1], failed)))
    study = replace(study_of_two, compared=compared)
    assert models_of(study).rows[-1].failure == "ValueError: no"


def test_one_model_alone_has_no_table(study_of_two):
    alone = replace(study_of_two, compared=None)
    assert models_of(alone) is None
    assert notes_on_models(alone) == ()


def test_notes_are_those_of_the_comparison_and_of_other_models(study_of_two):
    said = Note("other model", "naive Bayes: rough."), Note("warning", "naive Bayes: no.")
    study = replace(study_of_two, notes=said)
    assert notes_on_models(study) == (*notes_on(study.comparison), "naive Bayes: rough.")


def test_losses_are_minus_the_log_likelihoods_and_behind_is_never_ahead(study_of_two):
    models = models_of(study_of_two)
    loss = [row.cells[models.heads.index("log-loss")].value for row in models.rows]
    assert loss == [fixed(-trial.test.log_likelihood.value, 4) for trial in study_of_two.comparison]
    behind = [row.cells[models.heads.index("behind the best")].value for row in models.rows[1:]]
    assert all(float(value) >= 0 for value in behind)


def test_no_model_is_certain_and_none_is_impossible(study_of_two):
    models = models_of(study_of_two)
    chances = {row.cells[models.heads.index("P(model)")].value for row in models.rows}
    assert not chances & {percent(0.0), percent(1.0)}
