# SPDX-License-Identifier: BSD-3-Clause
"""A fitted model as a model of the package marginaleffects, for questions that only that package answers.

The package needs three things: the weights, their covariance, and the predictions as a function of the weights. Its
standard errors come from finite differences, which are good to three digits; those of this package are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._array import Float, to_dense
from separatrix.effects.groups import features_in_memory
from separatrix.effects.inquiry import Inquiry
from separatrix.exceptions import DataError
from separatrix.table import open_batch


def marginaleffects_model(model: Any, data: Any) -> Any:
    """Wrap a fitted model for the functions of the Python package marginaleffects.

    Parameters
    ----------
    model : fitted model
        A model that `comparisons` accepts, whose weights have a covariance.
    data : polars or pandas data frame
        Rows with the columns of the model, and others that are used as groups.

    Returns
    -------
    A model that ``marginaleffects.avg_comparisons`` and its other functions accept.

    Examples
    --------
    .. code-block:: python

        from marginaleffects import avg_comparisons
        avg_comparisons(sx.effects.marginaleffects_model(model, frame), variables="age", hypothesis="b2 - b1 = 0")
    """
    try:
        import polars as pl
        from marginaleffects.classes import ModelAbstract, ModelVault
    except ModuleNotFoundError as missing:
        needs = "marginaleffects_model needs the package marginaleffects: pip install marginaleffects"
        raise ModuleNotFoundError(needs) from missing
    ask = Inquiry("marginaleffects_model", model, data, None, 0.95, None, None)
    if ask.is_drawn:
        raise DataError(
            "marginaleffects_model needs weights with a Gaussian distribution, but the posterior of this model is "
            "described by draws. Use sx.effects.comparisons, or a fit at the mode such as LogisticRegression."
        )
    q, likelihood = ask.distribution, ask.estimator.likelihood_
    labels = [str(label) for _, label in ask.labels]

    class Wrapped(ModelAbstract):
        def get_exog(self, newdata: Any) -> Float:
            """Regressors of some rows."""
            X = to_dense(features_in_memory(ask.model, newdata.to_pandas()))
            return q.design.regressors(X if ask.basis is None else ask.basis.evaluate(X))

        def get_predict(self, params: Any, newdata: Float) -> Any:
            """Predictions for some weights, one line for each row and class."""
            A = newdata @ np.reshape(params, q.approximation.mean.shape).T
            means = likelihood.mean_derivatives(A[:, 0]).mean[:, None] if A.shape[1] == 1 else likelihood.probability(A)
            rows = np.tile(np.arange(len(A), dtype=np.int32), means.shape[1])
            found = {"rowid": rows, "estimate": means.T.ravel()}
            if len(labels) > 1:
                found["group"] = np.repeat(labels, len(A))
            return pl.DataFrame(found)

    frame = pl.DataFrame({name: list(column) for name, column in open_batch(data).columns.items()})
    frame = frame.with_columns(pl.col(pl.String).cast(pl.Categorical))  # the package refuses columns of strings
    names = [column.name for column in ask.columns]
    vault = ModelVault(
        coef=q.approximation.mean.ravel(),
        coefnames=np.array([f"{label}: {name}" for label in labels for name in q.names]),
        modeldata=frame,
        vcov=q.approximation.covariance,
        formula=lambda rows: (None, rows),  # the package then takes all columns as variables
        package="separatrix",
        variable_names=["", *names],
    )
    return Wrapped(ask.model, vault)
