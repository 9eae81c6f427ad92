# SPDX-License-Identifier: BSD-3-Clause
"""A classifier of tables: an encoder and a model of numeric features, in one object that can be saved.

`separatrix.table` encodes text, dates, booleans and missing values as features; the model is fitted to them. Before the
fit, columns that may have a curved effect get ramps, and the prior of indicators is set for the change from 0 to 1: the
indicator of a rare level has a small standard deviation, so a prior per deviation would hardly restrict its weight.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MethodType
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix._arguments import Estimator, check_count, check_flags
from separatrix._array import Array, Codes, Float, to_dense, to_host
from separatrix._text import did_you_mean, listed
from separatrix._threads import single_thread_blas
from separatrix.bayesian import BayesianLogisticRegression, Levels, Products
from separatrix.comparison import ModelAverage, name_models
from separatrix.discriminative import LogisticRegression
from separatrix.estimator import truth_in_memory, unchanged_on_error
from separatrix.exceptions import DataError, warn
from separatrix.explanation import Explained, Explains
from separatrix.files import Scan, scan
from separatrix.generative import NaiveBayes
from separatrix.meta import is_ours, require_fit
from separatrix.priors import Gaussian
from separatrix.rows import LabelRules, NamedRows, RowStore, Source, accuracy, check_weight, is_unlabelled, open_rows
from separatrix.stats import collect_sample, column_moments
from separatrix.table import (
    MISSING,
    Batch,
    CategoryPlan,
    DatePlan,
    HashPlan,
    NumberPlan,
    Schema,
    TableEncoder,
    TextPlan,
    check_types,
    clean_labels,
    open_batch,
    table_statistics,
)
from separatrix.table_model.explained import explained_table
from separatrix.table_model.pairs import (
    MAX_SEARCH_ROWS,
    Found,
    Interactions,
    indicator_scale,
    stated_interactions,
    supported_interactions,
    suspected_pair,
)
from separatrix.table_model.radial import MIN_RADIAL_COLUMNS, RADIAL, Radial, most_probable_width
from separatrix.table_model.ramps import CURVE_OF, Ramps, pair_name
from separatrix.table_model.scales import tuned_scales
from separatrix.table_model.weights import REFERENCE_NOTE, Contrasts, contrasts_of, has_contrasts, identified_functions
from separatrix.weights import Reading, Summary

MIN_WIDE_COLUMNS, MAX_WIDE_ROWS = 300, 2000  # features and rows between which a posterior of the rows is cheaper
MAX_GROUPED_WORDS = 500  # features of a table with text up to which scales of groups are tuned, which takes seconds
MAX_REPEATED_ROWS = 1_000_000  # largest table whose rows are repeated by their weights, which takes a second
GROUPED = (None, "full", "by class", "arrow")  # structures whose groups of columns have scales of their own
MAX_SPREAD = 1e300  # largest standard deviation that is stored, in place of infinity


OTHERS = "line"  # group of the features that are neither levels nor words

Moments = tuple[Float, Float]  # mean and standard deviation of each feature that has a weight, (M,)


class Words(Products):
    """Label of the group of the words of a text column. They count as one column, because Σ x² hardly varies."""

    __slots__ = ()


class Configured(NamedTuple):
    """Unfitted model, the moments of its features if they were computed, and its interactions if requested."""

    model: Any
    moments: Moments | None = None
    interactions: Interactions | None = None


class ModelMethod:
    """A method that `TableClassifier` has if its model has a method of that name; otherwise AttributeError."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, classifier: Any, owner: type | None = None) -> Any:
        if classifier is None:
            return self.function
        model, name = vars(classifier).get("estimator_", classifier.estimator), self.function.__name__
        if getattr(BayesianLogisticRegression if model is None else model, name, None) is None:
            kind = BayesianLogisticRegression if model is None else type(model)
            has_it = getattr(BayesianLogisticRegression, name, None) is not None
            example = "BayesianLogisticRegression(tune='evidence')" if has_it else "LogisticRegression(alpha=0)"
            raise AttributeError(
                f"{kind.__name__} has no {name}. A model that has it is sx.{example.partition('(')[0]}: "
                f"sx.TableClassifier(sx.{example})."
            )
        return MethodType(self.function, classifier)


