# SPDX-License-Identifier: BSD-3-Clause
"""What a comparison found: models from the best to the worst, and how much of that is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._arguments import check_option
from separatrix._array import Array, Codes, Float
from separatrix._output import as_frame
from separatrix.comparison.average import ModelAverage, average_fitted
from separatrix.comparison.evidence import model_probabilities
from separatrix.comparison.table import as_text
from separatrix.comparison.trial import BLANK, FIGURES, Trial
from separatrix.metrics import Estimate, weighted_mean

if TYPE_CHECKING:
    from separatrix.plots import ComparisonDisplay

__all__ = ["CRITERIA", "Comparison"]

# What `best` can go by, and which way is better.
CRITERIA = {
    "log_likelihood": 1,
    "accuracy": 1,
    "brier": -1,
    "ece": -1,
    "auc": 1,
    "log_evidence": 1,
    "probability": 1,
    "bic": -1,
    "aic": -1,
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models side by side, best test log-likelihood first; print it, or take its columns by name.

    Attributes
    ----------
    trials : tuple of Trial
        One for each model: ``name``, ``model``, ``train`` and ``test`` scores, ``evidence``, ``fit_seconds``,
        ``predict_seconds``, ``failure``. ``comparison[name]`` is one of them.
    models_ : dict
        The fitted models by name.
    names : tuple of str
    classes : ndarray of shape (K,)
    train_rows, test_rows : ndarray of int
        Which rows were learnt from and which were held out; of a test table that was given, the rows of that table.
    test_weight : ndarray, or None
        Weights of the test rows.
    """

    trials: tuple[Trial, ...]
    classes: Array
    train_rows: Codes
    test_rows: Codes
    test_weight: Float | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(trial.name for trial in self.trials)

    @property
    def models_(self) -> dict[str, Any]:
        """Fitted models by name; those that failed are not there."""
        return {trial.name: trial.model for trial in self.trials if not trial.failure}

    def __getitem__(self, name: str) -> Trial:
        if name not in self.names:
            raise KeyError(f"{name!r} is not one of the models: {', '.join(map(repr, self.names))}.")
        return self.trials[self.names.index(name)]

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def best(self, by: str = "log_likelihood") -> str:
        """Name of the best model by a figure on test rows, or by evidence.

        Parameters
        ----------
        by : {"log_likelihood", "accuracy", "brier", "ece", "auc", "log_evidence", "probability", "bic", "aic"}
            The criterion. "log_evidence" looks only at evidences that can be compared, as "probability" does.
        """
        check_option("best", "by", by, CRITERIA)
        value = CRITERIA[by] * self._figures[by]
        if np.isnan(value).all():
            raise ValueError(f"No model has a figure for {by!r}, so none is the best by it.")
        return self.names[int(np.nanargmax(value))]

    def differences(self) -> dict[str, Estimate]:
        """Mean test log-likelihood of each model minus that of the best, by name: paired, row by row.

        Rows that are hard are hard for all models, so that this has a smaller standard error than the two means. Less
        than two of its standard errors from zero is within the noise of the test rows.
        """
        best = next((trial.test.rows for trial in self.trials if trial.test.rows is not None), None)
        return {trial.name: self._difference(trial.test.rows, best) for trial in self.trials}

    def probabilities(self, prior: Mapping[str, float] | None = None) -> dict[str, float]:
        """p(M_i | D) of each model that states the evidence of the training labels, by name; see PRML (3.66).

        Parameters
        ----------
        prior : mapping {name: weight}, optional
            p(M_i), up to a common factor; equal by default.
        """
        evidence = {t.name: t.evidence.log_evidence for t in self.trials if t.evidence.of_labels}
        return model_probabilities(evidence, prior)

    def average(self, prior: Mapping[str, float] | None = None) -> ModelAverage:
        """The models averaged, each with its posterior probability as weight; see PRML (3.67).

        They stay fitted to the training rows. ``average().fit(X, y)`` learns, and weighs, from all rows anew.
        """
        weights = self.probabilities(prior)
        return average_fitted({name: self.models_[name] for name in weights}, weights, self.classes, prior)

    def to_dict(self) -> dict[str, Any]:
        """The columns by name, each an array over models; blanks are NaN, and ``"failure"`` is empty text."""
        columns: dict[str, Any] = {}
        for part in ("test", "train"):
            for figure in FIGURES:
                found = [getattr(getattr(trial, part), figure) for trial in self.trials]
                columns[f"{part}_{figure}"] = np.array([e.value for e in found])
                columns[f"{part}_{figure}_se"] = np.array([e.standard_error for e in found])
        gap = list(self.differences().values())
        columns["difference"] = np.array([e.value for e in gap])
        columns["difference_se"] = np.array([e.standard_error for e in gap])
        for name in ("log_evidence", "bic", "aic"):
            columns[name] = np.array([getattr(trial.evidence, name) for trial in self.trials])
        columns["probability"] = self._figures["probability"]
        for name in ("fit_seconds", "predict_seconds"):
            columns[name] = np.array([getattr(trial, name) for trial in self.trials])
        return {**columns, "failure": np.array([trial.failure for trial in self.trials])}

    def to_frame(self) -> Any:
        """A pandas data frame, one row for each model."""
        return as_frame(self.to_dict(), self.names)

    def plot(self, ax: Any = None, *, title: str | None = None) -> ComparisonDisplay:
        """Test log-likelihoods with their standard errors, and evidences beside. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, or one for each panel, optional
            Where to draw; a new figure by default.
        title : str, optional
            Above the left panel.
        """
        from separatrix.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax, title=title)

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    @cached_property
    def _figures(self) -> dict[str, Float]:
        """What `best` goes by, over models."""
        test = {name: np.array([getattr(trial.test, name).value for trial in self.trials]) for name in FIGURES}
        stated = [trial.evidence for trial in self.trials]
        p = self.probabilities() if any(e.of_labels for e in stated) else {}
        return {
            **test,
            "log_evidence": np.array([e.log_evidence if e.of_labels else np.nan for e in stated]),
            "probability": np.array([p.get(name, np.nan) for name in self.names]),
            "bic": np.array([e.bic for e in stated]),
            "aic": np.array([e.aic for e in stated]),
        }

    def _difference(self, rows: Float | None, best: Float | None) -> Estimate:
        if rows is None or best is None or np.isneginf(best).any():
            return BLANK
        return weighted_mean(rows - best, self.test_weight)
