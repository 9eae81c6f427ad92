# SPDX-License-Identifier: BSD-3-Clause
"""Results as pandas data frames. pandas is imported here, when asked for one, and is no dependency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["as_frame"]


def as_frame(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    """A data frame of some columns, with a name for each row: what ``to_frame()`` of a result returns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas (pip install pandas); to_dict() does not.") from error
    return pd.DataFrame(dict(columns), index=list(names))
