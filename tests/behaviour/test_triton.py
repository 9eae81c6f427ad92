"""Triton kernels agree with sums in float64, on CUDA or under Triton's interpreter."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernels import device, plain_range

DEVICE = device()

import torch  # noqa: E402

from separatrix.rows.device import DeviceRows, DeviceVector  # noqa: E402
from separatrix.stats import _triton  # noqa: E402
from separatrix.stats import device as stats_device  # noqa: E402

# The interpreter takes its time: rows for a few stretches, columns for one group, two, and three.
SHAPES = [(100_003, 40), (5000, 256), (700, 3), (3000, 300)] if DEVICE == "cuda" else [(300, 40), (150, 130), (90, 3)]
K = 3


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    if DEVICE == "cpu":
        monkeypatch.setattr(_triton, "range", plain_range, raising=False)
        monkeypatch.setattr(_triton, "processors", lambda X: 6)
        monkeypatch.setattr(stats_device, "has_kernels", lambda rows: True)
        monkeypatch.setattr(_triton, "PROGRAMS_PER_PROCESSOR", 1)
        monkeypatch.setattr(_triton, "GRAM_COLUMNS", 64)
        monkeypatch.setattr(_triton, "GRAM_TILINGS", {_triton.generation(torch.empty(0)): (32, 1)})


@pytest.fixture(params=SHAPES, ids=str)
def problem(request):
    N, M = request.param
    draw = torch.Generator(device=DEVICE).manual_seed(N)
    X = torch.randn(N, M, device=DEVICE, generator=draw) + 0.5
    t = torch.randint(K, (N,), device=DEVICE, generator=draw)
    return X, t, torch.rand(N, device=DEVICE, generator=draw).double()


def relative(found, expected):
    """Largest difference, relative to the product of the lengths of the two columns."""
    length = np.sqrt(np.diag(expected))
    return np.abs((np.asarray(found.cpu()) - expected) / np.outer(length, length)).max()


def test_products_of_two_bfloat16_are_nearly_those_of_float32(problem):
    X, _, weight = problem
    c = torch.linspace(0.3, 0.7, X.shape[1], device=DEVICE)
    Z = (X - c).double()
    expected = np.asarray((Z.T @ (Z * weight[:, None])).cpu())
    found = _triton.split_gram(X, c, weight, 64)
    assert torch.equal(found, found.T)
    assert relative(found, expected) < 1e-5
    rough = _triton.split_gram(X, c, weight, 64, rough=True)
    assert 1e-5 < relative(rough, expected) < 5e-3


def test_products_of_some_rows(problem):
    X, t, weight = problem
    c, own = torch.zeros(X.shape[1], device=DEVICE), (t == 1).nonzero()[:, 0]
    part = X[own].double()
    expected = np.asarray((part.T @ (part * weight[own, None])).cpu())
    assert relative(_triton.split_gram(X, c, weight[own], 64, index=own), expected) < 1e-5


def test_moments_of_one_read(problem):
    X, t, _ = problem
    c = torch.linspace(0.3, 0.7, X.shape[1], device=DEVICE)
    Z = (X - c).double()
    sums, found = _triton.split_moments(X, c, t, K, 64)
    expected = np.asarray((Z.T @ Z).cpu())
    assert relative(found, expected) < 1e-5
    own = torch.stack([(t == k).double() @ Z for k in range(K)]).cpu()
    assert_allclose(sums.cpu(), own, atol=1e-5 * np.sqrt(np.diag(expected).max()))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_show_in_their_column(value):
    X = torch.randn(100, 20, device=DEVICE)
    X[70, 3] = value
    t = torch.arange(100, device=DEVICE) % 2
    with np.errstate(invalid="ignore"):  # of the interpreter
        _, found = _triton.split_moments(X, torch.zeros(20, device=DEVICE), t, 2, 64)
    assert (~torch.isfinite(found.diagonal())).nonzero().ravel().tolist() == [3]


@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_scatter_of_a_class_is_the_same_by_weights_and_by_a_copy(problem, is_weighted):
    X, t, weight = problem
    rows, codes = DeviceRows(X), DeviceVector((t == 0).long())  # of class 0 two thirds, and of class 1 the rest
    share = np.asarray(weight.cpu()) if is_weighted else None
    mean = np.full(X.shape[1], 0.4)
    Z = np.asarray(X.cpu(), dtype=float) - np.float32(0.4)
    for k in (0, 1):
        w = (np.asarray(codes) == k) * (1.0 if share is None else share)
        found = stats_device.class_gram(rows, mean, codes, share, k)
        assert relative(torch.as_tensor(found), (Z * w[:, None]).T @ Z) < 1e-5


NAN_THAT_WRAPS = np.uint32(0x7FFFFFFF)  # the one that CUDA makes: rounded by its bits it would be -0


@pytest.mark.parametrize("rough", [False, True])
def test_no_nan_is_lost(rough):
    X = np.random.default_rng(0).normal(size=(100, 20)).astype(np.float32)
    X.view(np.uint32)[70, 3] = NAN_THAT_WRAPS
    with np.errstate(invalid="ignore"):  # of the interpreter
        found = _triton.split_gram(
            torch.as_tensor(X, device=DEVICE), torch.zeros(20, device=DEVICE), None, 64, rough=rough
        )
    assert (~torch.isfinite(found.diagonal())).nonzero().ravel().tolist() == [3]


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 5])
def test_every_tile_has_one_owner(groups):
    """Two programs may write to the same place only outside the table."""
    owned = []
    for pairs, with_own, with_cross in _triton._launches(groups, torch.device(DEVICE)):
        owned += [(i, i) for i, _ in pairs.tolist() if with_own]
        owned += [(i, j) for i, j in pairs.tolist() if with_cross and j < groups]
    assert sorted(owned) == sorted(product(range(groups), repeat=2))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    "law", [2, 3, 4, pytest.param("probit", marks=pytest.mark.skipif(DEVICE == "cpu", reason="needs libdevice"))]
)
def test_a_pass_of_the_objective(problem, law, is_weighted):
    X, t, weight = problem
    n_classes = 2 if law == "probit" else law
    t, weight = t % n_classes, weight if is_weighted else None
    W = torch.stack([torch.linspace(-1, 1, X.shape[1], device=DEVICE) * (k + 1) for k in range(n_classes - 1)])
    c, bias = torch.full((X.shape[1],), 0.4, device=DEVICE), torch.linspace(0.3, -0.2, n_classes - 1, device=DEVICE)
    found, A, bend = _triton.objective_pass(
        X, W, c, bias, (t, weight, None), is_probit=law == "probit", with_curvature=n_classes == 2
    )
    Z = X.double() - 0.4
    a = (Z @ W.T.double() + bias.double()).requires_grad_()
    share = torch.ones(len(X), dtype=torch.float64, device=DEVICE) if weight is None else weight
    if law == "probit":
        log_p = torch.special.log_ndtr(torch.where(t == 1, a[:, 0], -a[:, 0]))
    else:
        log_p = torch.log_softmax(torch.nn.functional.pad(a, (1, 0)), dim=1)[torch.arange(len(t)), t]
    slope = torch.autograd.grad((share * log_p).sum(), a, create_graph=True)[0]
    size, D = float(len(X)) ** 0.5, n_classes - 1
    assert_allclose(A.cpu(), a.detach().cpu(), rtol=1e-4, atol=1e-4)
    assert_allclose(found[0].cpu(), (share * log_p).sum().detach().cpu(), rtol=1e-5)
    assert_allclose(found[2 : 2 + D].cpu(), slope.sum(dim=0).detach().cpu(), rtol=1e-5, atol=1e-5 * size)
    sums = found[2 + D :].view(D + 1, -1)
    assert_allclose(sums[:D].cpu(), (slope.T @ Z).detach().cpu(), rtol=1e-5, atol=1e-5 * size * D)
    if n_classes == 2:
        curvature = -torch.autograd.grad(slope.sum(), a)[0][:, 0]
        assert_allclose(bend.cpu(), curvature.cpu(), atol=1e-6)
        assert_allclose(found[1].cpu(), curvature.sum().cpu(), rtol=1e-5)
        assert_allclose(sums[1].cpu(), (curvature @ Z).cpu(), rtol=1e-5, atol=1e-5 * size)


@pytest.mark.parametrize("squared", [False, True])
def test_sums_over_classes(problem, squared):
    X, t, weight = problem
    centre = torch.randn(K, X.shape[1], device=DEVICE)
    sums = _triton.class_sums(X, centre, t, weight, squared=squared)
    Z = (X - centre[t]).double()
    Z = Z**2 if squared else Z
    expected = torch.stack([((t == k) * weight) @ Z for k in range(K)])
    assert_allclose(sums.cpu(), expected.cpu(), rtol=1e-5, atol=1e-5 * float(len(X)) ** 0.5)


def test_the_range_of_each_column(problem):
    X = problem[0].clone()
    X[5, 1], X[7, 0] = torch.nan, torch.inf
    low, high = (each.cpu() for each in _triton.extents(X))
    assert np.array_equal(low.isnan(), np.arange(X.shape[1]) == 1)
    for found, expected in zip((low, high), X.aminmax(dim=0), strict=True):
        assert_allclose(found, expected.cpu(), rtol=0)
