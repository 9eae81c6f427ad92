# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a model, its reasons, and how optimistic the score of the chosen model is.

1. Take the best model on the scored rows and all models within one standard error of it.
2. Of these, keep the models whose evidence of the labels is within ln 20 nats (odds of 20 to 1) of the largest. Only
   evidences of the same rows are compared. If no model reports one, choose the best on these rows.
3. Of the models that remain, choose the simplest.

**Optimism.** The best of several scores is too good, because the same rows were used to choose it. The choice is
therefore repeated on bootstrap samples of the rows, and each time the rows that are not in the sample score the model
chosen without them (Tsamardinos, Greasidou & Borboudakis 2018). In rows l_k of log-likelihoods of model k,

    optimism = mean over samples of  [ mean of l_c  -  mean of l_k* ]  over the rows out of the sample

with the model c chosen on all rows, and the model k* chosen on the sample. No model is fitted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from separatrix._array import Codes, Float
from separatrix._text import decimals, enumerated
from separatrix.comparison import MAX_ROW_NATS, MIN_SHOWN_NATS, Comparison, Trial
from separatrix.exceptions import DataError
from separatrix.study.candidates import MODELS, PRIOR
from separatrix.study.records import NOTHING_BEATS, TIME_RAN_OUT, Choice

NEAR_IN_STD = 1.0  # standard errors behind the best, up to which a simpler model is preferred
MIN_LEAD_NATS = float(np.log(20))
N_BOOTSTRAP, MAX_BOOTSTRAP_CELLS = 200, 1e8  # samples; fewer for very many rows and models
MIN_ROW_NATS = -700.0  # a probability of zero counts as exp(-700) in the bootstrap


def choose(comparison: Comparison) -> Choice:
    """Choose a model, with reasons; raises DataError if no model could be fitted."""
    scored = [trial for trial in comparison if not trial.failure and trial.test.rows is not None]
    if not scored:
        why = " ".join(f"{trial.name}: {trial.failure}" for trial in comparison)
        raise DataError(
            f"No model could be fitted to this table. {why}",
            remedy="Leave out the columns that these reasons name: types={COLUMN: 'drop'}.",
            option="Leave out the columns that these reasons name: --drop COLUMN.",
        )
    near = [scored[0], *(comparison[name] for name in comparison.near_best(NEAR_IN_STD))]
    with_evidence = [trial for trial in near if trial.evidence.of_labels]
    best_evidence = max((trial.evidence.log_evidence for trial in with_evidence), default=-np.inf)
    tied = [trial for trial in with_evidence if best_evidence - trial.evidence.log_evidence < MIN_LEAD_NATS]
    tied.sort(key=lambda trial: _complexity(comparison.names)[comparison.names.index(trial.name)])
    return Choice((tied or scored)[0].name, tuple(_reasons(comparison, scored, near, tied)))


def _complexity(names: Sequence[str]) -> Codes:
    """Rank of each model from simple to rich; unknown models come last."""
    order = [*MODELS, *names]
    return np.array([order.index(name) for name in names])


def chosen_with_optimism(comparison: Comparison, rng: np.random.Generator) -> tuple[Choice, float]:
    """The choice, with a sentence on the score to expect on new rows, and the optimism of the score on these rows."""
    choice = choose(comparison)
    optimism = optimism_of_choice(comparison, choice.name, rng)
    if optimism < MIN_SHOWN_NATS:
        return choice, optimism
    value, standard_error = comparison[choice.name].test.log_likelihood
    text = (
        f"Its score is about {decimals(optimism)} nats too good, because the model was chosen on the same rows: on new "
        f"rows, expect a log-loss of {decimals(optimism - value)} ± {decimals(standard_error)}."
    )
    return Choice(choice.name, (*choice.reasons, text)), optimism


