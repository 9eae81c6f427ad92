"""
Ambiguous regions
=================

Combinations of two-class rules leave regions that belong to no class or to several classes (PRML figure 4.2). The data
are three elongated classes around the origin. One-vs-rest fits three classifiers, "class k or not": no classifier
claims the points in the middle, and two claim the points between two classes, farther out. One-vs-one fits one
classifier per pair of classes and counts votes: in the middle each class has one vote. With one discriminant function
per class, of which the largest wins, no region is ambiguous and every region is convex.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

rng, y = np.random.default_rng(4), np.arange(150) % 3
outwards, sideways = 2 * np.pi * y / 3 + 0.3, 2 * np.pi * y / 3 + 1.5
centre, arm, across = (np.column_stack([np.cos(a), np.sin(a)]) for a in (outwards, sideways, sideways + np.pi / 2))
X = 2.5 * centre + 2.0 * rng.standard_normal((150, 1)) * arm + 0.15 * rng.standard_normal((150, 1)) * across
y = np.array(["A", "B", "C"])[y]

# %%
# Hatched areas are ambiguous. With ``ambiguous="reject"``, a reduction rejects the points there.
models = {
    "one against the rest": sx.OneVsRest(sx.LogisticRegression(alpha=0.1), ambiguous="reject"),
    "one against one": sx.OneVsOne(sx.LogisticRegression(alpha=0.1), ambiguous="reject"),
    "largest of three": sx.LogisticRegression(alpha=0.1),
}
print(f"{'reduction':<22} {'ambiguous':>10} {'accuracy':>11}   ambiguous: fraction of the picture")
for name, model in models.items():
    model.fit(X, y)
    figure, ax = new_figure(size=(4.6, 4.4))
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, title=name)
    ambiguous = (display.grid.codes == len(display.classes)).mean()
    print(f"{name:<22} {ambiguous:>10.1%} {model.score(X, y):>11.1%}")
    figure.set_label(f"Regions of three classes, {name}: {ambiguous:.0%} of the picture is ambiguous")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title=f"{name}: {ambiguous:.0%} ambiguous")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()