class TableClassifier(Explains, ClassifierMixin, Estimator):
    """A classifier of tables with columns of any type: an encoder, then a model of the encoded features.

    Parameters
    ----------
    estimator : classifier, default BayesianLogisticRegression(tune="evidence")
        A model of this package, or any classifier that accepts an array. The models of a `ModelAverage` may be table
        classifiers with curves or interactions of their own, and share the encoder.
    types : mapping from column to "number", "boolean", "categorical", "date", "text" or "drop", optional
        Types of some columns; those of the other columns are inferred.
    drop : {"none", "first"}, default "none"
        "first" omits one level of each category, for models without a prior.
    curved : bool or int, default False
        Whether the effect of numbers and dates may be a curve instead of a line (`Ramps`), or the largest number of
        knots of a curve, at least 3; needs a model with a ``basis``. If the prior is tuned, each curve has its own
        scale; the log scales have a common normal prior.
    interactions : bool or list of pairs of columns, default False
        True searches for interactions of two columns and keeps those that held-out rows confirm: a surface for each of
        at most 8 pairs, or products of all pairs. A list of pairs, such as ``[("age", "hours")]``, adds a surface for
        each. Needs a model with a ``basis``. Categories with more than 8 levels have no interactions.
    radial : bool or int, default False
        Whether radial functions of all numbers together are added to the linear terms (`Radial`), or their number; True
        means one for each 8 rows, at most 200. The evidence chooses their width. Needs a
        `BayesianLogisticRegression`, and excludes ``curved`` and ``interactions``.
    hashing : int, optional
        Number of columns into which the levels of a category with more than a hundred levels are hashed; see
        `TableEncoder`.
    tuned : bool, default False
        Whether the scales of the prior of a `LogisticRegression` are tuned by five-fold cross-validation: a scale for
        the words of each text column, and a scale for all other columns. It replaces the prior of the estimator.

    Attributes
    ----------
    encoder_ : TableEncoder
        The fitted `TableEncoder`; ``encoder_.schema_.describe()`` lists the features of each column.
    estimator_ : classifier
        The fitted model.
    classes_ : ndarray of shape (K,)
        The labels.
    centre_, spread_ : ndarrays of shape (M,)
        Mean and standard deviation of each feature that has a weight, after the basis.
    n_features_in_, feature_names_in_ : int and ndarray of shape (D,)
        The columns of the table.
    n_rows_ : int
        Number of training rows.
    interactions_ : Interactions or None
        The interactions of the model: ``surfaces``, ``products``, and the held-out ``gain`` and its standard ``error``
        in nats per row, NaN if they were chosen by the user; ``why`` no search was made, if none was; None if not
        requested.

    Notes
    -----
    Columns are found by name, in any order. If a Bayesian model tunes its prior and no prior is given, the scales of
    the prior are per standard deviation for weights of numbers and ramps, and for the change from 0 to 1 for weights
    of indicators. The levels of each category share a scale, and a level that did not occur in training has this
    scale too. `predict_interval`, `decision_distribution`, `summary` and `contrasts`
    exist if the model has them.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.datasets import make_mixed_types
    >>> table, y = make_mixed_types(400, as_frame=True, rng=0)
    >>> model = sx.TableClassifier().fit(table, y)
    >>> model.predict_proba(table).shape
    (400, 2)
    """

    n_rows_: int | None = None  # None in models saved by older versions, which did not store it
    interactions_: Interactions | None = None

    def __init__(
        self,
        estimator: Any = None,
        types: Mapping[str, str] | None = None,
        drop: str = "none",
        curved: Any = False,
        hashing: int | None = None,
        interactions: Any = False,
        tuned: bool = False,
        radial: Any = False,
    ) -> None:
        self.estimator = estimator
        self.types = types
        self.drop = drop
        self.curved = curved
        self.hashing = hashing
        self.interactions = interactions
        self.tuned = tuned
        self.radial = radial

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Infer the types of the columns, encode them, and fit the model.

        X is a table in memory, a scan, or the path of a file. y is the labels or the name of their column in X. Rows
        without a label are left out with a warning. A scan provides its own labels and weights. It is read another
        time for the types of the columns, and once or twice for the standard deviations.
        """
        check_flags(self)
        for name, least in (("curved", 3), ("radial", 1)):
            if not isinstance(count := getattr(self, name), bool | np.bool_):
                check_count(type(self).__name__, name, count, least=least)
        if self.estimator is not None:
            require_fit(type(self).__name__, self.estimator)
        encoder = TableEncoder(types=self.types, drop=self.drop, hashing=self.hashing)
        X, y = _opened(X, y, check_types(self.types))
        if isinstance(X, Scan):
            if y is None and sample_weight is None and getattr(self.estimator, "unlabelled", "error") == "error":
                X, note = X.labelled()
                if note:
                    warn(note)
            statistics, training = X.statistics(encoder.unread()), None
            is_small = statistics.n_rows <= MAX_REPEATED_ROWS  # also so that the weights fit in memory
            weight = X.column(X.weight) if X.weight is not None and is_small else sample_weight
            if (times := repetitions(weight, statistics.n_rows)) is not None:
                training = X.statistics(encoder.unread(), times)
            encoder.fit_statistics(statistics, X.template(), training)
            encoder = self.with_new_levels(encoder)
            features = X.encoded(encoder.schema_)
        elif isinstance(X, RowStore):
            raise DataError(
                f"TableClassifier cannot be fitted to a {type(X).__name__}, which contains only numbers and needs no "
                "encoding. Fit its estimator directly, for example LogisticRegression().fit(...)."
            )
        else:
            template, X = X, open_batch(X)
            X, y, sample_weight = _labelled(X, y, sample_weight, getattr(self.estimator, "unlabelled", "error"))
            if isinstance(template, Mapping | list):
                template = NamedRows(np.empty((0, len(X.columns))), tuple(X.columns))
            statistics, training = table_statistics(X, unread=encoder.unread()), None
            if (times := repetitions(sample_weight, X.n_rows)) is not None:
                training = table_statistics(X.take(np.repeat(np.arange(X.n_rows), times)), unread=encoder.unread())
            encoder.fit_statistics(statistics, template, training)
            encoder = self.with_new_levels(encoder)
            features, _, _ = encoder.schema_.encode_checked(X)
        with unchanged_on_error(self):  # the pass for the moments comes after the fit, and may fail
            self.fit_encoded(encoder, features, y, sample_weight)
        if self.curved and self.interactions is False and not isinstance(X, Scan):
            self._warn_of_interaction(features, y, sample_weight)
        return self

    def _warn_of_interaction(self, features: Any, y: Any, sample_weight: Any) -> None:
        """Warn if the residuals of the fitted curves show that the effects of two columns depend on each other."""
        labelled = open_rows(features).with_labels(y, sample_weight, LabelRules(soft=True))
        if labelled.is_soft or not np.array_equal(labelled.classes, self.classes_):
            return
        schema = self.encoder_.schema_

        def probabilities(X: Any) -> Float:
            return np.asarray(self.estimator_.predict_proba(named(X, schema, self.estimator_)), dtype=np.float64)

        rows = collect_sample(labelled, MAX_SEARCH_ROWS).as_block()
        if found := suspected_pair(schema, rows, continuous_columns(schema), probabilities):
            a, b, nats = found
            warn(
                f"The effects of {a!r} and {b!r} depend on each other: curves of single columns leave residuals that a "
                f"surface of both would explain (log Bayes factor {nats:.0f}). Set interactions=True, which searches "
                f"for such pairs, or interactions=[({a!r}, {b!r})]."
            )

    @property
    def tunes_levels(self) -> bool:
        """Whether the levels of each category are random effects: their weights share a scale, which is tuned."""
        return self._sets_prior and (self.estimator is None or self.estimator.groups is None)

    @property
    def _sets_prior(self) -> bool:
        """Whether the model tunes its prior, and the prior depends on the types of the columns."""
        model = BayesianLogisticRegression() if self.estimator is None else self.estimator
        if not isinstance(model, BayesianLogisticRegression) or not (model.tunes_prior and model.standardize):
            return False
        return model.prior is None and (
            model.basis is None or self.curved or self.interactions is not False or self.radial
        )

    def with_new_levels(self, encoder: TableEncoder, *, keep_pooled: bool = False) -> TableEncoder:
        """The encoder, with an indicator of new levels for each category if levels are random effects.

        The indicator is zero in all training rows, so the posterior of its weight is the prior of the levels. Pooled
        levels of a category with more than 100 levels get indicators too, unless ``keep_pooled``.
        """
        if not self.tunes_levels:
            return encoder
        extended = copy(encoder)
        extended.schema_ = encoder.schema_.with_new_levels(keep_pooled=keep_pooled)
        return extended

    def fit_encoded(self, encoder: TableEncoder, features: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to the features of a fitted encoder, so that several models can share one encoding."""
        estimator, moments, interactions = self.configured(encoder.schema_, features, y, sample_weight)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        estimator.fit(named(features, encoder.schema_, estimator), y, **weights)
        if not hasattr(estimator, "classes_"):
            raise TypeError(
                f"TableClassifier(estimator={self.estimator!r}): the estimator must be a classifier, whose fit sets "
                "classes_."
            )
        return self.adopt(encoder, estimator, features, moments, interactions)

    def adopt(
        self,
        encoder: TableEncoder,
        estimator: Any,
        features: Any,
        moments: Moments | None = None,
        interactions: Interactions | None = None,
    ) -> Self:
        """Become the fitted classifier of an encoder and of an estimator that was fitted to its features.

        The estimator, moments and interactions come from `configured`.
        """
        opened = open_rows(features)
        self.encoder_, self.estimator_ = encoder, estimator
        self.classes_ = np.asarray(estimator.classes_)
        self.n_features_in_, self.n_rows_ = encoder.n_features_in_, opened.n_rows
        self.__dict__.pop("feature_names_in_", None)
        if "feature_names_in_" in vars(encoder):
            self.feature_names_in_ = encoder.feature_names_in_
        self.interactions_ = interactions
        self.centre_, self.spread_ = moments or _moments(opened, getattr(estimator, "basis_", None))
        return self

    def configured(self, schema: Schema, features: Any, y: Any = None, sample_weight: Any = None) -> Configured:
        """Unfitted model with curves, interactions and prior scales for these features; labels are for interactions."""
        model = self._unfitted(schema)
        is_tuned = isinstance(model, BayesianLogisticRegression) and model.tunes_prior
        has_pairs = self.interactions is not False
        if self.tuned:
            return self._tuned(model, schema, features, y, sample_weight)
        has_ramps = self.curved or has_pairs
        if not has_ramps and not self.radial and not is_tuned:
            if isinstance(model, ModelAverage):
                rows = schema, features, y, sample_weight
                parts = name_models(model.models)
                model.set_params(models={name: self._part(name, part, *rows) for name, part in parts.items()})
            return Configured(model)
        if has_ramps and "basis" not in model.get_params(deep=False):
            raise ValueError(
                f"{type(model).__name__} has no parameter 'basis', which curved=True and interactions need. Use a "
                "model such as sx.BayesianLogisticRegression or sx.LogisticRegression, or leave both out."
            )
        bent, source, D = continuous_columns(schema), open_rows(features), len(schema.columns)
        weighted = source
        if sample_weight is not None or (isinstance(features, Scan) and features.weight is not None):
            weighted = source.with_labels(y, sample_weight, LabelRules(soft=True))
        basis, found, groups = self._expanded(schema, source, weighted, y, sample_weight)
        sources = np.column_stack([np.arange(D)] * 2) if basis is None else basis.functions_.sources
        if basis is not None:
            model.set_params(basis=basis.frozen())
        elif model.approximation == "auto" and model.structure is model.groups is None:
            is_dual = is_dual_cheaper(source.n_rows, D) and not word_columns(schema)  # a model of words is sparse
            model.set_params(structure="dual" if is_dual else None)
        has_scales = len(set(groups)) > 1 and not (D > MAX_GROUPED_WORDS and word_columns(schema))
        if is_tuned and model.groups is None and has_scales and model.structure in GROUPED:
            model.set_params(groups=tuple(groups))  # other structures have one scale
        if not self._sets_prior:
            return Configured(model, None, found.interactions)
        moments = _moments(source, basis)
        std = moments[1]
        if sample_weight is not None:  # the model divides by standard deviations of weighted rows
            std = _moments(weighted, basis)[1]
        scale, first, is_known = np.ones(len(std)), len(std) - len(found.spread), sources[:, 0] >= 0
        scale[is_known] = indicator_scale(sources[is_known], std[is_known], bent)
        scale[first:] /= np.where(std[first:] > 0, 1.0, found.spread)  # products with new levels are not standardised
        return Configured(model.set_params(prior=Gaussian(scale=scale), tune="evidence"), moments, found.interactions)

    def _part(self, name: str, part: Any, schema: Schema, *rows: Any) -> Any:
        """Unfitted model of a `ModelAverage`; a `TableClassifier` is configured for the features that all share."""
        if not isinstance(part, TableClassifier):
            return part
        if (part.types, part.drop, part.hashing) != (self.types, self.drop, self.hashing):
            raise ValueError(
                f"{name!r} has other types, drop or hashing than the TableClassifier around the average, but all its "
                "models share one encoding. Set these arguments to the same values."
            )
        return part.configured(schema, *rows).model

    def _unfitted(self, schema: Schema) -> Any:
        """A copy of the model, with the families of naive Bayes that depend on the types of the columns."""
        model = BayesianLogisticRegression(tune="evidence") if self.estimator is None else clone(self.estimator)
        if isinstance(model, NaiveBayes) and model.families == "auto":
            model.set_params(families=families_of(schema))
        return model

    def _expanded(
        self, schema: Schema, source: Source, weighted: Source, y: Any, sample_weight: Any
    ) -> tuple[Ramps | Radial | None, Found, list[Any]]:
        """Fitted basis of curves, interactions or radial functions, None if not requested; names of the prior scales.

        Types of columns and cells come from the rows of ``source``, knots from the rows ``weighted``.
        """
        bent, groups = continuous_columns(schema), scale_groups(schema, levels=self.tunes_levels)
        if self.radial:
            radial = self._radial(source.with_labels(y, sample_weight, LabelRules(soft=True)), schema, groups)
            n_radial = len(radial.functions_.centres)
            return radial, Found(), [*groups, *[RADIAL] * n_radial]
        if not self.curved and self.interactions is False:
            return None, Found(), groups
        n_knots = None if isinstance(self.curved, bool | np.bool_) else int(self.curved)
        ramps = (Ramps(bent, n_knots) if self.curved else Ramps((), knots=())).fit_source(weighted)
        groups = [groups[d] for d in ramps.functions_.straight]
        groups += [f"{CURVE_OF}{schema.columns[d]}" for d in ramps.functions_.bent]
        if self.interactions is False:
            return ramps, Found(), groups
        if self.interactions is True:
            labelled = source.with_labels(y, sample_weight, LabelRules(soft=True))
            with single_thread_blas():  # idle threads would slow down many small products of matrices
                found = supported_interactions(schema, labelled, bent, ramps, groups)
        else:
            found = stated_interactions(schema, source, bent, self.interactions)
        return ramps.frozen(found.products).fit_source(source), found, [*groups, *found.groups]

    def _radial(self, source: Source, schema: Schema, groups: Sequence[Any]) -> Radial:
        """Fitted radial functions of the numbers, with the most probable width."""
        if self.curved or self.interactions is not False:
            raise ValueError(
                "TableClassifier(radial=...) excludes curved and interactions: choose one kind of function, or compare "
                "the models with sx.compare."
            )
        if not isinstance(self.estimator, BayesianLogisticRegression | None):
            raise ValueError(
                f"TableClassifier(radial=...) tunes the width by evidence, which {type(self.estimator).__name__} does "
                "not have. Use sx.BayesianLogisticRegression(tune='evidence')."
            )
        numbers = continuous_columns(schema)
        if len(numbers) < MIN_RADIAL_COLUMNS:
            raise DataError(
                f"TableClassifier(radial=...) needs {MIN_RADIAL_COLUMNS} columns of numbers or dates, and there are "
                f"{len(numbers)}. Use curved=True, or leave radial out."
            )
        n = None if isinstance(self.radial, bool | np.bool_) else int(self.radial)
        with single_thread_blas():  # many small products of matrices
            factor = most_probable_width(source, numbers, groups)
        return Radial(numbers, n, factor).fit_source(source)

    def _tuned(self, model: Any, schema: Schema, features: Any, y: Any, sample_weight: Any) -> Configured:
        """The model with prior scales from cross-validation, per standard deviation of numbers and days."""
        if (
            not isinstance(model, LogisticRegression)
            or model.basis is not None
            or self.curved
            or self.interactions
            or self.radial
        ):
            raise ValueError(
                "TableClassifier(tuned=True) tunes the prior of a LogisticRegression without a basis. Leave out tuned, "
                "curved and interactions, or use BayesianLogisticRegression, which tunes its prior by evidence."
            )
        labelled = open_rows(features).with_labels(y, sample_weight, LabelRules())
        unit, bent, std = np.ones(len(schema.columns)), list(continuous_columns(schema)), _moments(labelled)[1]
        unit[bent] = 1.0 / np.where(std[bent] > 0, std[bent], 1.0)
        scale = tuned_scales(labelled, unit, scale_groups(schema, levels=False))
        return Configured(model.set_params(prior=Gaussian(scale=scale)))

    @property
    def sources_(self) -> tuple[str, ...]:
        """The column of the table that each feature came from, "a × b" for a pair; "" if unknown for the basis."""
        inputs = self.encoder_.schema_.inputs
        return tuple(a if a == b else pair_name(a, b, inputs) for a, b in self.source_pairs_.tolist())

    @property
    def source_pairs_(self) -> Array:
        """The two columns of the table that each feature came from, (M, 2): twice the same, except for interactions."""
        check_is_fitted(self)
        schema, basis = self.encoder_.schema_, self.basis_
        names = np.array([*schema.groups, *schema.new_levels], dtype=object)
        owners = np.repeat(names, [*map(len, schema.groups.values()), *[1] * len(schema.new_levels)])
        if basis is None:
            return np.column_stack([owners, owners])
        known = isinstance(basis, Ramps | Radial)
        owners = np.append(owners, "")  # a radial function depends on many columns
        at = basis.functions_.sources if known else np.full((len(self.spread_), 2), -1)
        found: Array = owners[at]
        return found

    @property
    def is_new_level_(self) -> Array:
        """Whether the weight of each feature belongs to levels that did not occur in training, (M,)."""
        new, basis = list(self.encoder_.schema_.new_levels.values()), self.basis_
        if not isinstance(basis, Ramps | Radial | None):
            return np.zeros(len(self.spread_), dtype=bool)
        sources = np.arange(len(self.spread_))[:, None] if basis is None else basis.functions_.sources
        return np.asarray(np.isin(sources, new).any(axis=1))

    @property
    def is_hidden_(self) -> Array:
        """Whether the weight of each feature is not listed, (M,): of new levels, and of radial functions."""
        is_hidden = self.is_new_level_
        if isinstance(self.basis_, Radial):
            is_hidden[self.basis_.functions_.n_columns :] = True
        return is_hidden

    @property
    def coef_(self) -> Float:
        """Weights of the model, (K, M), or (1, M) for two classes; `get_feature_names_out` names their columns."""
        return np.asarray(self.estimator_.coef_)

    @property
    def intercept_(self) -> Float:
        """Intercepts of the model."""
        return np.asarray(self.estimator_.intercept_)

    @property
    def basis_(self) -> Any:
        """Fitted basis of the model; None if it has no basis."""
        return getattr(self.estimator_, "basis_", None)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features that have a weight: the encoded columns, after the basis of the model."""
        names = self.encoder_.get_feature_names_out(input_features)
        return names if self.basis_ is None else np.asarray(self.basis_.names(tuple(names)), dtype=object)

    def predict(self, X: Any) -> Array:
        """Most probable class of each row; X is a table, a dict, a list of dicts, a scan or the path of a file."""
        return np.asarray(self._apply("predict", X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Weighted accuracy of `predict`; y may be the name of a column, and a scan provides labels and weights."""
        X, y = _opened(X, y, self.encoder_.schema_.text_types)
        truth, weight = truth_in_memory(X, y, sample_weight)
        given = np.asarray(to_host(truth))
        cleaned = clean_labels(given)
        return accuracy(truth if cleaned is given else cleaned, self.predict(X), weight)

    @ModelMethod
    def predict_proba(self, X: Any) -> Array:
        """p(C_k | x), (N, K)."""
        return np.asarray(self._apply("predict_proba", X))

    @ModelMethod
    def predict_log_proba(self, X: Any) -> Array:
        """ln p(C_k | x), (N, K)."""
        return np.asarray(self._apply("predict_log_proba", X))

    @ModelMethod
    def decision_function(self, X: Any) -> Array:
        """Activations of the model: (N,) for two classes, (N, K) for more."""
        return np.asarray(self._apply("decision_function", X))

    @ModelMethod
    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """Lower and upper bound of each probability, if the model has a posterior."""
        return np.asarray(self._apply("predict_interval", X, level))

    @ModelMethod
    def decision_distribution(self, X: Any) -> Any:
        """Mean and variance of the activation of each row, if the model has a posterior."""
        return self._apply("decision_distribution", X)

    @property
    def weight_distribution_(self) -> Any:
        """Distribution of the weights of the encoded columns, if the model has one."""
        check_is_fitted(self)
        return self.estimator_.weight_distribution_

    @property
    def plan_(self) -> Any:
        """How the posterior was computed, if the model has one; ``print(model.plan_)`` shows its steps."""
        check_is_fitted(self)
        return self.estimator_.plan_

    @ModelMethod
    def summary(
        self,
        reference: Any = None,
        exponentiate: bool = False,
        level: float = 0.95,
        *,
        interval: str = "wald",
        test: str = "wald",
    ) -> Summary:
        """Return the table of the weights that the data identify, those of `contrasts`.

        Each level of a category is relative to the average over the rows. The arguments are those of the model inside,
        such as `LogisticRegression.summary`.
        """
        check_is_fitted(self)
        reading = Reading(reference, exponentiate, level, interval, test)
        found: Summary = self.estimator_._summary(reading, identified_functions(self), (REFERENCE_NOTE,))
        return found

    @ModelMethod
    def test(self, columns: Any, *, method: str | None = None) -> Any:
        """Test whether columns of the table have no effect: all weights of their levels, words, curves and days.

        ``columns`` are names of columns of the table, or of interactions such as ``"age × city"``. ``method`` is that
        of `LogisticRegression.test`; the model inside must have no prior (``alpha=0``).
        """
        check_is_fitted(self)
        known = list(dict.fromkeys(self.sources_))
        if isinstance(columns, Mapping) or (isinstance(columns, str) and columns not in known and "=" in columns):
            raise ValueError(
                f"test(columns={columns!r}): TableClassifier tests whether columns have no effect. A column may have "
                "several weights, so it has no single value. For values of single weights, fit the model inside to "
                "columns of numbers, such as sx.LogisticRegression(alpha=0)."
            )
        wanted = [columns] if isinstance(columns, str) else list(columns)
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            raise ValueError(
                f"test(columns={columns!r}): choose columns of the table.{did_you_mean(str(columns), known)}"
            )
        is_tested = np.isin(self.sources_, wanted) & ~self.is_new_level_
        L = to_dense(identified_functions(self)[1])[: len(is_tested)][is_tested]
        return self.estimator_._test(L, np.zeros(len(L)), dict.fromkeys(wanted, 0.0), method)

    @ModelMethod
    def with_covariance(self, kind: Any) -> Self:
        """Return a copy whose standard errors, tests, intervals and effects use another covariance of the estimate.

        ``kind`` is that of `LogisticRegression.with_covariance`.
        """
        check_is_fitted(self)
        other = copy(self)
        other.estimator_ = self.estimator_.with_covariance(kind)
        return other

    @available_if(lambda self: "estimator_" not in vars(self) or has_contrasts(self.estimator_))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def contrasts(self) -> Contrasts:
        """Weights that the data identify: each level relative to the average over rows, each class to the class mean.

        ``estimator_.coef_`` also contains a constant that changes no prediction.
        """
        check_is_fitted(self)
        return contrasts_of(self)

    def _explained(self, rows: Any, reference: Any) -> Explained:
        """Description for `explain`; lines are columns of the table, then pairs of columns that interact."""
        check_is_fitted(self)
        return explained_table(self, rows, reference, named)

    def _apply(self, method: str, X: Any, *arguments: Any) -> Any:
        """Apply a method of the model to encoded rows."""
        check_is_fitted(self)
        schema, function = self.encoder_.schema_, getattr(self.estimator_, method)
        features = self.features_of(X)
        if not isinstance(features, Scan) and features.shape[0] == 0:  # predict a row of zeros, and drop it
            one = function(named(np.zeros((1, features.shape[1])), schema, self.estimator_), *arguments)
            return type(one)(*(part[:0] for part in one)) if isinstance(one, tuple) else one[:0]
        return function(named(features, schema, self.estimator_), *arguments)

    def features_of(self, X: Any) -> Any:
        """Encoded rows of a table, a path or a scan; warns about values that did not occur in training."""
        check_is_fitted(self)
        schema = self.encoder_.schema_
        table = _opened(X, None, schema.text_types)[0]
        if isinstance(table, Scan):  # rows of a scan are encoded as they are read; their values are not counted
            return table.encoded(schema)
        features, unseen, odd = self.encoder_.encode(table)
        for column, cells in odd.items():
            warn(str(cells))
            if missing := unseen.pop(column)[MISSING]:
                unseen[column] = Counter({MISSING: missing})
        if unseen:
            found = (
                f"{column!r} ({listed(list(rows))}; {(n := rows.total()):,} row{'s' * (n != 1)})"
                for column, rows in unseen.items()
            )
            effect = "New levels and new missing values have no weight of their own."
            if unseen.keys() <= schema.new_levels.keys():
                effect = "The effect of a new level has the mean 0 and the variance of the levels of its column."
            warn(f"Some columns have values that did not occur in training: {', '.join(found)}. {effect}")
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def continuous_columns(schema: Schema) -> tuple[int, ...]:
    """Positions of the features that may have a curved effect: numbers and days, but not indicators or cycles."""
    return tuple(
        schema.groups[plan.column].start
        for plan in schema.plans
        if isinstance(plan, NumberPlan | DatePlan) and plan.kind in ("number", "date") and not plan.constant
    )


