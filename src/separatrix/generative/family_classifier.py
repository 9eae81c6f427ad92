# SPDX-License-Identifier: BSD-3-Clause
"""What classifiers made of exponential families share: columns in groups of one family each.

A model says which groups there are (`Layout`); facts, parameters, EM, the linear form, and columns of text are here.
Probabilities are those of p(C_k) p(x | C_k)^τ, with τ = 1 unless a model is told to temper its likelihood (`temper`).

EM for rows without a label: in the E step a row counts for class k with weight p(C_k | x), in the M step parameters
follow from facts as ever. With a prior it is the log posterior that never falls, and that is what the trace holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from separatrix._arguments import check_option, check_positive
from separatrix._array import Array, Float, Rows, device_aware
from separatrix.data import Block, Source
from separatrix.data.labels import UNLABELLED
from separatrix.data.tensors import DeviceRows, on_host
from separatrix.exceptions import DataError
from separatrix.families import FactsError, NormalNormal
from separatrix.generative.affine import Affine, affine_form, why_not_affine
from separatrix.generative.classifier import GenerativeClassifier, class_priors
from separatrix.generative.conjugate import ESTIMATES, density_of, log_prior, prior_of
from separatrix.generative.em import Expectation, maximise_expectation
from separatrix.generative.groups import Group, GroupedDensity, GroupedFacts, device_facts, labelled_facts
from separatrix.generative.temper import check_temper, fit_temperature, tempered
from separatrix.generative.text import encode_text
from separatrix.shell import Training
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

    def _open_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        unlabelled: Any = "error",
        reset: bool = True,
        least_classes: int = 2,
        soft: bool = False,
        known: Array | None = None,
    ) -> Training:
        """As for any classifier, with columns of text as codes."""
        table, self._text = encode_text(X)
        self._known = None if reset else self.facts_.groups
        return super()._open_training(
            table,
            y,
            sample_weight,
            unlabelled=unlabelled,
            reset=reset,
            least_classes=least_classes,
            soft=soft,
            known=known,
        )

    def _map_rows(self, X: Any, row_function: Any, *, allow_nan: bool = False, read_once: bool = False) -> Array:
        """As for any classifier, with the texts seen at fit as codes."""
        table, _ = encode_text(X, self._texts)
        return super()._map_rows(table, row_function, allow_nan=allow_nan, read_once=read_once)

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
        look = partial(_first_look, groups=layout.groups, n_classes=n_classes, names=self._columns)
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

        def parameters(facts: GroupedFacts) -> _Parameters:
            density = self._densities_of(facts, "map", priors)
            pairs = zip(priors, density.densities, strict=True)
            share = sum(log_prior(prior, each) for prior, each in pairs if prior is not None) / source.n_rows
            log_pi = _log(class_priors(self.priors, self.classes_, facts.count))
            return _Parameters(density, log_pi, share, self._columns)

        solution = maximise_expectation(source, start, _expected, parameters)
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


class _Parameters(NamedTuple):
    density: GroupedDensity
    log_pi: Float
    log_prior: float  # shared out among the rows, so that it adds over blocks as the likelihood does
    names: Sequence[str]


@device_aware
def _first_look(block: Block, groups: tuple[Group, ...], n_classes: int, names: Sequence[str]) -> GroupedFacts:
    """Facts of each class, and of the rows without a label as one class more."""
    if isinstance(block.X, DeviceRows):
        facts = device_facts(block, groups, n_classes + 1)
        if facts is not None:
            return facts
        block = on_host(block)
    codes = np.where(block.codes == UNLABELLED, n_classes, block.codes)
    return labelled_facts(replace(block, t=codes), groups, n_classes + 1, names)


def _expected(block: Block, parameters: _Parameters) -> Expectation[GroupedFacts]:
    """The E step of one block: facts weighed by p(C_k | x), and the log likelihood of what was seen."""
    density, log_pi, log_prior, names = parameters
    weight = np.ones(len(block)) if block.weight is None else block.weight
    joint = density.log_density(block.X, names) + log_pi
    labelled = block.codes != UNLABELLED
    total = np.where(labelled, joint[np.arange(len(joint)), block.codes], logsumexp(joint, axis=1))
    hopeless = np.isneginf(total)  # impossible under every class, so far: nothing speaks for one or the other
    share = np.exp(np.where(hopeless[:, None], log_pi, joint - np.where(hopeless, 0.0, total)[:, None]))
    one_hot = np.arange(len(log_pi)) == block.codes[:, None]
    R = weight[:, None] * np.where(labelled[:, None], one_hot, share)
    parts = tuple(group.facts(group.of(block.X), R) for group in density.groups)
    facts = GroupedFacts(R.sum(axis=0), density.groups, parts)
    counted = weight > 0
    value = float(weight[counted] @ total[counted]) + log_prior * len(block)
    return Expectation(facts, value, float(weight.sum()))


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
