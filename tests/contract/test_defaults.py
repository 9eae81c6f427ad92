"""The page "What happens by default" shows the table of strategies as it is in the code."""

from pathlib import Path

from separatrix.bayesian import costs
from separatrix.bayesian.inference import STRATEGIES
from separatrix.bayesian.plan import STEPS

PAGE = (Path(__file__).parents[2] / "docs" / "defaults.md").read_text(encoding="utf-8")


def strategies():
    """Lines of the table of strategies."""
    rows = [f'| `"{each.name}"` | {each.keeps} | {each.chosen_for} |' for each in STRATEGIES]
    return ["| `structure=` | what is kept | chosen for |", "|---|---|---|", *rows]


def omitted():
    """Lines of the table of steps that a strategy leaves out, with the reasons."""
    reasons = [(each.name, name, each.step(name)) for each in STRATEGIES for name in STEPS]
    rows = [f'| `"{strategy}"` | {name} | {why} |' for strategy, name, why in reasons if isinstance(why, str)]
    return ["| `structure=` | step | reason |", "|---|---|---|", *rows]


def test_the_page_shows_the_strategies_in_their_order():
    assert "\n".join(strategies()) in PAGE


def test_the_page_shows_the_reasons_for_steps_that_are_left_out():
    assert "\n".join(omitted()) in PAGE


def test_the_page_describes_all_steps_and_states_the_budget():
    described = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert [name for name in described if name in STEPS] == list(STEPS)
    assert f"{costs.BUDGET:g} seconds" in PAGE
