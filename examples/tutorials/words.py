"""
Words: sparse and wide
======================

A text becomes a row with a column for each word, nearly all of them zero. There are more columns than rows, so maximum
likelihood does not exist, and every model needs a prior. The texts are the paragraphs of docstrings; the class is the
library that they are from.
"""

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import numpy.linalg
import scipy.linalg
import scipy.optimize
import scipy.stats
from sklearn.feature_extraction.text import CountVectorizer

import separatrix as sx
from separatrix.plots.drawing import COLOURS, look, new_figure

# %%
# The texts
# ---------
# Paragraphs of at least 12 words about arrays (NumPy) and about statistics (SciPy). Code, numbers and the names of the
# libraries are removed: a name would give the class away.
LIBRARIES = {"numpy": (np, np.linalg), "scipy.stats": (scipy.stats,)}


def paragraphs(modules: tuple) -> list[str]:
    """Return the distinct paragraphs of prose in the docstrings of public names."""
    values = [getattr(module, name) for module in modules for name in dir(module)]
    texts = [inspect.getdoc(value) or "" for value in values if callable(value)]
    prose = {re.sub(r"\s+", " ", part) for text in texts for part in text.split("\n\n") if ">>>" not in part}
    return sorted(part for part in prose if len(part.split()) >= 12)


texts = {name: paragraphs(modules) for name, modules in LIBRARIES.items()}
y = np.repeat(list(texts), [len(part) for part in texts.values()])
NAMES = re.compile(r"(?i)\w*(numpy|scipy|stats)\w*|\bnp\b")
everything = [NAMES.sub(" ", text) for part in texts.values() for text in part]
test = np.random.default_rng(0).random(len(y)) < 0.5
train = np.flatnonzero(~test)[:1500]

# %%
# A column for each word that occurs in at least two training texts. The table is sparse: only nonzeros are stored,
# and no model makes it dense.
vectorizer = CountVectorizer(min_df=2, token_pattern=r"(?u)\b[a-z]{2,}\b", binary=True)
X = vectorizer.fit_transform([everything[n] for n in train])
X_new, y_new = vectorizer.transform([everything[n] for n in np.flatnonzero(test)]), y[test]
y = y[train]
n_words = X.shape[1]
print(f"{X.shape[0]} training texts, {len(y_new)} new texts, {n_words} words, {X.nnz / len(y):.0f} words per text")
print("with a plane between the classes:", sx.is_separable(X, y).status)

# %%
# Models
# ------
# Naive Bayes of counts fits in one pass. The Bayesian model tunes its prior by evidence, without held-out rows.
models = {
    "naive Bayes, multinomial": sx.ExponentialFamilyClassifier("multinomial"),
    "logistic, alpha = 1": sx.LogisticRegression(alpha=1.0),
    "logistic, sparse weights": sx.LogisticRegression(prior=sx.ElasticNet(alpha=2.0)),
    "Bayesian logistic": sx.BayesianLogisticRegression(),
}
print(f"{'model':<26} {'correct':>8} {'log-likelihood per text':>24} {'words used':>11}")
for name, model in models.items():
    model.fit(X, y)
    value = sx.metrics.log_likelihood(model.predict_proba(X_new), np.searchsorted(model.classes_, y_new)).value
    words = int((np.ravel(model.coef_) != 0).sum())
    print(f"{name:<26} {model.score(X_new, y_new):>8.1%} {value:>24.3f} {words:>11}")

# %%
# Which words decide?
# -------------------
# The weight of a word is what it adds to the log-odds of the second class. The bars show the posterior means of the ten
# largest weights of each sign, with 95 % intervals.
bayes = models["Bayesian logistic"]
order = np.argsort(bayes.coef_[0])
shown = np.r_[order[:10], order[-10:]]
words = vectorizer.get_feature_names_out()[shown]
L = np.zeros((20, n_words + 1))  # each row picks one word
L[np.arange(20), shown] = 1.0
weights = bayes.weight_distribution_.functions(L)
figure, ax = new_figure(size=(5.6, 5.6))
figure.set_label("Weights of twenty words with their 95 % intervals")
with look():
    for n, (mean, sd) in enumerate(zip(np.ravel(weights.means), np.ravel(weights.stds), strict=True)):
        ax.plot([mean - 1.96 * sd, mean + 1.96 * sd], [n, n], color=COLOURS[int(mean > 0)], lw=2)
        ax.plot(mean, n, "o", color=COLOURS[int(mean > 0)])
    ax.axvline(0, color="grey", lw=1)
    ax.set(yticks=range(20), yticklabels=words, xlabel=f"weight: towards {bayes.classes_[1]}")

# %%
# One text
# --------
# The log-odds of a text are the sum of its words and the intercept, so a prediction can be read word by word.
text = "Returns the standard deviation of the samples along the given axis."
row = vectorizer.transform([text])
parts = [(word, bayes.coef_[0, vectorizer.vocabulary_[word]]) for word in vectorizer.inverse_transform(row)[0]]
lower, upper = bayes.predict_interval(row)[0]
print(text)
print(f"p({bayes.classes_[1]}) = {bayes.predict_proba(row)[0, 1]:.2f}, 95 % interval {lower:.2f} to {upper:.2f}")
for word, weight in sorted(parts, key=lambda part: -abs(part[1]))[:6]:
    print(f"  {word:<12} {weight:+.2f}")
plt.show()
