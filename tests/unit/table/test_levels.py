"""Counts of values in bounded memory: a function of the rows alone, and a fair guess beyond the bound."""

import subprocess
import sys
from collections import Counter
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.table.statistics import SKETCH_HASHES, Levels


def of(values, limit):
    return Levels.of(Counter(values), limit)


@settings(max_examples=80)
@given(
    batches=st.lists(st.lists(st.integers(0, 30).map(str), max_size=12), min_size=1, max_size=5),
    limit=st.integers(1, 25),
    rng=st.randoms(use_true_random=False),
)
def test_batches_in_any_order_are_one_batch_within_and_beyond_the_limit(batches, limit, rng):
    whole = of([v for batch in batches for v in batch], limit)
    shuffled = rng.sample(batches, len(batches))
    parts = [of(batch, limit) for batch in shuffled]
    assert reduce(add, parts) == whole
    assert reduce(lambda a, b: b + a, parts) == whole
    assert whole.n_distinct == len({v for batch in batches for v in batch})
    assert whole.overflowed == (whole.n_distinct > limit)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0.0, -0.0, 1.5, 2.0, 1e300]), max_size=30), st.integers(1, 6))
def test_numbers_counted_at_once_are_numbers_counted_singly(numbers, limit):
    assert Levels.of_numbers(np.array(numbers), limit) == of(numbers, limit)


@pytest.mark.parametrize("n", [20_000, 300_000])
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_the_number_of_distinct_values_is_guessed_within_four_standard_errors(n, kind):
    if kind == "text":
        levels = of([f"customer-{i:07d}" for i in range(min(n, 50_000))], 10_000)
        n = min(n, 50_000)
    else:
        levels = Levels.of_numbers(np.tile(np.arange(n, dtype=float), 2), 10_000)
    assert levels.overflowed
    assert levels.n_distinct == pytest.approx(n, rel=4 / np.sqrt(SKETCH_HASHES))


def test_a_late_surplus_of_values_is_noticed():
    head = np.zeros(100)
    assert Levels.of_numbers(np.concatenate([head, np.arange(30.0)]), 20).overflowed


def test_hashes_are_the_same_in_another_process():
    code = (
        "from separatrix.table.statistics import Levels; "
        "print(sorted(Levels.of({str(i): 1 for i in range(9)}, 3).hashes))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "123"}
    )
    assert done.stdout.strip() == str(sorted(Levels.of({str(i): 1 for i in range(9)}, 3).hashes))
