# SPDX-License-Identifier: BSD-3-Clause
"""What one block adds to the facts of columns in groups: those of its labelled rows, or those expected of all its rows.

A first look counts rows without a label as one class more, so that one pass serves models with and without EM: their
facts are part of what a prior is made of. In the E step, such a row counts for class k with weight p(C_k | x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from separatrix._array import Float, device_aware
from separatrix.generative.em import Expectation
from separatrix.generative.groups import Group, GroupedDensity, GroupedFacts, device_facts, labelled_facts
from separatrix.rows import UNLABELLED, Block, DeviceRows, on_host

__all__ = ["Parameters", "expected_facts", "first_look"]


class Parameters(NamedTuple):
    """What the E step needs: p(x | C_k), ln p(C_k), the log prior of both, and names of columns for errors."""

    density: GroupedDensity
    log_pi: Float
    log_prior: float  # shared out among the rows, so that it adds over blocks as the likelihood does
    names: Sequence[str]


@device_aware
def first_look(block: Block, groups: tuple[Group, ...], n_classes: int, names: Sequence[str]) -> GroupedFacts:
    """Facts of each class, and of the rows without a label as one class more."""
    if isinstance(block.X, DeviceRows):
        facts = device_facts(block, groups, n_classes + 1)
        if facts is not None:
            return facts
        block = on_host(block)
    codes = np.where(block.codes == UNLABELLED, n_classes, block.codes)
    return labelled_facts(replace(block, t=codes), groups, n_classes + 1, names)


def expected_facts(block: Block, parameters: Parameters) -> Expectation[GroupedFacts]:
    """The E step of one block: facts weighed by p(C_k | x), and the log likelihood of what was seen.  PRML (9.13)"""
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
