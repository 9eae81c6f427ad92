# SPDX-License-Identifier: BSD-3-Clause
"""The perceptron.                                                                          PRML §4.1.7

Rows are shown one after another; a row on the wrong side (or on the boundary) moves the boundary:

    if  t_n w'φ_n <= 0:   w <- w + η t_n φ_n,        t_n = ±1                            (4.55)

until an epoch passes without a mistake. If some unit vector u separates the rows with margin
γ = min_n t_n u'φ_n > 0, and R = max_n |φ_n|, there are at most (R/γ)² mistakes (Novikoff 1962), whatever the
order and the dimension. If none does, it never stops by itself: it stops at its limit and says so. Then the
last weights mean little, and one keeps

    "average"   the mean of the weights after every row (Freund & Schapire 1999)
    "pocket"    the weights that got the longest run of rows right (Gallant 1990), replaced from one epoch to
                the next only by weights that make fewer mistakes on all rows

K classes: one w_k each; on a mistake the right class gains η φ_n and its strongest rival loses it.

One pass per epoch, in order (``fold``); "pocket" adds one (``reduce``) per epoch with a new candidate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_count, check_option, check_positive, generator
from separatrix._array import Codes, Float, Rows
from separatrix.estimator import LinearClassifier, unchanged_on_error
from separatrix.exceptions import NotSeparableWarning
from separatrix.rows import Block, Source
from separatrix.solvers import Solution, Status, separability
from separatrix.stats import confusion, extent, require_finite

__all__ = ["Perceptron", "PerceptronOptions", "Update", "Weights", "fit_perceptron"]

FAR = 10  # a column whose middle is this many ranges away from zero makes the radius R its offset
PROOF_SIZE = 100_000  # numbers in the table up to which a failure is explained by a linear program


class Weights(NamedTuple):
    """W (C, M) and w0 (C,): one row for two classes, K rows otherwise."""

    W: Float
    w0: Float


class Update(NamedTuple):
    """One mistake: when, on which row, and the weights after it."""

    epoch: int
    row: int
    W: Float
    w0: Float


@dataclass(frozen=True)
class PerceptronOptions:
    """How to run: see `Perceptron`."""

    learning_rate: float = 1.0
    fit_intercept: bool = True
    max_epochs: int = 100
    keep: str = "last"
    rng: np.random.Generator | None = None
    trace: bool = False


@dataclass(frozen=True)
class Mistakes:
    """Weights, and the mistakes made on the way to them, epoch by epoch."""

    weights: Weights
    per_epoch: tuple[int, ...]


def fit_perceptron(source: Source, n_classes: int, options: PerceptronOptions) -> Solution[Mistakes]:
    """Epochs until one has no mistake, or ``max_epochs``."""
    from separatrix.rules._online import start

    state = start(1 if n_classes == 2 else n_classes, len(source.columns))
    run = _Run(source, n_classes, options)
    per_epoch: list[int] = []
    pocket: tuple[float, Weights] | None = None
    while len(per_epoch) < options.max_epochs:
        per_epoch.append(run.epoch(state, len(per_epoch)))
        if per_epoch[-1] == 0:
            break
        if options.keep == "pocket":
            pocket = run.better(pocket, Weights(state.pocket.copy(), state.pocket0.copy()))
    separated = per_epoch[-1] == 0
    weights = run.kept(state, separated, pocket)
    status = Status.SEPARATED if separated else Status.MAX_STEPS
    return Solution(Mistakes(weights, tuple(per_epoch)), status, len(per_epoch), run.passes, tuple(run.updates))


class _Run:
    """One fit in progress: what it reads, how many passes it took, and its trace."""

    def __init__(self, source: Source, n_classes: int, options: PerceptronOptions) -> None:
        self.source, self.n_classes, self.options = source, n_classes, options
        self.passes = 0
        self.updates: list[Update] = []

    def epoch(self, state: Any, number: int) -> int:
        """Show every row once; return the number of mistakes."""
        self.passes += 1

        def step(mistakes: int, block: Block) -> int:
            return mistakes + (self._traced(block, state, number) if self.options.trace else self._show(block, state))

        return self.source.fold(step, 0, self.options.rng)

    def better(self, pocket: tuple[float, Weights] | None, candidate: Weights) -> tuple[float, Weights]:
        """The ratchet: a new candidate replaces the old one only if it errs less on all rows."""
        if pocket is not None and all(map(np.array_equal, pocket[1], candidate)):
            return pocket
        self.passes += 1
        K = self.n_classes
        count = self.source.reduce(lambda block: confusion(block, predicted(block.X, candidate), K)).count
        errors = float(count.sum() - np.trace(count))
        return (errors, candidate) if pocket is None or errors < pocket[0] else pocket

    def kept(self, state: Any, separated: bool, pocket: tuple[float, Weights] | None) -> Weights:
        """The weights that were asked for; those that separate the rows are the last ones."""
        if self.options.keep == "average":
            return Weights(state.w - state.late / state.clock[0], state.w0 - state.late0 / state.clock[0])
        if self.options.keep == "pocket" and not separated and pocket is not None:
            return pocket[1]
        return Weights(state.w, state.w0)

    def _show(self, block: Block, state: Any) -> int:
        from separatrix.rules._online import perceptron_rows, storage

        step = np.ones(len(block)) if block.weight is None else block.weight
        bias = 1.0 if self.options.fit_intercept else 0.0
        mistakes = perceptron_rows(storage(block.X), block.codes, self.options.learning_rate * step, bias, state)
        if mistakes < 0:
            require_finite(self.source)
            raise OverflowError("The weights overflowed. Lower learning_rate, or rescale the columns.")
        return int(mistakes)

    def _traced(self, block: Block, state: Any, number: int) -> int:
        """The same, a row at a time, keeping the weights after each mistake."""
        mistakes = 0
        for n in range(len(block)):
            weight = None if block.weight is None else block.weight[n : n + 1]
            one = Block(block.X[n : n + 1], block.codes[n : n + 1], weight, block.row[n : n + 1])
            if self._show(one, state):
                mistakes += 1
                self.updates.append(Update(number, int(one.row[0]), state.w.copy(), state.w0.copy()))
        return mistakes


def predicted(X: Rows, weights: Weights) -> Codes:
    """Class codes under the rule."""
    a = X @ weights.W.T + weights.w0
    return np.asarray(a[:, 0] > 0 if a.shape[1] == 1 else a.argmax(axis=1), dtype=np.intp)


class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron, for two or K classes: learns from mistakes alone, one row at a time.

    On separable rows it stops once an epoch has no mistake, after at most (R/γ)² mistakes (Novikoff). On
    others it stops at ``max_epochs`` with a `NotSeparableWarning`.

    Parameters
    ----------
    basis : basis function or transformer, optional
        φ; see `separatrix.basis`.
    fit_intercept : bool, default True
        Whether φ_0 = 1 is there.
    learning_rate : float, default 1
        η. Starting from zero it scales the weights and changes no prediction.
    max_epochs : int, default 100
        The limit on epochs.
    weights : {"last", "average", "pocket"}, default "last"
        Which weights to keep where no epoch is free of mistakes: those after the last row, their mean over
        all rows shown (also where the last weights separate), or those that erred least.
    shuffle : bool, default False
        Show the rows in a fresh random order in every epoch: blocks in random order, and rows within a block.
    rng : None, int or numpy Generator, default None
        For ``shuffle``; None is a fixed seed, so that equal calls give equal models.
    trace : bool, default False
        Keep the weights after every mistake in ``solution_.trace``, for an animation. A Python loop: for
        small data.

    Attributes
    ----------
    coef_, intercept_ : the rule
    n_mistakes_ : int, mistakes over all epochs
    mistakes_per_epoch_ : tuple of int
    n_steps_ : int, epochs
    n_passes_ : int, passes over the rows
    solution_ : status with reason, and the trace

    Notes
    -----
    ``sample_weight`` scales the update of its row; weight 0 leaves the row out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X, y == 0)
    >>> model.score(X, y == 0), model.n_mistakes_, model.solution_.status.value
    (1.0, 5, 'an epoch passed without a mistake: the classes are separated')
    """

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
    ) -> None:
        self.basis = basis
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.weights = weights
        self.shuffle = shuffle
        self.rng = rng
        self.trace = trace

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Perceptron:
        """Show the rows, epoch after epoch, until none is a mistake."""
        check_positive("Perceptron", "learning_rate", self.learning_rate)
        check_count("Perceptron", "max_epochs", self.max_epochs)
        check_option("Perceptron", "weights", self.weights, ("last", "average", "pocket"))
        with unchanged_on_error(self):
            training = self._open_training(X, y, sample_weight)
            source, classes = training.source, training.classes
            solution = fit_perceptron(source, len(classes), self._options())
            self.coef_, self.intercept_ = solution.value.weights
            self.mistakes_per_epoch_ = solution.value.per_epoch
            self.n_mistakes_ = sum(self.mistakes_per_epoch_)
            if solution.status is Status.MAX_STEPS:
                said = _not_separated(solution, source, len(classes), self._options())
                warnings.warn(said, NotSeparableWarning, stacklevel=2)
            self._keep(solution, training.counted.passes)
        return self

    def _options(self) -> PerceptronOptions:
        rng = generator(self.rng) if self.shuffle else None
        return PerceptronOptions(self.learning_rate, self.fit_intercept, self.max_epochs, self.weights, rng, self.trace)