def families_of(schema: Schema) -> dict[str, str]:
    """Families of naive Bayes for days, which may be negative in new rows, and for the words of texts."""
    days = [plan.names[0] for plan in schema.plans if isinstance(plan, DatePlan) and not plan.constant]
    words = [schema.columns[d] for d in word_columns(schema)]
    return dict.fromkeys(days, "normal") | dict.fromkeys(words, "multinomial")


def word_columns(schema: Schema) -> list[int]:
    """Positions of the features that are words of text, without the indicators of missing text."""
    texts = (plan for plan in schema.plans if isinstance(plan, TextPlan))
    return [d for plan in texts for d in schema.groups[plan.column][: len(plan.terms)]]


def scale_groups(schema: Schema, *, levels: bool) -> list[Any]:
    """Name of the prior scale of each feature: one for the words of each text, and one for all others.

    If ``levels``, the levels of each category have a scale, too.
    """
    groups: list[Any] = [OTHERS] * len(schema.columns)
    for plan in schema.plans:
        if isinstance(plan, TextPlan):
            for m in schema.groups[plan.column][: len(plan.terms)]:
                groups[m] = Words(plan.column, 1)
        elif levels and isinstance(plan, CategoryPlan | HashPlan):
            at = schema.groups[plan.column]
            for m in (*at, schema.new_levels.get(plan.column, at.start)):
                groups[m] = Levels(plan.column)
    return groups


