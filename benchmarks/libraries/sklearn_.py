# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn, each task with the solver that is fastest among those with the same objective.

Logistic regression has an entry for each solver, since none is fastest everywhere. ``tol`` is what lbfgs, newton-cg
and newton-cholesky demand of the largest component of the gradient per row, in the units of the columns; lbfgs also
stops where the objective no longer falls. The other two have rules of their own: what they reach is in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Perceptron, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from benchmarks.libraries import Job, Library, Prepare, import_job
from benchmarks.objectives import ALPHA, SOFTMAX_TOL, TOL, Answer, lasso_alpha
from benchmarks.problems import Data

RIDGE = 1e-10  # RidgeClassifier's fast solvers need a positive penalty; this one moves no digit that is reported
ENOUGH = 1000  # iterations of lbfgs: a cap on time for tables on which it stalls
MANY_COLUMNS, FEW_ROWS, FEW_NUMBERS = 500, 10_000, 5_000_000


def least_squares(data: Data) -> Job:
    """Targets are -1 and +1, for any number of classes."""
    return Job(lambda: RidgeClassifier(alpha=RIDGE).fit(data.X, data.y), _read_least_squares)


def fisher(data: Data) -> Job | None:
    """LDA has Fisher's direction. It takes no sparse rows."""
    if sparse.issparse(data.X):
        return None
    return Job(lambda: LinearDiscriminantAnalysis(solver="lsqr").fit(data.X, data.y), _read)


def perceptron_epoch(data: Data) -> Job:
    """One epoch in the order of the rows; for K classes, K perceptrons of one against the rest.

    For sparse rows its intercept moves a hundredth of the step, hence another answer.
    """
    return Job(lambda: Perceptron(max_iter=1, tol=None, shuffle=False).fit(data.X, data.y), _read)


def predict_linear(data: Data) -> Job:
    """The fit is part of the preparation."""
    model = RidgeClassifier(alpha=RIDGE).fit(data.X, data.y)
    return Job(lambda: model.predict(data.X), lambda codes: Answer(*_linear(model), codes=codes))


def lda(data: Data) -> Job:
    """The fastest solver."""
    return _fit(LinearDiscriminantAnalysis(solver="lsqr"), data)


def qda(data: Data) -> Job:
    """The fastest solver."""
    return _fit(QuadraticDiscriminantAnalysis(solver="eigen"), data)


def gaussian_nb(data: Data) -> Job:
    """Without smoothing of variances, as maximum likelihood has it."""
    return _fit(GaussianNB(var_smoothing=0.0), data)


def bernoulli_nb(data: Data) -> Job:
    """One pseudo-count of each; the table is 0 and 1 already."""
    return _fit(BernoulliNB(binarize=None), data)


def qda_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(QuadraticDiscriminantAnalysis(solver="eigen"), data)


def gaussian_nb_proba(data: Data) -> Job:
    """The fit is part of the preparation."""
    return _predict(GaussianNB(var_smoothing=0.0), data)


def logistic(takes: Callable[[Data], bool], **how: Any) -> Prepare:
    """Logistic regression with alpha = 1/C, for the tables that this solver can take within minutes."""
    model = LogisticRegression(C=1 / ALPHA, **how)
    return lambda data: _linear_fit(model, data) if takes(data) else None


def lasso(takes: Callable[[Data], bool], **how: Any) -> Prepare:
    """Sparse weights with C = 1/alpha, for the tables that this solver can take within minutes."""

    def prepare(data: Data) -> Job | None:
        return (
            _linear_fit(LogisticRegression(C=1 / lasso_alpha(data), l1_ratio=1.0, **how), data) if takes(data) else None
        )

    return prepare


def flat_logistic(data: Data) -> Job:
    """No penalty."""
    return _linear_fit(LogisticRegression(C=np.inf, solver="newton-cholesky", tol=TOL), data)


def softmax(data: Data) -> Job | None:
    """To the same gradient; tables that are large in both directions are left out, to keep the run short."""
    if data.X.shape[1] > MANY_COLUMNS and len(data.y) > FEW_ROWS:
        return None
    return _linear_fit(LogisticRegression(C=1 / ALPHA, tol=SOFTMAX_TOL, max_iter=ENOUGH), data)


