# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a model, its reasons, and how optimistic the score of the chosen model is.

The simplest model within one standard error of the best on the scored rows is chosen, unless the evidence of the
labels rules it out: its log evidence is ln 20 nats (odds of 20 to 1) or more below the largest of these models. Only
evidences of the same rows are compared, and a model without such an evidence cannot be ruled out. The class proportions
are preferred within two standard errors, because the best of many useless models often is one better by chance.

A combination of models replaces this model only if it is better than both this model and the best one, by more than two
standard errors of the difference, because one model explains better than three.

**Optimism.** The best of several scores is too good, because the same rows were used to choose it. The choice is
therefore repeated on bootstrap samples of the rows, and each time the rows that are not in the sample score the model
chosen without them (Tsamardinos, Greasidou & Borboudakis 2018). In rows l_k of log-likelihoods of model k,

    optimism = mean over samples of  [ mean of l_c  -  mean of l_k* ]  over the rows out of the sample

with the model c chosen on all rows, and the model k* chosen on the sample. No model is fitted again. The difference of
a row is limited to 3 nats: a single row with a probability near zero would otherwise dominate the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from separatrix._array import Codes, Float
from separatrix._text import decimals, enumerated
from separatrix.comparison import MAX_ROW_NATS, MIN_SHOWN_NATS, Comparison, Trial
from separatrix.exceptions import DataError
from separatrix.metrics import Estimate
from separatrix.study.candidates import MODELS, PRIOR
from separatrix.study.combination import Combination, in_words
from separatrix.study.records import NOTHING_BEATS, TIME_RAN_OUT, Choice

NEAR_IN_STD, PRIOR_IN_STD = 1.0, 2.0  # standard errors behind the best, up to which a simpler model is preferred
COMBINED_IN_STD = 2.0  # standard errors that a combination must be better than the chosen model
MIN_LEAD_NATS = float(np.log(20))
N_BOOTSTRAP, MAX_BOOTSTRAP_CELLS = 200, 1e8  # samples; fewer for very many rows and models
MIN_ROW_NATS = -1e300  # a probability of zero; finite, so that a row that is not in a bootstrap sample counts as zero


@dataclass(frozen=True)
class Scoreboard:
    """Log-likelihoods L (N, K) of the scored rows, and what else decides: evidence (K,) and order by simplicity (K,).

    The evidence is NaN if it cannot be compared. ``width`` (K,) is the number of standard errors behind the best, up to
    which a model counts as equally good. ``combined`` (N,) are the log-likelihoods of a combination, if there is one.
    In all methods, each row counts ``times`` (N,): its weight, times its number in a bootstrap sample.
    """

    L: Float
    evidence: Float
    complexity: Codes
    width: Float
    combined: Float | None = None

    @classmethod
    def of(cls, trials: Sequence[Trial], combined: Trial | None = None) -> Self:
        names = [trial.name for trial in trials]
        return cls(
            np.maximum(np.column_stack([np.asarray(trial.test.rows) for trial in trials]), MIN_ROW_NATS),
            np.array([trial.evidence.log_evidence if trial.evidence.of_labels else np.nan for trial in trials]),
            _complexity(names),
            np.array([PRIOR_IN_STD if name == PRIOR else NEAR_IN_STD for name in names]),
            None if combined is None else np.maximum(np.asarray(combined.test.rows), MIN_ROW_NATS),
        )

    def best(self, times: Float) -> int:
        """Column of the model with the largest mean."""
        return int((times @ self.L).argmax())

    def near(self, times: Float) -> Codes:
        """Columns of the models that count as equally good as the best."""
        behind = self.L[:, [self.best(times)]] - self.L
        limit = np.maximum(self.width * _standard_error(behind, times), MIN_SHOWN_NATS)
        return np.flatnonzero(times @ behind / times.sum() <= limit)

    def simplest(self, times: Float) -> int:
        """Column of the simplest model that is near the best and that the evidence does not rule out."""
        near = self.near(times)
        gap = np.nan_to_num(np.nanmax(self.evidence[near], initial=-np.inf) - self.evidence[near], nan=0.0)
        left = near[gap < MIN_LEAD_NATS]  # a model without a comparable evidence cannot be ruled out
        return int(left[self.complexity[left].argmin()])

    def lead_of_combination(self, times: Float) -> tuple[int, Estimate]:
        """Lead of the combination over the best and the simplest model: the less clear lead, and the column."""
        assert self.combined is not None, "there is a combination"
        over = [self.best(times), self.simplest(times)]
        lead = self.combined[:, None] - self.L[:, over]
        mean, error = times @ lead / times.sum(), _standard_error(lead, times)
        least = int((mean - COMBINED_IN_STD * error).argmin())
        return over[least], Estimate(float(mean[least]), float(error[least]))

    def chosen_rows(self, times: Float) -> Float:
        """Log-likelihoods (N,) of the model that is chosen."""
        if self.combined is not None and is_clear(self.lead_of_combination(times)[1]):
            return self.combined
        return np.asarray(self.L[:, self.simplest(times)])


