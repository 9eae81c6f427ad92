# SPDX-License-Identifier: BSD-3-Clause
"""Result of a comparison: models from best to worst, explanatory notes, and a text table of 80 characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix._arguments import check_option
from separatrix._array import Array, Codes, Float
from separatrix._output import Tabular
from separatrix._text import counted, decimals, enumerated
from separatrix.comparison.models import NO_EVIDENCE, Evidence, ModelAverage, model_probabilities
from separatrix.metrics import Estimate, weighted_mean

if TYPE_CHECKING:
    from separatrix.plots import ComparisonDisplay

SCORES = ("log_likelihood", "accuracy", "brier", "ece", "auc")
# Criteria of `best`: 1 if larger is better, -1 if smaller is better.
CRITERIA = dict.fromkeys(("log_likelihood", "accuracy", "auc", "log_evidence", "probability"), 1) | dict.fromkeys(
    ("brier", "ece", "bic", "aic"), -1
)
MAX_ROW_NATS = 3.0  # largest difference of one row in the standard error of the difference of two models
NO_SCORE = Estimate(np.nan, np.nan)
TEXT_WIDTH, MIN_NAME_WIDTH = 80, 12  # characters
# Heads and formats of two tables: scores on test rows with standard errors; training scores, evidence and times.
TEXT_COLUMNS = (
    {
        "test_log_likelihood": ("log-lik.", ".4f"),
        "difference": ("to best", ".4f"),
        "test_accuracy": ("accuracy", ".4f"),
        "test_brier": ("Brier", ".4f"),
        "test_ece": ("ECE", ".4f"),
        "test_auc": ("AUC", ".4f"),
    },
    {
        "train_log_likelihood": ("train", ".4f"),
        "log_evidence": ("ln p(D)", ".1f"),
        "probability": ("P(model)", ".4f"),
        "bic": ("BIC", ".1f"),
        "aic": ("AIC", ".1f"),
        "fit_seconds": ("fit s", ".3f"),
        "predict_seconds": ("pred. s", ".3f"),
    },
)

MIN_ODDS = (
    3.0  # P(model) relative to that of another model, from which the evidence prefers it ("substantial", Jeffreys)
)
MIN_SHOWN_NATS = 5e-5  # per row; smaller differences round to zero with four digits and count as equal
NOT_TRIED, STOPPED = "Not tried", "Stopped"  # first words of ``failure`` if a model was not fitted, or not in all folds


def one_line(error: Exception) -> str:
    """Class and message of an exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores on a set of rows, each with its standard error (`separatrix.metrics`); NaN without probabilities."""

    log_likelihood: Estimate = NO_SCORE
    accuracy: Estimate = NO_SCORE  # of ``predict``
    brier: Estimate = NO_SCORE
    ece: Estimate = NO_SCORE
    auc: Estimate = NO_SCORE
    ece_if_calibrated: float = np.nan  # ECE expected on these rows if the probabilities are correct
    rows: Float | None = None  # ln p(t_n | x_n) of each row, (N,)


@dataclass(frozen=True, eq=False)
class Trial:
    """One model of a comparison: its scores, evidence and times, or the reason why it failed.

    ``P`` (N, K) are its probabilities of the test rows, None if it has no ``predict_proba``.
    """

    name: str
    model: Any = None
    train: Scores = Scores()
    test: Scores = Scores()
    evidence: Evidence = NO_EVIDENCE
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    failure: str = ""
    P: Float | None = None

    @classmethod
    def failed(cls, name: str, error: Exception) -> Trial:
        """Trial of a model that could not be fitted or scored, with the reason in one line."""
        return cls(name, failure=one_line(error))

    @property
    def outcome(self) -> str:
        """Word for a model without scores: "failed", "not tried" or "stopped"; empty for other models."""
        known = (words.lower() for words in (NOT_TRIED, STOPPED) if self.failure.startswith(words))
        return "" if not self.failure else next(known, "failed")

    @property
    def problem(self) -> str:
        """Name and reason of a model without scores, in a line."""
        if self.outcome == "failed":
            return f"{self.name} failed. {self.failure}"
        return f"{self.name} was {self.outcome}{self.failure[len(self.outcome) :]}"

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key: test log-likelihood; models without probabilities follow by accuracy, then failures."""
        log_likelihood = self.test.log_likelihood.value
        if self.failure:
            return (2.0,)
        return (1.0, -self.test.accuracy.value) if np.isnan(log_likelihood) else (0.0, -log_likelihood)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """Models compared on the same rows, sorted by test log-likelihood, best first.

    ``comparison[name]`` is the trial of one model, with ``name``, ``model``, ``train`` and ``test`` scores,
    ``evidence``, ``fit_seconds``, ``predict_seconds`` and ``failure``. If the rows were cross-validated in ``n_folds``
    folds, training and test rows are all rows; ``models_`` were fitted to all of them, and each test row was predicted
    by copies that were fitted without it.
    """

    trials: tuple[Trial, ...]
    classes: Array
    train_rows: Codes  # positions in the table
    test_rows: Codes  # positions in the table, or in X_test if it was given
    test_weight: Float | None = None
    n_folds: int | None = None
    repeats: tuple[int, ...] = (1,)  # how often the models were cross-validated; more than one if models differ

    @property
    def tested(self) -> str:
        """Kind of the test rows, in words: "held-out" or "cross-validated"."""
        return "cross-validated" if self.n_folds else "held-out"

    @property
    def folds(self) -> str:
        """Number of folds and repeats in words, such as "5 folds, repeated 2 times"; empty if rows were held out."""
        most = max(self.repeats)
        times = f", repeated {'up to ' * (min(self.repeats) < most)}{most} times" if most > 1 else ""
        return f"{self.n_folds} folds{times}" if self.n_folds else ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(trial.name for trial in self.trials)

    @property
    def sampled(self) -> tuple[str, ...]:
        """Names of the models that were fitted to fewer rows than the others, so that their evidence differs."""
        n, sizes = len(self.train_rows), {t.name: t.train.rows for t in self.trials}
        return tuple(name for name, rows in sizes.items() if rows is not None and len(rows) < n)

    @property
    def models_(self) -> dict[str, Any]:
        """Fitted models by name, without those that failed."""
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
        """Name of the best model by a score on test rows, or by evidence.

        ``by`` is "log_likelihood", "accuracy", "brier", "ece", "auc", "log_evidence", "probability", "bic" or "aic".
        "log_evidence" and "probability" consider only models with a comparable evidence.
        """
        check_option("best", "by", by, CRITERIA)
        columns = self.to_dict()
        columns["log_evidence"] = np.where(np.isfinite(columns["probability"]), columns["log_evidence"], np.nan)
        value = CRITERIA[by] * columns[f"test_{by}" if by in SCORES else by]
        if np.isnan(value).all():
            raise ValueError(f"No model has a value for {by!r}. Choose another criterion.")
        return self.names[int(np.nanargmax(value))]

    def differences(self) -> dict[str, Estimate]:
        """Mean test log-likelihood of each model minus that of the best, by name, paired row by row.

        A row that is hard to predict is hard for all models, so the standard error of the difference is smaller than
        the standard errors of the two means. A difference of less than two standard errors may be due to chance.

        For the standard error, the difference of a row is limited to 3 nats (odds of 20 to 1). Otherwise a single row
        with a probability near zero would give a mean and a standard error of the same size, and hide the difference.
        """
        best = next((trial.test.rows for trial in self.trials if trial.test.rows is not None), None)
        found = dict.fromkeys(self.names, NO_SCORE)
        if best is not None and not np.isneginf(best).any():
            for trial in self.trials:
                if trial.test.rows is not None:
                    found[trial.name] = self._lead(trial.test.rows, best)
        return found

    def _lead(self, rows: Float, others: Float) -> Estimate:
        """Mean of paired differences; see `differences` for the standard error."""
        mean = weighted_mean(rows - others, self.test_weight).value
        limited = weighted_mean(np.clip(rows - others, -MAX_ROW_NATS, MAX_ROW_NATS), self.test_weight)
        return Estimate(mean, limited.standard_error)

    def disagreement(self) -> tuple[str, str, Estimate] | None:
        """The model that the evidence prefers, the one that predicts the test rows best, and its lead per row.

        Only models with a comparable evidence count. None if both are the same model, if the lead is less than two
        standard errors, or if the probabilities of the models have odds of less than 3.
        """
        p = self.probabilities() if any(trial.evidence.of_labels for trial in self) else {}
        rows = {name: found for name in p if (found := self[name].test.rows) is not None and np.isfinite(found).all()}
        if not rows:
            return None
        preferred, better = max(rows, key=lambda name: p[name]), next(name for name in self.names if name in rows)
        lead = self._lead(rows[better], rows[preferred])
        is_clear = p[preferred] > MIN_ODDS * p[better] and lead.value > max(2 * lead.standard_error, MIN_SHOWN_NATS)
        return (preferred, better, lead) if is_clear else None

    def near_best(self) -> list[str]:
        """Names of the models within two standard errors of the best, or with a difference that rounds to 0.0000."""
        others = list(self.differences().items())[1:]  # the first is the best
        return [name for name, gap in others if -gap.value <= MIN_SHOWN_NATS or -gap.value <= 2 * gap.standard_error]

    def probabilities(self, prior: Mapping[str, float] | None = None) -> dict[str, float]:
        """p(M_i | D) of each model that reports the evidence of the training labels, by name; see PRML (3.66).

        ``prior`` contains p(M_i) by name, up to a common factor; equal by default.
        """
        evidence = {t.name: t.evidence.log_evidence for t in self.trials if t.evidence.of_labels}
        return model_probabilities(evidence, prior)

    def average(self, prior: Mapping[str, float] | None = None) -> ModelAverage:
        """Average of the models, weighted by their posterior probabilities; see PRML (3.67).

        The models stay fitted to the training rows. ``average().fit(X, y)`` refits and reweights them.
        """
        weights = self.probabilities(prior)
        models = {name: self.models_[name] for name in weights}
        return ModelAverage(models, prior).adopt(models, weights)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns by name, each an array over models; missing values are NaN, and ``"failure"`` is a string."""
        found: dict[str, list[Any]] = {}
        for part in ("test", "train"):
            for score in SCORES:
                found[f"{part}_{score}"] = [getattr(getattr(trial, part), score).value for trial in self]
                found[f"{part}_{score}_se"] = [getattr(getattr(trial, part), score).standard_error for trial in self]
        differences = self.differences()
        found["difference"] = [differences[trial.name].value for trial in self]
        found["difference_se"] = [differences[trial.name].standard_error for trial in self]
        for name in ("log_evidence", "bic", "aic"):
            found[name] = [getattr(trial.evidence, name) for trial in self]
        p = self.probabilities() if any(trial.evidence.of_labels for trial in self) else {}
        found["probability"] = [p.get(trial.name, np.nan) for trial in self]
        for name in ("fit_seconds", "predict_seconds", "failure"):
            found[name] = [getattr(trial, name) for trial in self]
        return {name: np.array(values) for name, values in found.items()}

    def plot(self, ax: Any = None, *, title: str | None = None) -> ComparisonDisplay:
        """Plot test log-likelihoods with standard errors, and evidences. Needs matplotlib.

        ``ax`` are axes to draw into, or one for each panel; a new figure by default. ``title`` is above the left panel.
        """
        from separatrix.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self, ax=ax, title=title)

    @property
    def title(self) -> str:
        """Number of models, of classes and of rows."""
        n, n_test = len(self), len(self.test_rows)
        rows = f"{n_test:,} test rows, {len(self.train_rows):,} training rows"
        if self.n_folds:
            rows = f"{counted(n_test, 'row')}, cross-validated in {self.folds}"
        return f"{counted(n, 'model')}, {len(self.classes)} classes, {rows}"

    @property
    def formats(self) -> dict[str, str]:
        """Format of each printed column."""
        return {key: form for heads in TEXT_COLUMNS for key, (_, form) in heads.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Explanations of the table: failures, near ties, calibration by chance, missing scores."""
        return tuple(notes_on(self))

    def _cells(self) -> list[list[str]]:
        """The printed columns, with standard errors in brackets."""
        found, lines = self.columns, [["", *(head for heads in TEXT_COLUMNS for head, _ in heads.values())]]
        for i, name in enumerate(self.names):
            cells = []
            for key, (_, form) in ((key, shown) for heads in TEXT_COLUMNS for key, shown in heads.items()):
                value, error = found[key][i], found.get(f"{key}_se", np.full(len(self), np.nan))[i]
                cells.append("-" if np.isnan(value) else decimals(value, form))
                cells[-1] += "" if np.isnan(error) else f" ({decimals(error, form)})"
            lines.append([name, *cells])
        return lines

    def __str__(self) -> str:
        return as_text(self)


