"""Laplace's approximation in one dimension (PRML figure 4.14).

p(z) ∝ exp(-z²/2) σ(20 z + 4) is a normal density whose left side is cut off by a sigmoid. The approximation q(z) is
the normal density with the same mode and the same curvature there. The left panel shows p(z) and q(z). The right
panel shows their negative logarithms: that of q is a parabola, which agrees with that of p only near the mode. The
table compares ln Z, mean and standard deviation with quadrature: the mean is off by one standard deviation, ln Z by
0.07.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad

import separatrix as sx
from separatrix.plots.drawing import COLOURS, MUTED, look, new_figure


def log_density(z: float) -> float:
    """ln p(z), up to ln Z."""
    return -0.5 * z**2 - np.logaddexp(0.0, -20.0 * z - 4.0)


def moments() -> tuple[float, float, float]:
    """ln Z, mean and standard deviation by quadrature."""
    Z, first, second = (quad(lambda z, k=k: z**k * np.exp(log_density(z)), -8, 8, limit=200)[0] for k in range(3))
    return float(np.log(Z)), first / Z, float(np.sqrt(second / Z - (first / Z) ** 2))


def main(path: str = "laplace_1d.png") -> None:
    q = sx.laplace_approximation(log_density, 0.0)
    log_z, mean, std = moments()
    print(f"{'':<24} {'Laplace':>9} {'quadrature':>11}")
    for name, found, exact in (("ln Z", q.log_z, log_z), ("mean", q.mode, mean), ("standard deviation", q.std, std)):
        print(f"{name:<24} {found:>9.4f} {exact:>11.4f}")

    z = np.linspace(-2, 4, 400)
    log_p, log_q = log_density(z) - log_z, q.log_density(z)
    figure, (left, right) = new_figure(1, 2, size=(10, 4.2))
    with look():
        left.fill_between(z, np.exp(log_p), color=COLOURS[1], alpha=0.35, lw=0)
        for ax, values in ((left, (np.exp(log_p), np.exp(log_q))), (right, (-log_p, -log_q))):
            ax.plot(z, values[0], color=COLOURS[1], label="p(z)")
            ax.plot(z, values[1], "--", color=COLOURS[0], label="q(z), Laplace")
            ax.axvline(q.mode, color=MUTED, lw=1.2, ls=":", label=f"mode {q.mode:.3f}")
            ax.set_xlabel("z")
        left.set(ylabel="density", ylim=(0, None))
        right.set(ylabel="negative log density (nats)", ylim=(0, 12))
        left.legend()
    figure.savefig(path, dpi=165)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
