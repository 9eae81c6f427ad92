import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.exceptions import DataError
from separatrix.families import FAMILIES, Density, Family, Poisson
from separatrix.families.family import linear_log_density_sum, reject, shape_of, weigh


def test_the_table_holds_final_families():
    assert all(issubclass(family, Family) for family in FAMILIES.values())
    assert not any(family.__subclasses__() for family in FAMILIES.values())


def test_zero_times_minus_infinity_is_zero():
    U = np.array([[0.0, 2.0], [1.0, 0.0]])
    c = np.array([[-np.inf, -1.0], [-3.0, -np.inf]])
    assert_allclose(weigh(U, c), [[-2.0, -np.inf], [-np.inf, -3.0]])


@pytest.mark.parametrize("far", [0.0, 9e4, 1e8])
def test_matrix_products_say_what_the_elementwise_sum_says(far):
    distribution = Poisson(np.array([[0.0, 3.0], [far, 5.0], [0.0, 1e-9]]))
    x = np.array([[0.0, 4.0], [far + 7, np.nan], [np.nan, np.nan]])
    expected = Density.log_density_sum(distribution, x)
    assert_allclose(linear_log_density_sum(distribution, x), expected, rtol=1e-12, atol=1e-10)
    assert expected[1, 0] == -np.inf
    assert not expected[2].any()


def test_the_first_bad_column_is_named_with_its_value():
    x = np.array([[1.0, 2.0, -3.0], [1.0, -5.0, 2.0]])
    with pytest.raises(DataError, match=r"Column 'b' \(and 1 more column\) holds -5 where no. Fix."):
        reject(x < 0, x, ("a", "b", "c"), want="no", remedy="Fix.")


def test_sample_shapes():
    assert shape_of(3, (2, 4)) == (3, 2, 4)
    assert shape_of((), (2,)) == (2,)
