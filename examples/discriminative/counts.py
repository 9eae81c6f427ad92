"""
A model of counts
=================

A generalised linear model makes the mean of a response a function of the activation (PRML §4.3.6). The number of visits
to a doctor grows with the age. With the canonical link of the Poisson family, :math:`\\mu = e^{w^T \\phi}` is positive,
and each year multiplies it by a factor. A normal response with the identity link has a line, which is negative for
young ages, and the same variance at all ages.
"""

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, look, new_figure

rng = np.random.default_rng(1)
age = rng.uniform(0, 80, size=(300, 1))
visits = rng.poisson(np.exp(-1.2 + 0.035 * age[:, 0]))
models = {
    "Poisson, log link": (sx.GeneralizedLinearModel("poisson").fit(age, visits), STANDOUT, "-"),
    "normal, identity link": (sx.GeneralizedLinearModel("gaussian").fit(age, visits), COLOURS[0], "--"),
}
for name, (model, *_) in models.items():
    mean = model.predict([[5.0], [75.0]])
    print(f"{name:<22} steps: {model.n_steps_}   mean at 5 years {mean[0]:>5.2f}, at 75 years {mean[1]:.2f}")
poisson = models["Poisson, log link"][0]
print(f"each year multiplies the mean by {np.exp(poisson.coef_[0]):.3f} (true: {np.exp(0.035):.3f})")

# %%
# The rows, and the mean of both models. Points are moved a little up or down, so that equal counts can be seen.
figure, ax = new_figure(size=(6, 4.2))
figure.set_label("Number of visits against age, with the curve of a Poisson model and the line of a normal model")
along = np.linspace(0, 80, 161)[:, None]
with look():
    ax.plot(age[:, 0], visits + rng.uniform(-0.15, 0.15, size=300), "o", color=MUTED, markersize=3, alpha=0.6)
    for name, (model, colour, line) in models.items():
        ax.plot(along[:, 0], model.predict(along), line, color=colour, label=name)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xlabel="age (years)", ylabel="visits per year", title="The mean of a count")
    ax.legend(loc="upper left")

# %%
# The mean squared error, divided by the variance that the model assumes, in three groups by age: 1 if the variance is
# correct.
print(f"\n{'ages':<22} {'0 to 30':>8} {'30 to 60':>8} {'60 to 80':>8}")
for name, (model, *_) in models.items():
    mean = model.predict(age)
    variance = mean if name.startswith("Poisson") else np.full(300, model.dispersion_)
    groups = np.digitize(age[:, 0], [30, 60])
    ratios = [((visits - mean) ** 2 / variance)[groups == k].mean() for k in range(3)]
    print(f"{name:<22} " + " ".join(f"{ratio:>8.2f}" for ratio in ratios))
plt.show()
