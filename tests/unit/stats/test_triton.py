"""The kernels agree with the plain versions; they need a CUDA device."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

from separatrix.stats import _triton  # noqa: E402


@pytest.fixture(params=[(100_003, 40), (5000, 256), (700, 3)], ids=str)
def problem(request):
    N, M = request.param
    draw = torch.Generator(device="cuda").manual_seed(N)
    X = torch.randn(N, M, device="cuda", generator=draw) + 0.5
    return (
        X,
        torch.randint(3, (N,), device="cuda", generator=draw),
        torch.rand(N, device="cuda", generator=draw).double(),
    )


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_pass_of_logistic_regression(problem, is_weighted):
    X, t, weight = problem
    t, weight = t % 2, weight if is_weighted else None
    w, c = torch.linspace(-1, 1, X.shape[1], device="cuda"), torch.full((X.shape[1],), 0.4, device="cuda")
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
    centre = torch.randn(3, X.shape[1], device="cuda")
    sums = _triton.class_sums(X, centre, t, weight, squared=squared)
    Z = (X - centre[t]).double()
    Z = Z**2 if squared else Z
    expected = torch.stack([((t == k) * weight) @ Z for k in range(3)])
    assert_allclose(sums.cpu(), expected.cpu(), rtol=1e-5, atol=1e-5 * float(len(X)) ** 0.5)


def test_products_of_two_bfloat16_are_nearly_those_of_float32(problem):
    X, t, weight = problem
    c = torch.full((X.shape[1],), 0.5, device="cuda")
    Z = (X - c).double()
    expected = (Z.T @ (Z * weight[:, None])).cpu().numpy()
    assert_allclose(_triton.split_gram(X, c, weight, 512).cpu(), expected, atol=5e-5 * np.diag(expected).max())
    rough = _triton.split_gram(X, c, weight, 512, rough=True).cpu()
    assert_allclose(rough, expected, atol=5e-3 * np.diag(expected).max())
    sums, product = _triton.split_moments(X, c, t, 3, 512)
    assert_allclose(sums.cpu(), torch.stack([(t == k).double() @ Z for k in range(3)]).cpu(), rtol=1e-4, atol=0.05)
    assert_allclose(product.cpu(), (Z.T @ Z).cpu(), atol=5e-5 * float((Z.T @ Z).diagonal().max()))


def test_extents(problem):
    X, _, _ = problem
    low, high, squared = _triton.extent_pass(X)
    assert torch.equal(low, X.amin(dim=0))
    assert torch.equal(high, X.amax(dim=0))
    assert_allclose(float(squared), float((X**2).sum(dim=1).max()), rtol=1e-6)
