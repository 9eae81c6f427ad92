"""Likelihoods of classes against mpmath in both tails, and against each other."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import separatrix as sx
from problems import blobs
from separatrix.discriminative import DiscriminativeClassifier
from separatrix.likelihoods import CLogLog, LabelNoise, Logit, Probit, Softmax, SoftmaxLabelNoise

REACH = np.concatenate([-np.geomspace(1e9, 1e-6, 40), [0.0], np.geomspace(1e-6, 1e9, 40)])


# Logit

A = np.concatenate([-np.geomspace(1e9, 1e-9, 40), [-0.0, 0.0], np.geomspace(1e-9, 700, 40)])


def exact_logit(a, t):
    """ln p, slope, curvature and skew from their definitions, with a thousand digits."""
    with mp.workdps(1000):
        a, t = mp.mpf(float(a)), mp.mpf(float(t))
        up = 1 / (1 + mp.exp(-a)) if a > 0 else mp.exp(a) / (1 + mp.exp(a))
        down = mp.exp(-a) * up if a > 0 else 1 / (1 + mp.exp(a))
        log_p = t * mp.log(up) + (1 - t) * (mp.log(up) - a)
        return [float(v) for v in (log_p, t - up, up * down, up * down * (down - up))]


@pytest.mark.parametrize("t", [0, 1, 0.0, 1.0, 0.3])
def test_the_logit_is_exact_in_both_tails(t):
    targets = np.full(len(A), t)
    found = [*Logit().derivatives(A, targets), Logit().skew(A, targets)]
    expected = np.array([exact_logit(a, t) for a in A]).T
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-14, atol=1e-300 if t in (0, 1) else 1e-16)


# Probit

WRONG = -np.concatenate([np.geomspace(1e-9, 3.9, 25), np.linspace(3.95, 4.05, 9), np.geomspace(4.1, 1e9, 30)])
RIGHT = np.concatenate([[0.0], np.geomspace(1e-9, 37, 40)])


def exact_probit(m):
    """ln Φ(m), r = N(m)/Φ(m), r (m + r) and its derivative r (1 - (m + r)(m + 2r))."""
    with mp.workdps(500):
        m = mp.mpf(float(m))
        if m < -40:  # the continued fraction of the hazard, for precision instead of 1e18 digits of Φ
            K = mp.mpf(0)
            for j in range(2000, 0, -1):
                K = j / (K - m)
            r = K - m
            log_p = -m * m / 2 - mp.log(2 * mp.pi) / 2 - mp.log(r)
        else:
            log_p = mp.log1p(-mp.erfc(m / mp.sqrt(2)) / 2) if m > 0 else mp.log(mp.erfc(-m / mp.sqrt(2)) / 2)
            r = mp.exp(-m * m / 2 - log_p) / mp.sqrt(2 * mp.pi)
        return [float(v) for v in (log_p, r, r * (m + r), r * (1 - (m + r) * (m + 2 * r)))]


@pytest.fixture(scope="module")
def truth():
    return {m: exact_probit(m) for m in (*WRONG, *RIGHT, *-RIGHT)}


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("kind", [np.intp, np.float64])
def test_the_probit_is_exact_in_both_tails(truth, t, kind):
    m = np.concatenate([WRONG, RIGHT])
    sign = 2 * t - 1
    log_p, slope, curvature = Probit().derivatives(sign * m, np.full(len(m), t, dtype=kind))
    skew = Probit().skew(sign * m, np.full(len(m), t, dtype=kind))
    expected = np.array([truth[v] for v in m]).T
    assert_allclose(log_p, expected[0], rtol=1e-12)
    assert_allclose(slope, sign * expected[1], rtol=1e-12)
    assert_allclose(curvature, expected[2], rtol=1e-12)
    assert_allclose(skew, sign * expected[3], rtol=1e-10)


def test_soft_targets_of_the_probit_are_expectations(truth):
    a, t = RIGHT, np.linspace(0.0, 1.0, len(RIGHT))
    up, down = (np.array([truth[v] for v in side]).T for side in (RIGHT, -RIGHT))
    found = [*Probit().derivatives(a, t), Probit().skew(a, t)]
    for ours, one, zero, sign in zip(found, up, down, (1, -1, 1, -1), strict=True):
        assert_allclose(ours, t * one + sign * (1 - t) * zero, rtol=1e-12, atol=1e-14)


def test_the_probit_has_its_limits_far_out():
    """ln Φ(-x) is -x²/2 and the curvature is 1."""
    log_p, slope, curvature = Probit().derivatives(np.array([-1e150, 1e150]), np.array([1, 1]))
    assert_allclose(log_p, [-5e299, 0.0], rtol=1e-15)
    assert_array_equal(slope, [1e150, 0.0])
    assert_array_equal(curvature, [1.0, 0.0])


# Softmax


def exact_softmax(a, t):
    with mp.workdps(500):
        weights = [mp.exp(mp.mpf(float(v - max(a)))) for v in a]
        p = [w / mp.fsum(weights) for w in weights]
        return float(mp.log(p[t])), [float((k == t) - v) for k, v in enumerate(p)]


def test_the_softmax_is_exact(rng):
    rows = rng.normal(size=(40, 4)) * np.geomspace(0.1, 300, 40)[:, None]
    t = rng.integers(4, size=40)
    log_p, slope, _ = Softmax(4).derivatives(rows, t)
    expected = [exact_softmax(a, code) for a, code in zip(rows, t, strict=True)]
    assert_allclose(log_p, [value for value, _ in expected], rtol=1e-13, atol=1e-300)
    assert_allclose(slope, [value for _, value in expected], rtol=2e-13, atol=1e-300)


@pytest.mark.parametrize("shift", [0.0, 3.0, -1e4])
def test_two_classes_are_the_logit_of_the_difference(shift):
    a = np.column_stack([np.full(len(REACH), shift), shift + REACH])
    difference = a[:, 1] - a[:, 0]
    for t in (0, 1):
        codes = np.full(len(a), t)
        ours, logit = Softmax(2).derivatives(a, codes), Logit().derivatives(difference, codes)
        assert_allclose(ours.log_p, logit.log_p, rtol=1e-14, atol=1e-300)
        assert_allclose(ours.slope, np.column_stack([-logit.slope, logit.slope]), rtol=1e-14, atol=1e-300)
        for j, k, sign in [(0, 0, 1), (0, 1, -1), (1, 1, 1)]:
            assert_allclose(ours.curvature.block(j, k), sign * logit.curvature, rtol=1e-14, atol=1e-300)


def test_rows_of_probabilities_are_expectations_over_codes(rng):
    a, T = rng.normal(size=(50, 3)) * 4, rng.dirichlet(np.ones(3), size=50)
    log_p, slope, curvature = Softmax(3).derivatives(a, T)
    each = [Softmax(3).derivatives(a, np.full(50, k)) for k in range(3)]
    assert_allclose(log_p, sum(T[:, k] * each[k].log_p for k in range(3)), rtol=1e-13)
    assert_allclose(slope, sum(T[:, [k]] * each[k].slope for k in range(3)), atol=1e-15)
    assert_array_equal(curvature.p, each[0].curvature.p)


# Label noise

RATES = [(0.1, 0.1), (0.3, 0.05), (0.0, 0.2), (0.2, 0.0), (1e-12, 1e-300), (0.49, 0.5)]
CONFUSION = np.array([[0.8, 0.15, 0.05], [0.0, 1.0, 0.0], [0.3, 0.1, 0.6]])


def exact_mixture(a, t, eps0, eps1):
    """ln p, slope, curvature, skew and posterior of the mixture as it is defined."""
    with mp.workdps(900):
        a, eps0, eps1 = (mp.mpf(float(v)) for v in (a, eps0, eps1))
        up = 1 / (1 + mp.exp(-a)) if a > 0 else mp.exp(a) / (1 + mp.exp(a))
        one, zero = (1 - eps1, eps0) if t else (eps1, 1 - eps0)
        p = one * up + zero * (1 - up)
        first = (one - zero) * up * (1 - up)
        second, third = first * (1 - 2 * up), first * (1 - 6 * up + 6 * up**2)
        slope = first / p
        skew = -(third / p - 3 * first * second / p**2 + 2 * slope**3)
        return [float(v) for v in (mp.log(p), slope, slope**2 - second / p, skew, one * up / p)]


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("t", [0, 1])
def test_label_noise_is_exact(rates, t):
    a = np.concatenate([np.linspace(-60, 60, 41), [-700.0, 700.0]])
    noise, codes = LabelNoise(*rates), np.full(len(a), t)
    found = [*noise.derivatives(a, codes), noise.skew(a, codes), noise.posterior(a, codes)]
    expected = np.array([exact_mixture(v, t, *rates) for v in a]).T
    scale = expected[1] ** 2 + np.abs(expected[1])  # curvature and skew change sign, with the digits of the slope
    for ours, theirs, size in zip(found, expected, (0.0, 0.0, scale, scale, 0.0), strict=True):
        assert np.all(np.abs(ours - theirs) <= 1e-13 * (np.abs(theirs) + size) + 1e-300)


@pytest.mark.parametrize("t", [0, 1, 0.0, 1.0, 0.3])
def test_label_noise_without_noise_is_the_logit(t):
    targets = np.full(len(REACH), t)
    none, logit = LabelNoise(0.0), Logit()
    for ours, theirs in zip(none.derivatives(REACH, targets), logit.derivatives(REACH, targets), strict=True):
        assert_allclose(ours, theirs, rtol=1e-14, atol=1e-300 if t in (0, 1) else 1e-16)
    assert_allclose(none.skew(REACH, targets), logit.skew(REACH, targets), rtol=1e-12, atol=1e-16)
    assert_allclose(none.safe_curvature(REACH, targets), logit.safe_curvature(REACH, targets), rtol=1e-14, atol=1e-300)
    assert_allclose(none.posterior(REACH, targets), targets)


@pytest.mark.parametrize("rates", RATES, ids=str)
def test_safe_curvature_is_the_expected_curvature(rates):
    noise = LabelNoise(*rates)
    a = np.linspace(-30, 30, 61)
    one, zero = (noise.derivatives(a, np.full(61, t)).curvature for t in (1, 0))
    up, down = noise.observed(a), 1 - noise.observed(a)
    information = noise.safe_curvature(a, np.ones(61, dtype=int))
    assert_allclose(information, up * one + down * zero, atol=1e-15)
    assert (information >= 0).all()


@pytest.mark.parametrize("rates", RATES, ids=str)
def test_probabilities_of_class_and_label(rates, rng):
    noise, a = LabelNoise(*rates), rng.normal(size=100) * 5
    eps0, eps1 = rates
    assert_allclose(noise.probability(a), Logit().probability(a))
    assert_allclose(noise.observed(a), eps0 + (1 - eps0 - eps1) * Logit().probability(a), rtol=1e-14)
    assert_allclose(np.exp(noise.derivatives(a, np.full(100, 1)).log_p), noise.observed(a), rtol=1e-13)


def test_k_classes_against_the_definition(rng):
    a, t = rng.normal(size=(60, 3)) * 6, rng.integers(3, size=60)
    noise = SoftmaxLabelNoise(CONFUSION)
    P = Softmax(3).probability(a)
    joint = P * CONFUSION[:, t].T
    p = joint.sum(axis=1)
    Q = joint / p[:, None]
    log_p, slope, curvature = noise.derivatives(a, t)
    assert_allclose(log_p, np.log(p), rtol=1e-12, atol=1e-14)
    assert_allclose(slope, Q - P, rtol=1e-10, atol=1e-15)
    assert_allclose(curvature.p, P, rtol=1e-14)
    assert_allclose(curvature.q, Q, rtol=1e-13)
    assert_allclose(noise.posterior(a, t), Q, rtol=1e-13)
    assert_allclose(noise.observed(a), P @ CONFUSION, rtol=1e-14)
    assert_array_equal(noise.probability(a), P)
    safe = noise.safe_curvature(a, t)
    assert safe.q is None
    assert_array_equal(safe.p, P)


def test_an_identity_confusion_matrix_gives_the_softmax(rng):
    a = rng.normal(size=(300, 4)) * rng.choice([1.0, 40.0, 1e3, 1e9], size=(300, 1))
    t = rng.integers(4, size=300)
    ours, softmax = SoftmaxLabelNoise(np.eye(4)).derivatives(a, t), Softmax(4).derivatives(a, t)
    assert_allclose(ours.log_p, softmax.log_p, rtol=1e-13, atol=1e-300)
    assert_allclose(ours.slope, softmax.slope, rtol=1e-12, atol=1e-300)
    assert_array_equal(ours.curvature.p, softmax.curvature.p)
    assert_array_equal(ours.curvature.q, np.eye(4)[t])


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("t", [0, 1])
def test_two_classes_of_k_are_the_two_class_model(rates, t):
    eps0, eps1 = rates
    a, codes = np.column_stack([np.zeros(len(REACH)), REACH]), np.full(len(REACH), t)
    ours = SoftmaxLabelNoise([[1 - eps0, eps0], [eps1, 1 - eps1]]).derivatives(a, codes)
    two = LabelNoise(*rates).derivatives(REACH, codes)
    # C's rows hold 1 - eps, so rates below the rounding of 1 are not to be seen in ln p of the right label
    assert_allclose(ours.log_p, two.log_p, rtol=1e-13, atol=1e-15)
    assert_allclose(ours.slope, np.column_stack([-two.slope, two.slope]), rtol=1e-9, atol=1e-15)
    assert_allclose(ours.curvature.block(1, 1), two.curvature, rtol=1e-9, atol=1e-15)
    assert_allclose(ours.curvature.block(0, 1), -two.curvature, rtol=1e-9, atol=1e-15)


# All of them

EVERY = {
    "logit": Logit(),
    "probit": Probit(),
    "cloglog": CLogLog(),  # not symmetric: p(C_0 | a) is not p(C_1 | -a)
    "label noise": LabelNoise(0.1, 0.2),
    "softmax": Softmax(3),
    "softmax label noise": SoftmaxLabelNoise(CONFUSION),
}


@pytest.mark.parametrize("name", EVERY)
def test_probabilities_of_all_classes_sum_to_one_and_agree_with_their_logarithms_and_derivatives(name, rng):
    likelihood = EVERY[name]
    K = max(2, likelihood.n_outputs)
    size = (200,) if K == 2 else (200, K)
    a = rng.normal(size=size) * 10.0 ** rng.uniform(-3, 2, size=size)
    P, L = likelihood.probabilities(a), likelihood.log_probabilities(a)
    assert P.shape == L.shape == (200, K)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    assert_allclose(np.log(P, where=P > 1e-300, out=L.copy()), L, rtol=1e-12, atol=1e-15)
    one = likelihood.probability(a)
    assert_allclose(one, P[:, 1] if K == 2 else P, rtol=1e-14, atol=1e-300)
    if "noise" not in name:  # noisy labels are not the classes
        for k in range(K):
            assert_allclose(likelihood.derivatives(a, np.full(200, k)).log_p, L[:, k], rtol=1e-12, atol=1e-15)
    far = np.array([-1e9, 1e9]) if K == 2 else np.array([[-1e9, 0.0, 1e9], [1e9, 0.0, -1e9]])
    assert np.isfinite(likelihood.probabilities(far)).all()


class CLogLogRegression(DiscriminativeClassifier):
    """A classifier with a likelihood that is not symmetric."""

    def _likelihood(self, n_classes):
        return CLogLog()


def test_a_classifier_with_a_likelihood_of_its_own_is_the_generalised_linear_model():
    X, y = blobs(200, n_classes=2, distance=0.5)
    ours = CLogLogRegression(alpha=0.0, tol=1e-10).fit(X, y)
    theirs = sx.GeneralizedLinearModel("binomial", link="cloglog", alpha=0.0, tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_.ravel(), theirs.coef_.ravel(), rtol=1e-6)
    P = ours.predict_proba(X)
    assert_allclose(P[:, 1], theirs.predict(X), atol=1e-8)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    assert_allclose(np.exp(ours.predict_log_proba(X)), P, rtol=1e-12)
