import pytest
from sklearn.exceptions import ConvergenceWarning

from separatrix import exceptions


def test_a_caller_of_scikit_learn_catches_ours():
    assert issubclass(exceptions.NotSeparableWarning, ConvergenceWarning)
    with pytest.raises(ValueError, match="columns"):
        raise exceptions.CollinearError("columns")
