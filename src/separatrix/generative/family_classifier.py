# SPDX-License-Identifier: BSD-3-Clause
"""What classifiers made of exponential families share: columns in groups of one family each.

A model says which groups there are (`Layout`); parameters, EM, the linear form, and columns of text are here, and what
a block adds to the facts is in `family_facts`. Probabilities are those of p(C_k) p(x | C_k)^τ, with τ = 1 unless a
model is told to temper its likelihood (`temper`). With a prior, what EM never lowers is the log posterior, and that is
what its trace holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._arguments import check_option, check_positive
from separatrix._array import Array, Float, Rows
from separatrix.exceptions import DataError
from separatrix.families import FactsError, NormalNormal
from separatrix.generative.affine import Affine, affine_form, why_not_affine
from separatrix.generative.classifier import GenerativeClassifier, class_priors
from separatrix.generative.conjugate import ESTIMATES, density_of, log_prior, prior_of
from separatrix.generative.em import maximise_expectation
from separatrix.generative.family_facts import Parameters, expected_facts, first_look
from separatrix.generative.groups import Group, GroupedDensity, GroupedFacts
from separatrix.generative.temper import check_temper, fit_temperature, tempered
from separatrix.generative.text import encode_text
from separatrix.rows import Source
from separatrix.solvers import Solution, Status
from separatrix.stats import require_finite, require_squares

__all__ = ["FamilyClassifier", "Layout"]


def _as_they_are(facts: GroupedFacts) -> GroupedFacts:
    return facts


class Layout(NamedTuple):
    """Groups of columns, how many passes it took to find them, and what to keep where they compete for columns."""

    groups: tuple[Group, ...]
    passes: int = 0
    settle: Callable[[GroupedFacts], GroupedFacts] = _as_they_are


class FamilyClassifier(GenerativeClassifier):
    """What classifiers made of exponential families share."""

    estimate: str = "map"
    pseudo_count: Any = 1.0
    temper: Any = False

    # -- what a model provides -----------------------------------------------------------------------------------

    @abstractmethod
    def _layout(self, source: Source) -> Layout:
        """The groups of columns whose facts are to be collected."""

    def _density(self, family: str, facts: Any, estimate: str, prior: Any) -> Any:
        """p(x | C_k) of one group."""
        return density_of(family, facts, estimate, prior)

    def _check_arguments(self) -> None:
        name = type(self).__name__
        check_option(name, "estimate", self.estimate, ESTIMATES)
        check_positive(name, "pseudo_count", self.pseudo_count)
        check_temper(name, self.temper)

    def _require_mergeable(self) -> None:
        name = type(self).__name__
        if check_temper(name, self.temper) is None:
            raise DataError(
                f"{name}(temper=True) needs all rows at once: its exponent belongs to the final densities, and takes "
                "passes over every row that made them. Give all rows to fit, or fix the exponent: temper=<a number>."
            )

    # -- opening tables ------------------------------------------------------------------------------------------

    def _training_table(self, X: Any, *, reset: bool) -> Any:
        """Columns of text as codes."""
        table, self._text = encode_text(X)
        self._known = None if reset else self.facts_.groups
        return table

    def _table(self, X: Any) -> Any:
        """Columns of text as the codes they had in the fit."""
        return encode_text(X, self._texts)[0]

    @property
    def _texts(self) -> dict[int, Array]:
        """The categories of each column that is text."""
        return {d: values for d, values in self.facts_.categories.items() if values.dtype.kind == "U"}

    # -- facts -----------------------------------------------------------------------------------------------------

    def _collect(self, source: Source, n_classes: int, *, whole: bool = True) -> Solution[Any]:
        """One pass (one more to survey the columns where families are to be found); then EM for rows without label."""
        self._columns = source.columns
        layout = Layout(self._known) if self._known is not None else self._layout(source)
        _require_categorical(layout.groups, self._text, self._columns)
        look = partial(first_look, groups=layout.groups, n_classes=n_classes, names=self._columns)
        # Sums of columns are cheap next to the bookkeeping of a block, so the blocks are four times as tall as usual.
        first = source.sized_for(max(1, len(self._columns) // 4)).reduce(look)
        if not first.is_finite:
            require_finite(source, allow_nan=True)
            require_squares(source)
        facts = layout.settle(first.of_classes(slice(n_classes)))
        solution = Solution(facts, Status.SOLVED, 1, 1 + layout.passes)
        if first.count[n_classes] > 0:
            everyone = first.of_columns(partial(_has, facts.groups))
            solution = self._run_em(source, facts, everyone, solution.passes)
        if check_temper(type(self).__name__, self.temper) is None:
            solution = self._fit_temperature(source, solution, float(first.count[:n_classes].sum()))
        return replace(solution, value=solution.value.renamed(self._text))

    def _run_em(self, source: Source, start: GroupedFacts, everyone: GroupedFacts, passes: int) -> Solution[Any]:
        """EM from what the labelled rows say. The prior, made of all rows, is fixed; its log is part of the trace."""
        priors = tuple(None if isinstance(prior, NormalNormal) else prior for prior in self._priors_of(everyone))

        def parameters(facts: GroupedFacts) -> Parameters:
            density = self._densities_of(facts, "map", priors)
            pairs = zip(priors, density.densities, strict=True)
            share = sum(log_prior(prior, each) for prior, each in pairs if prior is not None) / source.n_rows
            log_pi = _log(class_priors(self.priors, self.classes_, facts.count))
            return Parameters(density, log_pi, share, self._columns)

        solution = maximise_expectation(source, start, expected_facts, parameters)
        return replace(solution, passes=solution.passes + passes)

    def _fit_temperature(self, source: Source, solution: Solution[Any], n_labelled: float) -> Solution[Any]:
        """Set τ for the densities that follow from the facts; its passes are added to the bill."""
        facts = solution.value
        density = self._densities_of(facts, self.estimate, self._priors_of(facts))
        log_pi = _log(class_priors(self.priors, self.classes_, facts.count))
        log_likelihood = partial(density.log_density, names=self._columns)
        found = fit_temperature(source, log_likelihood, log_pi, float(self.pseudo_count) / n_labelled)
        self.temperature_ = found.value
        return replace(solution, passes=solution.passes + found.passes)

    # -- parameters ------------------------------------------------------------------------------------------------

    def _estimate(self, facts: GroupedFacts) -> None:
        self._density_of_rows = self._densities_of(facts, self.estimate, self._priors_of(facts))
        self.densities_ = dict(zip((g.family for g in facts.groups), self._density_of_rows.densities, strict=True))
        given = check_temper(type(self).__name__, self.temper)
        self.temperature_ = self.temperature_ if given is None else given
        form = affine_form(self._density_of_rows)
        self._affine = None if form is None else form.scaled(self.temperature_)

    def _priors_of(self, facts: GroupedFacts) -> tuple[Any, ...]:
        """The conjugate prior of each group."""
        if self.estimate == "ml":
            return (None,) * len(facts.groups)
        pairs = zip(facts.groups, facts.parts, strict=True)
        return tuple(
            self._named(group, prior_of, group.family, part, float(self.pseudo_count)) for group, part in pairs
        )

    def _densities_of(self, facts: GroupedFacts, estimate: str, priors: Sequence[Any]) -> GroupedDensity:
        """One density for each group; by maximum likelihood where it has no prior."""
        seen = facts.count > 0
        if None in priors:  # a class still to come has probability zero: any density will do, so it borrows one
            facts = facts.of_classes(seen)
        triples = zip(facts.groups, facts.parts, priors, strict=True)
        densities = tuple(
            self._named(group, self._density, group.family, part, "ml" if prior is None else estimate, prior)
            for group, part, prior in triples
        )
        if None in priors and not seen.all():
            lender = np.maximum(np.cumsum(seen) - 1, 0)
            densities = tuple(density[lender] for density in densities)
        return GroupedDensity(facts.groups, densities)

    def _named(self, group: Group, function: Any, *arguments: Any) -> Any:
        """``function(*arguments)``; where facts have no answer, the error names classes and columns."""
        try:
            return function(*arguments)
        except FactsError as error:
            said = error.describe(self.classes_.tolist(), group.names(self._columns))
            raise DataError(f"Family {group.family!r}: {said}") from None

    # -- using -----------------------------------------------------------------------------------------------------

    def _log_likelihood(self, X: Rows) -> Float:
        return self._density_of_rows.log_density(X, self._columns)

    def _scores(self, X: Rows) -> Float:
        """ln p(C_k) + τ ln p(x | C_k): the linear form where there is one, and no gap in the row."""
        if self._affine is None:
            return self._tempered_joint(X)
        for group in self._density_of_rows.groups:
            group.checked(X, self._columns)
        a = self._affine.scores(X) + _log(self.priors_)
        gaps = np.isnan(a).any(axis=1)
        if gaps.any():
            a[gaps] = self._tempered_joint(X[gaps])
        return a

    def _tempered_joint(self, X: Rows) -> Float:
        return np.asarray(tempered(self._log_likelihood(X), self.temperature_) + _log(self.priors_))

    def _draw(self, k: int, size: int, rng: np.random.Generator) -> Array:
        rows = self._density_of_rows.draw(k, size, rng)
        texts = self._texts
        if texts:
            rows = rows.astype(object)
        for d, categories in texts.items():
            rows[:, d] = categories[rows[:, d].astype(np.intp)]
        return rows

    def _linear(self) -> Affine:
        if self._affine is None:
            why = why_not_affine(self._density_of_rows, self._columns)
            raise AttributeError(f"This {type(self).__name__} has no linear form: {why}.")
        return self._affine

    @property
    def coef_(self) -> Float:
        """w of the log-odds, (1, D), for two classes; of ln p(C_k | x), up to a term all classes share, for more."""
        W = self._linear().W
        return W[1:] - W[:1] if len(W) == 2 else W

    @property
    def intercept_(self) -> Float:
        """w0, with ln π."""
        form = self._linear()
        w0 = form.w0 + _log(self.priors_)
        if len(w0) == 2:
            return np.asarray([w0[1] - w0[0]]) - (form.W[1:] - form.W[:1]) @ form.origin
        return w0 - form.W @ form.origin

    @property
    def families_(self) -> tuple[str, ...]:
        """The family of each column."""
        families: tuple[str, ...] = self.facts_.families
        return families

    @property
    def categories_(self) -> dict[str, Array]:
        """The values of each categorical column."""
        return {self._columns[d]: values for d, values in self.facts_.categories.items()}


def _require_categorical(groups: Sequence[Group], text: dict[int, Array], names: Sequence[str]) -> None:
    for group in groups:
        wrong = [d for d in group.columns if d in text and group.family != "categorical"]
        if wrong:
            raise DataError(
                f"Column {names[wrong[0]]!r} holds text ({', '.join(map(repr, text[wrong[0]][:3].tolist()))}, ...), so "
                f"its family can only be 'categorical', not {group.family!r}. Change the family, or give numbers."
            )


def _has(groups: Sequence[Group], family: str, d: int) -> bool:
    return any(group.family == family and d in group.columns for group in groups)


def _log(probability: Float) -> Float:
    """ln, with ln 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(probability)
