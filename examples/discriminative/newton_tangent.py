"""
Newton's method in one dimension
================================

Newton's method follows the tangent of a function to where the tangent is zero (PRML §4.3.3). Applied to the slope of an
objective, it finds the minimum. The objective is the negative log posterior of a single weight, for six rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, look, new_figure

x, t = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]), np.array([0, 0, 1, 0, 1, 1])


def slope(w: float) -> float:
    """First derivative of E(w) = -ln p(t | w) + w²/20."""
    return float((1 / (1 + np.exp(-w * x)) - t) @ x + 0.1 * w)


def curvature(w: float) -> float:
    """Second derivative of E."""
    p = 1 / (1 + np.exp(-w * x))
    return float((p * (1 - p)) @ x**2 + 0.1)


# %%
# Six steps from w = 0. The number of correct digits doubles with each step near the end.
path = [0.0]
for _ in range(6):
    path.append(path[-1] - slope(path[-1]) / curvature(path[-1]))
print(f"{'step':>4} {'w':>12} {'slope':>10}")
for k, w in enumerate(path):
    print(f"{k:>4} {w:>12.8f} {slope(w):>10.1e}")

# %%
# The slope of E and the first tangents.
grid = np.linspace(-0.3, 2.2, 200)
figure, ax = new_figure(size=(6, 4.4))
figure.set_label("The slope of an objective against the weight, and three tangents that lead to its zero")
with look():
    ax.plot(grid, [slope(w) for w in grid], color=COLOURS[0], label="slope of E")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    for k in range(3):
        ax.plot(
            path[k : k + 2], [slope(path[k]), 0], color=STANDOUT, linewidth=1.5, label="tangents" if k == 0 else None
        )
        ax.plot([path[k + 1]] * 2, [0, slope(path[k + 1])], ":", color=MUTED)
    for k, w in enumerate(path[:3]):
        ax.plot(w, slope(w), "o", color="black", markersize=5)
        ax.annotate(f"$w_{k}$", (w, slope(w)), (6, -12), textcoords="offset points")
    ax.set(xlabel="weight w", ylabel="slope of E", title="Newton's method: follow the tangent")
    ax.legend(loc="lower right")
plt.show()
