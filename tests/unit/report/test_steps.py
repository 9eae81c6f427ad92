import math

import numpy as np
import pandas as pd
import pytest

from separatrix.report.steps import paired, steps_of
from separatrix.study import Coefficient, Effect, TableClassifier, explain


def weight(column, name, spread):
    return Coefficient(column, name, "stays", 0.02, 0.01, 0.03, 0.02 * spread)


@pytest.mark.parametrize(
    ("column", "name", "spread", "size", "words"),
    [
        ("tenure", "tenure", 37.0, 50.0, "for 50 more"),
        ("tenure", "tenure", 13.6, 10.0, "for 10 more"),
        ("charge", "charge", 0.03, 0.02, "for 0.02 more"),
        ("contract", "contract=yearly", 0.4, 1.0, "against the average level"),
        ("paperless", "paperless", 0.5, 1.0, "for yes against no"),
        ("charge", "charge is missing", 0.2, 1.0, "where missing, against a value at the average"),
        ("joined", "joined: days", 350.0, 500.0, "for 500 days more"),
        ("joined", "joined: days", 0.9, 1.0, "for 1 day more"),
        ("joined", "joined: month (cos)", 0.7, 1.0, ""),
        ("tenure", "tenure from 3 to 9", 0.4, 1.0, "over that range"),
    ],
)
def test_a_step_is_one_that_a_person_takes(study_of_two, column, name, spread, size, words):
    step = steps_of([weight(column, name, spread)], study_of_two.schema, ())[name]
    assert (step.size, step.words) == (size, words)


def test_whole_numbers_move_by_one_at_least(study_of_two):
    blank = np.zeros((6, 2))
    whole = Effect("calls", "number", np.arange(6.0), blank, blank, blank, np.ones(6), 1.0)
    assert steps_of([weight("calls", "calls", 0.3)], study_of_two.schema, [whole])["calls"].size == 1
    assert steps_of([weight("calls", "calls", 0.3)], study_of_two.schema, ())["calls"].size == 0.2


def test_columns_of_like_spread_have_the_same_step(study_of_two):
    some = [weight("tenure", "tenure", 1.3), weight("charge", "charge", 1.6), weight("calls", "calls", 40.0)]
    steps = steps_of(some, study_of_two.schema, ())
    assert steps["tenure"].size == steps["charge"].size
    assert steps["calls"].size == 50.0


def test_two_levels_are_one_weight_the_difference_of_both():
    rng = np.random.default_rng(4)
    sex = np.where(rng.random(800) < 0.3, "Female", "Male")
    x = rng.normal(size=800)
    y = rng.random(800) < 1 / (1 + np.exp(-x + 0.9 * (sex == "Female")))
    table = pd.DataFrame({"x": x, "sex": sex})
    model = TableClassifier(types={"sex": "categorical"}).fit(table, y)
    raw = dict(zip(model.encoder_.schema_.columns, model.estimator_.coef_[0], strict=True))
    found = {c.name: c for c in paired(explain(model), model.encoder_.schema_)}
    assert sorted(found) == ["sex=Female", "x"]
    one = found["sex=Female"]
    assert one.weight == pytest.approx(raw["sex=Female"] - raw["sex=Male"])
    posterior = model.estimator_.posterior_
    place = list(model.encoder_.schema_.columns)
    gap = np.zeros(len(posterior.mean))
    gap[place.index("sex=Female")], gap[place.index("sex=Male")] = 1.0, -1.0
    draws = posterior.sample(20_000, np.random.default_rng(0)) @ gap
    assert (one.upper - one.lower) / 3.92 == pytest.approx(draws.std(), rel=0.03)
    assert one.per_spread / one.weight == pytest.approx(math.sqrt(np.mean(sex == "Female") * np.mean(sex == "Male")))
    words = steps_of(found.values(), model.encoder_.schema_, ())["sex=Female"].words
    assert words == "for Female against Male"


def test_other_weights_pass_as_they_are(study_of_five):
    assert paired(study_of_five.coefficients, study_of_five.schema) == list(study_of_five.coefficients)