def _not_separated(solution: Solution[Mistakes], source: Source, n_classes: int, options: PerceptronOptions) -> str:
    """What to tell the user when the limit was reached; on small data, after deciding by linear program."""
    last, fewest = solution.value.per_epoch[-1], min(solution.value.per_epoch)
    made = (
        f"The perceptron made {last} mistakes in the last of its {solution.steps} epochs (at best {fewest} "
        f"of {source.n_rows} rows)"
    )
    if solution.steps == 1:  # one epoch is a step on the way, and not worth another look at the rows
        return f"{made}. Raise max_epochs, or see is_separable."
    if source.n_rows * len(source.columns) > PROOF_SIZE:
        found = "the classes, as it seems, cannot be separated by a hyperplane (is_separable decides)"
    elif (status := separability(source, n_classes, fit_intercept=options.fit_intercept).status) == "complete":
        return f"{made}, yet the classes can be separated. Raise max_epochs.{_far_from_zero(source)}"
    elif status == "unknown":
        found = "whether a hyperplane separates the classes is lost in rounding, as columns are nearly collinear"
    else:
        found = "the classes cannot be separated by a hyperplane (decided by a linear program)"
    better = ", or keep better weights with weights='average' or 'pocket'" if options.keep == "last" else ""
    return (
        f"{made}: {found}. Use a model for classes that overlap, such as FisherDiscriminant, or a richer "
        f"basis={better}.{_far_from_zero(source)}"
    )


def _far_from_zero(source: Source) -> str:
    """A hint where R is large for no good reason: mistakes grow with (R/γ)²."""
    reach = source.reduce(extent)
    far = np.flatnonzero(np.abs(reach.high + reach.low) > FAR * (reach.high - reach.low))
    if not len(far):
        return ""
    return (
        f" Columns far from zero, such as {source.columns[far[0]]!r}, hold it back: standardise them first, with "
        "make_pipeline(StandardScaler(), Perceptron())."
    )
