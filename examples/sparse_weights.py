"""Weights of a lasso along the strength of its prior, and the choice of the strength by cross-validation.

The task is to classify tumours as malignant or benign from thirty strongly correlated measurements. With a strong
prior all weights are zero. As the prior gets weaker, one measurement after the other gets a weight. The lower panel
shows the log-loss of rows that a fit did not use. The lines mark the lowest log-loss, and the strongest prior whose
log-loss is at most one standard error higher (the rule of Breiman et al. 1984), which needs fewer measurements.
"""

import sys

import matplotlib as mpl

mpl.use("Agg")

from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.plots import RegularizationPathDisplay


def main(path: str = "sparse_weights.png") -> None:
    tumours = load_breast_cancer(as_frame=True)
    X, y = (tumours.data - tumours.data.mean()) / tumours.data.std(), tumours.target_names[tumours.target]
    lasso = sx.regularization_path(sx.LogisticRegression(prior=sx.ElasticNet()), X, y, folds=5)
    for name, prior in {"lowest log-loss": lasso.best, "sparsest within one error": lasso.sparsest}.items():
        at = lasso.alphas.tolist().index(prior.alpha)
        n, loss = lasso.n_nonzero[at], lasso.log_loss[at]
        print(f"{name:<26} alpha {prior.alpha:7.3f}   columns {n:2d}   log-loss {loss:.3f}")
    display = RegularizationPathDisplay.from_path(lasso, title="Tumours: one measurement after the other gets a weight")
    display.figure_.savefig(path, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:])
