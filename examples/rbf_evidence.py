"""How narrow should radial functions be? The evidence knows without looking at a test row.

A radial function sits on every one of 800 rows. At a width of 0.1, under a wide prior, the weights learn single labels
by heart: the training rows are likely, new rows are not. The log evidence over a grid of widths and prior variances has
its maximum elsewhere; a search finds a better point than the grid has, and the model there is good on new rows.
Averaging over the weights makes every probability less extreme, and leaves the boundary where it was.

Prints the table, draws rbf_evidence.png. With --quick, 200 rows and a coarse grid.
"""

import argparse
import warnings
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.basis import RBF
from separatrix.bayesian import TunedModel, tune_model
from separatrix.datasets import make_rbf_experiment
from separatrix.plots.style import COLOURS, MARKERS

NARROW, WIDE_PRIOR = 0.1, sx.Gaussian(scale=10.0)
WIDTHS, VARIANCES = (0.05, 5.0), (1e-2, 1e4)  # of the grid


class Findings(NamedTuple):
    """The data, the model at a width that is too narrow, the grid, and what the search found."""

    data: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    narrow: sx.BayesianLogisticRegression
    surface: object
    tuned: TunedModel


def model_of(width: float, prior: sx.Gaussian | None = None) -> sx.BayesianLogisticRegression:
    """A radial function of this width on every row, under a given prior or a tuned one."""
    tune = "evidence" if prior is None else None
    return sx.BayesianLogisticRegression(
        prior, basis=RBF(width=width), tune=tune, approximation="laplace", standardize=False
    )


def experiment(rows: int = 800, side: int = 10) -> Findings:
    data = make_rbf_experiment(rows)
    X, y, _, _ = data
    with warnings.catch_warnings():  # that Laplace's Gaussian is poor at the narrow width is the point
        warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
        narrow = model_of(NARROW, WIDE_PRIOR).fit(X, y)
        tuned = tune_model(model_of, X, y, bounds=WIDTHS)
    surface = sx.evidence_surface(
        X,
        y,
        basis_of_width=lambda width: RBF(width=width),
        widths=np.geomspace(*WIDTHS, side),
        scales=np.sqrt(np.geomspace(*VARIANCES, side)),
    )
    return Findings(data, narrow, surface, tuned)


def probabilities(model: sx.BayesianLogisticRegression, X: np.ndarray, rule: str) -> np.ndarray:
    """p(C_1 | x) by MAP ("map") or averaged over the posterior ("exact"): one fit serves both."""
    return model.set_params(predictive=rule).predict_proba(X)[:, 1]


def scores(model: sx.BayesianLogisticRegression, data: tuple, rule: str) -> tuple[float, float, float]:
    """Mean log-likelihood of training and of test rows, and the share of test rows that are classified right."""
    X, y, X_test, y_test = data
    p, q = probabilities(model, X, rule), probabilities(model, X_test, rule)
    log_p, log_q = (np.log(np.where(t == 1, r, 1 - r)).mean() for r, t in ((p, y), (q, y_test)))
    return float(log_p), float(log_q), float(((q > 0.5) == y_test).mean())


def report(found: Findings) -> None:
    print(f"{'model':<34} {'train':>8} {'test':>8} {'right':>7}   mean log-likelihood, accuracy")
    for name, model in (("too narrow", found.narrow), ("tuned", found.tuned.model)):
        for rule, way in (("map", "MAP"), ("exact", "Laplace")):
            train, test, right = scores(model, found.data, rule)
            width, scale = model.basis.width, model.prior_.scale
            print(f"{f'{name} ({width:.2f}, {scale**2:.2f}), {way}':<34} {train:>8.3f} {test:>8.3f} {right:>7.1%}")
    best, tried = found.surface.log_evidence.max(), len(found.tuned.tried)
    print(f"\nLog evidence: {found.narrow.log_evidence_:.1f} at the narrow width, {best:.1f} in the best cell of")
    print(f"the grid, and {found.tuned.model.log_evidence_:.1f} where the search ended after {tried} widths.")


def draw_probabilities(ax: plt.Axes, model: sx.BayesianLogisticRegression, data: tuple, title: str) -> None:
    """Contours of the average over the posterior, the boundary of both, and MAP's 0.1 and 0.9 dashed."""
    X, y, _, _ = data
    x = np.linspace(-2, 2, 80)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    averaged, mode = (probabilities(model, grid, rule).reshape(80, 80) for rule in ("exact", "map"))
    for k in (0, 1):
        ax.scatter(*X[y == k].T, s=5, color=COLOURS[k], marker=MARKERS[k], alpha=0.6, linewidths=0)
    lines = ax.contour(x, x, averaged, levels=[0.1, 0.3, 0.5, 0.7, 0.9], colors="black", linewidths=[1, 1, 2, 1, 1])
    ax.clabel(lines, levels=[0.1, 0.9], fontsize=8)
    ax.contour(x, x, mode, levels=[0.1, 0.9], colors=COLOURS[5], linestyles="--", linewidths=1)
    ax.set(title=title, xlabel="$x_0$", ylabel="$x_1$", aspect="equal")


def edges_of(centres: np.ndarray) -> np.ndarray:
    """Edges of cells that are evenly spaced on a logarithmic axis."""
    half = np.sqrt(centres[1] / centres[0])
    return np.append(centres / half, centres[-1] * half)


def draw(found: Findings, path: str) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    tuned, surface = found.tuned.model, found.surface
    _, narrow_test, _ = scores(found.narrow, found.data, "exact")
    _, tuned_test, _ = scores(tuned, found.data, "exact")
    draw_probabilities(axes[0], found.narrow, found.data, f"width {NARROW}: test log-likelihood {narrow_test:.2f}")
    depth = surface.log_evidence - surface.log_evidence.max()
    edges = edges_of(surface.widths), edges_of(surface.scales**2)
    cells = axes[1].pcolormesh(*edges, depth.T, cmap="cividis", vmin=-200)
    figure.colorbar(cells, ax=axes[1], label="ln p(D), below its maximum")
    axes[1].plot(tuned.basis.width, tuned.prior_.scale**2, "*", color=COLOURS[5], ms=16, mec="white", label="tuned")
    axes[1].plot(NARROW, WIDE_PRIOR.scale**2, "o", color=COLOURS[5], ms=9, mec="white", label="too narrow")
    axes[1].set(xscale="log", yscale="log", xlabel="width", ylabel="prior variance", title="Log evidence")
    axes[1].legend(loc="lower left", framealpha=0.9)
    title = f"width {tuned.basis.width:.2f}: test log-likelihood {tuned_test:.2f}"
    draw_probabilities(axes[2], tuned, found.data, title)
    axes[0].plot([], [], color="black", label="averaged over the posterior")
    axes[0].plot([], [], color=COLOURS[5], ls="--", label="MAP, 0.1 and 0.9")
    axes[0].legend(loc="lower left", fontsize=8, framealpha=0.9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200 rows and a grid of 5 x 5")
    parser.add_argument("--picture", default="rbf_evidence.png")
    options = parser.parse_args(arguments)
    found = experiment(200, 5) if options.quick else experiment()
    report(found)
    draw(found, options.picture)
    print(f"\nPicture: {options.picture}")


if __name__ == "__main__":
    main()
