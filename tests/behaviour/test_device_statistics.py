"""Sums over rows on a device equal those on the host. Tensors on a CPU take the same path, so no GPU is needed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.bayesian.by_class import curvature_products, log_det_slope_by_class
from separatrix.bayesian.uncoupled import ByClassApproximation, DiagonalApproximation, grams_along, total_curvature
from separatrix.likelihoods import LabelNoise, Logit, Probit, Softmax
from separatrix.rows import as_source
from separatrix.separation.certificate import largest_activation
from separatrix.solvers import factorise
from separatrix.stats import (
    ClassScatter,
    Design,
    DiagonalScatter,
    FactoredScatter,
    PooledScatter,
    class_grams,
    class_moments,
    collect_sample,
    extent,
    log_det_slope,
    max_slope_change,
    negative_smallest_margin,
    representative_sample,
    value_grad,
    value_grad_hess,
)

torch = pytest.importorskip("torch", reason="torch is not installed")

from separatrix.rows.device import DeviceVector, open_tensor  # noqa: E402
from separatrix.stats.device import DERIVATIVES  # noqa: E402

N, M = 6000, 3


@pytest.fixture(params=["plain", "weighted", "weighted, one block of weight zero", "offset"])
def sources(request, rng):
    """The same rows in host memory and on a device."""
    X = rng.normal(size=(N, M)) * [1.0, 5.0, 0.2] + [0.0, 30.0, 1.0]
    t = rng.integers(3, size=N)
    weight = rng.uniform(0, 2, size=N) if "weighted" in request.param else None
    if "zero" in request.param:
        weight[4096:] = 0.0
    offset = rng.normal(size=N) if request.param == "offset" else None
    host = as_source(X).with_numbers(t, weight, offset)
    return host, replace(open_tensor(torch.as_tensor(X)), height=4096).with_numbers(t, weight, offset)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(3), LabelNoise(0.1)], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("subtract", [False, True])
def test_the_objective_equals_that_of_the_host(sources, likelihood, subtract, rng):
    host, device = sources
    if likelihood.n_outputs == 1:
        rows = host.as_block()
        t = rows.t % 2
        host, device = (source.with_numbers(t, rows.weight, rows.offset) for source in sources)
    design = Design(np.array([0.1, 29.0, 1.0]), bias=True, subtract=subtract)
    at = {"theta": 0.3 * rng.normal(size=(likelihood.n_outputs, M + 1)), "likelihood": likelihood, "design": design}
    root = np.triu(rng.normal(size=(at["theta"].size,) * 2))
    for statistic in (value_grad, value_grad_hess, partial(log_det_slope, root=root)):
        here, there = host.reduce(partial(statistic, **at)), device.reduce(partial(statistic, **at))
        for name in here.__dataclass_fields__:
            expected = getattr(here, name)
            assert_allclose(getattr(there, name), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    V = rng.normal(size=at["theta"].shape)
    changes = (partial(max_slope_change, V=V, curved_at=point, **at) for point in (None, 0.9 * at["theta"]))
    for statistic in (*changes, partial(negative_smallest_margin, theta=V, design=design)):
        assert_allclose(device.reduce(statistic).value, host.reduce(statistic).value, rtol=1e-9)


def test_grams_of_classes_are_the_diagonal_blocks_of_the_hessian(sources, rng):
    host, device = sources
    design = Design(np.array([0.1, 29.0, 1.0]), bias=True)
    at = {"theta": 0.3 * rng.normal(size=(3, M + 1)), "likelihood": Softmax(3), "design": design}
    H = host.reduce(partial(value_grad_hess, **at)).hess.reshape(3, M + 1, 3, M + 1)
    assert_allclose(device.reduce(partial(class_grams, **at)).grad, np.einsum("kpkq->kpq", H), rtol=1e-9, atol=1e-7)


def test_likelihoods_on_the_device_are_accurate_in_the_tails():
    a = np.array([-1e9, -1e5, -40.0, -3.0, 0.0, 2.0, 40.0, 1e5])
    for likelihood in (Logit(), Probit()):
        for t in (np.zeros(8, dtype=int), np.ones(8, dtype=int), np.full(8, 0.25)):
            found = DERIVATIVES[type(likelihood)](torch.as_tensor(a), torch.as_tensor(t))
            for mine, theirs in zip(found, likelihood.derivatives(a, t), strict=True):
                assert_allclose(mine, theirs, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("scatter", [PooledScatter, ClassScatter, DiagonalScatter, FactoredScatter])
def test_moments_equal_those_of_the_host(sources, scatter):
    host, device = (source.reduce(partial(class_moments, n_classes=3, scatter=scatter)) for source in sources)
    assert_allclose(device.count, host.count, rtol=1e-12)
    assert_allclose(device.mean, host.mean, rtol=1e-12, atol=1e-12)
    if scatter is FactoredScatter:  # kept as rows
        host, device = (replace(each, scatter=each.scatter.dense(ClassScatter, 3)) for each in (host, device))
    for name in host.scatter.__dataclass_fields__:
        assert_allclose(getattr(device.scatter, name), getattr(host.scatter, name), rtol=1e-9, atol=1e-9)


def test_moments_of_an_offset_lose_no_digits(rng):
    X = rng.normal(size=(N, 2)) + 1e7
    t = rng.integers(2, size=N)
    look = partial(class_moments, n_classes=2, scatter=PooledScatter)
    device = replace(open_tensor(torch.as_tensor(X)), height=4096).with_numbers(t, None, None).reduce(look)
    assert_allclose(device.scatter.matrix, as_source(X, t).reduce(look).scatter.matrix, rtol=1e-8)


def test_a_sample_is_that_of_the_host_and_its_labels_stay_where_they_are(rng):
    X, t = rng.normal(size=(N, M)), rng.integers(2, size=N)
    codes = DeviceVector(torch.as_tensor(t))
    device = replace(open_tensor(torch.as_tensor(X)), height=N).with_numbers(codes, None, None)
    host, there = (representative_sample(source, 100, 10) for source in (as_source(X, t), device))
    (of_device,), (of_host,) = there.targets, host.targets
    assert isinstance(of_device.t, DeviceVector)
    assert np.array_equal(np.asarray(of_device.t), of_host.t)
    assert np.array_equal(there.map(np.asarray), host.map(np.asarray))
    assert np.array_equal(collect_sample(device, 100).targets[0].t, of_host.t)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
def test_ranges_of_columns_equal_those_of_the_host(dtype, missing, rng):
    X = rng.normal(size=(N, M)).astype(dtype)
    if missing:
        X[5000, 1] = np.nan  # in the second block: only this column, and the radius, become NaN
    here, there = as_source(X).reduce(extent), replace(open_tensor(torch.as_tensor(X)), height=4096).reduce(extent)
    assert np.isnan([*there.low, *there.high, there.radius]).sum() == 3 * missing
    for name in ("low", "high", "radius"):
        assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-6)


def test_the_largest_activation_equals_that_of_the_host(sources, rng):
    U, design = rng.normal(size=(5, M + 1)), Design(np.array([0.1, 29.0, 1.0]), bias=True)
    here, there = (source.reduce(partial(largest_activation, U=U, design=design)).value for source in sources)
    assert_allclose(there, here, rtol=1e-9)


@pytest.mark.parametrize("subtract", [False, True])
def test_statistics_of_gaussians_without_coupling_of_classes_equal_those_of_the_host(sources, subtract, rng):
    host, device = sources
    design = Design(np.array([0.1, 29.0, 1.0]), bias=True, subtract=subtract, spread=np.array([1.0, 5.0, 0.2]))
    at = {"theta": 0.3 * rng.normal(size=(3, M + 1)), "likelihood": Softmax(3), "design": design}
    axes = np.linalg.qr(np.column_stack([np.ones(3), rng.normal(size=(3, 2))]))[0]
    factors = tuple(factorise(np.cov(rng.normal(size=(M + 1, 9))), 1, np.zeros(M + 1, dtype=bool)) for _ in range(3))
    q = ByClassApproximation(at["theta"], axes, factors, 0.0, 0.0, "laplace")
    precision = rng.uniform(0.5, 2.0, size=(3, M + 1))
    mean_field = DiagonalApproximation(at["theta"], precision, 0.0, 0.0, "laplace", contrasts=axes)
    statistics = {
        partial(total_curvature, **at): 1e-9,
        partial(grams_along, axes=axes, **at): 1e-9,
        partial(log_det_slope_by_class, q=q, **at): 1e-5,  # single precision on the host
        partial(log_det_slope_by_class, q=mean_field, **at): 1e-9,
        partial(curvature_products, V=rng.normal(size=(2, 3, M + 1)), **at): 1e-5,
    }
    for statistic, tol in statistics.items():
        expected = host.reduce(statistic).grad
        assert_allclose(device.reduce(statistic).grad, expected, rtol=tol, atol=tol * np.abs(expected).max())
