"""Check and time every fit on a CUDA device, in one call.

    python -m benchmarks.gpu.run [--rows 10000000] [--columns 256] [--out benchmarks/results/h200/gpu.csv]

First each model is fitted to the same rows on the device and on the CPU, in float64 and in float32, and the largest
difference of a probability is told. Then rows are made on the device, and each fit is timed from labels to fitted
attributes. The bandwidth is that of one bare read of the rows in the same run; a fit's share of it is what its passes
would take at that rate over what they took. A naive Newton's method in plain PyTorch stands beside.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

import separatrix as sx

MODELS: dict[str, Any] = {
    "logistic": sx.LogisticRegression(),
    "logistic with posterior and evidence": sx.BayesianLogisticRegression(tune=None),
    "the same, Laplace's as it is": sx.BayesianLogisticRegression(tune=None, approximation="laplace"),
    "logistic tuned by evidence": sx.BayesianLogisticRegression(),
    "probit": sx.ProbitRegression(),
    "linear discriminant": sx.LinearDiscriminantAnalysis(),
    "quadratic discriminant": sx.QuadraticDiscriminantAnalysis(),
    "naive Bayes": sx.NaiveBayes("normal"),
    "least squares": sx.LeastSquaresClassifier(),
}
SOFTMAX = {
    "softmax, three classes": sx.LogisticRegression(),
    "softmax with posterior, three classes": sx.BayesianLogisticRegression(tune=None),
    "softmax tuned by evidence, three classes": sx.BayesianLogisticRegression(),
}
BASES = {  # of the first eight columns and a fifth of the rows
    "logistic, 200 radial functions": sx.LogisticRegression(basis=sx.basis.RBF("random", n_centres=200)),
    "logistic, 200 random cosines": sx.LogisticRegression(basis=sx.basis.RandomFourier(200)),
    "logistic, polynomial of degree 3": sx.LogisticRegression(basis=sx.basis.Polynomial(3)),
}
AT_THE_MODE = ("logistic", "the same, Laplace's as it is")  # the mean that auto reports is beside it
FIELDS = (
    "device", "torch", "rows", "columns", "task", "ms", "fastest ms", "passes", "share of bandwidth", "figure", "value",
)  # fmt: skip


def main() -> None:
    arguments = _arguments()
    head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in chain(timings(arguments.rows, arguments.columns), checks(), cupy_check()):
            writer.writerow(head | row)
            file.flush()
            print("  ".join(f"{key}: {value}" for key, value in row.items()), flush=True)


def checks(N: int = 200_000, M: int = 30) -> Iterator[dict[str, Any]]:
    """The largest difference between a probability found on the device and on the CPU."""
    for dtype, name in ((torch.float64, "float64"), (torch.float32, "float32")):
        for K in (2, 3):
            X, y = problem(N, M, K, dtype)
            X += 1000.0 * torch.arange(M, device=X.device).fmod(2)  # every second column far from zero
            models = MODELS if K == 2 else {**SOFTMAX, "linear discriminant": MODELS["linear discriminant"]}
            for task, model in models.items():
                far = _difference(model, X, y)
                figure = f"largest difference from the CPU, {name}"
                yield {"rows": N, "columns": M, "task": task, "figure": figure, "value": f"{far:.2e}"}


def cupy_check(N: int = 20_000, M: int = 8) -> Iterator[dict[str, Any]]:
    """The same of CuPy arrays, where that library is installed."""
    if find_spec("cupy") is None:
        return
    import cupy  # type: ignore[import-not-found]  # not on every machine

    X, y = problem(N, M, 2, torch.float64)
    for task, model in MODELS.items():
        far = _difference(model, X, y, as_given=cupy.asarray)
        figure = "largest difference from the CPU, CuPy"
        yield {"rows": N, "columns": M, "task": task, "figure": figure, "value": f"{far:.2e}"}


def _difference(model: Any, X: Any, y: Any, as_given: Callable[[Any], Any] = lambda tensor: tensor) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = clone(model).fit(X.cpu().numpy(), y.cpu().numpy())
        there = clone(model).fit(as_given(X), as_given(y))
        host = X[:20_000].cpu().numpy()
        ask = "predict_proba" if "predict_proba" in dir(model) else "decision_function"
        return float(np.abs(getattr(here, ask)(host) - getattr(there, ask)(as_given(X[:20_000]))).max())


def timings(N: int, M: int) -> Iterator[dict[str, Any]]:
    """Every fit of float32 rows on the device."""
    X, y = problem(N, M, 2, torch.float32)
    read, _ = milliseconds(X.sum)
    size = {"rows": N, "columns": M}
    bandwidth = f"{X.nbytes / read * 1e-9:.2f}"
    yield {**size, "task": "one bare read", "ms": f"{read:.2f}", "passes": 1, "figure": "TB/s", "value": bandwidth}
    for task, model in MODELS.items():
        yield {**size, **_timed(task, model, X, y, read)}
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        ms, least = milliseconds(lambda: naive_newton(X, y), 3)
        name = "naive PyTorch Newton, " + ("float32" if precision == "highest" else "TF32")
        yield {**size, "task": name, "ms": f"{ms:.1f}", "fastest ms": f"{least:.1f}", "passes": 6}
    torch.set_float32_matmul_precision("highest")
    X, y = problem(N, M, 3, torch.float32)
    for task, model in SOFTMAX.items():
        yield {**size, **_timed(task, model, X, y, read)}
    part, y = X[: N // 5, :8].contiguous(), (y[: N // 5] > 0).long()
    for task, model in BASES.items():
        yield {"rows": len(part), "columns": 8, **_timed(task, model, part, y, read * part.nbytes / (4 * N * M))}


def _timed(task: str, model: Any, X: Any, y: Any, read: float) -> dict[str, Any]:
    fitted = clone(model)
    ms, least = milliseconds(lambda: fitted.fit(X, y))
    row = {"task": task, "ms": f"{ms:.1f}", "fastest ms": f"{least:.1f}", "passes": fitted.n_passes_}
    row["share of bandwidth"] = f"{fitted.n_passes_ * read / ms:.2f}"
    if "solution_" in dir(fitted) and "intercept_" in dir(fitted) and task.startswith(("logistic", "probit", "the")):
        row |= {"figure": "status", "value": fitted.solution_.status.name}
        if task in AT_THE_MODE:
            row |= {"figure": "norm of the gradient per row", "value": f"{_gradient(fitted, X, y):.1e}"}
    return row


def _gradient(model: Any, X: Any, y: Any) -> float:
    """|Σ_n (t_n - σ(a_n)) φ̃_n - w| / N with the bias, in float64; columns have unit spread, and the bias no prior."""
    w = torch.as_tensor(model.coef_[0], device=X.device, dtype=torch.float64)
    total, miss = torch.zeros_like(w), 0.0
    for start in range(0, len(X), 2**20):
        part = X[start : start + 2**20].double()
        slope = y[start : start + 2**20] - torch.sigmoid(part @ w + float(model.intercept_[0]))
        total, miss = total + slope @ part, miss + float(slope.sum())
    return float(np.hypot(float((total - w).norm()), miss)) / len(X)


def naive_newton(X: Any, y: Any, steps: int = 6) -> Any:
    """Newton's method as one would write it in an afternoon: the whole weighted copy at each step."""
    w = torch.zeros(X.shape[1], device=X.device)
    for _ in range(steps):
        p = torch.sigmoid(X @ w)
        H = X.T @ (X * (p * (1 - p))[:, None]) + torch.eye(X.shape[1], device=X.device)
        w = w + torch.linalg.solve(H, (y - p) @ X - w)
    return w


def problem(N: int, M: int, K: int, dtype: Any) -> tuple[Any, Any]:
    """Normal columns, labels from a softmax of them."""
    draw = torch.Generator(device="cuda").manual_seed(N + M + K)
    X = torch.randn(N, M, device="cuda", dtype=dtype, generator=draw)
    W = torch.randn(M, K, device="cuda", dtype=dtype, generator=draw) / M**0.5
    U = torch.rand(N, K, device="cuda", generator=draw).clamp_(min=1e-12)
    return X, (X @ W - torch.log(-torch.log(U))).argmax(dim=1)


def milliseconds(work: Callable[[], Any], repeats: int = 7) -> tuple[float, float]:
    """The median and the least, after one call that compiles."""
    work()
    taken = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return 1e3 * float(np.median(taken)), 1e3 * min(taken)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/h200/gpu.csv"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
