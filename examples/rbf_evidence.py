"""How wide should radial basis functions be? The evidence chooses without test rows (PRML §3.4, §4.4, §4.5).

Each training row is the centre of a radial basis function. With a width of 0.1 and a wide prior the model overfits:
the log-likelihood is high for training rows and low for new rows (top left, predictions at the mode). Averaging over
the posterior makes every probability less extreme and does not move the boundary (top right). The log evidence on a
grid of widths and prior scales has its maximum at a larger width (bottom left). `tune_model` finds a point with more
evidence than any cell of the grid, and the model there predicts new rows well (bottom right). The table lists the
scores of all of these models. ``--rows 800 --side 10`` is a larger experiment.
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
from separatrix.plots import EvidenceSurfaceDisplay
from separatrix.plots.drawing import look, new_figure, scatter_classes

NARROW, WIDE_PRIOR = 0.1, sx.Gaussian(scale=10.0)
WIDTHS, VARIANCES = (0.05, 5.0), (1e-2, 1e4)  # ranges of the grid


class Findings(NamedTuple):
    """The data, the model whose width is too small, the grid of evidences, and the tuned model."""

    data: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    narrow: sx.BayesianLogisticRegression
    surface: object
    tuned: TunedModel


def model_of(width: float, prior: sx.Gaussian | None = None) -> sx.BayesianLogisticRegression:
    """Model with a radial basis function of this width on every row. The prior is tuned if it is None."""
    tune = "evidence" if prior is None else None
    return sx.BayesianLogisticRegression(
        prior, basis=RBF(width=width), tune=tune, approximation="laplace", standardize=False
    )


def experiment(rows: int, side: int) -> Findings:
    data = make_rbf_experiment(rows)
    X, y, _, _ = data
    with warnings.catch_warnings():  # Laplace's approximation is expected to be poor at the small width
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
    """p(C_1 | x) at the mode ("map") or averaged over the posterior ("exact")."""
    return model.set_params(predictive=rule).predict_proba(X)[:, 1]


def scores(model: sx.BayesianLogisticRegression, data: tuple, rule: str) -> tuple[float, float, float]:
    """Mean log-likelihood of training and of test rows, and the accuracy on test rows."""
    X, y, X_test, y_test = data
    p, q = probabilities(model, X, rule), probabilities(model, X_test, rule)
    log_p, log_q = (np.log(np.where(t == 1, r, 1 - r)).mean() for r, t in ((p, y), (q, y_test)))
    return float(log_p), float(log_q), float(((q > 0.5) == y_test).mean())


def report(found: Findings) -> None:
    print(f"{'model':<34} {'train':>8} {'test':>8} {'right':>7}   mean log-likelihood, accuracy")
    for name, model in (("too narrow", found.narrow), ("tuned", found.tuned.model)):
        for rule, label in (("map", "MAP"), ("exact", "Laplace")):
            train, test, right = scores(model, found.data, rule)
            width, scale = model.basis.width, model.prior_.scale
            print(f"{f'{name} ({width:.2f}, {scale**2:.2f}), {label}':<34} {train:>8.3f} {test:>8.3f} {right:>7.1%}")
    best, tried = found.surface.log_evidence.max(), len(found.tuned.tried)
    print(f"\nLog evidence: {found.narrow.log_evidence_:.1f} at the narrow width, {best:.1f} in the best cell of")
    print(f"the grid, and {found.tuned.model.log_evidence_:.1f} at the end of a search over {tried} widths.")


def draw_probabilities(ax: plt.Axes, model: sx.BayesianLogisticRegression, data: tuple, rule: str) -> None:
    """Draw the probabilities in five shades (limits 0.1, 0.3, 0.7, 0.9), the boundary and the rows."""
    X, y, _, _ = data
    x = np.linspace(-2, 2, 90)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    p = probabilities(model, grid, rule).reshape(90, 90)
    shades = (
        "#99C7E0",
        "#CCE3F0",
        "white",
        "#FAECCC",
        "#F5D999",
    )  # from the colour of class 0 to the colour of class 1
    area = ax.contourf(x, x, p, levels=[0, 0.1, 0.3, 0.7, 0.9, 1], colors=shades)
    ax.contour(x, x, p, levels=[0.5], colors="black", linewidths=1.6)
    scatter_classes(ax, X, y, model.classes_, size=15)
    ax.figure.colorbar(area, ax=ax, label="$p(C_1 | x)$", spacing="proportional")
    label = "MAP" if rule == "map" else "averaged"
    test = f"{scores(model, data, rule)[1]:.2f}".replace("-", "−")
    ax.set(title=f"width {model.basis.width:.2f}, {label}: test log-lik. {test}", xlabel="$x_0$", ylabel="$x_1$")


def draw(found: Findings, path: str) -> None:
    tuned, narrow = found.tuned.model, found.narrow
    figure, axes = new_figure(2, 2, size=(10.5, 8.6))
    with look():
        draw_probabilities(axes[0, 0], narrow, found.data, "map")
        draw_probabilities(axes[0, 1], narrow, found.data, "exact")
        draw_probabilities(axes[1, 1], tuned, found.data, "exact")
    marks = {
        f"tuned: −{-tuned.log_evidence_:.1f}": (tuned.basis.width, float(tuned.prior_.scale)),
        f"too narrow: −{-narrow.log_evidence_:.1f}": (NARROW, float(WIDE_PRIOR.scale)),
    }
    EvidenceSurfaceDisplay.from_surface(found.surface, marks=marks, ax=axes[1, 0], title="Log evidence")
    figure.savefig(path, dpi=155)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", default="rbf_evidence.png", help="where to save the picture")
    parser.add_argument("--rows", type=int, default=300, help="number of training rows; more rows take longer")
    parser.add_argument("--side", type=int, default=8, help="number of widths and of scales in the grid")
    options = parser.parse_args(arguments)
    found = experiment(options.rows, options.side)
    report(found)
    draw(found, options.path)


if __name__ == "__main__":
    main()
