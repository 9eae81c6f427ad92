"""What w and w0 mean: the geometry of a linear discriminant in two columns (PRML figure 4.1).

The boundary y(x) = w'x + w0 = 0 is a line perpendicular to w. Its distance from the origin is -w0/|w|. The signed
distance of a point x from the line is y(x)/|w|; its sign is the side of the line on which x lies. Every number in
the picture and in the table is computed by `separatrix.geometry.Hyperplane`.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from separatrix.geometry import Hyperplane
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, new_figure

PLANE = Hyperplane([1.5, 2.0], -4.0)
POINTS = np.array([[2.6, 2.3], [0.0, 0.0], [2.2, -0.6]])


def arrow(ax: plt.Axes, start: np.ndarray, end: np.ndarray, colour: str, style: str = "-|>") -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": style, "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0})


def draw(ax: plt.Axes) -> None:
    x = np.array([-1.2, 3.8])
    boundary = -(PLANE.w[0] * x + PLANE.w0) / PLANE.w[1]
    ax.fill_between(x, boundary, 3.6, color=COLOURS[1], alpha=0.18, linewidth=0)
    ax.fill_between(x, boundary, -1.4, color=COLOURS[0], alpha=0.18, linewidth=0)
    ax.plot(x, boundary, color="black")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    ax.axvline(0, color=MUTED, linewidth=0.8)
    feet, distance = PLANE.foot(POINTS), PLANE.signed_distance(POINTS)
    on_line = PLANE.foot([[-0.7, 2.6]])[0]
    arrow(ax, on_line, on_line + PLANE.normal, STANDOUT)
    ax.text(*(on_line + PLANE.normal + [0.05, 0.08]), r"$\mathbf{w}/\|\mathbf{w}\|$", color=STANDOUT)
    for point, foot, r in zip(POINTS, feet, distance, strict=True):
        ax.plot(*point, "o", color="black")
        arrow(ax, foot, point, MUTED, "<|-|>")
        ax.text(*((point + foot) / 2 + [0.1, -0.12]), f"{r:+.1f}")
    ax.text(*(POINTS[0] + [0.1, 0.05]), r"$\mathbf{x}$")
    ax.text(-0.25, -0.32, "0")
    ax.text(*(feet[1] + [-0.85, -0.85]), rf"$-w_0/\|\mathbf{{w}}\|$ = {PLANE.distance_from_origin:g}", rotation=53)
    ax.text(2.35, 3.2, "$y > 0$: class 1", color="#8a5f00")
    ax.text(-1.05, -1.2, "$y < 0$: class 0", color=COLOURS[0])
    ax.text(3.15, -0.3, "$y = 0$")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.2, 3.8), ylim=(-1.4, 3.6), aspect="equal")
    ax.set_title(f"$y(\\mathbf{{x}})$ = {PLANE.w[0]:g} $x_1$ + {PLANE.w[1]:g} $x_2$ - {-PLANE.w0:g}")


def main(path: str = "hyperplane_geometry.png") -> None:
    print(f"w = {PLANE.w.tolist()}, w0 = {PLANE.w0:g}; the line is {PLANE.distance_from_origin:g} from the origin\n")
    print(f"{'x':<14} {'y(x)':>6} {'y(x)/|w|':>9}   foot of the perpendicular")
    for point in POINTS:
        r, foot = PLANE.signed_distance([point])[0], PLANE.foot([point])[0]
        print(f"{point.tolist()!s:<14} {PLANE.w @ point + PLANE.w0:>6.2f} {r:>9.2f}   {foot.round(2).tolist()}")
    figure, ax = new_figure(size=(5.6, 5.4))
    draw(ax)
    figure.savefig(path, dpi=170)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