def is_clear(lead: Estimate) -> bool:
    """Whether a combination with this lead is chosen."""
    return lead.value > max(COMBINED_IN_STD * lead.standard_error, MIN_SHOWN_NATS)


def _standard_error(difference: Float, times: Float) -> Float:
    """Standard error of each column's mean (K,), with the limit on the difference of a row of `Comparison`."""
    n, limited = times.sum(), np.clip(difference, -MAX_ROW_NATS, MAX_ROW_NATS)
    variance = times @ limited**2 / n - (times @ limited / n) ** 2
    return np.asarray(np.sqrt(np.maximum(variance, 0.0) / max(n - 1, 1)))


def _weights(comparison: Comparison) -> Float:
    """Weights of the scored rows, (N,)."""
    given = comparison.test_weight
    return np.ones(len(comparison.test_rows)) if given is None else given


def choose(comparison: Comparison, combination: Combination | None = None) -> Choice:
    """Choose a model, with reasons; raises DataError if no model could be fitted."""
    scored = _scored(comparison)
    if not scored:
        why = " ".join(f"{trial.name}: {trial.failure}" for trial in comparison)
        raise DataError(
            f"No model could be fitted to this table. {why}",
            remedy="Leave out the columns that these reasons name: types={COLUMN: 'drop'}.",
            option="Leave out the columns that these reasons name: --drop COLUMN.",
        )
    board, once = Scoreboard.of(scored, combination and combination.trial), _weights(comparison)
    single, near = scored[board.simplest(once)], [scored[k] for k in board.near(once)]
    chosen, reasons = single, [*_reasons(comparison, scored, near, single)]
    if combination is not None:
        over, lead = board.lead_of_combination(once)
        chosen = combination.trial if is_clear(lead) else single
        if lead.value > MIN_SHOWN_NATS:
            reasons.append(_on_combination(combination, scored[over], lead))
    return Choice(chosen.name, (*reasons, *_against_prior(comparison, scored, chosen)))


def chosen_with_optimism(
    comparison: Comparison, rng: np.random.Generator, combination: Combination | None = None
) -> tuple[Choice, float]:
    """The choice, with a sentence on the score to expect on new rows, and the optimism of the score on these rows."""
    choice = choose(comparison, combination)
    optimism = optimism_of_choice(comparison, rng, combination)
    if optimism < MIN_SHOWN_NATS:
        return choice, optimism
    trials = (*comparison, *([] if combination is None else [combination.trial]))
    value, standard_error = next(trial for trial in trials if trial.name == choice.name).test.log_likelihood
    text = (
        f"Its score is about {decimals(optimism)} nats too good, because the model was chosen on the same rows: on new "
        f"rows, expect a log-loss of {decimals(optimism - value)} ± {decimals(standard_error)}."
    )
    return Choice(choice.name, (*choice.reasons, text)), optimism


def optimism_of_choice(
    comparison: Comparison, rng: np.random.Generator, combination: Combination | None = None
) -> float:
    """How much the log-likelihood per row of the chosen model is too large, because it was chosen on the same rows."""
    board = Scoreboard.of(_scored(comparison), combination and combination.trial)
    N, weight = len(board.L), _weights(comparison)
    chosen, gains = board.chosen_rows(weight), []
    for _ in range(int(np.clip(MAX_BOOTSTRAP_CELLS / board.L.size, 20, N_BOOTSTRAP))):
        times = np.bincount(rng.integers(N, size=N), minlength=N)
        out = times == 0
        if out.any():
            difference = chosen[out] - board.chosen_rows(times * weight)[out]
            limited = np.clip(difference, -MAX_ROW_NATS, MAX_ROW_NATS)  # as in standard errors
            gains.append(float(np.average(limited, weights=weight[out])))
    return float(np.mean(gains)) if gains else 0.0


def _scored(comparison: Comparison) -> list[Trial]:
    """Models with log-likelihoods of the scored rows, best first."""
    return [trial for trial in comparison if not trial.failure and trial.test.rows is not None]


