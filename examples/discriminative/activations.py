"""
Sigmoid, probit and loss functions
==================================

The sigmoid turns an activation into a probability. It is a soft step, and the probit is nearly the same function (PRML
figure 4.9). The loss of a row is the negative logarithm of its probability, or another function of its activation (PRML
figure 7.5).
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix.likelihoods import LabelNoise, Logit, Probit
from separatrix.plots.drawing import COLOURS, MUTED, STANDOUT, look, new_figure

a = np.linspace(-6, 6, 241)

# %%
# A long w makes a steep sigmoid. For an infinite length it is a step, the rule without probabilities.
figure, ax = new_figure(size=(6, 4))
figure.set_label("The sigmoid of a, of 4 a and of a quarter of a, and the step that is their limit")
with look():
    for s, colour in ((0.25, COLOURS[3]), (1.0, COLOURS[0]), (4.0, COLOURS[2])):
        ax.plot(a, Logit().probability(s * a), color=colour, label="σ(a)" if s == 1 else f"σ({s:g} a)")
    ax.plot(a, a > 0, color="black", linewidth=1.2, label="step")
    ax.set(xlabel="activation a", ylabel="probability", title="The length of w is the steepness")
    ax.legend()

# %%
# The distribution function of a normal variable, scaled so that both have the same slope at zero, is close to the
# sigmoid. The rule (4.153) for averaged predictions replaces one by the other.
lam = np.sqrt(np.pi / 8)
difference = Logit().probability(a) - Probit().probability(lam * a)
print(f"largest difference of σ(a) and Φ(λa): {np.abs(difference).max():.4f} at a = ±{abs(a[difference.argmax()]):.1f}")
figure, (above, below) = new_figure(2, 1, size=(6, 5.4))
figure.set_label("The sigmoid and the scaled normal distribution function, and their difference of at most 0.02")
with look():
    above.plot(a, Logit().probability(a), color=COLOURS[0], label="σ(a)")
    above.plot(a, Probit().probability(lam * a), "--", color=STANDOUT, label="Φ(λa), λ² = π/8")
    above.legend()
    below.plot(a, difference, color="black")
    below.axhline(0, color=MUTED, linewidth=0.8)
    above.set(ylabel="probability", title="Sigmoid and probit")
    below.set(xlabel="activation a", ylabel="σ(a) − Φ(λa)")

# %%
# The loss of a row with t = 1, divided so that all losses but one pass through 1 at a = 0. Least squares punishes rows
# that are correct by a large margin. The logistic loss of a wrong row grows linearly, the probit loss quadratically,
# and with label noise it is bounded.
t, nats = np.ones_like(a), 1 / np.log(2)
losses = {
    "misclassified": ((a <= 0).astype(float), MUTED, "-"),
    "squared, (a − 1)²": ((a - 1) ** 2, COLOURS[3], "-"),
    "perceptron, max(0, −a)": (np.where(a < 0, -a, 0.0), COLOURS[1], "--"),
    "hinge, max(0, 1 − a)": (np.maximum(0, 1 - a), COLOURS[4], "-."),
    "logistic": (-nats * Logit().derivatives(a, t).log_p, COLOURS[0], "-"),
    "probit": (-nats * Probit().derivatives(a, t).log_p, COLOURS[2], "--"),
    "label noise, ε = 0.02": (-nats * LabelNoise(0.02).derivatives(a, t).log_p, STANDOUT, "-"),
}
print(f"{'loss at a =':<24} {a[80]:>7g} {a[120]:>7g} {a[160]:>7g}")
for name, (loss, _, _) in losses.items():
    print(f"{name:<24} {loss[80]:>7.2f} {loss[120]:>7.2f} {loss[160]:>7.2f}")
figure, ax = new_figure(size=(6, 5.4))
figure.set_label("Losses of a row against its activation: squared, perceptron, hinge, logistic, probit and label noise")
with look():
    for name, (loss, colour, line) in losses.items():
        ax.plot(a, loss, line, color=colour, label=name)
    ax.set(xlabel="activation a of a row with t = 1", ylabel="loss", ylim=(-0.2, 9), title="Losses")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)

# %%
# Where the probit comes from: the class is 1 if the activation exceeds a random threshold. If the threshold is normal,
# the probability is its distribution function: the shaded area is Φ(1) (PRML figure 4.13).
figure, ax = new_figure(size=(6, 3.6))
figure.set_label(
    "Density of a random threshold, with the part below the activation shaded, and its distribution function"
)
density = np.exp(-0.5 * a**2) / np.sqrt(2 * np.pi)
print(f"area below a = 1: {Probit().probability(np.array([1.0]))[0]:.3f}")
with look():
    ax.plot(a, density, color=COLOURS[0], label="density of the threshold")
    ax.fill_between(a, density, where=a <= 1, color=COLOURS[0], alpha=0.25)
    ax.plot(a, Probit().probability(a), color=STANDOUT, label="Φ(a), p(threshold < a)")
    ax.axvline(1, color=MUTED, linestyle=":", linewidth=1)
    ax.set(xlabel="activation a", xlim=(-4, 4), title="A random threshold")
    ax.legend(loc="upper left")

# %%
# The softmax of three activations, multiplied by a growing number: from equal probabilities to the arg max.
factors = np.linspace(0, 6, 121)
softmax = np.exp(factors[:, None] * [1.0, 0.6, -0.5])
softmax /= softmax.sum(axis=1, keepdims=True)
figure, ax = new_figure(size=(6, 3.6))
figure.set_label("Softmax of three activations that are multiplied by a growing number: the largest wins")
with look():
    for k, activation in enumerate((1.0, 0.6, -0.5)):
        ax.plot(factors, softmax[:, k], color=COLOURS[k], label=f"a = {activation:g}")
    ax.set(xlabel="factor of the activations", ylabel="probability", ylim=(0, 1), title="Softmax, a smooth arg max")
    ax.legend()
plt.show()
