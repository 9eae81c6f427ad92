"""
One prediction, explained
=========================

Why did this loan get this probability? The log-odds of a linear model are a sum over the columns of the table, so each
column has a contribution. The posterior of a Bayesian model gives each contribution an interval.
"""

import matplotlib.pyplot as plt

import separatrix as sx

# %%
# 2000 loans with dates, categories and missing values. `TableClassifier` encodes them, and fits a Bayesian logistic
# regression with a tuned prior.
X, y = sx.datasets.make_loans(2000, as_frame=True, rng=0)
new, _ = sx.datasets.make_loans(100, as_frame=True, rng=1)
model = sx.TableClassifier().fit(X, y)
p = model.predict_proba(new)[:, 1]
loan = new.iloc[[abs(p - 0.5).argmin()]]  # the least certain of 100 new loans
(lower, upper), *_ = model.predict_interval(loan)
print(f"p({model.classes_[1]}) = {model.predict_proba(loan)[0, 1]:.2f}, 95 % interval {lower:.2f} to {upper:.2f}")

# %%
# The waterfall starts at the average training row. Each bar is what one column adds to the probability, with its 95 %
# interval, and the last line is the prediction.
explanation = model.explain(loan)
display = explanation.plot()
display.figure_.set_label("Contribution of each column of a loan to the probability that it is repaid, with intervals")

# %%
# In numbers, with the smallest changes of one or two columns that would change the decision. They describe the model:
# whether such a change would change the *outcome* is another question.
print(explanation)
plt.show()
