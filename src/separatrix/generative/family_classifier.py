# SPDX-License-Identifier: BSD-3-Clause
"""Base class of classifiers built from exponential families. Columns form groups; each group has one family.

A subclass defines the groups (`Layout`). Parameters, EM, the linear form and text columns are implemented here.
Class probabilities are proportional to p(C_k) p(x | C_k)^τ, with τ = 1 unless the likelihood is tempered (`temper`).
With a prior, EM never decreases the log posterior, which is recorded in the trace of the solution.

Text columns are strings, categoricals and enums of a data frame, and strings in arrays of Python objects. Before a
table is opened, each text is replaced by its index in a sorted list of categories, as float64. The other columns of a
data frame are not copied. A missing text is NaN. A text that is not in the list gets the index after the last.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy.special import logsumexp

from separatrix._arguments import check_number, check_option, check_positive
from separatrix._array import Array, Float, Rows
from separatrix._text import columns_are, listed
from separatrix.estimator import known_columns
from separatrix.exceptions import DataError, NoEstimateError
from separatrix.explanation import Scores, SumScores
from separatrix.families import FactsError, Moments, NormalNormal, SupportError
from separatrix.generative.classifier import NO_INTERVALS, GenerativeClassifier, class_priors, log_probability
from separatrix.generative.densities import (
    ESTIMATES,
    Affine,
    GroupedDensity,
    affine_form,
    constant_columns,
    density_of,
    log_prior,
    prior_of,
    why_not_affine,
)
from separatrix.generative.em import Expectation, maximise_expectation
from separatrix.generative.temper import check_temper, fit_temperature, tempered
from separatrix.rows import UNLABELLED, Block, Source, as_frame, as_table, open_rows
from separatrix.solvers import Solution, Status
from separatrix.stats import (
    HEIGHT_FACTOR,
    Group,
    GroupedFacts,
    group_statistics,
    require_finite,
    require_squares,
    require_support,
)

MAX_PSEUDO_COUNT = 1e100  # sums and products of larger numbers may overflow


class Layout(NamedTuple):
    """Groups of columns, the number of passes used to find them, and a function that chooses among families."""

    groups: tuple[Group, ...]
    passes: int = 0
    settle: Callable[[GroupedFacts], GroupedFacts] | None = None


class FamilyClassifier(GenerativeClassifier):
    """Base class of `NaiveBayes` and `ExponentialFamilyClassifier`."""

    estimate: str = "map"
    pseudo_count: Any = 1.0
    temper: Any = False

    @abstractmethod
    def _layout(self, source: Source) -> Layout:
        """Groups of columns whose statistics are collected."""

    def _density(self, family: str, facts: Any, estimate: str, prior: Any) -> Any:
        """Density p(x | C_k) of one group."""
        return density_of(family, facts, estimate, prior)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        name = type(self).__name__
        check_option(name, "estimate", self.estimate, ESTIMATES)
        check_positive(name, "pseudo_count", self.pseudo_count)
        check_number(name, "pseudo_count", self.pseudo_count, low=1 / MAX_PSEUDO_COUNT, high=MAX_PSEUDO_COUNT)
        check_temper(name, self.temper)

    def _require_mergeable(self) -> None:
        name = type(self).__name__
        if check_temper(name, self.temper) is None:
            raise DataError(
                f"{name}(temper=True) needs all rows at once: the exponent is fitted in further passes over the rows. "
                "Pass all rows to fit, or fix the exponent: temper=<a number>."
            )

    def _training_table(self, X: Any, *, reset: bool) -> Any:
        """Replace text columns by new codes."""
        table, self._text = encode_text(X)
        self._known = None if reset else self.facts_.groups
        return table

    def _table(self, X: Any) -> Any:
        """Replace text columns by the codes of the fit."""
        return encode_text(X, self._texts)[0]

    @property
    def _texts(self) -> dict[int, Array]:
        """Categories of each text column, by index of the column."""
        return {d: values for d, values in self.facts_.categories.items() if values.dtype.kind == "U"}

    def _collect(self, source: Source, *, whole: bool = True) -> Solution[Any]:
        """Collect statistics in one pass, after a pass to choose families if needed; run EM if labels are missing."""
        self._columns, n_classes = source.columns, len(source.classes)
        layout = Layout(self._known) if self._known is not None else self._layout(source)
        for group in layout.groups:
            wrong = [d for d in group.columns if d in self._text and group.family != "categorical"]
            if wrong:
                examples = ", ".join(map(repr, self._text[wrong[0]][:3].tolist()))
                raise DataError(
                    f"Column {self._columns[wrong[0]]!r} contains text ({examples}, ...), so its family must be "
                    f"'categorical', not {group.family!r}. Change the family, or convert the column to numbers."
                )
        look = partial(group_statistics, groups=layout.groups, n_classes=n_classes, names=self._columns)
        rows = source.sized_for(max(1, len(self._columns) // HEIGHT_FACTOR))
        try:
            first = rows.reduce(look, reads_once=len(layout.groups) == 1 and layout.groups[0].has_compiled_sums)
        except SupportError:
            source.reduce(partial(require_support, groups=layout.groups, names=self._columns))
            raise
        if not first.is_finite:
            require_finite(source, allow_nan=True)
            require_squares(source)
        facts = first.of_classes(slice(n_classes))
        facts = facts if layout.settle is None else layout.settle(facts)
        solution = Solution(facts, Status.SOLVED, 1, 1 + layout.passes)
        if first.count[n_classes] > 0:
            chosen = {(group.family, d) for group in facts.groups for d in group.columns}
            all_rows = first.of_columns(lambda family, d: (family, d) in chosen)
            solution = self._run_em(source, facts, all_rows, solution.passes)
        if check_temper(type(self).__name__, self.temper) is None:
            density = self._densities_of(solution.value, self.estimate)
            log_pi = log_probability(class_priors(self.priors, self.classes_, solution.value.count))
            log_likelihood = partial(density.log_density, names=self._columns)
            prior_weight = float(self.pseudo_count) / float(first.count[:n_classes].sum())
            found = fit_temperature(source, log_likelihood, log_pi, prior_weight)
            self.temperature_ = found.value
            solution = replace(solution, passes=solution.passes + found.passes)
        return replace(solution, value=solution.value.renamed(self._text))

    def _run_em(self, source: Source, start: GroupedFacts, all_rows: GroupedFacts, passes: int) -> Solution[Any]:
        """Run EM from the statistics of the labelled rows. The prior is computed from all rows and stays fixed."""
        constant = constant_columns(all_rows)
        varying = without_columns(all_rows, constant)
        priors = tuple(None if isinstance(prior, NormalNormal) else prior for prior in self._priors_of(varying))

        def expect(facts: GroupedFacts) -> Any:
            density = self._densities_of(facts, "map", priors, constant)
            pairs = zip(priors, density.densities, strict=True)
            per_row = sum(log_prior(prior, each) for prior, each in pairs if prior is not None) / source.n_rows
            log_pi = log_probability(class_priors(self.priors, self.classes_, facts.count))
            parameters = density, facts.groups, log_pi, per_row, self._columns
            return partial(expected_facts, parameters=parameters)

        solution = maximise_expectation(source, start, expect)
        return replace(solution, passes=solution.passes + passes)

    def _estimate(self, facts: GroupedFacts) -> None:
        self._density_of_rows = density = self._densities_of(facts, self.estimate)
        self._collinear = self._describe(facts, density)
        self.densities_ = dict(zip((group.family for group in density.groups), density.densities, strict=True))
        given = check_temper(type(self).__name__, self.temper)
        self.temperature_ = self.temperature_ if given is None else given
        self._affine = affine_form(self._density_of_rows)
        if self._affine is not None:
            W, w0, origin = self._affine
            self._affine = Affine(self.temperature_ * W, self.temperature_ * w0, origin)

    def _priors_of(self, facts: GroupedFacts) -> tuple[Any, ...]:
        """Conjugate prior of each group; None for maximum likelihood."""
        if self.estimate == "ml":
            return (None,) * len(facts.groups)
        pairs = zip(facts.groups, facts.parts, strict=True)
        return tuple(
            self._named(group, prior_of, group.family, part, float(self.pseudo_count)) for group, part in pairs
        )

    def _densities_of(
        self, facts: GroupedFacts, estimate: str, priors: Sequence[Any] | None = None, constant: Any = None
    ) -> GroupedDensity:
        """Estimate the density of each group, by maximum likelihood if the group has no prior.

        Columns that are constant in all rows are left out.
        """
        constant = constant_columns(facts) if constant is None else constant
        facts = without_columns(facts, constant)
        if not facts.groups:
            raise NoEstimateError("Every column is constant, so none distinguishes the classes. Add columns that vary.")
        priors = self._priors_of(facts) if priors is None else priors
        seen = facts.count > 0
        if None in priors:  # a class without rows has prior zero, so the density of another class can be used
            facts = facts.of_classes(seen)
        triples = zip(facts.groups, facts.parts, priors, strict=True)
        densities = tuple(
            self._named(group, self._density, group.family, part, "ml" if prior is None else estimate, prior)
            for group, part, prior in triples
        )
        if None in priors and not seen.all():
            substitute = np.maximum(np.cumsum(seen) - 1, 0)
            densities = tuple(density[substitute] for density in densities)
        return GroupedDensity(facts.groups, densities, constant)

    def _describe(self, facts: GroupedFacts, density: GroupedDensity) -> str:
        """Warning of columns that are constant in all rows or, with maximum likelihood, in a class."""
        clauses = []
        if density.constant:
            names = [self._columns[d] for d, _ in density.constant]
            clauses.append(f"{columns_are(names)} constant in all rows and not used; drop such columns.")
        fixed = []
        for group, part in zip(facts.groups, facts.parts, strict=True):
            if self.estimate == "ml" and isinstance(part, Moments):
                equal = part.is_constant[facts.count > 0]
                equal = equal if group.family == "normal" else equal & equal.all(axis=0)
                equal = equal & ~np.isin(group.columns, list(dict(density.constant)))
                labels = self.classes_[facts.count > 0].tolist()
                fixed += [(labels[k], self._columns[group.columns[i]]) for k, i in np.argwhere(equal)]
        if fixed:
            label, name = fixed[0]
            pairs = "pair" if len(fixed) == 2 else "pairs"
            more = f" (and {len(fixed) - 1} more such {pairs})" if len(fixed) > 1 else ""
            where = f"Column {name!r} is constant within class {label!r}{more}"
            clauses.append(f"{where}: rows with other values do not belong to it. Use estimate='map' to allow them.")
        return " ".join(clauses)

    def _named(self, group: Group, function: Any, *arguments: Any) -> Any:
        """Call ``function(*arguments)``; if no estimate exists, raise an error with the classes and columns."""
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                return function(*arguments)
        except FactsError as error:
            problem = error.describe(self.classes_.tolist(), group.names(self._columns))
            raise NoEstimateError(f"Family {group.family!r}: {problem}") from None
        except ArithmeticError as error:
            columns = listed(group.names(self._columns))
            raise NoEstimateError(
                f"Family {group.family!r}: values of {columns} are too large or too small for an estimate "
                f"({error}). Multiply them by a constant, or choose a smaller pseudo_count."
            ) from None

    def _map_rows(self, X: Any, row_function: Callable[[Rows], Array], **options: Any) -> Array:
        """As in `Classifier`. All classes have the family of a column, so a value outside its support is an error."""
        try:
            return super()._map_rows(X, row_function, **options)
        except SupportError:
            rows = open_rows(self._table(X), known_columns(self))
            rows.reduce(partial(require_support, groups=self.facts_.groups, names=self._columns))
            raise

    def _log_likelihood(self, X: Rows) -> Float:
        return self._density_of_rows.log_density(X, self._columns)

    def _scores(self, X: Rows) -> Float:
        """ln p(C_k) + τ ln p(x | C_k), computed by the linear form if it is accurate and no value is missing."""
        log_pi = log_probability(self.priors_)
        if self._affine is None or self._affine.cancels:
            return np.asarray(tempered(self._log_likelihood(X), self.temperature_) + log_pi)
        for group in self._density_of_rows.groups:
            group.checked(X, self._columns)
        a = self._affine.scores(X)
        if not np.isfinite(a).all():
            lost = ~np.isfinite(a).all(axis=1)  # a value is missing, or a sum overflows
            a[lost] = tempered(self._log_likelihood(X[lost]), self.temperature_)
        return np.asarray(a + log_pi)

    def _explanation_scores(self) -> tuple[Scores, tuple[str, ...]]:
        """ln p(C_k) plus a term for each column; a family of whole rows has no such terms."""
        vectors = [group.family for group in self._density_of_rows.groups if group.is_joint]
        if vectors:
            raise TypeError(
                f"{type(self).__name__} cannot be explained: family {vectors[0]!r} describes whole rows, so its "
                "log-odds are no sum over columns. Use NaiveBayes, or LinearDiscriminantAnalysis."
            )
        density, tau = self._density_of_rows, self.temperature_
        terms = partial(density.column_terms, names=self._columns)
        constant = log_probability(self.priors_)
        if not np.isfinite(constant).all():
            raise TypeError(f"{type(self).__name__} cannot be explained: a class has the probability 0.")
        return SumScores(lambda X: tau * terms(X), constant), (NO_INTERVALS,)

    @property
    def _categories(self) -> dict[int, Array]:
        return self._texts

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Array:
        return np.asarray(self._decoded(self._density_of_rows.draw(k, size, rng)))

    def _decoded(self, X: Rows) -> Any:
        """Rows with texts instead of codes; a code without a text, or NaN, is a missing value."""
        texts = self._texts
        rows: Any = X.astype(object) if texts else X
        for d, categories in texts.items():
            levels = np.array([*categories.tolist(), None], dtype=object)
            codes = np.nan_to_num(X[:, d], nan=len(categories)).astype(np.intp)
            rows[:, d] = levels[np.minimum(codes, len(categories))]
        return rows

    def _linear(self) -> Affine:
        if self._affine is None:
            why = why_not_affine(self._density_of_rows, self._columns)
            raise AttributeError(f"This {type(self).__name__} has no linear form: {why}.")
        return self._affine

    @property
    def coef_(self) -> Float:
        """Weights of the log-odds for two classes, (1, D); of ln p(C_k | x) up to a common term for K, (K, D)."""
        W = self._linear().W
        return W[1:] - W[:1] if len(W) == 2 else W

    @property
    def intercept_(self) -> Float:
        """Intercepts, which include ln p(C_k); (1,) for two classes and (K,) for more."""
        form = self._linear()
        w0 = form.w0 + log_probability(self.priors_)
        if len(w0) == 2:
            return np.asarray([w0[1] - w0[0]]) - (form.W[1:] - form.W[:1]) @ form.origin
        return w0 - form.W @ form.origin

    @property
    def families_(self) -> tuple[str, ...]:
        """Family of each column."""
        return tuple(self.facts_.families)

    @property
    def categories_(self) -> dict[str, Array]:
        """Values of each categorical column."""
        return {self._columns[d]: values for d, values in self.facts_.categories.items()}


def without_columns(facts: GroupedFacts, constant: tuple[tuple[int, float], ...]) -> GroupedFacts:
    """The statistics without some columns."""
    return facts.of_columns(lambda _, d: d not in dict(constant)) if constant else facts


#: p(x | C_k), the groups of the statistics, ln p(C_k), log prior of the parameters divided by the number of rows
#: (because the contributions of blocks are summed), and column names for errors.
Parameters = tuple[GroupedDensity, tuple[Group, ...], Float, float, Sequence[str]]


def expected_facts(block: Block, parameters: Parameters) -> Expectation[GroupedFacts]:
    """E step of one block: statistics weighted by p(C_k | x), and the log likelihood.                  PRML (9.13)"""
    density, groups, log_pi, log_prior_per_row, names = parameters
    n_rows, block = len(block), block.weighted()
    weight = np.ones(len(block)) if block.weight is None else block.weight
    joint = density.log_density(block.X, names) + log_pi
    labelled = block.codes != UNLABELLED
    evidence = logsumexp(joint, axis=1)
    total = np.where(labelled, joint[np.arange(len(joint)), block.codes], evidence)
    impossible = np.isneginf(evidence)  # the density is zero in all classes, so the responsibilities are the priors
    gamma = np.exp(np.where(impossible[:, None], log_pi, joint - np.where(impossible, 0.0, evidence)[:, None]))
    one_hot = np.arange(len(log_pi)) == block.codes[:, None]
    R = weight[:, None] * np.where(labelled[:, None], one_hot, gamma)
    parts = tuple(group.facts(group.of(block.X), R) for group in groups)
    facts = GroupedFacts(R.sum(axis=0), groups, parts)
    value = float(weight @ total) + log_prior_per_row * n_rows
    return Expectation(facts, value, float(weight.sum()))


Encoded = tuple[Any, dict[int, Array]]  # a numeric table, and the categories of each text column by its index


def encode_text(X: Any, known: Mapping[int, Array] | None = None) -> Encoded:
    """Replace each text by its index in ``known``; if None, by its index in the sorted texts of this table.

    A table without text is returned unchanged. Raises DataError if a column of ``known`` is not text.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return _encode_objects(X, known)
    X = as_table(X)
    if not nw.dependencies.is_into_dataframe(X):
        for d in known or ():
            raise _not_text(f"x{d}")
        return X, {}
    frame = as_frame(X)
    names = frame.columns
    if not all(isinstance(name, str) for name in names):  # pandas allows numbers as names; expressions do not
        plain = X.set_axis([f"x{d}" for d in range(len(names))], axis=1)
        coded_rows, found = encode_text(plain, known)
        return (coded_rows.set_axis(X.columns, axis=1) if found else X), found
    text = [d for d, kind in enumerate(frame.schema.dtypes()) if kind in (nw.String, nw.Categorical, nw.Enum)]
    for d in known or ():
        if d < len(names) and d not in text:
            raise _not_text(names[d])
    if known is not None:
        text = [d for d in text if d in known]  # opening the table raises an error for other text columns
    if not text:
        return X, {}
    found, coded = dict[int, Array](), []
    for d in text:
        texts = frame[names[d]].drop_nulls().cast(nw.String).unique().to_list() if known is None else ()
        found[d] = np.array(sorted(texts), dtype=str) if known is None else known[d]
        old = found[d].tolist() or [""]  # all values of the column may be missing
        new = [float(code) for code in range(len(old))]
        # With an expression, the data frame library replaces the texts by its own fast code.
        column = nw.col(names[d]).cast(nw.String)
        code = column.replace_strict(old, new, default=float(len(old)), return_dtype=nw.Float64)
        coded.append(nw.when(~nw.col(names[d]).is_null()).then(code).alias(names[d]))
    return frame.with_columns(*coded).to_native(), found


def _encode_objects(X: Array, known: Mapping[int, Array] | None) -> Encoded:
    """Encode an array of Python objects, in which a column is text if all values are strings or missing."""
    numbers, found = X, {}
    for d, column in enumerate(X.T):
        is_text = np.fromiter((isinstance(value, str) for value in column), bool, len(column))
        rest = column[~is_text]
        others = sum(not (v is None or (isinstance(v, float) and np.isnan(v))) for v in rest)
        if others and known is not None and d in known:
            raise _not_text(f"x{d}")
        if others or not is_text.any() or (known is not None and d not in known):
            continue
        texts = column[is_text].astype(str)
        found[d] = np.unique(texts) if known is None else known[d]
        numbers = X.copy() if numbers is X else numbers
        at = np.minimum(np.searchsorted(found[d], texts), len(found[d]) - 1)
        numbers[is_text, d] = np.where(found[d][at] == texts, at, len(found[d])).astype(np.float64)
    return numbers, found


def _not_text(name: str) -> DataError:
    return DataError(
        f"Column {name!r} contained text when the model was fitted, but not now. Pass it as text (strings or "
        "categoricals), in a data frame or an array of objects."
    )