def optimism_of_choice(comparison: Comparison, chosen: str, rng: np.random.Generator | None = None) -> float:
    """How much the log-likelihood per row of the chosen model is too large, because it was chosen on the same rows."""
    trials = [trial for trial in comparison if not trial.failure and trial.test.rows is not None]
    rng = np.random.default_rng(0) if rng is None else rng
    L = np.maximum(np.column_stack([np.asarray(trial.test.rows) for trial in trials]), MIN_ROW_NATS)
    evidence = np.array([trial.evidence.log_evidence if trial.evidence.of_labels else np.nan for trial in trials])
    complexity, at = _complexity([trial.name for trial in trials]), [trial.name for trial in trials].index(chosen)
    gains = []
    for _ in range(int(np.clip(MAX_BOOTSTRAP_CELLS / L.size, 20, N_BOOTSTRAP))):
        times = np.bincount(rng.integers(len(L), size=len(L)), minlength=len(L))
        out = times == 0
        if out.any():
            again = preferred(L, times, evidence, complexity)
            gains.append(float((L[out, at] - L[out, again]).mean()))
    return float(np.mean(gains)) if gains else 0.0


def preferred(L: Float, times: Codes, evidence: Float, complexity: Codes) -> int:
    """Column of the model that `choose` chooses: rows L (N, K) of log-likelihoods, each counted ``times`` (N,)."""
    n = times.sum()
    mean = times @ L / n
    best = int(mean.argmax())
    difference = np.clip(L - L[:, [best]], -MAX_ROW_NATS, MAX_ROW_NATS)
    deviation = np.sqrt(np.maximum(times @ difference**2 / n - (times @ difference / n) ** 2, 0.0) / max(n - 1, 1))
    near = np.flatnonzero(mean[best] - mean <= np.maximum(NEAR_IN_STD * deviation, MIN_SHOWN_NATS))
    known = near[np.isfinite(evidence[near])]
    if not len(known):
        return best
    tied = known[evidence[known].max() - evidence[known] < MIN_LEAD_NATS]
    return int(tied[complexity[tied].argmin()])


def _reasons(comparison: Comparison, scored: list[Trial], near: list[Trial], tied: list[Trial]) -> Iterator[str]:
    """Sentences about held-out scores, evidence, the cost of the choice, and its gain over the class proportions."""
    best, chosen, gaps = scored[0], (tied or scored)[0], comparison.differences()
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
        yield from _reasons_by_evidence(comparison, near, tied, chosen)
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
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield TIME_RAN_OUT if any(trial.outcome == "not tried" for trial in comparison) else NOTHING_BEATS
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        yield f"Compared with the class proportions (prior only), {chosen.name} gains {decimals(gain)} nats per row."


def _reasons_by_evidence(comparison: Comparison, near: list[Trial], tied: list[Trial], chosen: Trial) -> Iterator[str]:
    """Sentences on evidence and simplicity, which decide among models that the held-out rows do not distinguish."""
    fewer = [trial.name for trial in near if trial.name in comparison.sampled]
    if not tied:
        why = "None of these reports the evidence p(t | x) of the labels"
        why += " of all training rows" if fewer else ""
        yield f"{why}, so the best, {chosen.name}, is chosen."
        return
    evidence = {trial.name: trial.evidence.log_evidence for trial in near}
    compared = [trial.name for trial in near if trial.evidence.of_labels]
    if len(tied) > 1:
        values = [evidence[trial.name] for trial in tied]
        yield (
            f"The log evidences of {enumerated([trial.name for trial in tied])} differ by "
            f"{max(values) - min(values):.1f} nats, less than {MIN_LEAD_NATS:.1f} nats (odds of 20 to 1), which "
            "does not distinguish them either. The rule is to choose the simplest of such models, even if another "
            f"has a slightly better log-loss or P(model): {chosen.name}."
        )
    else:
        most = evidence[chosen.name]
        leads = [f"{most - evidence[name]:.1f} nats over {name}" for name in compared if name != chosen.name]
        if leads:
            yield (
                f"Among these models, the one with the largest evidence is chosen: {chosen.name}, ln p = {most:.1f}, a "
                f"lead of {enumerated(leads)}."
            )
        else:
            yield f"Of these, only {chosen.name} reports the evidence of all training rows, so it is chosen."
    if fewer:
        were = "was" if len(fewer) == 1 else "were"
        yield f"In contrast, {enumerated(fewer)} {were} fitted to fewer rows, so their evidences do not compare."
    if without := [name for name in evidence if name not in (*compared, *fewer)]:
        have = "has" if len(without) == 1 else "have"
        yield f"In contrast, {enumerated(without)} {have} no comparable evidence and no intervals of probabilities."
