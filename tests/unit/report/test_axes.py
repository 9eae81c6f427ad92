import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from separatrix.report.axes import axis_along

VALUES = st.lists(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3)), min_size=2, max_size=30, unique=True
)


@given(VALUES)
def test_any_axis_keeps_the_order_and_both_ends(values):
    x = np.sort(np.array(values))
    axis = axis_along(x)
    assert (np.diff(axis.at) > 0).all()
    assert abs(axis.at[0]) < 1e-9
    assert abs(axis.at[-1] - 1) < 1e-9
    assert all(-1e-6 <= at <= 1 + 1e-6 for at, _ in axis.ticks)


def test_even_numbers_stay_linear_and_crowded_ones_are_spread():
    even, crowded = np.linspace(3, 9, 7), np.array([0.0, 1.0, 2.0, 5.0, 1000.0])
    np.testing.assert_allclose(axis_along(even).at, np.linspace(0, 1, 7))
    assert axis_along(crowded).at[3] > 0.2
    np.testing.assert_allclose(axis_along(-crowded[::-1]).at, 1 - axis_along(crowded).at[::-1])


@given(VALUES)
def test_an_axis_names_more_than_one_place(values):
    x = np.sort(np.array(values))
    assert len({word for _, word in axis_along(x).ticks}) > 1


def test_dates_are_named_by_month_or_by_day():
    years = axis_along(np.array([18262.0, 18600.0, 18993.0]), is_date=True)
    days = axis_along(np.array([18262.0, 18270.0, 18280.0]), is_date=True)
    assert all(len(word) == len("2020-01") for _, word in years.ticks)
    assert all(len(word) == len("2020-01-01") for _, word in days.ticks)
