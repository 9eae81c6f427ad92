"""
Laplace in one dimension
========================

:math:`p(z) \\propto \\exp(-z^2/2) \\, \\sigma(20 z + 4)` is a normal density whose left side is cut off by a sigmoid
(PRML figure 4.14). Laplace's approximation q(z) is the normal density with the same mode and the same curvature there:

.. math::

    A = - \\frac{d^2}{dz^2} \\ln f(z) \\Big|_{z_0}, \\qquad
    q(z) = \\Big( \\frac{A}{2 \\pi} \\Big)^{1/2} \\exp \\Big( -\\frac{A}{2} (z - z_0)^2 \\Big), \\qquad
    Z \\simeq f(z_0) \\Big( \\frac{A}{2 \\pi} \\Big)^{-1/2} .
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad

import separatrix as sx
from separatrix.plots.drawing import COLOURS, MUTED, look, new_figure


def log_density(z: float) -> float:
    """ln p(z), up to ln Z."""
    return -0.5 * z**2 - np.logaddexp(0.0, -20.0 * z - 4.0)


# %%
# Quadrature gives the exact values. The mean of the approximation is off by one standard deviation, ln Z by 0.07.
q = sx.laplace_approximation(log_density, 0.0)
Z, first, second = (quad(lambda z, k=k: z**k * np.exp(log_density(z)), -8, 8, limit=200)[0] for k in range(3))
exact = {"ln Z": np.log(Z), "mean": first / Z, "standard deviation": np.sqrt(second / Z - (first / Z) ** 2)}
print(f"{'':<24} {'Laplace':>9} {'quadrature':>11}")
for (name, value), found in zip(exact.items(), (q.log_z, q.mode, q.std), strict=True):
    print(f"{name:<24} {found:>9.4f} {value:>11.4f}")

# %%
# Both densities, and their negative logarithms. That of q is a parabola, which agrees with that of p only near the
# mode. At the mode the two differ by the error of ln Z.
z = np.linspace(-2, 4, 400)
log_p, log_q = log_density(z) - np.log(Z), q.log_density(z)
curves = {
    "density": (np.exp(log_p), np.exp(log_q)),
    "negative log density (nats)": (-log_p, -log_q),
}
for name, (p_values, q_values) in curves.items():
    figure, ax = new_figure(size=(5.2, 4))
    figure.set_label(f"A skewed density and its Laplace approximation: {name}")
    with look():
        ax.plot(z, p_values, color=COLOURS[5], label="p(z)")
        ax.plot(z, q_values, "--", color=COLOURS[0], label="q(z), Laplace")
        ax.axvline(q.mode, color=MUTED, lw=1.2, ls=":", label=f"mode {q.mode:.3f}")
        ax.set(xlabel="z", ylabel=name, ylim=(0, None if name == "density" else 12), title=name)
        ax.legend()
plt.show()
