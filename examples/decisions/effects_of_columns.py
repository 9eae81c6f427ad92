"""
What a column does to the probability
=====================================

Coefficients change log-odds, but people ask about probabilities: by how much does the probability change if the income
is 10 000 higher, or the loan has another purpose? The answer is an average over the rows of a table, with an interval.
"""

import matplotlib.pyplot as plt

import separatrix as sx

# %%
# A Bayesian logistic regression of 2000 loans, with dates, categories and missing values, and with curves.
X, y = sx.datasets.make_loans(2000, as_frame=True, rng=0)
model = sx.TableClassifier(curved=True).fit(X, y)

# %%
# For each column: the change of the average probability of default, for a round step of a number and between levels of
# a category. The other columns of each row do not change.
effects = sx.effects.comparisons(model, X, positive="defaulted")
print(effects)
effects.plot().figure_.set_label(
    "Change of the average probability of default for a step of each column, with intervals"
)

# %%
# The averages themselves, along the income, for people with and without a home of their own.
curves = sx.effects.predictions(model, X, "income", by="owns_home", positive="defaulted")
display = curves.plot()
display.figure_.set_label(
    "Average probability of default along the income, for owners of a home and others, with bands"
)
display.ax_.set_ylim(0, None)

# %%
# Does a step of the income matter more for those who do not own a home?
print(sx.effects.comparisons(model, X, {"income": 20}, by="owns_home", positive="defaulted", hypothesis="pairwise"))

# %%
# The importance of a column is the increase of the log-loss of *new* rows if its values are shuffled. The date of the
# application has no effect in this simulation.
print(sx.effects.importance(model, *sx.datasets.make_loans(2000, as_frame=True, rng=1)))
plt.show()
