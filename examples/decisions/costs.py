"""
Costs of decisions
==================

If a loan that defaults costs five times as much as a loan that is refused without need, when should a loan be refused?
The best threshold follows from the costs, and rows that the model has not seen show what it saves.
"""

import matplotlib.pyplot as plt

import separatrix as sx
from separatrix.plots.drawing import new_figure

# %%
# 1500 loans to fit, 1500 others to evaluate.
X, y = sx.datasets.make_loans(3000, as_frame=True, rng=0)
model = sx.TableClassifier().fit(X[:1500], y[:1500])
test, truth = X[1500:], y[1500:]

# %%
# The net benefit compares the model with acting on all loans (dashed) and on none (zero), for every threshold. The
# expected cost has its minimum near the threshold 1/6 that follows from the costs 1 and 5.
costs = [[0, 1], [5, 0]]
figure, axes = new_figure(2, 1, size=(6, 8))
figure.set_label(
    "Net benefit and expected cost of the decision that a loan defaults, against the threshold, with bands"
)
for ax, kind in zip(axes, ("net benefit", "cost"), strict=True):
    sx.plots.ThresholdDisplay.from_estimator(model, test, truth, kind=kind, positive="defaulted", costs=costs, ax=ax)
axes[1].axvline(1 / 6, color="0.4", linestyle=":")

# %%
# What the rule costs on these loans, compared with simpler rules:
P, codes = model.predict_proba(test)[:, ::-1], (truth == "defaulted").astype(int)
found = sx.thresholds.cost_report(P, codes, costs, ("repaid", "defaulted"))
print(f"smallest expected cost {found.cost.value:.3f}, most probable class {found.by_probability.value:.3f}")
print(f"always repaid {found.constant[0].value:.3f}, always defaulted {found.constant[1].value:.3f}")
plt.show()
