"""The benchmark of constants changes them in all modules, and puts them back."""

from benchmarks import sensitivity
from separatrix.bayesian import alignment, by_class


def test_a_constant_changes_in_every_module_and_back():
    assert ("alignment", "MAX_DETERMINED") in sensitivity.constants()
    value = alignment.MAX_DETERMINED
    sensitivity.with_value("MAX_DETERMINED", value, 2 * value)
    assert alignment.MAX_DETERMINED == by_class.MAX_DETERMINED == 2 * value
    sensitivity.with_value("MAX_DETERMINED", 2 * value, value)
    assert alignment.MAX_DETERMINED == by_class.MAX_DETERMINED == value


def test_a_whole_number_stays_one():
    assert sensitivity.scaled(5, 0.5) == 3
    assert sensitivity.scaled(1, 0.5) == 1
    assert sensitivity.scaled(0.5, 0.5) == 0.25
