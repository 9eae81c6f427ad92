"""
Sparse weights
==============

The task is to classify tumours as malignant or benign from thirty strongly correlated measurements. With a strong prior
all weights of a lasso are zero. As the prior gets weaker, one measurement after the other gets a weight.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.plots import RegularizationPathDisplay

tumours = load_breast_cancer(as_frame=True)
X, y = (tumours.data - tumours.data.mean()) / tumours.data.std(), tumours.target_names[tumours.target]
lasso = sx.regularization_path(sx.LogisticRegression(prior=sx.ElasticNet()), X, y, folds=5)

# %%
# The lower panel shows the log-loss of rows that a fit did not use. The lines mark the lowest log-loss, and the
# strongest prior whose log-loss is at most one standard error higher (the rule of Breiman et al. 1984), which needs
# fewer measurements.
for name, prior in {"lowest log-loss": lasso.best, "sparsest within one error": lasso.sparsest}.items():
    at = lasso.alphas.tolist().index(prior.alpha)
    print(f"{name:<26} alpha {prior.alpha:7.3f}   columns {lasso.n_nonzero[at]:2d}   log-loss {lasso.log_loss[at]:.3f}")
display = RegularizationPathDisplay.from_path(lasso, title="One measurement after the other gets a weight")
display.figure_.set_label("Weights along the strength of the prior, and the log-loss of held-out rows")
plt.show()
