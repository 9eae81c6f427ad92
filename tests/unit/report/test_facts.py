from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from separatrix.report.facts import colour, facts_of
from separatrix.study import HeldOut


def test_figures_are_those_of_scikit_learn(study_of_two):
    facts, P, codes = facts_of(study_of_two), study_of_two.held_out.P, study_of_two.held_out.codes
    assert facts.log_loss.value == pytest.approx(log_loss(codes, P))
    assert facts.accuracy.value == pytest.approx(accuracy_score(codes, P.argmax(axis=1)))
    assert facts.auc.value == pytest.approx(roc_auc_score(codes, P[:, 1]))
    shares = np.tile(study_of_two.counts / study_of_two.counts.sum(), (len(codes), 1))
    assert facts.baseline_loss == pytest.approx(log_loss(codes, shares))


def test_always_saying_the_shares_gains_nothing_and_is_calibrated(study_of_two):
    codes = study_of_two.held_out.codes
    shares = np.tile(study_of_two.counts / study_of_two.counts.sum(), (len(codes), 1))
    facts = facts_of(replace(study_of_two, held_out=HeldOut(codes, shares, study_of_two.classes)))
    assert facts.gain == pytest.approx(0)
    assert facts.is_calibrated


def test_probabilities_that_are_too_sure_are_not_calibrated(study_of_two):
    codes = study_of_two.held_out.codes
    sure = np.where(np.arange(len(codes))[:, None] % 2 == [0, 1], 0.99, 0.01)
    facts = facts_of(replace(study_of_two, held_out=HeldOut(codes, sure, study_of_two.classes)))
    assert not facts.is_calibrated
    assert facts.excess > 0.1


def test_sixteen_classes_and_more_can_be_told_apart():
    assert len({colour(k, 20) for k in range(20)}) == 20
    assert colour(1, 2) == colour(0, 3) == "k0"
