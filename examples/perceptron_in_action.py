"""The perceptron learns from its mistakes, one row at a time (PRML figure 4.7).

The circled row is misclassified. Its x, multiplied by the sign of its class, is added to w (the bright arrow). So w
turns towards the row, and the boundary, which is perpendicular to w, turns with it. The error of this row decreases,
but another row may now be misclassified. On separable rows the perceptron makes at most (R/γ)² mistakes; here it
makes far fewer.

The script prints every update, draws the frames, and saves the same frames as an animation (.gif) next to the
picture.
"""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

import separatrix as sx
from separatrix.datasets import make_separable
from separatrix.plots import FitPathDisplay


def main(path: str = "perceptron_in_action.png") -> None:
    X, y = make_separable(40, margin=0.1, rng=1)
    display = FitPathDisplay.from_estimator(sx.Perceptron(), X, y, frames=5)
    display.figure_.savefig(path, dpi=150)
    print(f"{'update':>6} {'row':>4} {'w':>16} {'w0':>6} {'rows wrong':>11}")
    for frame in display.frames:
        w = ", ".join(f"{v:.2f}" for v in frame.w)
        row = "" if frame.row is None else frame.row
        print(f"{frame.step:>6} {row:>4} {w:>16} {frame.w0:>6.1f} {frame.objective:>11.0f}")
    bound = sx.is_separable(X, y).novikoff.bound
    print(f"\n{len(display.frames) - 1} mistakes; Novikoff's bound allows {bound:.0f}.")
    moving = Path(path).with_suffix(".gif")
    display.animate(moving, fps=1)
    print(f"Animation: {moving}")
    plt.close("all")


if __name__ == "__main__":
    main(*sys.argv[1:2])
