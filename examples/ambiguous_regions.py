"""Combining two-class rules leaves ambiguous regions (PRML figure 4.2).

The data are three elongated classes around the origin. One-vs-rest fits three classifiers, "class k or not": no
classifier claims the points in the middle, and two claim the points between two classes, farther out. One-vs-one
fits one classifier per pair of classes and counts votes: in the middle each class has one vote. With one
discriminant function per class, of which the largest wins, no region is ambiguous and every region is convex.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots import DecisionBoundaryDisplay
from separatrix.plots.drawing import new_figure

MODELS = {
    "one against the rest": sx.OneVsRest(sx.LogisticRegression(alpha=0.1), ambiguous="reject"),
    "one against one": sx.OneVsOne(sx.LogisticRegression(alpha=0.1), ambiguous="reject"),
    "largest of three": sx.LogisticRegression(alpha=0.1),
}


def pinwheel(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Three elongated classes around the origin, like the arms of a turning wheel."""
    rng, y = np.random.default_rng(4), np.arange(n) % 3
    out, aside = 2 * np.pi * y / 3 + 0.3, 2 * np.pi * y / 3 + 1.5
    centre, arm, across = (np.column_stack([np.cos(a), np.sin(a)]) for a in (out, aside, aside + np.pi / 2))
    along, beside = 2.0 * rng.standard_normal((n, 1)), 0.15 * rng.standard_normal((n, 1))
    return 2.5 * centre + along * arm + beside * across, np.array(["A", "B", "C"])[y]


def main(path: str = "ambiguous_regions.png") -> None:
    X, y = pinwheel()
    figure, axes = new_figure(1, 3, size=(12, 4.2), share=True)
    print(f"{'reduction':<22} {'ambiguous':>10} {'accuracy':>11}   ambiguous: fraction of the picture")
    for (name, model), ax in zip(MODELS.items(), axes, strict=True):
        model.fit(X, y)
        display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, title=name)
        ambiguous = (display.grid.codes == len(display.classes)).mean()
        print(f"{name:<22} {ambiguous:>10.1%} {model.score(X, y):>11.1%}")
        ax.set(xlabel="$x_1$", ylabel="$x_2$", title=f"{name}: {ambiguous:.0%} ambiguous")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
