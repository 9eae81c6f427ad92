# SPDX-License-Identifier: BSD-3-Clause
"""Survival of juvenile lobsters by size: one column, two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

__all__ = ["LOBSTERS", "load_lobsters"]

# Carapace length in mm (to the nearest 3 mm): how many survived, of how many.
LOBSTERS = {
    27: (0, 5),
    30: (1, 10),
    33: (3, 22),
    36: (7, 21),
    39: (12, 22),
    42: (17, 29),
    45: (13, 18),
    48: (12, 17),
    51: (7, 8),
    54: (6, 6),
    57: (1, 1),
}

LOBSTERS_DESCR = """Survival of juvenile lobsters by size.

159 lobsters were tethered on the sea floor of the Gulf of Maine for 24 hours; larger ones escaped their predators more
often. One column, the carapace length in mm to the nearest 3 mm; the target is 1 for a lobster that survived.

Wilkinson, Grabowski, Sherwood and Yund (2015), Journal of Experimental Marine Biology and Ecology 465, 107-112.
"""


def load_lobsters(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """The size of 159 juvenile lobsters, and whether they survived a day on the sea floor.

    Parameters
    ----------
    return_X_y : bool, default False
        Return ``(X, y)`` alone.
    as_frame : bool, default False
        X as a pandas DataFrame, y as a Series.

    Returns
    -------
    Bunch
        ``data`` (159, 1), ``target`` (159,), ``feature_names``, ``target_names``, ``DESCR``; or ``(X, y)``.

    Examples
    --------
    >>> from separatrix.datasets import load_lobsters
    >>> X, y = load_lobsters(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((159, 1), 79)
    """
    sizes = np.repeat(list(LOBSTERS), [tethered for _, tethered in LOBSTERS.values()]).astype(np.float64)
    survived = np.concatenate([np.arange(n) < alive for alive, n in LOBSTERS.values()]).astype(np.intp)
    X, y, names = sizes[:, None], survived, ["size (mm)"]
    if as_frame:
        import pandas as pd

        X, y = pd.DataFrame(X, columns=names), pd.Series(y, name="survived")
    if return_X_y:
        return X, y
    return Bunch(data=X, target=y, feature_names=names, target_names=["eaten", "survived"], DESCR=LOBSTERS_DESCR)
