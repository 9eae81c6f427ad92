"""
The perceptron in action
========================

The perceptron learns from its mistakes, one row at a time (PRML figure 4.7). The circled row is misclassified. Its x,
multiplied by the sign of its class, is added to w (the bright arrow). So w turns towards the row, and the boundary,
which is perpendicular to w, turns with it. The error of this row decreases, but another row may now be misclassified.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.datasets import make_separable
from separatrix.plots import FitPathDisplay
from separatrix.plots.drawing import new_figure

X, y = make_separable(40, margin=0.1, rng=1)
path = FitPathDisplay.of_fit(sx.Perceptron(), X, y)

print(f"{'update':>6} {'row':>4} {'w':>16} {'w0':>6} {'rows wrong':>11}")
for frame in path.frames:
    w = ", ".join(f"{v:.2f}" for v in frame.w)
    row = "" if frame.row is None else frame.row
    print(f"{frame.step:>6} {row:>4} {w:>16} {frame.w0:>6.1f} {frame.objective:>11.0f}")

# %%
# Every update, and the number of rows that are still misclassified.
n_panels = len(path.frames) + 1
figure, axes = new_figure(-(-n_panels // 2), 2, size=(6.4, 3.1 * -(-n_panels // 2)))
figure.set_label("The boundary before and after each update of a perceptron, and the number of remaining mistakes")
path.plot(axes.ravel()[:n_panels], frames=np.arange(n_panels - 1).tolist())
axes[0, 0].get_legend().remove()
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

# %%
# On separable rows the perceptron makes at most (R/γ)² mistakes, where R is the radius of the rows and γ their margin
# (Novikoff 1962). Here it makes far fewer.
bound = sx.is_separable(X, y).novikoff.bound
print(f"{len(path.frames) - 1} mistakes; Novikoff's bound allows {bound:.0f}.")
plt.show()
