"""
Gradient descent and IRLS
=========================

Both methods fit the same logistic regression from w = 0 (PRML §4.3.3). Gradient descent follows the direction of
steepest descent. One column is wider than the other, so this direction rarely points to the minimum, and hundreds of
small steps are needed. A Newton step solves a weighted least squares problem, (4.99), and moves to the minimum of a
parabola: near the minimum, each step doubles the number of correct digits. For this model Newton's method is called
iteratively reweighted least squares (IRLS).
"""

import matplotlib.pyplot as plt

import separatrix as sx
from separatrix.datasets import make_overlapping
from separatrix.plots import FitPathDisplay
from separatrix.plots.drawing import COLOURS, STANDOUT, look, new_figure
from separatrix.solvers import GradientDescent, Newton

X, y = make_overlapping(120, distance=2.5, rng=1)
X = X * [1.0, 3.0]
solvers = {"gradient descent": GradientDescent(step=0.4, tol=1e-6), "Newton = IRLS": Newton(tol=1e-6)}
models = {name: sx.LogisticRegression(alpha=0.1, solver=solver).fit(X, y) for name, solver in solvers.items()}
paths = {name: FitPathDisplay.of_fit(model, X, y) for name, model in models.items()}
lowest = min(frame.objective for path in paths.values() for frame in path.frames)

print(f"{'solver':<18} {'steps':>6} {'passes':>7} {'E (nats)':>9}   steps to 1 % of the start, and to 1e-6 nats")
for name, path in paths.items():
    E = [frame.objective for frame in path.frames]
    near, there = (sum(value > lowest + gap for value in E) for gap in (0.01 * (E[0] - lowest), 1e-6))
    print(f"{name:<18} {models[name].n_steps_:>6} {models[name].n_passes_:>7} {E[-1]:>9.3f}   {near}, {there}")

# %%
# The boundary after steps 1, 2 and 3 of each method. The dotted lines are the contours of probability 0.1 and 0.9,
# which approach the boundary as w grows.
for name, path in paths.items():
    figure, axes = new_figure(2, 2, size=(6, 6), share=False)
    figure.set_label(f"The boundary after steps 1, 2 and 3 of {name}")
    path.plot(axes.ravel(), frames=[1, 2, 3])
    axes[1, 1].remove()  # the objective of this method alone; the last figure compares both
    axes[0, 0].get_legend().remove()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="center", bbox_to_anchor=(0.77, 0.27))
    figure.suptitle(name)

# %%
# The negative log posterior above its minimum, which is the same for both methods.
figure, ax = new_figure(size=(6, 4))
figure.set_label(
    "Negative log posterior above its minimum: hundreds of steps of gradient descent, six of Newton's method"
)
with look():
    for (name, path), colour, marker in zip(paths.items(), (COLOURS[0], STANDOUT), ("", "o"), strict=True):
        above = [frame.objective - lowest for frame in path.frames]
        ax.loglog(range(1, len(above) + 1), above, color=colour, marker=marker, label=name)
    ax.set(xlabel="1 + number of steps", ylabel="E above its minimum (nats)", ylim=(1e-9, 1e2))
    ax.legend()
plt.show()
