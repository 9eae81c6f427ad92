"""
What w and w0 mean
==================

The boundary :math:`y(x) = w^T x + w_0 = 0` is a line perpendicular to w (PRML figure 4.1). Its distance from the
origin is :math:`-w_0 / \\|w\\|`. Every point is the sum of a point of the line, its foot :math:`x_\\perp`, and a
multiple of the unit normal:

.. math:: x = x_\\perp + r \\frac{w}{\\|w\\|}, \\qquad r = \\frac{y(x)}{\\|w\\|}.

r is the signed distance of x from the line; its sign is the side of the line on which x lies. Every number in the table
and in the picture is computed by :class:`separatrix.geometry.Hyperplane`.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix.geometry import Hyperplane
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, new_figure

plane = Hyperplane([1.5, 2.0], -4.0)
points = np.array([[2.6, 2.3], [0.0, 0.0], [2.2, -0.6]])
feet, distances = plane.foot(points), plane.signed_distance(points)

print(f"w = {plane.w.tolist()}, w0 = {plane.w0:g}; the line is {plane.distance_from_origin:g} from the origin\n")
print(f"{'x':<14} {'y(x)':>6} {'r = y(x)/‖w‖':>13}   foot of the perpendicular")
for point, foot, r in zip(points, feet, distances, strict=True):
    print(f"{point.tolist()!s:<14} {plane.w @ point + plane.w0:>6.2f} {r:>13.2f}   {foot.round(2).tolist()}")

# %%
# The double arrows are signed distances. The arrow w/‖w‖ has length 1 and points to the side where y is positive.


def arrow(ax: plt.Axes, start: np.ndarray, end: np.ndarray, colour: str, style: str = "-|>") -> None:
    """Draw an arrow between two points, without gaps at its ends."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": style, "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0})


figure, ax = new_figure(size=(5.6, 5.4))
figure.set_label("A line divides the plane; arrows show its normal and the signed distances of three points")
x = np.array([-1.2, 3.8])
boundary = -(plane.w[0] * x + plane.w0) / plane.w[1]
ax.fill_between(x, boundary, 3.6, color=COLOURS[1], alpha=0.18, linewidth=0)
ax.fill_between(x, boundary, -1.4, color=COLOURS[0], alpha=0.18, linewidth=0)
ax.plot(x, boundary, color="black")
ax.axhline(0, color=MUTED, linewidth=0.8)
ax.axvline(0, color=MUTED, linewidth=0.8)
on_line = plane.foot([[-0.7, 2.6]])[0]
arrow(ax, on_line, on_line + plane.normal, STANDOUT)
ax.text(*(on_line + plane.normal + [0.08, 0.0]), r"$\mathbf{w}/\|\mathbf{w}\|$", color=STANDOUT)
for point, foot, r in zip(points, feet, distances, strict=True):
    ax.plot(*point, "o", color="black")
    arrow(ax, foot, point, MUTED, "<|-|>")
    ax.text(*((point + foot) / 2 + [0.14, -0.16]), f"r = {r:+.1f}".replace("-", "−"))
ax.plot(*feet[0], "o", color="black", markersize=4)
ax.text(*(points[0] + [0.1, 0.05]), r"$\mathbf{x}$")
ax.text(*(feet[0] + [-0.45, -0.12]), r"$\mathbf{x}_\perp$")
ax.text(-0.25, -0.32, "0")
ax.text(-0.9, 0.95, rf"$-w_0/\|\mathbf{{w}}\|$ = {plane.distance_from_origin:g}")
ax.text(2.2, 3.3, "$y > 0$: class 1", color="#8a5f00")
ax.text(-1.05, -1.25, "$y < 0$: class 0", color=COLOURS[0])
ax.text(0.4, 1.85, "$y = 0$")
ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.2, 3.8), ylim=(-1.4, 3.6), aspect="equal")
ax.set_title(f"$y(\\mathbf{{x}})$ = {plane.w[0]:g} $x_1$ + {plane.w[1]:g} $x_2$ − {-plane.w0:g}")
plt.show()