def notes_on(comparison: Comparison, chosen: str | None = None) -> list[str]:
    """Explanations of a comparison: failures, zero probabilities, near ties, calibration by chance, missing scores.

    The calibration by chance refers to the model ``chosen``, by default the best.
    """
    notes = [trial.problem for trial in comparison if trial.failure]
    ran = [trial for trial in comparison if not trial.failure]
    scored = [trial for trial in ran if trial.test.rows is not None]
    for trial in scored:
        missed = comparison.test_rows[np.isneginf(np.asarray(trial.test.rows))]
        if len(missed):
            count = "a test row" if len(missed) == 1 else f"{len(missed)} test rows"
            notes.append(
                f"{trial.name} gave probability zero to the true class of {count} (the first: row {missed[0] + 1}), so "
                "its log-likelihood is -inf. Probabilities are not clipped."
            )
    if near := comparison.near_best():
        these = "This model is" if len(near) == 1 else "These models are"
        notes.append(f"{these} within two standard errors of the best: {enumerated(near)}.")
    if found := comparison.disagreement():
        preferred, better, lead = found
        probability = decimals(comparison.probabilities()[preferred], ".2g")
        notes.append(
            f"The evidence prefers {preferred} (P(model) {probability}), {comparison.tested} rows prefer {better}, by "
            f"{lead.value:.2g} nats per row (standard error {lead.standard_error:.1g}). For predictions, rely on the "
            "rows, because the evidence averages over all weights that the prior allows, and so depends on the prior."
        )
    if scored:
        n, judged = len(comparison.test_rows), scored[0] if chosen is None else comparison[chosen]
        floor = judged.test.ece_if_calibrated
        notes.append(
            f"On {counted(n, 'row')}, even perfectly calibrated probabilities would have an ECE of about {floor:.2g}."
        )
    decisions = [trial.name for trial in ran if trial.test.rows is None]
    if decisions:
        notes.append(f"{enumerated(decisions)}: no predict_proba, so only the predicted classes are scored.")
    compared = [trial.name for trial in ran if trial.evidence.of_labels]
    fewer = [name for name in comparison.sampled if name not in compared]
    reasons = []
    if fewer:
        reasons.append(f"The evidence of {enumerated(fewer)} refers to fewer rows and cannot be compared.")
    if any(trial.name not in (*compared, *fewer) for trial in ran):
        reasons.append(
            "The evidence of generative models, p(x, t), is not shown, because it cannot be compared with p(t | x). "
            "Other models have no evidence."
        )
    if 2 <= len(compared) < len(ran):
        notes.append(
            "P(model) is the posterior probability among the models that report the evidence p(t | x) of the labels of "
            f"all training rows: {enumerated(compared)}. {' '.join(reasons)}"
        )
    return notes


