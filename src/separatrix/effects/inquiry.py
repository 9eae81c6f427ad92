# SPDX-License-Identifier: BSD-3-Clause
"""A fitted model and a table, opened and checked: what predictions, comparisons and slopes have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import generator
from separatrix._text import counted, first_few, listed
from separatrix.decisions import DecisionRule
from separatrix.effects.averages import SLOPE_STEP_IN_STD, Averager, Averages, Drawn, Term
from separatrix.effects.columns import (
    Column,
    Edit,
    Survey,
    edit_to,
    encoded_columns,
    find,
    level_orders,
    plain_columns,
    survey_block,
    value_text,
    wanted_columns,
    with_levels,
)
from separatrix.effects.groups import Group, Population, open_population
from separatrix.effects.results import IDENTITY, LOG, LOGIT, Heading, Scale, labels_of
from separatrix.estimator import known_columns
from separatrix.exceptions import DataError
from separatrix.meta import is_ours
from separatrix.table import DatePlan
from separatrix.table_model import TableClassifier
from separatrix.weights import NormalApproximation, WeightDistribution, interval_tails

BLENDED = (
    "predict_proba also uses single weight vectors, because this predicts held-out rows better. Estimates and "
    "intervals here are those of the average over the posterior."
)
NARROWED = (
    "predict_proba multiplies the variances of activations by {factor:g}, because this predicts held-out rows better. "
    "Estimates and intervals here are those of the average over the posterior."
)
DRAWN = "Estimates, standard errors and {percent} intervals: means, deviations and quantiles of {n:,} posterior draws."
PENALISED = (
    "Standard errors and {percent} intervals: delta method, with Laplace's Gaussian posterior under the prior. The "
    "prior shrinks estimates towards zero."
)
SAMPLED = (
    "Standard errors and {percent} intervals: delta method, with the sampling distribution of the weights{robust}."
)
SEPARATED = (
    "The classes are separated, so some weights are infinite at the maximum of the likelihood. Standard errors and "
    "intervals of effects that depend on them are not valid. Use a prior."
)
REWEIGHTED = (
    "The model was fitted with class_weight, so its probabilities are those of reweighted classes. With "
    "prior_correction=True, they are those of the training rows."
)
OFFSET = "The model was fitted with an offset or exposure; averages are those for an offset of 0, an exposure of 1."


def without_rule(model: Any) -> Any:
    """The model of a decision rule, which changes decisions but not probabilities; other models as they are."""
    return model.fitted_ if isinstance(model, DecisionRule) else model


@dataclass(frozen=True, eq=False)
class Inquiry:
    """A fitted model and the rows over which its predictions are averaged, opened and checked."""

    owner: str
    model: Any
    data: Any
    by: Any
    level: float
    positive: Any
    rng: Any

    def __post_init__(self) -> None:
        interval_tails(self.owner, self.level)
        object.__setattr__(self, "model", without_rule(self.model))
        if not hasattr(self.model, "fit"):
            raise DataError(f"{self.owner}(model={self.model!r}): pass a fitted model.")
        check_is_fitted(self.model)
        _ = self.distribution, self.classes, self.population

    @property
    def estimator(self) -> Any:
        """The linear model, without an encoder."""
        return self.model.estimator_ if isinstance(self.model, TableClassifier) else self.model

    @cached_property
    def distribution(self) -> WeightDistribution:
        """Distribution of the weights; raises if the model has none."""
        estimator, needs = self.estimator, f"{self.owner} needs probabilities and the distribution of the weights"
        try:
            found: WeightDistribution = estimator.weight_distribution_
        except AttributeError as error:
            kind = type(estimator)
            why = (
                f"{kind.__module__.partition('.')[0]}.{kind.__name__} has none: use sx.LogisticRegression, "
                "sx.BayesianLogisticRegression or another linear model, on its own or in sx.TableClassifier."
            )
            is_explained = is_ours(kind) and "has no attribute" not in str(error).partition(":")[0]
            raise DataError(f"{needs}. {error if is_explained else why}") from error
        if getattr(
            estimator, "_aliased", ()
        ):  # the model leaves these columns out, so the others determine all effects
            gaussian = cast(NormalApproximation, found.approximation)
            found = replace(found, approximation=replace(gaussian, null=None))
        return found

    @cached_property
    def population(self) -> Population:
        """The rows and their groups."""
        return open_population(self.owner, self.model, self.data, self.by)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the user's table that the model uses."""
        if isinstance(self.model, TableClassifier):
            return encoded_columns(self.model.encoder_.schema_, level_orders(self.data))
        names = known_columns(self.model) or self.population.source.columns
        return plain_columns(names)

    @cached_property
    def dropped(self) -> dict[str, str]:
        """Why each column that the model does not use was dropped."""
        if isinstance(self.model, TableClassifier):
            schema = self.model.encoder_.schema_
            return {plan.column: plan.why for plan in schema.plans if not plan.width}
        names = getattr(self.model, "coefficient_names_", ())
        without = getattr(self.model, "_aliased", ()) if self.basis is None else ()
        return {names[d]: "it is constant, or a combination of other columns" for d in without}

    @property
    def basis(self) -> Any:
        """Fitted basis of the model; None if it has none."""
        return getattr(self.estimator, "basis_", None)

    @property
    def n_outputs(self) -> int:
        """Number of activations."""
        return int(self.distribution.approximation.mean.shape[0])

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """Classes of the model; empty for a mean. Raises if ``positive`` is not one of them."""
        classes = tuple(getattr(self.model, "classes_", np.empty(0)).tolist())
        if self.positive is not None and self.positive not in classes:
            raise DataError(
                f"{self.owner}(positive={self.positive!r}): "
                + (f"choose one of the classes, {listed(list(classes))}." if classes else "the model has no classes.")
            )
        return classes

    @property
    def labels(self) -> tuple[tuple[int, Any], ...]:
        """Number and label of each class whose probability is averaged; None for a mean."""
        if not self.classes:
            return ((0, None),)
        if self.n_outputs == 1:
            return ((0, self.classes[1] if self.positive is None else self.positive),)
        return tuple((k, label) for k, label in enumerate(self.classes) if self.positive in (None, label))

    @property
    def cells(self) -> list[tuple[int, Group, int, Any]]:
        """Number and values of each group, with number and label of each class."""
        groups = enumerate(self.population.groups)
        return [(g, group, k, label) for g, group in groups for k, label in self.labels]

    def averages(self, terms: Sequence[Term]) -> Averages:
        """Averages of some terms, for the first of two classes if it is the positive one."""
        found = self.averager.averages(terms)
        is_first = self.n_outputs == 1 and self.positive is not None and self.positive == self.classes[0]
        return found.of_the_other_class(terms) if is_first else found

    @property
    def quantity(self) -> str:
        """The predicted quantity in words."""
        if not self.classes:
            return "mean"
        return f"probability of {self.labels[0][1]!r}" if len(self.labels) == 1 else "probability of each class"

    @cached_property
    def scale(self) -> Scale:
        """Scale on which the interval of an average prediction is computed, so that it stays in its range."""
        likelihood = self.estimator.likelihood_
        response = getattr(getattr(likelihood, "response", None), "name", "bernoulli")
        if response in ("bernoulli", "binomial"):
            return LOGIT
        return LOG if response in ("poisson", "gamma") else IDENTITY

    @cached_property
    def survey(self) -> Survey:
        """Moments and ranges of the features, from one pass over the rows."""
        found: Survey = self.population.source.reduce(survey_block)
        return found

    @cached_property
    def averager(self) -> Averager:
        """Averages over the rows."""
        steps = np.ones(len(self.population.source.columns))
        if self.basis is not None:
            steps = np.where(self.survey.std > 0, self.survey.std, 1.0)
        return Averager(
            self.population.source,
            len(self.population.groups),
            self.basis,
            self.estimator.likelihood_,
            self.distribution,
            self.is_drawn,
            generator(self.rng),
            SLOPE_STEP_IN_STD * steps,
        )

    def extrapolation(self, edits: Iterable[Edit]) -> tuple[str, ...]:
        """Notes on columns that are set to values outside of their range, or moved by more than its length."""
        notes: dict[str, list[str]] = {}
        for edit in edits:
            column = edit.column
            if not column.is_numeric:
                continue
            at = column.place[0]
            low, high = column.range or (float(self.survey.low[at]), float(self.survey.high[at]))
            x = edit.features
            if abs(edit.step) > high - low if x is None else not low <= x[0] <= high:
                ends = " to ".join(value_text(column.value_of(np.array([end]))) for end in (low, high))
                where = "in these rows" if column.range is None else "in training"
                texts = notes.setdefault(f"Column {column.name!r} is {ends} {where}", [])
                texts.append(f"a step of {edit.step:+g}" if x is None else edit.label)
        return tuple(
            f"{start}. Predictions for {first_few(list(dict.fromkeys(texts)))} are extrapolated."
            for start, texts in notes.items()
        )

    @property
    def is_drawn(self) -> bool:
        """Whether effects are computed from draws of the weights."""
        q = self.distribution
        return q.draws is not None or not isinstance(q.approximation, NormalApproximation)

    @property
    def is_posterior(self) -> bool:
        """Whether the distribution of the weights is a posterior under a prior."""
        return not self.distribution.is_sampling

    def at(self, at: Any) -> dict[str, list[Any]]:
        """Values of each column of the user's ``at``."""
        if at is not None and not isinstance(at, Mapping):
            raise DataError(f"{self.owner}(at={at!r}): map columns to values, such as at={{'age': 40}}.")
        return {name: self.as_list(values) for name, values in (at or {}).items()}

    def require_once(self, names: Iterable[str], others: Iterable[str], what: str) -> None:
        """Raise if a column that is set to values in all rows also has other values in the same line."""
        for name in dict.fromkeys(names):
            if name in others:
                raise DataError(f"{self.owner}: column {name!r} is {what}, which gives it two values. Drop one.")

    @staticmethod
    def as_list(values: Any) -> list[Any]:
        """Values as a list; a single value is a list of one."""
        return (
            list(values)
            if isinstance(values, Sequence | np.ndarray | range) and not isinstance(values, str)
            else [values]
        )

    def settings(self, given: Mapping[str, Sequence[Any]]) -> list[tuple[tuple[Any, ...], tuple[Edit, ...]]]:
        """All combinations of values of some columns, with their edits."""
        edits = []
        for name, values in given.items():
            column = find(self.owner, self.columns, name, self.dropped)
            edits.append([edit_to(self.owner, column, value) for value in values])
        return [(tuple(edit.value for edit in chosen), chosen) for chosen in product(*edits)]

    def with_levels(self, column: Column) -> Column:
        """The column; as a boolean if the model uses it as it is and its values are 0 and 1."""
        return with_levels(column, self.survey)

    def compared(self, variables: Any, given: Collection[str]) -> list[tuple[Column, Any]]:
        """Columns with the comparison that the user wants of each.

        By default, these are all columns that have a default comparison and are not ``given`` values.
        """
        wanted = wanted_columns(self.owner, self.columns, variables, self.dropped)
        found = [(self.with_levels(column) if what is None else column, what) for column, what in wanted.values()]
        if variables is not None:
            return found
        found = [
            (column, None)
            for column, _ in found
            if column.name not in (*self.dropped, *given) and (column.levels or column.is_numeric)
        ]
        if not found:
            raise DataError(f"{self.owner}: no column of the model has a default comparison. Give variables=.")
        return found

    def sloped(self, variables: Any) -> list[Column]:
        """Columns with a slope; raises if the user names another."""
        wanted = wanted_columns(self.owner, self.columns, variables, self.dropped)
        found = []
        for column, what in wanted.values():
            cycles = column.plan.cycles if isinstance(column.plan, DatePlan) else ()
            if what is not None:
                raise DataError(
                    f"{self.owner}: slopes have no step. Use comparisons(variables={{{column.name!r}: {what!r}}})."
                )
            if column.is_numeric and not cycles:
                if column.name not in self.dropped:
                    found.append(column)
            elif variables is not None:
                why = f"its effect has steps ({', '.join(cycles)})" if cycles else "it is not a number"
                raise DataError(f"{self.owner}: column {column.name!r} has no slope, because {why}. Use comparisons.")
        if not found:
            raise DataError(f"{self.owner}: the model has no column of numbers. Use comparisons.")
        return found

    def is_regressor(self, column: Column) -> bool:
        """Whether the column is itself a regressor, so that the activations are linear in it."""
        return self.basis is None and not isinstance(column.plan, DatePlan)

    @staticmethod
    def subject(label: Any) -> str:
        """Name of the line of a prediction."""
        return "mean" if label is None else str(label)

    def heading(self, title: str, averages: Averages, given: tuple[str, ...], notes: tuple[str, ...] = ()) -> Heading:
        """Title and notes of a table."""
        return Heading(
            self.owner,
            title,
            (*notes, *self._notes(averages)),
            labels_of(self.population.by),
            labels_of(given),
            self.level,
            self.is_posterior,
            len(self.labels) > 1 and self.owner != "predictions",
        )

    def _notes(self, averages: Averages) -> tuple[str, ...]:
        """Which rows are averaged, where the uncertainty comes from, and what limits it."""
        weight, q, estimator = averages.weight.sum(axis=1), self.distribution, self.estimator
        notes = [f"Averages over {counted(float(weight.max()), 'row')}, with the other columns as in each row."]
        if weight.min() < weight.max():
            notes[0] += f" Up to {weight.max() - weight.min():,.0f} rows are left out, because the value is missing."
        kind = DRAWN if isinstance(averages.numbers, Drawn) else PENALISED if self.is_posterior else SAMPLED
        robust = getattr(estimator, "_robust", None)
        which = "" if robust is None else f" (covariance: {robust.name})"
        notes.append(kind.format(percent=f"{100 * self.level:g} %", n=len(averages.theta), robust=which))
        if averages.stride > 1:
            notes[-1] += f" What is not linear in the weights is computed from one row in {averages.stride:,}."
        if q.blend is not None and not q.blend.is_average:
            notes.append(BLENDED)
        elif q.variance_factor != 1.0:
            notes.append(NARROWED.format(factor=q.variance_factor))
        if not self.is_posterior and getattr(estimator, "separation_", None):
            notes.append(SEPARATED)
        if not getattr(estimator, "prior_correction", True) and np.ptp(estimator.class_weight_) > 0:
            notes.append(REWEIGHTED)
        targets = getattr(getattr(estimator, "_fit", None), "targets", None)
        if getattr(targets, "offset", None) is not None:
            notes.append(OFFSET)
        return tuple(notes)
