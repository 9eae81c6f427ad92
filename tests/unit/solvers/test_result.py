import pytest

from separatrix.solvers import Solution, Status


def test_a_solution_is_a_value_with_a_reason():
    solution = Solution(1.0, Status.MAX_STEPS, steps=3, passes=4)
    assert solution.trace == ()
    assert "limit" in solution.status.value
    with pytest.raises(AttributeError):
        solution.value = 2.0


def test_every_status_reads_as_a_sentence():
    assert all(" " in status.value for status in Status)
