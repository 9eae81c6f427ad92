# SPDX-License-Identifier: BSD-3-Clause
"""Compute a posterior: choose a strategy from one table, and take its steps.

A *strategy* says what is kept of the posterior: one covariance of all weights, or less if there are many weights.
`STRATEGIES` lists them in the order in which they are considered. The first one that suits the problem is chosen,
unless the user names one (``structure=``). Every strategy takes the same steps in the same order:

    tune      the most probable scales of the prior, by evidence
    shape     one scale, a scale for each column, an alignment with their correlations, or both, by evidence
    fit       the best Gaussian that is affordable
    check     the errors of its probabilities and intervals; draws may replace it
    average   the average over the scales of the prior
    hold out  the averages and modes that predict held-out rows best

The table has a function for each step, or the reason why the strategy leaves it out; the plan that is returned
(`Plan`) shows both. The functions are in `joint` (all weights have one covariance) and `contrasts` (a part of it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._array import Float
from separatrix._text import counted
from separatrix.bayesian import costs
from separatrix.bayesian.arrow import largest_category
from separatrix.bayesian.by_class import has_cheap_shape
from separatrix.bayesian.contrasts import (
    MANY_ROWS_PER_WEIGHT,
    MAX_COUPLED_WEIGHTS,
    check_by_class,
    fit_by_class,
    fit_laplace,
    fit_mean_field,
    retune_contrasts,
    scale_columns,
    tune_contrasts,
    tune_levels,
    tune_one_scale,
)
from separatrix.bayesian.evidence import MIN_ROTATED_COLUMNS, FitLaplace, Levels, prior_scales
from separatrix.bayesian.hold_out import hold_out, hold_out_mean_field, narrow_rare_columns
from separatrix.bayesian.joint import average_joint, check_joint, fit_joint, retune_joint, shape_joint, tune_joint
from separatrix.bayesian.plan import STEPS, Plan, PlanStep
from separatrix.bayesian.record import Inference, Options, has_contrasts
from separatrix.bayesian.structures import (
    MAX_FULL_WEIGHTS,
    DualApproximation,
    fits_into_memory,
    memory_needed,
    require_memory,
)
from separatrix.bayesian.variational import estimated_by_class_seconds
from separatrix.exceptions import DataError
from separatrix.solvers import MAX_JOINT_WEIGHTS, Posterior, dual, is_wide

METHODS = ("auto", "laplace", "variational", "ep", "importance", "hmc")

# Numbers of weights
MAX_LEVEL_WEIGHTS = 1000  # largest number for which groups have scales with the full covariance; a fit takes seconds
MIN_COUPLED_ROWS = 25  # rows per weight of K classes, above which Laplace's full covariance is accurate and quicker
MAX_COUPLED_CLASSES = 10  # largest K for which it is quicker: the Hessian takes K²/2 Gram matrices instead of K

ONE_SCALE = (
    "The prior has one scale for all columns: to tune a scale for each of {n_groups} groups, the full precision of the "
    "posterior is factorised many times, and {n_weights} weights are more than {limit}."
)

Step = Callable[[Inference, Options], Inference]


@dataclass(frozen=True)
class Case:
    """An objective and the options, with what the choice of a strategy depends on."""

    objective: Posterior
    options: Options

    @property
    def groups(self) -> tuple[Any, ...]:
        """Labels of the columns; empty if they are None or a text."""
        groups = self.options.groups
        return () if isinstance(groups, str) else tuple(groups or ())

    @property
    def n_weights(self) -> int:
        """Number of weights of all outputs."""
        return int(np.prod(self.objective.shape))

    @property
    def is_auto(self) -> bool:
        """Whether the method is chosen by the posterior."""
        return self.options.method == "auto"

    @property
    def has_contrasts(self) -> bool:
        """Whether there are K classes with the same prior."""
        return has_contrasts(self.objective)

    @property
    def max_grouped_weights(self) -> int:
        """Number of weights up to which groups have scales of their own under the full covariance."""
        can_neglect = self.is_auto and self.has_contrasts and has_cheap_shape(self.objective)
        has_levels = any(isinstance(label, Levels) for label in self.groups)
        return MAX_LEVEL_WEIGHTS if has_levels or can_neglect else MAX_FULL_WEIGHTS

    @property
    def has_many_groups(self) -> bool:
        """Whether groups are tuned, and there are too many weights for their scales under the full covariance."""
        return bool(self.options.tune and self.groups) and self.n_weights > self.max_grouped_weights

    @property
    def is_dual(self) -> bool:
        """Whether the span of the rows is smaller than K matrices of the columns."""
        objective = self.objective
        N, K, M = objective.n_repeats, objective.shape[0], len(objective.design.origin)
        is_costly = self.is_auto and self.has_contrasts and N * K > MAX_LEVEL_WEIGHTS and M**3 < K**2 * N**3
        return is_wide(objective) and not is_costly and not self.is_costly_dual

    def is_too_costly(self, seconds: float, size: float) -> str:
        """Whether one covariance of sparse rows costs too much, and independent weights are possible; if so, why."""
        options, objective = self.options, self.objective
        methods = ("auto", "laplace") if objective.shape[0] == 1 else ("auto",)
        is_simple = options.method in methods and options.groups is None and not options.is_batch
        if objective.units.has_fast_products or not is_simple or _mean_field_needs(self):
            return ""
        if costs.is_affordable(objective, seconds, size):
            return ""
        return f"it would take about {seconds:.2g} seconds and {size / 1e9:.2g} GB, and rows are sparse"

    @property
    def is_costly_dual(self) -> str:
        """Why a covariance in the span of the rows costs too much, if it does."""
        N, K = self.objective.source.n_rows, self.objective.shape[0]
        size = memory_needed(self.objective, "dual") + costs.joint_bytes(0, N)
        return self.is_too_costly(costs.joint_seconds(N, K * N), size)

    @property
    def neglects_coupling(self) -> str:
        """Empty if "auto" neglects coupling between contrasts of classes; otherwise the reason why not."""
        options, K, size = self.options, self.objective.shape[0], self.n_weights
        if not self.has_contrasts:
            return "there are two classes" if K == 1 else "the classes have different priors"
        if size <= MAX_COUPLED_WEIGHTS:
            return f"{size} weights are at most {MAX_COUPLED_WEIGHTS}"
        if self.is_dual:
            return "there are fewer rows than columns"
        is_few = size <= MAX_JOINT_WEIGHTS and K <= MAX_COUPLED_CLASSES
        if is_few and MIN_COUPLED_ROWS * size <= self.objective.n_repeats:
            return f"there are at least {MIN_COUPLED_ROWS} rows per weight"
        if options.groups is not None or not self.is_auto or options.is_batch:
            return "groups, an approximation or a batch need the full covariance"
        return ""


# -- when a strategy is possible, and when it suits; the reason if not ---------------------------------------------


def _arrow_needs(case: Case) -> str:
    is_possible = case.options.tune and case.options.method in ("auto", "laplace")
    levels = (
        largest_category(case.groups, case.objective.shape[0]) if case.objective.likelihood.is_log_concave else None
    )
    return "" if is_possible and levels is not None else "two classes and a tuned prior with a category of many levels"


def _arrow_suits(case: Case) -> str:
    if not case.has_many_groups:
        return "no category has many levels" if not case.groups else "the full covariance has few enough weights"
    return _arrow_needs(case) and f"it needs {_arrow_needs(case)}"


def _dual_needs(case: Case) -> str:
    return "" if is_wide(case.objective) else "fewer rows than columns, and a prior with mean 0 and independent weights"


def _dual_suits(case: Case) -> str:
    if not is_wide(case.objective):
        return f"it needs {_dual_needs(case)}"
    if why := case.is_costly_dual:
        return why
    if not case.is_dual:
        return "K matrices of the columns take less time than one of all rows and classes"
    is_simple = case.options.groups is None and case.options.method in ("auto", "laplace")
    is_tuned = case.options.tune and is_simple and len(case.objective.design.origin) >= MIN_ROTATED_COLUMNS
    if is_tuned or (case.n_weights > MAX_FULL_WEIGHTS and fits_into_memory(case.objective, "dual")):
        return ""
    return "the full covariance is affordable"


def _by_class_needs(case: Case) -> str:
    return "" if case.objective.shape[0] > 1 else "more than two classes"


def _by_class_suits(case: Case) -> str:
    objective = case.objective
    if case.has_many_groups:
        return "" if case.is_auto and case.has_contrasts and has_cheap_shape(objective) else "too many weights"
    if not case.neglects_coupling:
        has_fast_products = objective.units.has_fast_products
        limit = costs.BUDGET if has_fast_products else costs.LIMITS["quick"]
        seconds = estimated_by_class_seconds(objective)
        is_determined = objective.n_repeats >= MANY_ROWS_PER_WEIGHT * case.n_weights
        return "" if is_determined or seconds <= limit else f"it would take about {seconds:.0f} seconds"
    (C, P), is_large = objective.shape, case.n_weights > MAX_FULL_WEIGHTS
    is_possible = is_large and C > 1 and P <= MAX_FULL_WEIGHTS and fits_into_memory(objective, "by class")
    return "" if is_possible else case.neglects_coupling


def _mean_field_needs(case: Case) -> str:
    objective = case.objective
    is_scalar = objective.shape[0] == 1 and objective.likelihood.is_log_concave and objective.prior.precision.ndim == 1
    return "" if case.has_contrasts or is_scalar else "a prior of independent weights, equal for all classes"


def _mean_field_suits(case: Case) -> str:
    if case.objective.shape[0] > 1:
        return case.neglects_coupling
    if needs := _mean_field_needs(case):
        return f"it needs {needs}"
    return "" if _full_suits(case) else "the full covariance is affordable"


def _full_suits(case: Case) -> str:
    objective, (C, P) = case.objective, case.objective.shape
    if case.n_weights <= MAX_FULL_WEIGHTS:
        N = objective.source.n_rows
        if C > 1 or objective.n_repeats >= MIN_COUPLED_ROWS * P:
            return ""
        return case.is_too_costly(costs.joint_seconds(N, P), costs.joint_bytes(N, P))
    is_dense = C == 1 and P <= 2 * MAX_FULL_WEIGHTS and objective.units.has_fast_products
    if is_dense and fits_into_memory(objective, "full"):
        return ""  # the only alternative is diagonal
    return f"{case.n_weights} weights are more than {MAX_FULL_WEIGHTS}"


# -- the span of few rows -----------------------------------------------------------------------------------------


def _into_span(found: Inference, options: Options) -> tuple[Inference, Options]:
    """Return the posterior in the span of the rows, because the likelihood does not change the weights outside it.

    With many rows and K classes, even these weights are too many for one covariance, and ``structure`` is "by class".
    """
    objective, rarity, factors = narrow_rare_columns(found.objective, options)
    options = replace(options, scales_rare_columns=False, rarity=rarity, rare_factors=factors)
    solution, gaussian = FitLaplace(options.tol).solve(objective, found.start, "dual")
    assert isinstance(gaussian, DualApproximation), "in the span of the rows"
    thin = gaussian.thin
    found = replace(found, objective=dual(objective).objective, approximation=thin, solution=solution, whole=gaussian)
    return replace(found, structure=thin.structure, start=thin.mean), replace(options, wide=objective, aligns=False)


def _shape_in_span(found: Inference, options: Options) -> Inference:
    """Describe the prior, which was chosen before the rows were mapped to their span."""
    if options.rarity == 0.0:
        return found.did("in the span of the rows, the prior has one scale")
    return found.did(f"scales proportional to the spread of rare columns to the power {options.rarity:g}")


def _out_of_span(found: Inference, options: Options) -> Inference:
    """Return the posterior of all weights: the prior outside the span of the rows."""
    objective, whole, factor = options.wide, found.whole, 1.0
    assert objective is not None, "the objective of all weights"
    assert whole is not None, "the posterior that the inference started from"
    if found.tuning is not None:
        factor = float(found.tuning.factors[0])
        of_columns = np.full(len(objective.design.origin), factor)
        found = replace(found, tuning=replace(found.tuning, column_factors=of_columns), factors=of_columns)
        objective = replace(objective, prior=prior_scales(objective).prior(np.log([factor])))
    factors = np.full(len(objective.design.origin), factor)
    factors = factors if options.rare_factors is None else factors * options.rare_factors
    if found.at_mode is not None:
        found = replace(found, at_mode=replace(whole, thin=found.at_mode, outside=factor**2))
    gaussian = replace(whole, thin=found.gaussian, outside=factor**2 * found.widening)
    return replace(found, objective=objective, approximation=gaussian, factors=factors)


def _either(joint: Step, by_class: Step | str) -> Step:
    """Return the step of a posterior with one covariance, and the other one if there are too many weights for it."""

    def step(found: Inference, options: Options) -> Inference:
        chosen = joint if found.structure == "full" else by_class
        return found.did(chosen) if isinstance(chosen, str) else chosen(found, options)

    return step


# -- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strategy:
    """A row of the table: what is kept of a posterior, for which problems, and how.

    ``needs`` returns what the strategy needs and the problem does not have, and ``suits`` why it is not chosen; both
    are empty if there is no reason. A step is a function, or the reason why it is left out.
    """

    name: str
    keeps: str
    chosen_for: str
    needs: Callable[[Case], str]
    suits: Callable[[Case], str]
    tune: Step | str
    shape: Step | str
    fit: Step | str
    check: Step | str
    average: Step | str
    hold_out: Step | str

    def step(self, name: str) -> Step | str:
        """Return a step by its name in `STEPS`."""
        found: Step | str = getattr(self, name.replace(" ", "_"))
        return found


DETERMINED = "hundreds of weights determine the scale to a few hundredths"
NOT_REFITTED = "posteriors of a category with many levels are not fitted to parts of the rows"
WITH_SCALES = "chosen with the scales"
TOO_LARGE = "draws of so many weights would take too long"

STRATEGIES = (
    Strategy(
        "arrow",
        "the exact covariance of weights of which most are levels of one category",
        "two classes and a category with many levels",
        needs=_arrow_needs,
        suits=_arrow_suits,
        tune=tune_levels,
        shape="the columns have scales by group",
        fit=fit_laplace,
        check=TOO_LARGE,
        average=DETERMINED,
        hold_out=NOT_REFITTED,
    ),
    Strategy(
        "dual",
        "the covariance of the weights in the span of the rows; other directions have their prior",
        "fewer rows than columns",
        needs=_dual_needs,
        suits=_dual_suits,
        tune=_either(tune_joint, tune_contrasts),
        shape=_shape_in_span,
        fit=_either(fit_joint, fit_by_class),
        check=_either(check_joint, check_by_class),
        average=_either(average_joint, DETERMINED),
        hold_out=hold_out,
    ),
    Strategy(
        "by class",
        "K covariances of the columns, without coupling between contrasts of classes",
        f"K classes and more than {MAX_COUPLED_WEIGHTS} weights",
        needs=_by_class_needs,
        suits=_by_class_suits,
        tune=tune_contrasts,
        shape=WITH_SCALES,
        fit=fit_by_class,
        check=check_by_class,
        average=DETERMINED,
        hold_out=partial(hold_out, retune=retune_contrasts),
    ),
    Strategy(
        "mean field",
        "independent weights; of K classes, along each of their contrasts",
        "so many columns that their covariance would take too long",
        needs=_mean_field_needs,
        suits=_mean_field_suits,
        tune=tune_contrasts,
        shape=scale_columns,
        fit=fit_mean_field,
        check="held-out rows check the averages",
        average=DETERMINED,
        hold_out=partial(hold_out_mean_field, retune=retune_contrasts),
    ),
    Strategy(
        "full",
        "the covariance of all weights",
        f"at most {MAX_FULL_WEIGHTS} weights",
        needs=lambda case: "",
        suits=_full_suits,
        tune=tune_joint,
        shape=shape_joint,
        fit=fit_joint,
        check=check_joint,
        average=average_joint,
        hold_out=partial(hold_out, retune=retune_joint),
    ),
    Strategy(
        "diagonal",
        "independent weights",
        "everything else",
        needs=lambda case: "",
        suits=lambda case: "",
        tune=tune_one_scale,
        shape="independent weights have one scale",
        fit=fit_laplace,
        check=TOO_LARGE,
        average=DETERMINED,
        hold_out=hold_out,
    ),
)
STRUCTURES = tuple(strategy.name for strategy in STRATEGIES)


def choose_strategy(case: Case) -> tuple[Strategy, Plan]:
    """Return the strategy that the user names, or the first one that suits, and the beginning of its plan."""
    named = case.options.structure
    others: list[tuple[str, str]] = []
    for strategy in STRATEGIES:
        if named is None and not (why := strategy.suits(case)):
            return strategy, Plan(strategy.name, strategy.keeps, f"for {strategy.chosen_for}", (), tuple(others))
        if named is None:
            others.append((strategy.name, why))
        if named == strategy.name:
            _require_possible(case, strategy)
            return strategy, Plan(strategy.name, strategy.keeps, f"structure={named!r} was requested")
    raise ValueError(
        f"structure={named!r} is not a strategy. Choose one of {', '.join(map(repr, STRUCTURES))}, or None."
    )


def _require_possible(case: Case, strategy: Strategy) -> None:
    """Raise if the strategy that the user names is not possible."""
    objective, name = case.objective, strategy.name
    if needs := strategy.needs(case):
        n_rows, n_columns = objective.source.n_rows, len(objective.design.origin)
        raise DataError(
            f"structure={name!r} needs {needs}; there are {counted(n_rows, 'row')}, {counted(n_columns, 'column')} and "
            f"{counted(max(2, objective.shape[0]), 'class')}. Use structure=None, or another structure."
        )
    require_memory(
        objective, name, instead=choose_strategy(replace(case, options=replace(case.options, structure=None)))[0].name
    )


def infer(objective: Posterior, options: Options, start: Float | None = None) -> Inference:
    """Compute the posterior, with tuning and with a better approximation according to the options.

    The search for the mode starts at ``start`` (C, P), by default zero.
    """
    _require_digits_of_prior(objective)
    notes: tuple[str, ...] = ()
    case = Case(objective, options)
    strategy, plan = choose_strategy(case)
    if options.structure is None and case.has_many_groups and strategy.name not in ("arrow", "by class"):
        n_groups = len(set(case.groups))
        notes = (ONE_SCALE.format(n_groups=n_groups, n_weights=case.n_weights, limit=case.max_grouped_weights),)
        options = replace(options, groups=None)
        strategy, plan = choose_strategy(Case(objective, options))
    _require_supported(strategy, Case(objective, options))
    zero = np.zeros(objective.shape)
    factors = np.ones(len(objective.design.origin))
    start = zero if start is None else start
    found = Inference(objective, start, factors, strategy.name, groups=options.groups)
    passes = objective.source.passes
    if strategy.name == "dual":
        found, options = _into_span(found, options)
    for name in STEPS:
        step = strategy.step(name)
        if not options.tune and name in ("tune", "shape", "average"):
            step = "the prior is stated"
        found = found.did(step) if isinstance(step, str) else step(found, options)
        log_evidence = np.nan if found.approximation is None else float(found.approximation.log_evidence)
        before, passes = passes, objective.source.passes
        candidates = found.candidates if name == "hold out" else ()
        plan = plan.then(PlanStep(name, found.outcome, log_evidence, passes - before, candidates))
    found = found if found.whole is None else _out_of_span(found, options)
    return replace(found, notes=(*found.notes, *notes), plan=plan)


def _require_supported(strategy: Strategy, case: Case) -> None:
    """Raise if a strategy that keeps a part of the covariance is to use a method, or groups, that need all of it."""
    (C, P), options, name = case.objective.shape, case.options, strategy.name
    if name == "full":
        return
    if options.method not in ("auto", "laplace"):
        raise DataError(
            f"approximation={options.method!r} needs the full covariance, and {C} x {P} weights have structure "
            f"{name!r}. Use approximation='laplace'."
        )
    has_scales = name == "arrow" or (name == "by class" and case.has_contrasts)
    if options.tune and options.groups is not None and not has_scales:
        raise DataError(f"A posterior with structure {name!r} has one scale to tune; leave groups=None.")


def _require_digits_of_prior(objective: Posterior) -> None:
    """Raise if rounding errors hide the prior of K classes, which alone determines the mean over classes."""
    K, total = objective.shape[0], objective.units.total
    if K > 1 and np.spacing(total) > 1:  # nats
        raise DataError(
            f"The sample weights add up to {total:.1g}, so that their rounding error hides the prior of {K} classes. "
            "Divide the sample weights by a constant."
        )
