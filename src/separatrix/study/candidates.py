# SPDX-License-Identifier: BSD-3-Clause
"""Models that suit a table of a given size, from the simplest to the richest, and `PriorOnly`, the simplest.

A pass over N rows with W weights takes about N W² operations. The limits on the cost of a model are in this unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, isqrt, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from separatrix._array import Array, Rows, bincount
from separatrix._text import counted, did_you_mean
from separatrix.bayesian import BayesianLogisticRegression
from separatrix.discriminative import LogisticRegression
from separatrix.estimator import Classifier, unchanged_on_error
from separatrix.generative import LinearDiscriminantAnalysis, NaiveBayes, QuadraticDiscriminantAnalysis
from separatrix.priors import Gaussian
from separatrix.rows import labels_of, watched
from separatrix.stats import Tally, require_finite
from separatrix.study.progress import MIN_SAMPLED_FRACTION, MIN_SAMPLED_ROWS
from separatrix.table import TYPICAL_TERMS
from separatrix.table_model import (
    MAX_CELLS,
    MAX_GROUPED_WORDS,
    MAX_SEARCH_ROWS,
    MAX_WIDTH_CENTRES,
    MAX_WIDTH_ROWS,
    MIN_RADIAL_COLUMNS,
    MIN_RADIAL_ROWS,
    WIDTH_FACTORS,
    TableClassifier,
    default_n_centres,
    default_n_knots,
    is_dual_cheaper,
    max_products,
)

PRIOR, BAYES, LINEAR, QUADRATIC = "prior only", "naive Bayes", "linear discriminant", "quadratic discriminant"
VALIDATED, LOGISTIC = "logistic (cross-validated)", "logistic (Bayesian)"
CURVED = "curved logistic (Bayesian)"
PAIRED = "curved logistic with interactions (Bayesian)"
RADIAL = "radial logistic (Bayesian)"
COMBINED = "combination"  # of the models below; see combination.py
MODELS = (PRIOR, VALIDATED, LOGISTIC, BAYES, LINEAR, QUADRATIC, CURVED, PAIRED, RADIAL)  # from simple to rich

MAX_CHEAP_OPERATIONS = 2e8  # per pass; below this, checking and correcting Laplace's Gaussian is cheap
MIN_LAPLACE_ROWS_PER_WEIGHT = 50  # of a class; with at least this many, Laplace's Gaussian is accurate
MAX_CURVED_OPERATIONS = 1.5e10  # per pass; tuning the scales of curves takes about ten such passes
MAX_SAMPLE_OPERATIONS = 3e9  # the same, for the smallest sample of the rows; tuning then takes about ten seconds
MIN_KNOTS = 4  # of a curve
MAX_CURVED_WEIGHTS = 2500  # limit for storing the full covariance of one class
MIN_CURVED_ROWS, MIN_PAIRED_ROWS = 60, 400
MIN_ROWS_PER_FUNCTION = 0.25  # the prior scale of each curve is tuned, so there may be more functions than rows
MAX_LINEAR_COLUMNS = 2000  # limit for one covariance common to all classes
MAX_QUADRATIC_COLUMNS, MIN_QUADRATIC_ROWS_PER_COLUMN = 200, 1  # limits for one covariance per class, which is shrunk
# Times of the reference machine with two cores, and numbers of passes over the rows
MATRIX_SECONDS = 2e-10  # per multiplication in products of matrices
MAX_CLASS_WEIGHTS = 1000  # with more weights of K classes, a pass takes about the time of a covariance for each class
SCORE_SECONDS = 5e-7  # per row and class
BAYES_SECONDS = 1.5e-7  # per cell and class: density families and the temperature
WORDS_SECONDS = 4e-8  # per word of a row and class: a pass of naive Bayes or of logistic regression, times 5
N_VALIDATED_PASSES = 80  # of WORDS_SECONDS each: fits to five folds with about ten scales
N_FIELD_PASSES = 250  # of WORDS_SECONDS each: a posterior of independent weights, and its check on held-out rows
PAIR_SECONDS = 3e-7  # per row and pair of classes: averages of the softmax
CORRECTION_SECONDS = 2.0  # limit of a variational posterior of K classes
N_LOGISTIC_PASSES, N_CURVED_PASSES = 15, 20  # passes as expensive as a Hessian
N_JOINT_PASSES = 3  # times as many, to correct the covariance of all weights of K classes
N_SEARCH_PASSES = 200  # products of matrices of all cells, in the search for interactions
VALIDATED_TOL = 1e-6  # of the gradient of the logistic model at the mode; probabilities are accurate to four digits
MAX_POSTERIOR_CLASSES = 50  # averages over a posterior need time and memory for all pairs of classes
NEEDS_TEXT = f"it is for tables with free text, or with more than {MAX_POSTERIOR_CLASSES} classes"
MAX_FEATURE_CELLS = 2.5e8  # cells of an encoded table, 2 GB


def candidates(
    n_rows: int,
    n_columns: int,
    n_classes: int,
    *,
    n_numbers: int = 0,
    n_words: int = 0,
    types: Mapping[str, str] | None = None,
) -> dict[str, TableClassifier]:
    """Return the unfitted models that suit a table of this size, by name.

    ``n_columns`` is the number of features after encoding. ``n_numbers`` of them are numbers or dates, and may
    therefore have a curved effect, and ``n_words`` are words of free text. See `TableClassifier` for ``types``.
    """
    outputs = n_classes if n_classes > 2 else 1
    straight = {
        PRIOR: PriorOnly(),
        BAYES: NaiveBayes(temper=True),
        LINEAR: LinearDiscriminantAnalysis(shrinkage="evidence"),
        LOGISTIC: _logistic(n_rows, n_columns, outputs),
        QUADRATIC: QuadraticDiscriminantAnalysis(shrinkage="evidence", estimate="predictive"),
    }
    models = {name: TableClassifier(model, types) for name, model in straight.items()}
    models[VALIDATED] = TableClassifier(LogisticRegression(solver="lbfgs", tol=VALIDATED_TOL), types, tuned=True)
    model = _logistic(n_rows, _n_bent(n_rows, n_columns, n_numbers), outputs)
    n_knots = affordable_knots(n_rows, n_columns, n_classes, n_numbers)
    models[CURVED] = TableClassifier(model, types, curved=n_knots if n_knots < default_n_knots(n_rows) else True)
    models[PAIRED] = TableClassifier(model, types, curved=True, interactions=True)
    n_radial = n_columns + default_n_centres(n_rows)
    models[RADIAL] = TableClassifier(_logistic(n_rows, n_radial, outputs), types, radial=True)
    left_out = unsuitable(n_rows, n_columns, n_classes, n_numbers=n_numbers, n_words=n_words)
    return {name: models[name] for name in MODELS if name not in left_out}


def unsuitable(n_rows: int, n_columns: int, n_classes: int, *, n_numbers: int = 0, n_words: int = 0) -> dict[str, str]:
    """Models that do not suit a table of this size, by name, and the limit that it exceeds; see `candidates`."""
    reasons: dict[str, str] = {}
    if not n_words and n_classes <= MAX_POSTERIOR_CLASSES:
        reasons[VALIDATED] = NEEDS_TEXT
    if n_columns > MAX_LINEAR_COLUMNS:
        reasons[LINEAR] = f"it needs at most {MAX_LINEAR_COLUMNS:,} features, and there are {n_columns:,}"
    least = MIN_QUADRATIC_ROWS_PER_COLUMN * n_columns * n_classes
    if n_columns > MAX_QUADRATIC_COLUMNS:
        reasons[QUADRATIC] = f"it needs at most {MAX_QUADRATIC_COLUMNS} features, and there are {n_columns:,}"
    elif n_rows < least:
        of = counted(n_columns, "feature")
        reasons[QUADRATIC] = f"it needs at least {least:,} rows for {of}, and there are {n_rows:,}"
    n_knots = affordable_knots(n_rows, n_columns, n_classes, n_numbers) or MIN_KNOTS
    bent, radial = n_columns + n_numbers * n_knots, n_columns + default_n_centres(n_rows)
    of_all, of_sample = (_max_functions(n_rows, n_classes, from_sample=is_sample) for is_sample in (False, True))
    sizes = {
        CURVED: (MIN_CURVED_ROWS, bent, max(of_all, of_sample)),
        PAIRED: (MIN_PAIRED_ROWS, bent + max_products(n_columns), of_all),
        RADIAL: (MIN_RADIAL_ROWS, radial, max(of_all, of_sample)),
    }
    for name, (min_rows, functions, most) in sizes.items():
        least = max(min_rows, ceil(MIN_ROWS_PER_FUNCTION * (radial if name == RADIAL else bent)))
        if name == CURVED and not n_numbers:
            reasons[name] = "it needs a column of numbers or dates, which may have a curved effect"
        elif name == RADIAL and n_numbers < MIN_RADIAL_COLUMNS:
            reasons[name] = f"it needs {MIN_RADIAL_COLUMNS} columns of numbers or dates"
        elif name == PAIRED and n_columns < 2:
            reasons[name] = "it needs two columns"
        elif n_rows < least:
            reasons[name] = f"it needs at least {least:,} rows, and there are {n_rows:,}"
        elif functions > most:
            of = f"{n_rows:,} rows" + (f" and {n_classes} classes" if n_classes > 2 else "")
            reasons[name] = f"it may have {functions:,} functions, and the limit for {of} is {most:,}"
    if n_classes > MAX_POSTERIOR_CLASSES:
        why = f"its posterior needs at most {MAX_POSTERIOR_CLASSES} classes, and there are {n_classes}"
        reasons |= dict.fromkeys((LOGISTIC, CURVED, PAIRED, RADIAL), why)
    return reasons


def affordable_knots(n_rows: int, n_columns: int, n_classes: int, n_numbers: int) -> int:
    """Largest number of knots of each curve: the default, fewer if there are very many columns, 0 if too many."""
    default = default_n_knots(n_rows)
    if _n_bent(n_rows, n_columns, n_numbers) <= _max_functions(n_rows, n_classes, from_sample=False):
        return default
    coarse = (_max_functions(n_rows, n_classes, from_sample=True) - n_columns) // max(n_numbers, 1)
    return min(default, coarse) if coarse >= MIN_KNOTS else 0


def _max_functions(n_rows: int, n_classes: int, *, from_sample: bool) -> int:
    """Largest number of functions of a curved or radial model that is fitted to all rows, or to a sample of them."""
    n, operations = n_rows, MAX_CURVED_OPERATIONS
    if from_sample:
        n = min(n_rows, max(MIN_SAMPLED_ROWS, int(MIN_SAMPLED_FRACTION * n_rows)))
        operations = MAX_SAMPLE_OPERATIONS
    return min(MAX_CURVED_WEIGHTS, isqrt(int(operations / (n * (n_classes if n_classes > 2 else 1)))))


def _n_bent(n_rows: int, n_columns: int, n_numbers: int) -> int:
    """Upper bound on the number of features with curves."""
    return n_columns + n_numbers * default_n_knots(n_rows)


class Size(NamedTuple):
    """Size of an encoded table; see `candidates`."""

    n_columns: int
    n_classes: int
    n_numbers: int
    n_words: int = 0

    @property
    def n_dense(self) -> int:
        """Mean number of features of a row that are not zero, if categories count with all their levels."""
        return self.n_columns - self.n_words + min(self.n_words, TYPICAL_TERMS)


def expected_seconds(
    name: str, n_rows: int, size: Size, n_test_rows: int, n_fits: int, n_knots: int | None = None
) -> float:
    """Time to fit and score a candidate on the reference machine, from its operations. Accurate to a factor of three.

    Both the training and the test rows are scored. ``n_knots`` is the number of knots if it is not the default.
    """
    if name == PRIOR:
        return 0.0  # it is always tried
    N, M, K, n_numbers = float(n_rows), size.n_columns, size.n_classes, size.n_numbers
    scores = SCORE_SECONDS * (N + n_test_rows) * K
    if name == BAYES:
        seconds = N * K * (BAYES_SECONDS * (M - size.n_words) + WORDS_SECONDS * (size.n_dense - M + size.n_words))
    elif name == VALIDATED:
        seconds = N_VALIDATED_PASSES * WORDS_SECONDS * N * size.n_dense * (K if K > 2 else 1)
    elif name == LINEAR:
        seconds = MATRIX_SECONDS * (N * M * min(N, M) + 2.0 * M * min(N, M) ** 2 + N * M * K)
    elif name == QUADRATIC:
        seconds = MATRIX_SECONDS * (N + M) * M**2 * K
    else:
        is_curved, outputs = name in (CURVED, PAIRED, RADIAL), K if K > 2 else 1
        n_bent = n_numbers * (n_knots or default_n_knots(n_rows)) * is_curved
        M += default_n_centres(n_rows) if name == RADIAL else n_bent
        search = 0.0
        if name == PAIRED:  # an additive fit to a sample, and products of matrices
            n, cells = min(N, MAX_SEARCH_ROWS), min(4 * n_numbers + 2 * size.n_columns, MAX_CELLS)
            search = n * (N_CURVED_PASSES * (M * outputs) ** 2 + N_SEARCH_PASSES * outputs * cells**2)
            M += max_products(size.n_columns) // 4  # usually a few surfaces, sometimes all products
        if name == RADIAL:  # fits to a sample, for each width
            n, functions = min(N, MAX_WIDTH_ROWS), size.n_columns + min(default_n_centres(n_rows), MAX_WIDTH_CENTRES)
            search = len(WIDTH_FACTORS) * N_CURVED_PASSES * n * outputs * functions**2
        W = float(M * outputs)
        # A posterior of many weights is computed from the rows, or has a factor for each class.
        if name == LOGISTIC and is_dual_cheaper(n_rows, M):
            W = float(min(N, M) * outputs)
        elif W > MAX_CLASS_WEIGHTS:
            W = float(M * sqrt(outputs))
        if size.n_words and name == LOGISTIC and M > MAX_GROUPED_WORDS:  # independent weights of sparse rows
            seconds = N_FIELD_PASSES * WORDS_SECONDS * N * size.n_dense * outputs
            return n_fits * (seconds + scores + PAIR_SECONDS * (N + n_test_rows) * K**2)
        passes = N_CURVED_PASSES if is_curved else N_LOGISTIC_PASSES
        is_corrected = K > 2 and not _is_gaussian(N, M)
        passes *= N_JOINT_PASSES if is_corrected and M * outputs == W else 1
        seconds = MATRIX_SECONDS * (passes * (N * W**2 + 2 * W**3) + search)
        if K > 2:
            scores += (N + n_test_rows) * (PAIR_SECONDS * K**2 + MATRIX_SECONDS * W**2 * (1 + 2 * K / M))
            seconds += CORRECTION_SECONDS * is_corrected
    return n_fits * (seconds + scores)


def max_fit_rows(model: TableClassifier, size: Size, shape: tuple[int, ...]) -> int:
    """Largest number of rows to fit a model to, limited by memory and, for curves, by operations.

    The comparison checked the cost of curves on its own rows only; the whole table may have many more. ``shape`` is
    that of the weights, (C, M).
    """
    in_memory = int(MAX_FEATURE_CELLS / size.n_dense)
    if not (model.curved or model.radial):
        return in_memory
    return min(in_memory, int(MAX_CURVED_OPERATIONS / (shape[0] * shape[1] ** 2)))


def selected(
    offered: Mapping[str, TableClassifier], names: Iterable[str], left_out: Mapping[str, str]
) -> dict[str, TableClassifier]:
    """Return the models with these names; raises ValueError if one is unknown or ``left_out``, with the reason."""
    chosen = list(dict.fromkeys(names))
    if not chosen:
        raise ValueError(f"models is empty; name at least one of {', '.join(map(repr, MODELS))}.")
    for name in chosen:
        if name not in MODELS:
            raise ValueError(f"There is no model {name!r}.{did_you_mean(name, MODELS)}")
        if name in left_out:
            raise ValueError(
                f"{name!r} does not suit this table: {left_out[name]}. Suitable: {', '.join(map(repr, offered))}."
            )
    return {name: offered[name] for name in chosen}


def _logistic(n_rows: int, functions: int, outputs: int) -> BayesianLogisticRegression:
    """Bayesian logistic model that omits the check of Laplace's Gaussian if rows are many and the check is expensive.

    With few rows per weight, Laplace's Gaussian can be inaccurate: predictions are then close to class proportions.
    """
    is_expensive = n_rows * (float(functions) * outputs) ** 2 > MAX_CHEAP_OPERATIONS
    approximation = "laplace" if _is_gaussian(n_rows, functions) and is_expensive else "auto"
    return BayesianLogisticRegression(tune="evidence", approximation=approximation)


def _is_gaussian(n_rows: float, functions: float) -> bool:
    """Whether Laplace's Gaussian is accurate because there are many rows for each weight of a class."""
    return n_rows >= MIN_LAPLACE_ROWS_PER_WEIGHT * functions


