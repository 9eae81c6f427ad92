# SPDX-License-Identifier: BSD-3-Clause
"""The real tables: every set kept beside the project that is rows, columns and a class.

Columns of words become one column of 0 and 1 for each word, a gap being a word too; a gap in a column of numbers
becomes the mean of that column. Neither looks at a label. Text becomes 0 and 1 for each of its commonest words. One set
is left out: Fashion-MNIST, where one cross-validation takes an hour, and the other benchmark is the place for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import DATA

__all__ = ["TABLES", "Table", "encode"]

Float = NDArray[np.float64]
Codes = NDArray[np.intp]
WORDS = 200  # of a text, the commonest


@dataclass(frozen=True)
class Table:
    """A set by name, the folder it is kept in, and how to read it from there: columns and labels."""

    name: str
    folder: str
    read: Callable[[Path], tuple[Any, Any]]

    @property
    def is_here(self) -> bool:
        """Whether the set is kept on this machine."""
        return (DATA / self.folder).is_dir()

    def data(self) -> tuple[Float, Codes]:
        """Numbers (N, M) and codes of classes (N,)."""
        columns, labels = self.read(DATA / self.folder)
        X = columns if isinstance(columns, np.ndarray) else encode(columns)
        return X, np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.intp)


def encode(frame: Any) -> Float:
    """A data frame as numbers: words one-hot, gaps in numbers by the mean."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    parts = []
    for name in frame.columns:
        column = frame[name]
        if is_numeric_dtype(column):
            parts.append(column.fillna(column.mean()).to_numpy(np.float64)[:, None])
        else:
            parts.append(pd.get_dummies(column, dummy_na=bool(column.isna().any())).to_numpy(np.float64))
    return np.hstack(parts)


def _arrays(file: str, X: str = "X", y: str = "y") -> Callable[[Path], tuple[Any, Any]]:
    """Two arrays of an archive."""

    def read(folder: Path) -> tuple[Any, Any]:
        with np.load(folder / file) as kept:
            return kept[X].astype(np.float64), kept[y]

    return read


def _frame(file: str, target: str, drop: tuple[str, ...] = ()) -> Callable[[Path], tuple[Any, Any]]:
    """A data frame, and one of its columns."""

    def read(folder: Path) -> tuple[Any, Any]:
        import pandas as pd

        frame = pd.read_csv(folder / file) if file.endswith(".csv") else pd.read_parquet(folder / file)
        return frame.drop(columns=[target, *drop]), frame[target]

    return read


def _churn(folder: Path) -> tuple[Any, Any]:
    """One of its columns is numbers with blanks for new customers."""
    import pandas as pd

    columns, labels = _frame("telco_churn.parquet", "Churn")(folder)
    return columns.assign(TotalCharges=pd.to_numeric(columns["TotalCharges"], errors="coerce")), labels


def _seven(folder: Path) -> tuple[Any, Any]:
    """Class 7 against the rest: 0/1 columns so rare that some of them separate."""
    X, y = _arrays("covertype_20k.npz")(folder)
    return X, y == 7


def _ijcnn(folder: Path) -> tuple[Any, Any]:
    from scipy import sparse

    with np.load(folder / "ijcnn1.npz") as kept:
        parts = kept["train_data"], kept["train_indices"], kept["train_indptr"]
        return sparse.csr_array(parts, shape=tuple(kept["train_shape"])).toarray(), kept["train_y"]


def _messages(folder: Path) -> tuple[Any, Any]:
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

    frame = pd.read_parquet(folder / "sms_spam.parquet")
    words = CountVectorizer(max_features=WORDS, binary=True).fit_transform(frame["text"])
    return words.toarray().astype(np.float64), frame["label"]


TABLES = (
    Table("adult", "adult", _frame("adult_train.parquet", "income")),
    Table("banknote", "banknote", _arrays("banknote.npz")),
    Table("biopsy", "biopsy_wbc", _frame("biopsy.csv", "class", drop=("ID",))),
    Table("covertype", "covertype_20k", _arrays("covertype_20k.npz")),
    Table("covertype 7", "covertype_20k", _seven),
    Table("crabs sex", "crabs", _arrays("crabs.npz", y="y_sex")),
    Table("crabs species", "crabs", _arrays("crabs.npz", y="y_species")),
    Table("esl mixture", "esl_mixture", _arrays("esl_mixture.npz")),
    Table("haberman", "haberman", _arrays("haberman.npz")),
    Table("higgs", "higgs_11k", _arrays("higgs_11k.npz")),
    Table("house votes", "mlbench_housevotes84", _frame("housevotes84.parquet", "Class")),
    Table("ijcnn1", "ijcnn1", _ijcnn),
    Table("ionosphere", "mlbench_ionosphere", _frame("ionosphere.parquet", "Class")),
    Table("lobster", "lobster", _arrays("lobster.npz")),
    Table("magic", "magic_telescope", _arrays("magic.npz")),
    Table("music genre", "music_genre_crowd", _arrays("music_genre.npz", X="X_train", y="y_train_gold")),
    Table("newsgroups", "newsgroups_w100", _arrays("newsgroups_w100.npz")),
    Table("sms spam", "sms_spam", _messages),
    Table("soybean", "mlbench_soybean", _frame("soybean.parquet", "Class")),
    Table("spambase", "spambase", _arrays("spambase.npz", X="X_train", y="y_train")),
    Table("telco churn", "telco_churn", _churn),
    Table("vehicle", "mlbench_vehicle", _frame("vehicle.parquet", "Class")),
    Table("vowel", "mlbench_vowel", _frame("vowel.parquet", "Class")),
)
