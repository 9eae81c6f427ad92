# SPDX-License-Identifier: BSD-3-Clause
"""The choice of a model, its reasons, and how optimistic the score of the chosen model is.

The simplest model within one standard error of the best on the scored rows is chosen, unless the evidence of the
labels rules it out: its log evidence is ln 20 nats (odds of 20 to 1) or more below the largest of these models. Only
evidences of the same rows are compared, and a model without such an evidence cannot be ruled out. The class proportions
are preferred within two standard errors, because the best of many useless models often is one better by chance.

**Optimism.** The best of several scores is too good, because the same rows were used to choose it. The choice is
therefore repeated on bootstrap samples of the rows, and each time the rows that are not in the sample score the model
chosen without them (Tsamardinos, Greasidou & Borboudakis 2018). In rows l_k of log-likelihoods of model k,

    optimism = mean over samples of  [ mean of l_c  -  mean of l_k* ]  over the rows out of the sample

with the model c chosen on all rows, and the model k* chosen on the sample. No model is fitted again. The difference of
a row is limited to 3 nats: a single row with a probability near zero would otherwise dominate the mean.
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

NEAR_IN_STD, PRIOR_IN_STD = 1.0, 2.0  # standard errors behind the best, up to which a simpler model is preferred
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
    gaps, widths = comparison.differences(), _widths(comparison.names)
    limits = dict(zip(comparison.names, widths, strict=True))
    near = [
        trial
        for trial in scored
        if trial is scored[0]
        or -gaps[trial.name].value <= max(limits[trial.name] * gaps[trial.name].standard_error, MIN_SHOWN_NATS)
    ]
    largest = max((trial.evidence.log_evidence for trial in near if trial.evidence.of_labels), default=-np.inf)
    by_complexity = sorted(near, key=lambda trial: _complexity(comparison.names)[comparison.names.index(trial.name)])
    refuted = [t for t in near if t.evidence.of_labels and largest - t.evidence.log_evidence >= MIN_LEAD_NATS]
    chosen = next(trial for trial in by_complexity if trial not in refuted)
    return Choice(chosen.name, tuple(_reasons(comparison, scored, near, chosen)))


def _widths(names: Sequence[str]) -> Float:
    """Number of standard errors behind the best, up to which each model counts as near."""
    return np.array([PRIOR_IN_STD if name == PRIOR else NEAR_IN_STD for name in names])


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
    names = [trial.name for trial in trials]
    complexity, widths, at = _complexity(names), _widths(names), names.index(chosen)
    gains = []
    for _ in range(int(np.clip(MAX_BOOTSTRAP_CELLS / L.size, 20, N_BOOTSTRAP))):
        times = np.bincount(rng.integers(len(L), size=len(L)), minlength=len(L))
        out = times == 0
        if out.any():
            again = preferred(L, times, evidence, complexity, widths)
            difference = np.clip(L[out, at] - L[out, again], -MAX_ROW_NATS, MAX_ROW_NATS)  # as in standard errors
            gains.append(float(difference.mean()))
    return float(np.mean(gains)) if gains else 0.0


def preferred(L: Float, times: Codes, evidence: Float, complexity: Codes, widths: Float) -> int:
    """Column of the model that `choose` chooses: rows L (N, K) of log-likelihoods, each counted ``times`` (N,)."""
    n = times.sum()
    mean = times @ L / n
    best = int(mean.argmax())
    difference = np.clip(L - L[:, [best]], -MAX_ROW_NATS, MAX_ROW_NATS)
    deviation = np.sqrt(np.maximum(times @ difference**2 / n - (times @ difference / n) ** 2, 0.0) / max(n - 1, 1))
    near = np.flatnonzero(mean[best] - mean <= np.maximum(widths * deviation, MIN_SHOWN_NATS))
    gap = np.nan_to_num(np.nanmax(evidence[near], initial=-np.inf) - evidence[near], nan=0.0)  # NaN cannot be ruled out
    left = near[gap < MIN_LEAD_NATS]
    return int(left[complexity[left].argmin()])


def _reasons(comparison: Comparison, scored: list[Trial], near: list[Trial], chosen: Trial) -> Iterator[str]:
    """Sentences about held-out scores, evidence, the cost of the choice, and its gain over the class proportions."""
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
    base = next((trial for trial in scored if trial.name == PRIOR), None)
    if chosen is base:
        yield TIME_RAN_OUT if any(trial.outcome == "not tried" for trial in comparison) else NOTHING_BEATS
    elif base is not None:
        gain = chosen.test.log_likelihood.value - base.test.log_likelihood.value
        yield f"Compared with the class proportions (prior only), {chosen.name} gains {decimals(gain)} nats per row."


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