class PriorOnly(Classifier):
    """Baseline that predicts the class proportions for every row.

    It is the logistic (softmax) model with only a bias, which has the same prior as the bias of every
    `BayesianLogisticRegression`. Evidences can therefore be compared: if no column is informative, the evidence of a
    logistic model tends to the evidence of this model as the scale of its weights goes to zero. The bias is fitted to
    one row per class, weighted by the number of rows of the class, because all rows have the same probabilities.

    ``class_count_`` (K,) are the rows of each class, ``bias_`` the fitted `BayesianLogisticRegression`, and
    ``log_evidence_``, ``bic_`` and ``aic_`` evidence and criteria of the labels.

    >>> from separatrix.study import PriorOnly
    >>> model = PriorOnly().fit([[5.0], [6.0], [7.0]], ["no", "no", "yes"])
    >>> model.predict_proba([[1.0]]).round(2)
    array([[0.66, 0.34]])
    >>> round(model.log_evidence_, 1)
    -3.9
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the labels and fit the bias."""
        with unchanged_on_error(self):
            training = self._open_training(X, y, sample_weight)
            require_finite(training)  # so that tables that other models reject are rejected here too
            K = len(training.classes)
            self.class_count_ = training.reduce(lambda block: Tally(bincount(block.codes, block.weight, K))).count
            with watched(lambda done, total, number: None):  # the fit to these K rows reports no progress
                self.bias_ = BayesianLogisticRegression(Gaussian(1.0))  # its weight of zeros is not tuned
                self.bias_.fit(np.zeros((K, 1)), np.arange(K), sample_weight=self.class_count_)
                self._p, self.log_evidence_ = self.bias_.predict_proba([[0.0]])[0], self.bias_.log_evidence_
            N = self.class_count_.sum()
            log_likelihood = float(special.xlogy(self.class_count_, self.class_count_ / N).sum())
            self.bic_ = float((K - 1) * np.log(N) - 2 * log_likelihood)
            self.aic_ = 2.0 * (K - 1) - 2 * log_likelihood
            return self

    def predict_proba(self, X: Any) -> Array:
        """Class proportions, repeated for every row, (N, K)."""
        check_is_fitted(self)
        return self._for_every_row(X, self._p)

    def predict(self, X: Any) -> Array:
        """Most frequent class, repeated for every row."""
        P = self.predict_proba(X)
        return labels_of(self.classes_, P.argmax(axis=1))

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Credible interval of the proportion of ``classes_[1]``, (N, 2); for K > 2, of each class, (N, K, 2)."""
        check_is_fitted(self)
        return self._for_every_row(X, self.bias_.predict_interval([[0.0]], level)[0])

    def _for_every_row(self, X: Any, values: Array) -> Array:
        """Repeat the values for every row; NaN if a row is not finite, as with an activation w'x of zero weights."""

        def repeat(rows: Rows) -> Array:
            zeros: Array = np.asarray(rows @ np.zeros(rows.shape[1]))
            return zeros.reshape(-1, *(1,) * values.ndim) + values

        return self._map_rows(X, repeat)