def softmax_default(data: Data) -> Job:
    """To the default tolerance, with as many iterations as that needs."""
    return _linear_fit(LogisticRegression(C=1 / ALPHA, max_iter=2 * ENOUGH), data)


def tuned(data: Data) -> Job | None:
    """Ten values of C by five-fold cross-validation, 51 fits: for tables where that takes less than minutes."""
    new = data.new
    if new is None or not _is_light(data):
        return None
    model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss")
    return Job(lambda: model.fit(data.X, data.y), lambda fitted: Answer.of_log_proba(fitted.predict_log_proba(new.X)))


def _is_any(data: Data) -> bool:
    return True


def _is_sparse(data: Data) -> bool:
    return bool(sparse.issparse(data.X))


def _has_hessian(data: Data) -> bool:
    """Whether a solver may form an M x M matrix in every step."""
    return not _is_sparse(data) and data.X.shape[1] <= MANY_COLUMNS


def _is_light(data: Data) -> bool:
    """Sparse, or so small that liblinear's own copy of the table, entry by entry, costs little."""
    return _is_sparse(data) or data.X.size <= FEW_NUMBERS


def _linear_fit(model: Any, data: Data) -> Job:
    return Job(lambda: model.fit(data.X, data.y), _read)


def _fit(model: Any, data: Data) -> Job:
    return Job(lambda: model.fit(data.X, data.y), lambda fitted: Answer.of_log_proba(fitted.predict_log_proba(data.X)))


def _predict(model: Any, data: Data) -> Job:
    model.fit(data.X, data.y)
    return Job(lambda: model.predict_proba(data.X), lambda P: Answer.of_log_proba(np.log(np.maximum(P, 1e-300))))


def _read(model: Any) -> Answer:
    return Answer(*_linear(model))


def _read_least_squares(model: Any) -> Answer:
    W, w0 = _linear(model)
    return Answer(W / 2, (w0 + 1) / 2)


def _linear(model: Any) -> tuple[Any, Any]:
    """For two classes RidgeClassifier has coef_ of shape (M,), the others (1, M)."""
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)


TASKS = {
    "least_squares": least_squares,
    "fisher": fisher,
    "perceptron_epoch": perceptron_epoch,
    "predict_linear": predict_linear,
    "lda": lda,
    "qda": qda,
    "gaussian_nb": gaussian_nb,
    "bernoulli_nb": bernoulli_nb,
    "qda_proba": qda_proba,
    "gaussian_nb_proba": gaussian_nb_proba,
    "tuned": tuned,
    "import": import_job("import sklearn.linear_model, sklearn.discriminant_analysis"),
}
LOGISTIC = {
    "lbfgs": logistic(_is_any, solver="lbfgs", tol=TOL, max_iter=ENOUGH),
    "newton-cholesky": logistic(_has_hessian, solver="newton-cholesky", tol=TOL),
    "newton-cg": logistic(_is_sparse, solver="newton-cg", tol=TOL, max_iter=200),
    # Its bias is the weight of one more column, of this value and with the penalty of a weight: next to none.
    # Its tolerance is relative to the first gradient; with this one it ends near 1e-8 per row.
    "liblinear": logistic(_is_light, solver="liblinear", tol=1e-5, max_iter=1000, intercept_scaling=100.0),
    "saga": logistic(_is_sparse, solver="saga", tol=TOL, max_iter=100, random_state=0),  # about ten seconds
}
OTHERS: Mapping[str, Mapping[str, Prepare]] = {
    "lbfgs": {"softmax": softmax},
    "newton-cholesky": {"flat_logistic": flat_logistic},
    "liblinear": {"lasso": lasso(_is_light, solver="liblinear", tol=1e-5, max_iter=1000, intercept_scaling=100.0)},
    "saga": {"lasso": lasso(_is_any, solver="saga", tol=1e-4, max_iter=1000, random_state=0)},
}
ENTRIES = (
    Library("sklearn", sklearn.__version__, TASKS),
    *(
        Library(f"sklearn {solver}", sklearn.__version__, {"logistic": fit, **OTHERS.get(solver, {})})
        for solver, fit in LOGISTIC.items()
    ),
    Library("sklearn lbfgs tol=1e-4", sklearn.__version__, {"softmax": softmax_default}),
)
