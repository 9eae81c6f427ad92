# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from separatrix.basis.wrapped import Wrapped, transformed

X = np.random.default_rng(0).normal(size=(20, 2))


def test_data_frames_asked_for_elsewhere_do_not_enter_a_pass():
    pytest.importorskip("pandas")
    scaler = StandardScaler().fit(X)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(transformed(scaler, X), np.ndarray)
    assert isinstance(transformed(StandardScaler().set_output(transform="pandas").fit(X), X), np.ndarray)


def test_sparse_answers_come_as_csr_arrays_in_working_precision():
    codes = np.array([[0], [1], [1]])
    Phi = transformed(OneHotEncoder(dtype=np.int8).fit(codes), codes)
    assert isinstance(Phi, sparse.csr_array)
    assert Phi.dtype == np.float64


def test_sparse_answers_stay_sparse_where_the_user_wants_data_frames():
    codes = np.array([[0], [1], [1]])
    encoder = OneHotEncoder().fit(codes)
    with sklearn.config_context(transform_output="pandas"):  # pandas itself would refuse them
        assert isinstance(transformed(encoder, codes), sparse.csr_array)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype):
    assert transformed(StandardScaler().fit(X), X.astype(dtype)).dtype == dtype


def test_integers_become_float64():
    assert transformed(FunctionTransformer(np.sign).fit(X), X.astype(int)).dtype == np.float64


def test_names_are_the_transformers_own_where_it_has_them():
    assert Wrapped(StandardScaler().fit(X), 2).names(("a", "b")) == ("a", "b")
    assert Wrapped(FunctionTransformer(np.abs).fit(X), 2).names(("a", "b")) == ("phi0", "phi1")
