"""One column, two classes: class densities, the posterior they imply, and the logistic curve beside it.

Draws docs/lobsters.png. The curves of LDA and of logistic regression are both sigmoids of a line; they differ because
one trusts the normal densities and the other only the labels.
"""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from separatrix.datasets import LOBSTERS, load_lobsters
from separatrix.plots.style import COLOURS


def main(path: str = "docs/lobsters.png") -> None:
    X, y = load_lobsters(return_X_y=True)
    lda = sx.LinearDiscriminantAnalysis().fit(X, y)
    qda = sx.QuadraticDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=np.inf).fit(X, y)
    grid = np.linspace(22, 62, 400)[:, None]

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for k, name in enumerate(["eaten", "survived"]):
        log_joint = lda.predict_log_proba(grid)[:, k] + lda.log_density(grid)
        left.plot(grid, np.exp(log_joint) / lda.priors_[k], color=COLOURS[k], label=f"p(size | {name})")
        left.hist(X[y == k, 0], bins=np.arange(25.5, 60, 3), density=True, color=COLOURS[k], alpha=0.25)
    left.set(xlabel="carapace length (mm)", ylabel="density per mm", title="Class densities, one shared variance")
    left.legend(frameon=False)

    sizes = np.array(list(LOBSTERS))
    alive, tethered = np.array(list(LOBSTERS.values())).T
    right.scatter(sizes, alive / tethered, s=6 * tethered, color="grey", alpha=0.6, label="share that survived")
    right.plot(grid, lda.predict_proba(grid)[:, 1], color=COLOURS[2], label="shared variance (LDA)")
    right.plot(grid, qda.predict_proba(grid)[:, 1], color=COLOURS[3], ls=":", label="own variances (QDA)")
    right.plot(grid, logistic.predict_proba(grid)[:, 1], color="black", ls="--", label="logistic regression")
    right.set(xlabel="carapace length (mm)", ylabel="p(survived | size)", title="The posterior", ylim=(-0.02, 1.02))
    right.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
