"""
Log-odds of exponential families
================================

Two equally frequent classes whose densities belong to the same family have the log-odds (PRML §4.2.4)

.. math:: a(x) = (\\eta_1 - \\eta_0)^T u(x) + \\ln g(\\eta_1) - \\ln g(\\eta_0) .

They are a line if :math:`u(x) = x`, a parabola if :math:`u(x) = (x, x^2)`, and another curve for other statistics. In
each picture, the upper panels have the densities of both classes. The lower panels have the log-odds, whose zeros are
the boundaries.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix.families import Beta, Exponential, Gamma, Normal, Poisson
from separatrix.plots.drawing import COLOURS, MUTED, look, new_figure

real, positive, proportion = np.linspace(-4, 6, 300), np.linspace(0.02, 8, 300), np.linspace(0.005, 0.995, 300)


def column(*parameters):
    """One column for each of two classes."""
    return np.array(parameters, dtype=float)[:, None]


pictures = {
    "lines, because u(x) = x": {
        "Poisson": (Poisson(column(3, 7)), np.arange(16.0)),
        "exponential": (Exponential(column(1.5, 0.5)), positive),
        "normal, equal variances": (Normal(column(0, 2), column(1, 1)), real),
    },
    "curves, because of other statistics": {
        "normal: x and x²": (Normal(column(0, 2), column(1, 2)), real),
        "gamma: ln x and x": (Gamma(column(2, 6), column(2, 2)), positive),
        "beta: ln x and ln (1 − x)": (Beta(column(2, 4), column(5, 4)), proportion),
    },
}

# %%
# The table lists the largest distance of the log-odds from the best line, relative to their range, and the boundaries.
for title, families in pictures.items():
    figure, axes = new_figure(2, 3, size=(6.4, 4.6))
    figure.set_label(f"Densities of two classes and their log-odds, for three families: {title}")
    figure.suptitle(f"Log-odds that are {title}", fontsize=11)
    for (name, (family, x)), (above, below) in zip(families.items(), axes.T, strict=True):
        log_p = family.log_density_sum(x[:, None])
        a = log_p[:, 1] - log_p[:, 0]
        off = np.abs(a - np.polyval(np.polyfit(x, a, 1), x)).max() / np.ptp(a)
        at = np.flatnonzero(a[:-1] * a[1:] < 0)
        zeros = x[at] - a[at] * (x[at + 1] - x[at]) / (a[at + 1] - a[at])
        print(f"{name:<26} {off:>6.1%} from a line, boundaries: {', '.join(f'{zero:.2f}' for zero in zeros)}")
        marker = "o" if name == "Poisson" else ""
        with look():
            for k, line in enumerate(("-", "--")):
                style = {"color": COLOURS[k], "marker": marker, "markersize": 3, "label": f"class {k}"}
                above.plot(x, np.exp(log_p[:, k]), line, **style)
            below.plot(x, a, color="black", marker=marker, markersize=3)
            below.axhline(0, color=MUTED, linewidth=0.8)
            above.set_title(name, fontsize=9)
            below.set_xlabel("x")
    axes[0, 0].set_ylabel("density")
    axes[1, 0].set_ylabel("log-odds of class 1")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
