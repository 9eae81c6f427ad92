"""Kernels that read each row once agree with sums in float64, on CUDA or under Triton's interpreter."""

import pytest
from numpy.testing import assert_allclose

from kernels import device, plain_range

DEVICE = device()

import torch  # noqa: E402

from separatrix.stats import _triton  # noqa: E402

SHAPES = [(100_003, 40), (5000, 256), (700, 3)] if DEVICE == "cuda" else [(300, 40), (150, 130), (90, 3)]
K = 3


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    if DEVICE == "cpu":
        monkeypatch.setattr(_triton, "range", plain_range, raising=False)
        monkeypatch.setattr(_triton, "PROGRAMS", 2)


@pytest.fixture(params=SHAPES, ids=str)
def problem(request):
    N, M = request.param
    draw = torch.Generator(device=DEVICE).manual_seed(N)
    X = torch.randn(N, M, device=DEVICE, generator=draw) + 0.5
    return (
        X,
        torch.randint(K, (N,), device=DEVICE, generator=draw),
        torch.rand(N, device=DEVICE, generator=draw).double(),
    )


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_pass_of_logistic_regression(problem, is_weighted):
    X, t, weight = problem
    t, weight = t % 2, weight if is_weighted else None
    w, c = torch.linspace(-1, 1, X.shape[1], device=DEVICE), torch.full((X.shape[1],), 0.4, device=DEVICE)
    found, bend = _triton.logit_pass(X, w, c, t, weight, None, 0.3, with_curvature=True)
    totals, sums = found[:3], found[3:].view(2, -1)
    Z = X.double() - 0.4
    p = torch.sigmoid(Z @ w.double() + 0.3)
    share = torch.ones_like(p) if weight is None else weight
    log_p = torch.where(t == 1, p.log(), (1 - p).log())
    assert_allclose(
        totals.cpu(), [float((share * each).sum()) for each in (log_p, t - p, p * (1 - p))], rtol=1e-5, atol=1e-2
    )
    size = float(len(X)) ** 0.5
    assert_allclose(sums[0].cpu(), ((share * (t - p)) @ Z).cpu(), atol=1e-5 * size, rtol=1e-5)
    assert_allclose(sums[1].cpu(), ((share * p * (1 - p)) @ Z).cpu(), atol=1e-5 * size, rtol=1e-5)
    assert_allclose(bend.cpu(), (share * p * (1 - p)).cpu(), atol=1e-6)


@pytest.mark.parametrize("squared", [False, True])
def test_sums_over_classes(problem, squared):
    X, t, weight = problem
    centre = torch.randn(K, X.shape[1], device=DEVICE)
    sums = _triton.class_sums(X, centre, t, weight, squared=squared)
    Z = (X - centre[t]).double()
    Z = Z**2 if squared else Z
    expected = torch.stack([((t == k) * weight) @ Z for k in range(K)])
    assert_allclose(sums.cpu(), expected.cpu(), rtol=1e-5, atol=1e-5 * float(len(X)) ** 0.5)


def test_extents(problem):
    X, _, _ = problem
    low, high, squared = _triton.extent_pass(X)
    assert torch.equal(low, X.amin(dim=0))
    assert torch.equal(high, X.amax(dim=0))
    assert_allclose(float(squared), float((X**2).sum(dim=1).max()), rtol=1e-6)
