"""Products on tensor cores agree with sums in float64, on CUDA or under Triton's interpreter."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernels import device, plain_range

DEVICE = device()

import torch  # noqa: E402

from separatrix.rows.tensors import DeviceRows, DeviceVector  # noqa: E402
from separatrix.stats import _triton_gram  # noqa: E402
from separatrix.stats import device as stats_device  # noqa: E402

# The interpreter takes its time: rows for a few stretches, columns for one group, two, and three.
SHAPES = [(100_003, 40), (5000, 256), (700, 3), (3000, 300)] if DEVICE == "cuda" else [(300, 40), (150, 130), (90, 3)]
K = 3


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    if DEVICE == "cpu":
        monkeypatch.setattr(_triton_gram, "range", plain_range, raising=False)
        monkeypatch.setattr(_triton_gram, "processors", lambda X: 6)
        monkeypatch.setattr(_triton_gram, "WIDTH", 64)
        monkeypatch.setattr(_triton_gram, "TILINGS", {_triton_gram.generation(torch.empty(0)): (32, 1)})


@pytest.fixture(params=SHAPES, ids=str)
def problem(request):
    N, M = request.param
    draw = torch.Generator(device=DEVICE).manual_seed(N)
    X = torch.randn(N, M, device=DEVICE, generator=draw) + 0.5
    t = torch.randint(K, (N,), device=DEVICE, generator=draw)
    return X, t, torch.rand(N, device=DEVICE, generator=draw).double()


def relative(found, expected):
    """The largest difference, in units of what the two columns of an entry are long."""
    length = np.sqrt(np.diag(expected))
    return np.abs((np.asarray(found.cpu()) - expected) / np.outer(length, length)).max()


def test_products_of_two_bfloat16_are_nearly_those_of_float32(problem):
    X, _, weight = problem
    c = torch.linspace(0.3, 0.7, X.shape[1], device=DEVICE)
    Z = (X - c).double()
    expected = np.asarray((Z.T @ (Z * weight[:, None])).cpu())
    found = _triton_gram.split_gram(X, c, weight, 64)
    assert torch.equal(found, found.T)
    assert relative(found, expected) < 1e-5
    rough = _triton_gram.split_gram(X, c, weight, 64, rough=True)
    assert 1e-5 < relative(rough, expected) < 5e-3


def test_moments_of_one_read(problem):
    X, t, _ = problem
    c = torch.linspace(0.3, 0.7, X.shape[1], device=DEVICE)
    Z = (X - c).double()
    sums, found = _triton_gram.split_moments(X, c, t, K, 64)
    expected = np.asarray((Z.T @ Z).cpu())
    assert relative(found, expected) < 1e-5
    own = torch.stack([(t == k).double() @ Z for k in range(K)]).cpu()
    assert_allclose(sums.cpu(), own, atol=1e-5 * np.sqrt(np.diag(expected).max()))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_none_shows_in_its_column(value):
    X = torch.randn(100, 20, device=DEVICE)
    X[70, 3] = value
    t = torch.arange(100, device=DEVICE) % 2
    with np.errstate(invalid="ignore"):  # of the interpreter
        _, found = _triton_gram.split_moments(X, torch.zeros(20, device=DEVICE), t, 2, 64)
    assert (~torch.isfinite(found.diagonal())).nonzero().ravel().tolist() == [3]


@pytest.mark.parametrize("is_weighted", [False, True])
def test_scatter_of_a_class_is_the_same_by_weights_as_of_a_copy(monkeypatch, problem, is_weighted):
    X, t, weight = problem
    rows, codes = DeviceRows(X), DeviceVector((t == 0).long())  # of class 0 two thirds, and of class 1 the rest
    share = np.asarray(weight.cpu()) if is_weighted else None
    mean = np.full(X.shape[1], 0.4)
    Z = np.asarray(X.cpu(), dtype=float) - np.float32(0.4)
    monkeypatch.setattr(stats_device, "_takes_kernels", lambda rows: True)
    for k in (0, 1):
        w = (np.asarray(codes) == k) * (1.0 if share is None else share)
        found = stats_device.scatter_of_class(rows, mean, codes, share, k)
        assert relative(torch.as_tensor(found), (Z * w[:, None]).T @ Z) < 1e-5


NAN_THAT_WRAPS = np.uint32(0x7FFFFFFF)  # the one that CUDA makes: rounded by its bits it would be -0


@pytest.mark.parametrize("rough", [False, True])
def test_no_nan_is_lost(rough):
    X = np.random.default_rng(0).normal(size=(100, 20)).astype(np.float32)
    X.view(np.uint32)[70, 3] = NAN_THAT_WRAPS
    with np.errstate(invalid="ignore"):  # of the interpreter
        found = _triton_gram.split_gram(
            torch.as_tensor(X, device=DEVICE), torch.zeros(20, device=DEVICE), None, 64, rough=rough
        )
    assert (~torch.isfinite(found.diagonal())).nonzero().ravel().tolist() == [3]


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 5])
def test_every_tile_has_one_owner(groups):
    """Outside the table, and on no other tile, two programs may write the same."""
    owned = []
    for pairs, with_own, with_cross in _triton_gram._launches(groups, torch.device(DEVICE)):
        owned += [(i, i) for i, _ in pairs.tolist() if with_own]
        owned += [(i, j) for i, j in pairs.tolist() if with_cross and j < groups]
    assert sorted(owned) == sorted(product(range(groups), repeat=2))
