# SPDX-License-Identifier: BSD-3-Clause
"""`TableEncoder`, a scikit-learn transformer that encodes a table as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix._arguments import Estimator
from separatrix._array import Array, Rows
from separatrix.exceptions import DataError
from separatrix.rows import as_table
from separatrix.table.inference import MAX_LEVELS, infer_types
from separatrix.table.plans import OddCells, Unseen
from separatrix.table.schema import Schema
from separatrix.table.statistics import TableStatistics, table_statistics
from separatrix.table.values import is_records, open_batch


class TableEncoder(TransformerMixin, Estimator):
    """Encode a table of numbers, categories, booleans, dates and missing values as numbers.

    Numbers are kept; missing numbers are set to the mean and flagged in a second column. A category becomes an
    indicator for each level; rare levels share an indicator, which also stands for unseen levels. A date becomes days
    and its position in the year, the week and the day. Free text becomes weights (TF-IDF) of its words and pairs of
    words. Ids, names and constants are dropped with a note. `separatrix.table.inference` documents the rules.

    Parameters
    ----------
    types : mapping from column to "number", "boolean", "categorical", "date", "text" or "drop", optional
        Columns whose type is given instead of inferred.
    max_levels : int, default 100
        Number of levels, the most frequent ones, that get a column each.
    min_count : int, optional
        Levels with fewer rows than this share a column. Default: 10, or 2 % of the rows if that is fewer.
    drop : {"none", "first"}, default "none"
        "first" leaves out the most frequent level of each category. Use "none" if the weights have a prior, which makes
        them unique: all levels are then treated alike. Use "first" without a prior, because indicators of all levels
        sum to one and are collinear with the intercept.
    sparse : bool or "auto", default "auto"
        Whether the result is sparse; with "auto", it is sparse if fewer than a tenth of the entries are not zero.
    hashing : int, optional
        Number of columns, ``zip#0``, ``zip#1``, ..., into which a category with more than ``max_levels`` levels is
        hashed. By default the levels beyond the most frequent ones share a column.

    Attributes
    ----------
    schema_ : Schema
        The inferred encoding: ``describe()``, ``columns``, ``groups``, ``notes``, ``to_json()``.
    n_features_in_, feature_names_in_ : int and ndarray of shape (D,)
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix.table import TableEncoder
    >>> table = pd.DataFrame({"size": [1.5, None, 4.0, 3.5], "colour": ["red", "red", "blue", None]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'colour=red', 'colour=blue', 'colour=(missing)']
    >>> encoder.transform(pd.DataFrame({"size": [2.0], "colour": ["green"]}))
    array([[2., 0., 0., 0., 0.]])
    >>> print(encoder.schema_.describe())
    column  type         values                                            encoded as
    size    number       numbers from 1.5 to 4; 1 missing (25 %), set to the mean  size, size is missing
    colour  categorical  text, 2 levels; 1 missing (25 %)                  3 columns: red, blue, (missing)
    2 columns of 4 rows become 5 columns of numbers
    """

    schema_: Schema

    def __init__(
        self,
        types: Mapping[str, str] | None = None,
        max_levels: int = MAX_LEVELS,
        min_count: int | None = None,
        drop: str = "none",
        sparse: bool | str = "auto",
        hashing: int | None = None,
    ) -> None:
        self.types = types
        self.max_levels = max_levels
        self.min_count = min_count
        self.drop = drop
        self.sparse = sparse
        self.hashing = hashing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Infer the types of the columns from one table; ``y`` is ignored."""
        X = as_table(X)
        return self.fit_statistics(table_statistics(X, unread=self.unread()), X)

    def fit_batches(self, batches: Iterable[Any]) -> Self:
        """Infer the types from batches of a table; the result is the same as with `fit` on the whole table."""
        total, first = TableStatistics(), None
        for number, batch in enumerate(batches, start=1):
            table = as_table(batch)
            total += table_statistics(table, name=f"batch {number}", unread=self.unread(), first_row=total.n_rows)
            first = table if first is None else first
        return self.fit_statistics(total, first)

    def fit_statistics(
        self, statistics: TableStatistics, template: Any, training: TableStatistics | None = None
    ) -> Self:
        """Infer the types from statistics of a table that has the columns of ``template``.

        If ``training`` is given, means and levels come from these statistics.
        """
        if not isinstance(self.sparse, bool) and self.sparse != "auto":
            raise ValueError(f"TableEncoder(sparse={self.sparse!r}): choose True, False or 'auto'.")
        schema = infer_types(
            statistics,
            self.types,
            training=training,
            max_levels=self.max_levels,
            min_count=self.min_count,
            drop=self.drop,
            hashing=self.hashing,
        )
        if not schema.columns:
            few = ": the table has one sample" * (statistics.n_rows == 1)
            message = f"No column is left to learn from{few}. {' '.join(schema.notes[:5])}"
            is_id = any(plan.kind.startswith("id") for plan in schema.plans)
            remedy = (
                "If a column is not an identifier, set its type: {0}categorical{1}, {0}number{1} or {0}text{1}." * is_id
            )
            raise DataError(
                message, remedy=remedy.format("types={COLUMN: '", "'}"), option=remedy.format("--types COLUMN=", "")
            )
        validate_data(self, as_table(template), skip_check_array=True, reset=True)
        self.schema_ = schema
        return self

    def transform(self, X: Any) -> Rows:
        """Encode a table as float64 (n, M). Columns of a data frame are found by name, in any order."""
        return self.encode(X)[0]

    def encode(self, X: Any) -> tuple[Rows, dict[str, Unseen], dict[str, OddCells]]:
        """Encode a table as `transform` does; also return what `Schema.encode_checked` does."""
        check_is_fitted(self)
        batch = open_batch(X)
        if isinstance(X, np.ndarray | list) and not is_records(X):
            validate_data(self, X, skip_check_array=True, reset=False)
        return self.schema_.encode_checked(batch, sparse=None if self.sparse == "auto" else bool(self.sparse))

    def unseen(self, X: Any) -> dict[str, Unseen]:
        """Count the rows of each value that did not occur in training, by column."""
        return self.encode(X)[1]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the numeric columns; ``input_features`` must be the columns seen in `fit`, as in scikit-learn."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None and list(input_features) != list(known):
            raise ValueError(f"input_features is not equal to feature_names_in_: got {list(input_features)}.")
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features ({self.n_features_in_}).")
        return np.asarray(self.schema_.columns, dtype=object)

    def unread(self) -> list[str]:
        """Columns to drop. They are not read at all, because their values may be invalid."""
        return [name for name, kind in check_types(self.types).items() if kind == "drop"]

    def __sklearn_tags__(self) -> Any:
        """Tags that allow missing values and text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def check_types(types: Any) -> Mapping[str, str]:
    """Return the given types of columns, by name; raise if they are not a mapping of text to text."""
    known = {} if types is None else types
    if not isinstance(known, Mapping) or not all(isinstance(text, str) for pair in known.items() for text in pair):
        raise ValueError(
            f"types={types!r}: pass a mapping from names of columns to types, such as {{'age': 'number'}}."
        )
    return known