def is_dual_cheaper(n_rows: int, n_columns: int) -> bool:
    """Whether a posterior in the span of the rows ("dual") takes much less time and memory than one of all weights."""
    return n_columns > MIN_WIDE_COLUMNS and n_rows < min(n_columns, MAX_WIDE_ROWS)


def functions_of(classifier: TableClassifier, features: Any) -> Array:
    """Φ (n, M) of a few encoded rows, dense."""
    return to_dense(basis_rows(classifier, features))


def basis_rows(classifier: TableClassifier, features: Any) -> Any:
    """Φ (n, M) of encoded rows; without a basis, sparse rows stay sparse."""
    return features if classifier.basis_ is None else classifier.basis_.evaluate(features)


def _opened(X: Any, y: Any, types: Mapping[str, str]) -> tuple[Any, Any]:
    """Open a path as a scan that reads categories as text; if y is the name of a column, take it out of the table."""
    if isinstance(X, str | os.PathLike) or (isinstance(X, list) and X and isinstance(X[0], str | os.PathLike)):
        target = y if isinstance(y, str) else None
        texts = {name: kind for name, kind in types.items() if kind in ("categorical", "text")}
        return scan(X, target=target, types=texts), None if target else y
    if not isinstance(y, str):
        return X, y
    batch = None if isinstance(X, RowStore) else open_batch(X)
    if batch is None or not nw.dependencies.is_into_dataframe(X):
        raise DataError(
            f"y={y!r} is the name of a column, but X is not a data frame. Pass the labels themselves; for a scan, name "
            "the column in scan(..., target=...)."
        )
    batch.require([y])
    frame = nw.from_native(X, eager_only=True)
    return frame.drop(y).to_native(), frame.get_column(y).to_native()


