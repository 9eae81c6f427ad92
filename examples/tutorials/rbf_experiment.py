"""
A Bayesian experiment in six steps
==================================

The experiment follows a common exercise on Bayesian logistic regression (PRML §4.4, §4.5): radial basis functions on
every training row, the maximum a posteriori (MAP) estimate, Laplace's approximation, predictions by both, and the
choice of width and prior by the evidence.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import separatrix as sx
from separatrix.basis import RBF
from separatrix.datasets import make_rbf_experiment
from separatrix.plots import EvidenceSurfaceDisplay
from separatrix.plots.drawing import look, new_figure, scatter_classes

# %%
# 1. The data
# -----------
# 1000 rows of two columns, divided into 800 training rows and 200 test rows. The classes meet at a wave; near it,
# labels are random.
X, y, X_test, y_test = make_rbf_experiment(800)
print(f"{len(y)} training rows, {len(y_test)} test rows, {y.mean():.0%} of class 1")

figure, ax = new_figure(size=(5.4, 4.8))
figure.set_label("800 rows of two classes, separated by a wave")
scatter_classes(ax, X, y, np.array([0, 1]), size=10)
ax.set(xlabel="$x_1$", ylabel="$x_2$")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)

# %%
# 2. The model
# ------------
# Each training row is the centre of a radial basis function of width :math:`l`, and the weights have a normal prior of
# variance :math:`s^2`:
#
# .. math::
#
#     p(t = 1 \mid x) = \sigma(w^T \phi(x)), \qquad \phi_m(x) = \exp \Big( - \frac{\|x - x_m\|^2}{2 l^2} \Big), \qquad
#     w \sim \mathcal{N}(0, s^2 I) .
#
# Laplace's approximation puts a normal density at the mode of the posterior, with the precision
# :math:`S_N^{-1} = S_0^{-1} + \sum_n p_n (1 - p_n) \phi_n \phi_n^T` (4.143).


def fit(width: float, variance: float) -> sx.BayesianLogisticRegression:
    """Fit the model with this width and this prior variance, without any tuning."""
    prior = sx.Gaussian(scale=np.sqrt(variance))
    model = sx.BayesianLogisticRegression(
        prior, basis=RBF(width=width), tune=None, approximation="laplace", standardize=False
    )
    with warnings.catch_warnings():  # the approximation is expected to be poor at a small width
        warnings.simplefilter("ignore", sx.exceptions.ApproximationWarning)
        return model.fit(X, y)


narrow = fit(width=0.1, variance=1.0)

# %%
# 3. Predictions at the mode, and averaged
# ----------------------------------------
# The prediction at the mode is :math:`\sigma(w_{MAP}^T \phi)`. The average over the posterior is an integral over the
# activation, with :math:`\mu_a = w_{MAP}^T \phi` and :math:`\sigma_a^2 = \phi^T S_N \phi`; the rule ``"probit"``
# computes it as :math:`\sigma(\kappa \mu_a)` with :math:`\kappa = (1 + \pi \sigma_a^2 / 8)^{-1/2}` (4.153, 4.154).


def tables(model: sx.BayesianLogisticRegression) -> None:
    """Print mean log-likelihoods, and the confusion matrices of the test rows, with fractions of each true class."""
    print(f"{'':<18} {'training':>9} {'test':>9}   mean log-likelihood")
    for rule, name in (("map", "at the mode"), ("probit", "Laplace, averaged")):
        model.set_params(predictive=rule)
        train, test = (
            sx.metrics.log_likelihood(model.predict_proba(A), t).value for A, t in ((X, y), (X_test, y_test))
        )
        print(f"{name:<18} {train:>9.3f} {test:>9.3f}")
    for rule, name in (("map", "at the mode"), ("probit", "Laplace, averaged")):
        share = sx.metrics.confusion(model.set_params(predictive=rule).predict_proba(X_test), y_test).share
        print(f"\n{name:<18} {'predict 0':>9} {'predict 1':>9}")
        for k in (0, 1):
            print(f"{f'true class {k}':<18} {share[k, 0]:>9.3f} {share[k, 1]:>9.3f}")


tables(narrow)

# %%
# Both rules have the same confusion matrix. :math:`\kappa` is positive, so the sign of :math:`\mu_a` decides in both,
# and the boundary is the same. Averaging lowers the log-likelihood here. The functions are so narrow that few training
# rows determine the activation at a point. Its variance is large, and the probability moves towards one half.


def draw(model: sx.BayesianLogisticRegression, rule: str, title: str) -> None:
    """Draw the contours of the probability of class 1."""
    x = np.linspace(-2, 2, 100)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    p = model.set_params(predictive=rule).predict_proba(grid)[:, 1].reshape(100, 100)
    figure, ax = new_figure(size=(4.8, 4.6))
    figure.set_label(f"Contours of the probability of class 1: {title}")
    with look():
        lines = ax.contour(x, x, p, levels=[0.1, 0.3, 0.5, 0.7, 0.9], cmap="viridis")
        scatter_classes(ax, X[:200], y[:200], model.classes_, size=8)
        ax.clabel(lines, fontsize=9)
        ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$")


draw(narrow, "map", "width 0.1, at the mode")
draw(narrow, "probit", "width 0.1, averaged")

# %%
# 4. The evidence
# ---------------
# Laplace's approximation also gives the evidence, which needs no test rows (4.137):
#
# .. math::
#
#     \ln p(D) \simeq \ln p(D \mid w_{MAP}) + \ln p(w_{MAP}) + \frac{M}{2} \ln 2 \pi + \frac{1}{2} \ln |S_N| .
#
# A grid of 10 widths and 10 variances, in logarithmic steps:
widths, variances = np.geomspace(0.05, 5.0, 10), np.geomspace(0.01, 100.0, 10)
surface = sx.evidence_surface(
    X, y, basis_of_width=lambda width: RBF(width=width), widths=widths, scales=np.sqrt(variances)
)
width, scale = surface.best
best, second = np.sort(surface.log_evidence.ravel())[[-1, -2]]
print(f"best cell: width {width:.2f}, variance {scale**2:.2f}, ln p(D) = {best:.1f}; second best {second:.1f}")
print(f"width 0.1, variance 1: ln p(D) = {narrow.log_evidence_:.1f}")
display = EvidenceSurfaceDisplay.from_surface(
    surface, marks={"width 0.1, variance 1": (0.1, 1.0)}, title="Log evidence"
)
display.figure_.set_label("Heat map of the log evidence over ten widths and ten prior scales")

# %%
# 5. Fit and Occam factor
# ------------------------
# The log evidence is the log-likelihood at the mode plus the logarithm of the Occam factor. Narrower functions fit
# better, up to a width at which each reaches only its own row, and their Occam factor is smaller.
fits = [fit(each, scale**2) for each in widths]
figure, ax = new_figure(size=(6, 4.2))
figure.set_label(
    "Log-likelihood, Occam factor and their sum, the log evidence, against the width of the basis functions"
)
with look():
    ax.semilogx(widths, [model.log_likelihood_ for model in fits], "--", marker="o", label="fit, ln p(D | w)")
    ax.semilogx(widths, [model.occam_factor_ for model in fits], ":", marker="s", label="Occam factor (logarithm)")
    ax.semilogx(widths, [model.log_evidence_ for model in fits], color="black", marker="^", label="sum: ln p(D)")
    ax.set(xlabel="width of the basis functions", ylabel="nats", title=f"Prior variance {scale**2:.2f}")
    ax.legend()

# %%
# 6. The chosen model
# -------------------
# The same tables for the best cell. Training and test rows now have nearly the same log-likelihood.
chosen = fit(width, scale**2)
tables(chosen)
draw(chosen, "probit", f"width {width:.2f}, averaged")
plt.show()
