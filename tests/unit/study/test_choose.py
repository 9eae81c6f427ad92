"""Held-out rows first, then evidence, then simplicity: on comparisons made by hand."""

import numpy as np
import pytest

from separatrix.comparison import Comparison
from separatrix.comparison.evidence import NO_EVIDENCE, Evidence
from separatrix.comparison.trial import Scores, Trial
from separatrix.exceptions import DataError
from separatrix.metrics import weighted_mean
from separatrix.study.choose import choose

N = 400
HARD = np.random.default_rng(0).normal(0, 0.3, N)  # rows are hard or easy for all models alike
SWAY = np.random.default_rng(1).normal(0, 0.1, (9, N))
SWAY -= SWAY.mean(axis=1, keepdims=True)


def trial(name, log_likelihood, evidence=None, place=0):
    """A model with this mean log-likelihood; differences between two of them have a standard error of about 0.007."""
    rows = log_likelihood + HARD - HARD.mean() + SWAY[place]
    stated = NO_EVIDENCE if evidence is None else Evidence(evidence, 0.0, 0.0, of_labels=True)
    return Trial(name, object(), test=Scores(log_likelihood=weighted_mean(rows, None), rows=rows), evidence=stated)


def comparison(*trials):
    ranked = sorted(trials, key=lambda t: -t.test.log_likelihood.value if not t.failure else np.inf)
    return Comparison(tuple(ranked), np.array([0, 1]), np.arange(1600), np.arange(N), None)


PRIOR = trial("prior only", -0.60, -900.0, 1)


def test_a_clear_winner_on_held_out_rows_is_taken_whatever_the_evidence():
    best, other = trial("naive Bayes", -0.30, None, 2), trial("logistic (Bayesian)", -0.40, -500.0, 3)
    choice = choose(comparison(best, other, PRIOR))
    assert choice.name == "naive Bayes"
    text = " ".join(choice.reasons)
    assert "No other is within two standard errors of it: next comes logistic (Bayesian), 0.1000" in text
    assert "The evidence alone would prefer logistic (Bayesian)" in text
    assert "It gains 0.3000 nats a row over the shares of the classes alone." in text


def test_among_models_that_the_rows_cannot_tell_apart_the_evidence_decides():
    best, other = (
        trial("logistic, curved (Bayesian)", -0.300, -520.0, 2),
        trial("logistic (Bayesian)", -0.301, -500.0, 3),
    )
    choice = choose(comparison(best, other, PRIOR))
    assert choice.name == "logistic (Bayesian)"
    text = " ".join(choice.reasons)
    assert "ahead by 20.0 nats over logistic, curved (Bayesian)" in text
    assert "Taking logistic (Bayesian) instead of logistic, curved (Bayesian) gives up 0.0010" in text


def test_an_evidence_that_is_tied_leaves_it_to_the_simpler_model():
    best, other = (
        trial("logistic, curved (Bayesian)", -0.300, -498.0, 2),
        trial("logistic (Bayesian)", -0.301, -500.0, 3),
    )
    choice = choose(comparison(best, other, PRIOR))
    assert choice.name == "logistic (Bayesian)"
    assert any("differs by 2.0 nats, less than odds of 20 to 1" in reason for reason in choice.reasons)
    richer = choose(comparison(trial("logistic, curved (Bayesian)", -0.300, -490.0, 2), other, PRIOR))
    assert richer.name == "logistic, curved (Bayesian)"


def test_a_model_with_evidence_is_preferred_to_one_without_that_is_no_better():
    choice = choose(comparison(trial("naive Bayes", -0.300, None, 2), trial("logistic (Bayesian)", -0.301, -500.0, 3)))
    assert choice.name == "logistic (Bayesian)"
    assert any(reason.startswith("naive Bayes: no evidence") for reason in choice.reasons)


def test_without_any_evidence_the_best_on_held_out_rows_is_taken():
    choice = choose(comparison(trial("naive Bayes", -0.300, None, 2), trial("linear discriminant", -0.301, None, 3)))
    assert choice.name == "naive Bayes"
    assert any("None of these states the evidence" in reason for reason in choice.reasons)


def test_where_nothing_beats_the_shares_of_the_classes_that_is_said():
    flat = [trial("prior only", -0.690, -280.0, 1), trial("logistic (Bayesian)", -0.689, -281.0, 2)]
    choice = choose(comparison(*flat))
    assert choice.name == "prior only"
    assert "No model predicts clearly better than the shares of the classes alone" in choice.reasons[-1]


def test_failed_models_are_passed_over_and_all_failed_is_an_error():
    failed = Trial("linear discriminant", failure="DataError: singular")
    assert choose(comparison(failed, PRIOR)).name == "prior only"
    with pytest.raises(DataError, match="linear discriminant: DataError: singular"):
        choose(comparison(failed))


def test_a_model_that_called_what_happened_impossible_is_not_near():
    impossible = trial("naive Bayes", -0.3, None, 2)
    impossible.test.rows[3] = -np.inf
    scores = Scores(
        log_likelihood=weighted_mean(np.append(impossible.test.rows, 0.0)[:N], None), rows=impossible.test.rows
    )
    trials = [PRIOR, Trial("naive Bayes", object(), test=scores)]
    choice = choose(Comparison(tuple(trials), np.array([0, 1]), np.arange(9), np.arange(N), None))
    assert choice.name == "prior only"
    assert any("No other model is within two standard errors" in reason for reason in choice.reasons)