def _labelled(batch: Batch, y: Any, sample_weight: Any, unlabelled: Any) -> tuple[Batch, Any, Any]:
    """Rows, clean labels and weights, without the rows whose label is missing unless the model accepts such rows."""
    given = y
    if not isinstance(y, np.ndarray):
        given = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(to_host(y))
    if given.shape != (batch.n_rows,):
        return batch, y, sample_weight
    labels = clean_labels(given, unlabelled=unlabelled)
    y = y if labels is given else labels
    if labels.dtype.kind not in "OfM" or not (isinstance(unlabelled, str) and unlabelled == "error"):
        return batch, y, sample_weight
    missing = is_unlabelled(labels, "missing")
    if not missing.any() or missing.all():
        return batch, y, sample_weight
    weight = check_weight(sample_weight, batch.n_rows)
    first = f"the first in row {missing.argmax() + 1:,}"
    warn(f"{missing.sum():,} of {len(labels):,} labels are missing, {first}. These rows are left out.")
    sample_weight = None if weight is None else weight[~missing]
    return batch.take(np.flatnonzero(~missing)), labels[~missing], sample_weight


def repetitions(sample_weight: Any, n_rows: int) -> Codes | None:
    """How often each row counts in means and levels; None if each counts once.

    Whole weights are numbers of repetitions. Rows of a large table count once.
    """
    weight = check_weight(sample_weight, n_rows)
    if weight is None or (weight == 1).all() or max(n_rows, weight.sum()) > MAX_REPEATED_ROWS:
        return None
    is_whole = bool((weight == np.round(weight)).all())
    times = weight.astype(np.intp) if is_whole else (weight > 0).astype(np.intp)
    return times if times.any() else None


def named(features: Any, schema: Schema, estimator: Any) -> Any:
    """The features, with their names if the model belongs to this package."""
    ours = is_ours(type(estimator))
    if not isinstance(features, Scan):
        return NamedRows(features, schema.columns) if ours else features
    if not ours:
        raise DataError(
            f"{type(estimator).__name__} needs an array, but the table is a scan, which only models of this package "
            "accept. Load the table into memory."
        )
    return features


def _moments(source: Source, basis: Any = None) -> Moments:
    """Moments over all rows in one pass, because a sample would miss rare levels."""
    found = (source if basis is None else source.mapped(basis)).reduce(column_moments)
    # Squares of values above 1e154 overflow. Only models without weights accept such values; files need finite ones.
    return found.mean[0], np.fmin(np.sqrt(found.scatter.squares[0] / found.count[0]), MAX_SPREAD)
