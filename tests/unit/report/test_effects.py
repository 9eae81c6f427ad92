from dataclasses import replace

import numpy as np

from separatrix.report.effects import N_MORE, N_SHOWN, effects_of
from separatrix.report.facts import facts_of
from separatrix.study import Effect


def effects(study, **changes):
    study = replace(study, **changes)
    return effects_of(study, facts_of(study))


def effect(kind, values, K=2, importance=1.0):
    G = len(values)
    P = np.linspace(0.1, 0.8, G)
    mean = np.column_stack([1 - P, P]) if K == 2 else np.full((G, K), 1 / K)
    return Effect("x", kind, np.asarray(values), mean, mean - 0.05, mean + 0.05, np.full(G, 1 / G), importance)


def test_cards_are_in_the_order_of_importance(study_of_two):
    cards = effects(study_of_two).cards
    ranked = sorted(study_of_two.effects, key=lambda e: -e.importance)
    assert [card.column for card in cards] == [e.column for e in ranked]
    assert [card.rank for card in cards] == list(range(1, len(cards) + 1))


def test_numbers_and_dates_are_lines_and_all_else_rows(study_of_two):
    dates = np.datetime64("2020-01-01") + np.arange(5) * 90
    kinds = [
        effect("number", [1.0, 2.0]),
        effect("date", dates),
        effect("boolean", [0, 1]),
        effect("categorical", ["a", "b"]),
    ]
    cards = effects(study_of_two, effects=tuple(kinds)).cards
    assert [card.curve is not None for card in cards] == [True, True, False, False]
    assert [row.name for row in cards[2].levels] == ["no", "yes"]


def test_of_many_levels_the_frequent_ones_are_in_sight(study_of_two):
    many = effect("categorical", [f"level {g}" for g in range(30)])
    share = np.arange(30) / 435
    card = effects(study_of_two, effects=(replace(many, share=share),)).cards[0]
    assert card.levels[0].name == "level 29"
    assert 0 < len(card.levels) < 10
    assert len(card.levels) + len(card.more_levels) == 30


def test_sixty_columns_do_not_make_it_endless(study_of_two):
    many = tuple(effect("number", [1.0, 2.0], importance=i) for i in range(60))
    view = effects(study_of_two, effects=many)
    assert (len(view.cards), len(view.more)) == (N_SHOWN, N_MORE)


def test_two_classes_are_one_line_and_more_are_one_each(study_of_two, study_of_five):
    two, five = effects(study_of_two), effects(study_of_five)
    assert (two.event, two.keys) == ("stays", ())
    assert (five.event, len(five.keys)) == ("", 5)
    curve = next(card.curve for card in five.cards if card.curve is not None)
    assert curve.markup.count('class="line ') == 5


def test_a_model_without_bands_says_so(study_without_weights):
    assert not effects(study_without_weights).has_bands
