import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.discriminative.confusion import STRUCTURES, KnownRates, Rates, given_confusion, noisy_likelihood
from separatrix.exceptions import DataError
from separatrix.likelihoods import LabelNoise, SoftmaxLabelNoise


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("K", [2, 3, 5])
def test_every_eta_gives_rows_that_sum_to_one_and_own_labels_that_lead(structure, K, rng):
    rates = Rates.of(structure, K)
    for eta in (rates.start(), rng.normal(size=rates.n) * 5, np.full(rates.n, 1e4), np.full(rates.n, -1e4)):
        C = rates.confusion(eta)
        assert_allclose(C.sum(axis=1), 1.0)
        rivals = C[~np.eye(K, dtype=bool)].reshape(K, K - 1)
        assert (rivals.max(axis=1) < np.diag(C)).all()
        noisy_likelihood(C)  # which refuses what is no confusion matrix


@pytest.mark.parametrize("K", [2, 4])
def test_a_search_starts_with_a_tenth_of_the_labels_wrong(K):
    for structure in STRUCTURES:
        rates = Rates.of(structure, K)
        assert_allclose(np.diag(rates.confusion(rates.start())), 0.9)


def test_structures_have_as_many_free_numbers_as_they_say():
    assert [Rates.of(structure, 4).n for structure in ("one", "per-class", "full")] == [1, 4, 12]
    C = Rates.of("per-class", 3).confusion(np.array([-1.0, -2.0, -3.0]))
    off = C[~np.eye(3, dtype=bool)].reshape(3, 2)
    assert_allclose(off[:, 0], off[:, 1])
    assert len(np.unique(np.diag(C))) == 3


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("K", [2, 3])
def test_gradient_and_curvature_are_those_of_counts_with_known_classes(structure, K, rng):
    """With true classes known the objective in η is -Σ counts ln C - ln p(η): its derivatives, by differences."""
    rates, counts = Rates.of(structure, K), rng.uniform(1.0, 9.0, size=(K, K))
    eta = rng.normal(size=rates.n) - 1.0

    def objective(eta):
        return rates.value_grad(eta, counts)[0] - np.sum(counts * np.log(rates.confusion(eta)))

    h = 1e-5
    steps = h * np.eye(rates.n)
    slope = [(objective(eta + s) - objective(eta - s)) / (2 * h) for s in steps]
    assert_allclose(rates.value_grad(eta, counts)[1], slope, rtol=1e-6, atol=1e-7)
    # Curvature is an expectation: it is compared where counts are what the matrix predicts.
    counts = rates.confusion(eta) * counts.sum(axis=1, keepdims=True)
    bend = [(rates.value_grad(eta + s, counts)[1] - rates.value_grad(eta - s, counts)[1]) / (2 * h) for s in steps]
    assert_allclose(rates.curvature(eta, counts), np.diag(bend), rtol=1e-5)


def test_the_prior_is_one_wrong_label_for_each_rate():
    """Of 998 labels, all right: the rate is close to 1/1000 and not 0."""
    rates = Rates.of("one", 2)
    counts = np.diag([500.0, 498.0])
    grid = np.linspace(-12, 0, 20001)
    slope = [rates.value_grad(np.array([eta]), counts)[1][0] for eta in grid]
    best = grid[np.abs(slope).argmin()]
    assert rates.confusion(np.array([best]))[0, 1] == pytest.approx(1e-3, rel=0.01)


def test_known_rates_have_nothing_to_estimate():
    known = KnownRates(np.eye(2))
    eta = known.start()
    assert eta.size == known.curvature(eta, np.eye(2)).size == 0
    assert known.value_grad(eta, np.eye(2))[0] == 0.0
    assert known.confusion(eta) is known.C


def test_likelihoods_of_two_and_of_more_classes():
    assert noisy_likelihood(np.array([[0.9, 0.1], [0.2, 0.8]])) == LabelNoise(0.1, 0.2)
    assert isinstance(noisy_likelihood(np.eye(3)), SoftmaxLabelNoise)


def test_rates_are_spread_over_the_other_classes():
    assert_allclose(given_confusion("M", 0.2, 3), [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    assert_allclose(given_confusion("M", (0.1, 0.3), 2), [[0.9, 0.1], [0.3, 0.7]])
    C = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    assert_allclose(given_confusion("M", C, 3), C)


@pytest.mark.parametrize(
    ("noise", "K", "error", "match"),
    [
        (-0.1, 2, ValueError, r"-0.1 is not a rate"),
        (0.5, 2, ValueError, r"below 0.5, where labels are no better than chance"),
        (np.nan, 2, ValueError, "nan is not a rate"),
        (0.7, 3, ValueError, r"below 0.667"),
        ((0.1, 0.6), 2, ValueError, "0.6 is not a rate"),
        ("much", 2, ValueError, "must be a number, an array of them, or None"),
        (True, 2, ValueError, "must be a number"),
        ((0.1, 0.1, 0.1), 2, DataError, r"shape \(3,\), but y has 2 classes"),
        (np.eye(3), 2, DataError, r"shape \(3, 3\), but y has 2 classes"),
        ([[0.9, 0.2], [0.1, 0.9]], 2, DataError, r"confusion\[0\] sums to 1.1"),
        ([[1.2, -0.2], [0.0, 1.0]], 2, DataError, r"confusion\[0, 0\] is 1.2"),
        ([[0.4, 0.6], [0.1, 0.9]], 2, DataError, r"confusion\[0, 1\] = 0.6 is not below confusion\[0, 0\] = 0.4"),
        ([[0.8, 0.2, 0], [0.1, 0.8, 0.1], [0.5, 0, 0.5]], 3, DataError, r"confusion\[2, 0\] = 0.5 is not below"),
    ],
)
def test_noise_that_is_none_is_refused_with_its_value(noise, K, error, match):
    with pytest.raises(error, match=match):
        given_confusion("M", noise, K)