def _reasons(comparison: Comparison, scored: list[Trial], near: list[Trial], chosen: Trial) -> Iterator[str]:
    """Sentences about the scores, the evidence and the cost of choosing a simple model."""
    best, gaps = scored[0], comparison.differences()
    behind = {name: f"{decimals(-gap.value)} ± {decimals(gap.standard_error)}" for name, gap in gaps.items()}
    loss, tested = best.test.log_likelihood, f"{comparison.tested} rows"
    folds = f" ({comparison.folds})" if comparison.folds else ""
    yield (
        f"On {len(comparison.test_rows):,} {tested}{folds}, {best.name} is best, with a log-loss of "
        f"{decimals(-loss.value)} ± {decimals(loss.standard_error)} nats per row."
    )
    if len(near) > 1:
        others = enumerated([f"{trial.name} ({behind[trial.name]})" for trial in near[1:]])
        these = "One other model is" if len(near) == 2 else "The following models are"
        yield f"{these} at most one standard error behind, which may be due to chance: {others}."
    elif len(scored) == 1:
        yield "It is the only model to choose from."
    else:
        second = scored[1].name
        follows = f": the next is {second}, {behind[second]} behind" if np.isfinite(gaps[second].value) else ""
        yield f"No other model is within one standard error of it{follows}."
    if len(near) > 1:
        yield from _why_simple(near, chosen, comparison.sampled)
    with_evidence = [trial for trial in comparison if trial.evidence.of_labels]
    favourite = max(with_evidence, key=lambda trial: trial.evidence.log_evidence, default=chosen)
    # The evidence of a single model favours nothing, nor does it compare with the evidence of fewer rows.
    is_compared = len(with_evidence) > 1 and chosen.name not in comparison.sampled
    if is_compared and favourite is not chosen and favourite not in near:
        yield (
            f"The evidence alone would favour {favourite.name}. On the {tested}, which take precedence, it is behind "
            f"by {behind[favourite.name]} nats per row."
        )
    if -gaps[chosen.name].value > MIN_SHOWN_NATS:
        cost = f"{behind[chosen.name]} nats per row"
        yield f"Choosing {chosen.name} instead of {best.name} costs {cost}, at most one standard error."


def _on_combination(combination: Combination, rival: Trial, lead: Estimate) -> str:
    """Sentence on what a combination gains, and whether it is chosen."""
    better = f"{decimals(lead.value)} ± {decimals(lead.standard_error)} nats per row better than {rival.name}"
    parts = f"A combination ({in_words(combination.weights)})"
    if is_clear(lead):
        return f"{parts} is {better}, which is more than two standard errors, so the combination is chosen."
    return f"{parts} is {better}, at most two standard errors, so the single model is kept."


def _against_prior(comparison: Comparison, scored: list[Trial], chosen: Trial) -> Iterator[str]:
    """Sentence on the gain over the class proportions, if they were compared."""
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield TIME_RAN_OUT if any(trial.outcome == "not tried" for trial in comparison) else NOTHING_BEATS
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        yield f"Compared with the class proportions (prior only), {chosen.name} gains {decimals(gain)} nats per row."


def _complexity(names: Sequence[str]) -> Codes:
    """Rank of each model from simple to rich; unknown models come last."""
    order = [*MODELS, *names]
    return np.array([order.index(name) for name in names])


def _why_simple(near: list[Trial], chosen: Trial, fewer: Sequence[str]) -> Iterator[str]:
    """Sentences on simplicity and evidence, which decide among models that the scored rows do not distinguish."""
    order = _complexity([trial.name for trial in near])
    rank = dict(zip([trial.name for trial in near], order, strict=True))
    simpler = [trial for trial in near if rank[trial.name] < rank[chosen.name]]
    largest = max((trial for trial in near if trial.evidence.of_labels), key=_log_evidence, default=chosen)
    if simpler:
        gaps = [f"{trial.name} ({_log_evidence(largest) - _log_evidence(trial):.1f} nats)" for trial in simpler]
        yield (
            f"Of these, the simplest that the evidence does not rule out is chosen: {chosen.name}. The log evidence of "
            f"{enumerated(gaps)} is more than {MIN_LEAD_NATS:.1f} nats (odds of 20 to 1) below that of {largest.name}."
        )
    else:
        yield f"Of these, the simplest is chosen: {chosen.name}."
    if fewer := [trial.name for trial in near if trial.name in fewer]:
        were = "was" if len(fewer) == 1 else "were"
        yield f"{enumerated(fewer)} {were} fitted to fewer rows, so their evidences do not compare."


def _log_evidence(trial: Trial) -> float:
    return trial.evidence.log_evidence
