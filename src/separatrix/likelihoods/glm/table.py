# SPDX-License-Identifier: BSD-3-Clause
"""Which responses there are, and which links each can have; the first is the default, and canonical."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from separatrix._array import Array
from separatrix.likelihoods.glm.cloglog import CLogLog, cloglog
from separatrix.likelihoods.glm.likelihood import (
    Bernoulli,
    GammaInverse,
    GammaLog,
    MeanLikelihood,
    NormalIdentity,
    NormalLog,
    PoissonLog,
)
from separatrix.likelihoods.glm.response import Binary, Binomial
from separatrix.likelihoods.logit import Logit
from separatrix.likelihoods.probit import Probit

__all__ = ["LIKELIHOODS", "mean_likelihood"]


# Functions with a name in a module, as pickle wants them: for a ufunc it searches every module there is.
def log_odds(mu: Array) -> Array:
    """ln μ/(1 - μ)."""
    return np.asarray(special.logit(mu))


def normal_quantile(mu: Array) -> Array:
    """Φ⁻¹(μ)."""
    return np.asarray(special.ndtri(mu))


def _binary(response: Binary | Binomial) -> dict[str, Callable[[], MeanLikelihood]]:
    return {
        "logit": lambda: Bernoulli(Logit(), "logit", log_odds, response),
        "probit": lambda: Bernoulli(Probit(), "probit", normal_quantile, response),
        "cloglog": lambda: Bernoulli(CLogLog(), "cloglog", cloglog, response),
    }


LIKELIHOODS: dict[str, dict[str, Callable[[], MeanLikelihood]]] = {
    "gaussian": {"identity": NormalIdentity, "log": NormalLog},
    "bernoulli": _binary(Binary()),
    "binomial": _binary(Binomial()),
    "poisson": {"log": PoissonLog},
    "gamma": {"inverse": GammaInverse, "log": GammaLog},
}


def mean_likelihood(family: str, link: str | None = None) -> MeanLikelihood:
    """The likelihood of a response with a link; its canonical link where none is named.

    >>> mean_likelihood("gamma").link
    'inverse'
    """
    links = LIKELIHOODS[family]
    return links[next(iter(links)) if link is None else link]()
