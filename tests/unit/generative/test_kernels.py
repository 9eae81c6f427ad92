"""The compiled sweep over patterns does what it does in plain Python, and what NumPy's inverse says."""

import numpy as np
from numpy.testing import assert_allclose

from separatrix.generative._kernels import invert_seen, sweep_patterns
from separatrix.generative.missing import patterns


def correlation(rng, size):
    A = rng.normal(size=(size, 2 * size))
    S = A @ A.T
    return S / np.sqrt(np.outer(np.diag(S), np.diag(S)))


def test_the_inverse_and_determinant_of_what_was_seen(rng):
    C = correlation(rng, 9)
    o = np.array([1, 2, 5, 8, 0, 0, 0, 0, 0])
    L, P = np.full((9, 9), np.nan), np.full((9, 9), np.nan)
    log_det = invert_seen(C, o, 4, L, P)
    block = C[np.ix_(o[:4], o[:4])]
    assert_allclose(P[:4, :4], np.linalg.inv(block), rtol=1e-9)
    assert_allclose(log_det, np.linalg.slogdet(block)[1], rtol=1e-9)


def test_compiled_equals_plain(rng):
    n, M = 40, 6
    seen = rng.random((n, M)) < 0.7
    seen[3] = False  # a row of which nothing is known
    Z, C, weight = np.where(seen, rng.normal(size=(n, M)), 0.0), correlation(rng, M), rng.random(n)
    order, is_new = patterns(seen)
    answers = []
    for sweep in (sweep_patterns, sweep_patterns.py_func):
        out = [np.zeros((n, M)), np.zeros(n), np.zeros(n), np.zeros((M, M))]
        sweep(Z, seen, order, is_new, weight, C, *out)
        answers.append(out)
    for compiled, plain in zip(*answers, strict=True):
        assert_allclose(compiled, plain, rtol=1e-9, atol=1e-12)
    total = np.zeros((M, M))
    for w, o in zip(weight, seen, strict=True):
        total[np.ix_(o, o)] += w * np.linalg.inv(C[np.ix_(o, o)])
    assert_allclose(answers[0][3], total, rtol=1e-8, atol=1e-10)
