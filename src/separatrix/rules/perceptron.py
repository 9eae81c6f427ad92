# SPDX-License-Identifier: BSD-3-Clause
"""The perceptron.                                                                          PRML §4.1.7

Rows are processed one after another. A row on the wrong side of the boundary, or on it, is a mistake and changes w:

    if  t_n w'φ_n <= 0:   w <- w + η t_n φ_n,        t_n = ±1                            (4.55)

The algorithm stops after an epoch without mistakes. If a unit vector u separates the rows with margin
γ = min_n t_n u'φ_n > 0, and R = max_n |φ_n|, there are at most (R/γ)² mistakes (Novikoff 1962), in any order and
dimension. If no vector separates the rows, the algorithm does not converge. It stops after a maximum number of epochs
with a warning. Then the last weights are arbitrary, and two other choices are better:

    "average"   the mean of the weights after every row (Freund & Schapire 1999)
    "pocket"    the weights with the longest run of correct rows (Gallant 1990), replaced after an epoch
                only by weights that make fewer mistakes on all rows

K classes have one w_k each. On a mistake, η φ_n is added to w of the true class, and subtracted from w of the other
class with the highest score. An epoch needs one pass; "pocket" needs a second pass if an epoch has a new candidate.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_flags, check_option, check_positive, generator
from separatrix._array import Array, Float
from separatrix.estimator import LinearClassifier, unchanged_on_error
from separatrix.exceptions import DataError, NotSeparableWarning
from separatrix.rows import Block, Source
from separatrix.separation import separability
from separatrix.solvers import Solution, Status
from separatrix.stats import Tally, confusion, extent, require_finite

MAX_CENTRE_IN_RANGES = 5  # columns centred more than five ranges from zero cause a hint to standardise them
MAX_CELLS_FOR_PROOF = 100_000  # largest number of rows x columns for which a linear program decides separability


class Weights(NamedTuple):
    """Weights W (C, M) and intercepts w0 (C,); C = 1 for two classes, otherwise C = K."""

    W: Float
    w0: Float


class Update(NamedTuple):
    """One mistake: its epoch, its row, and the weights after the update."""

    epoch: int
    row: int
    W: Float
    w0: Float


def fit_perceptron(
    source: Source, model: Perceptron, last: tuple[Array, Float, Float] | None = None
) -> tuple[Solution[Weights], tuple[int, ...]]:
    """Run epochs with the arguments of the model; return the weights and the number of mistakes in each epoch.

    The weights start at zero or, if classes and columns are the same, at those of the ``last`` fit.
    """
    from separatrix.rules._online import perceptron_rows, start, storage

    n_classes, rng = len(source.classes), generator(model.rng) if model.shuffle else None
    state = start(1 if n_classes == 2 else n_classes, len(source.columns))
    if last is not None and last[1].shape == state.w.shape and np.array_equal(last[0], source.classes):
        state.w[:], state.w0[:] = last[1:]
    per_epoch: list[int] = []
    updates: list[Update] = []
    passes, fewest, pocket = 0, np.inf, None

    def process(block: Block) -> int:
        """Process each row of a block once, updating the state; return the number of mistakes."""
        step = float(model.learning_rate) * (np.ones(len(block)) if block.weight is None else block.weight)
        mistakes = int(perceptron_rows(storage(block.X), block.codes, step, float(model.fit_intercept), state))
        if mistakes < 0:
            require_finite(source)
            raise DataError(
                "The weights overflowed: values or sample weights are too large. Standardise the columns, or decrease "
                "learning_rate."
            )
        return mistakes

    def step(mistakes: int, block: Block) -> int:
        if not model.trace:
            return mistakes + process(block)
        for n in range(len(block)):  # the trace needs the weights after each mistake
            one = block.take(np.array([n]))
            if process(one):
                mistakes += 1
                updates.append(Update(len(per_epoch), int(one.row[0]), state.w.copy(), state.w0.copy()))
        return mistakes

    while len(per_epoch) < model.max_epochs and per_epoch[-1:] != [0]:
        per_epoch.append(source.fold(step, 0, rng))
        passes += 1
        if model.weights == "pocket" and per_epoch[-1] > 0:
            candidate = Weights(state.pocket.copy(), state.pocket0.copy())
            if pocket is None or not all(map(np.array_equal, pocket, candidate)):
                matrix = source.reduce(partial(confusion_of, weights=candidate, n_classes=n_classes)).count
                passes += 1
                if matrix.sum() - np.trace(matrix) < fewest:  # fewer mistakes on all rows
                    fewest, pocket = matrix.sum() - np.trace(matrix), candidate
    separated = per_epoch[-1] == 0
    weights = Weights(state.w, state.w0)
    if model.weights == "average":
        weights = Weights(state.w - state.late / state.clock[0], state.w0 - state.late0 / state.clock[0])
    elif pocket is not None and not separated:
        weights = pocket
    status = Status.SEPARATED if separated else Status.MAX_STEPS
    return Solution(weights, status, len(per_epoch), passes, tuple(updates)), tuple(per_epoch)


def confusion_of(block: Block, weights: Weights, n_classes: int) -> Tally:
    """Confusion matrix of a classifier with these weights."""
    a = block.X @ weights.W.T + weights.w0
    predicted = a[:, 0] > 0 if a.shape[1] == 1 else a.argmax(axis=1)
    return confusion(block, np.asarray(predicted, dtype=np.intp), n_classes)


def criterion_of(block: Block, weights: Weights) -> Float:
    """Return the sum over misclassified rows of -t a (4.54); for K classes, of the largest activation minus its own."""
    a = np.asarray(block.X @ weights.W.T + weights.w0)
    if a.shape[1] == 1:
        lack = np.maximum(0.0, np.where(block.codes == 1, -a[:, 0], a[:, 0]))
    else:
        lack = a.max(axis=1) - a[np.arange(len(a)), block.codes]
    return np.asarray(lack.sum() if block.weight is None else block.weight @ lack)


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron for two or K classes, which updates the weights after each misclassified row.

    On separable data, it stops when an epoch has no mistake, after at most (R/γ)² mistakes (Novikoff). Otherwise it
    stops after ``max_epochs`` epochs with a `NotSeparableWarning`.

    Parameters
    ----------
    basis : basis function or transformer, optional
        Basis functions φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether to include φ_0 = 1.
    learning_rate : float, default 1
        Step size η. It scales the weights but changes no prediction, because the weights start at zero.
    max_epochs : int, default 100
        Maximum number of epochs.
    weights : {"last", "average", "pocket"}, default "last"
        "last" uses the last weights. "average" uses the mean of the weights after every row, even if the last weights
        separate the classes. "pocket" uses the last weights if they separate the classes, otherwise the candidate with
        the fewest mistakes.
    shuffle : bool, default False
        Whether to shuffle the rows in every epoch: blocks of rows are shuffled, and rows within each block.
    rng : None, int or numpy Generator, default None
        Random generator for ``shuffle``. With None a fixed seed is used, so repeated fits give identical models.
    trace : bool, default False
        Whether to record the weights after every mistake in ``solution_.trace``, for an animation; this is slow.
    class_weight : {"balanced"} or mapping {label: factor}, optional
        Factor of the weights of each class, as in `LogisticRegression`.
    warm_start : bool, default False
        Whether `fit` starts from the weights of the last fit, if classes and columns are the same.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (1, M) and (1,), or (K, M) and (K,)
        The linear classifier.
    class_weight_ : ndarray of shape (K,)
        The factor of each class.
    n_mistakes_ : int
        Number of mistakes in all epochs.
    mistakes_per_epoch_ : tuple of int
        Number of mistakes in each epoch.
    criterion_ : float
        Perceptron criterion E_P of the weights (4.54): the sum of -w'φ t over misclassified rows; zero if there are
        none. For K classes, the sum of the largest activation of a row minus that of its class.
    n_steps_ : int
        Number of epochs.
    n_passes_ : int
        Number of passes over the rows.
    solution_ : Solution
        The status and the trace.

    Notes
    -----
    ``sample_weight`` scales the update by each row; rows with weight 0 are skipped.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X, y == 0)
    >>> model.score(X, y == 0), model.n_mistakes_, model.solution_.status.value
    (1.0, 5, 'an epoch passed without a mistake: the classes are separated')
    """

    no_distribution = "a perceptron stops at any hyperplane that separates the classes, so its weights have no errors"

    def __init__(
        self,
        basis: Any = None,
        fit_intercept: bool = True,
        learning_rate: float = 1.0,
        max_epochs: int = 100,
        weights: str = "last",
        shuffle: bool = False,
        rng: Any = None,
        trace: bool = False,
        class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.weights = weights
        self.shuffle = shuffle
        self.rng = rng
        self.trace = trace
        self.class_weight = class_weight
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Perceptron:
        """Run epochs until an epoch has no mistake, at most ``max_epochs``."""
        check_flags(self)
        check_positive("Perceptron", "learning_rate", self.learning_rate)
        check_count("Perceptron", "max_epochs", self.max_epochs)
        check_option("Perceptron", "weights", self.weights, ("last", "average", "pocket"))
        with unchanged_on_error(self):
            last = self._last_weights() if self.warm_start else None
            source = self._open_training(X, y, sample_weight)
            solution, self.mistakes_per_epoch_ = fit_perceptron(source, self, last)
            self._keep_weights(*solution.value, source)
            self.n_mistakes_ = sum(self.mistakes_per_epoch_)
            self.criterion_ = 0.0
            if solution.status is Status.MAX_STEPS or self.weights == "average":
                self.criterion_ = float(source.reduce(partial(criterion_of, weights=solution.value)))
            if solution.status is Status.MAX_STEPS:
                warnings.warn(self._not_separated(source), NotSeparableWarning, stacklevel=2)
            self._keep(solution, source.passes)
        return self

    def _not_separated(self, source: Source) -> str:
        """Text of the warning if no epoch is free of mistakes; on small data, a linear program decides separability."""
        mistakes = self.mistakes_per_epoch_
        made = (
            f"The perceptron made {mistakes[-1]} mistakes in the last of its {len(mistakes)} epochs (at best "
            f"{min(mistakes)} of {source.n_rows} rows)"
        )
        if len(mistakes) == 1:  # after a single epoch, another pass over the rows would double the cost
            return f"{made}. Increase max_epochs, or check is_separable."
        # The number of mistakes grows with (R/γ)²; columns far from zero increase the radius R.
        reach = source.reduce(extent)
        centre = 0.5 * np.abs(reach.high + reach.low)
        far = np.flatnonzero(centre > MAX_CENTRE_IN_RANGES * (reach.high - reach.low))
        hint = ""
        if len(far):
            hint = f" Columns far from zero, such as {source.columns[far[0]]!r}, slow down convergence: "
            hint += "standardise them with make_pipeline(StandardScaler(), Perceptron())."
        status = "unchecked"
        if source.n_rows * len(source.columns) <= MAX_CELLS_FOR_PROOF:
            status = separability(source, len(source.classes), fit_intercept=self.fit_intercept).status
        if status == "unchecked":
            found = "the classes probably cannot be separated by a hyperplane (check with is_separable)"
        elif status == "complete":
            return f"{made}, but the classes can be separated. Increase max_epochs.{hint}"
        elif status == "unknown":
            found = "separability cannot be decided, because columns are nearly collinear"
        else:
            found = "the classes cannot be separated by a hyperplane (decided by a linear program)"
        better = ", or weights='average' or 'pocket'" if self.weights == "last" else ""
        return (
            f"{made}: {found}. Use a model for overlapping classes, such as FisherDiscriminant, or a richer "
            f"basis={better}.{hint}"
        )