def as_text(comparison: Comparison) -> str:
    """The comparison as text: scores on test rows, then training scores, evidence and times, then notes."""
    found, n = comparison.to_dict(), len(comparison)
    legend = "On test rows (standard errors in brackets); smaller is better for Brier and ECE."
    if np.isfinite(found["probability"]).sum() < 2:  # the probability of a single model is not informative
        found["probability"] = np.full(n, np.nan)
    tables = []  # each column is a head, n values and n standard errors
    for heads in TEXT_COLUMNS:
        columns = {}
        for key, (head, form) in heads.items():
            values = ["" if np.isnan(value) else decimals(value, form) for value in found[key]]
            errors = found[f"{key}_se"] if heads is TEXT_COLUMNS[0] else np.full(n, np.nan)
            brackets = ("" if np.isnan(error) else f"({decimals(error, form)})" for error in errors)
            columns[key] = [head, *values, *brackets]
        tables.append(columns)
    scores, _ = tables
    for i, trial in enumerate(comparison, start=1):
        if trial.failure:
            scores["test_log_likelihood"][i] = trial.outcome
    if scores["difference"][1]:
        scores["difference"][1], scores["difference"][n + 1] = "best", ""
    shown = [[column for column in columns.values() if any(column[1 : n + 1])] for columns in tables]
    widths = [[1 + max(map(len, column)) for column in table] for table in shown]
    room = max(TEXT_WIDTH - max(map(sum, widths)), MIN_NAME_WIDTH)
    start, end = room // 2, (room - 1) // 2  # shorten long names in the middle, because their ends often differ
    names = [name if len(name) <= room else f"{name[:start]}…{name[-end:]}" for name in comparison.names]
    first = max(map(len, names))
    order = [0, *(i for k in range(1, n + 1) for i in (k, n + k))]  # heads, then values and errors of each model
    grids = []
    for table, width in zip(shown, widths, strict=True):
        lines = []
        for i in order:
            cells = "".join(column[i].rjust(w) for column, w in zip(table, width, strict=True))
            if cells.strip():
                lines.append(((names[i - 1] if 0 < i <= n else "").ljust(first) + cells).rstrip())
        grids += ["\n".join(lines)] * bool(lines)
    notes = [textwrap.fill(note, TEXT_WIDTH) for note in notes_on(comparison)]
    return "\n\n".join([f"{comparison.title}\n{legend}", *grids, *notes])
