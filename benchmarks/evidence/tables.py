# SPDX-License-Identifier: BSD-3-Clause
"""The tables: every set kept beside the project that is rows, columns and a class; small sets; and generated ones.

Columns of words become one column of 0 and 1 for each word, a gap being a word too; a gap in a column of numbers
becomes the mean of that column. Text becomes counts, 0/1 words, TF-IDF or parts of words. None of this looks at a
label. One set is left out: Fashion-MNIST, where one cross-validation takes an hour, and the other benchmark is the
place for it.

Generated tables have what real ones of a few hundred rows rarely show: classes that are separable by a rule of few
indicator columns, many more columns than rows, hundreds of 0/1 columns, and labels without any relation to the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

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
    is_standardised: bool = True  # otherwise both methods get the columns as they are
    most: int | None = None  # training rows; by default, those of the other tables

    @property
    def is_here(self) -> bool:
        """Whether the set is kept on this machine."""
        return not self.folder or (DATA / self.folder).is_dir()

    def data(self) -> tuple[Any, Codes]:
        """Numbers (N, M), which may be sparse, and codes of classes (N,)."""
        columns, labels = self.read(DATA / self.folder)
        X = columns if isinstance(columns, np.ndarray) or sparse.issparse(columns) else encode(columns)
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
    with np.load(folder / "ijcnn1.npz") as kept:
        parts = kept["train_data"], kept["train_indices"], kept["train_indptr"]
        return sparse.csr_array(parts, shape=tuple(kept["train_shape"])).toarray(), kept["train_y"]


def _messages(encoding: str, **limits: Any) -> Callable[[Path], tuple[Any, Any]]:
    """Words of text messages: "count", "binary", "tfidf", or "parts" of two or three letters."""

    def read(folder: Path) -> tuple[Any, Any]:
        import pandas as pd
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        words = {
            "count": partial(CountVectorizer, **limits),
            "binary": partial(CountVectorizer, binary=True, **limits),
            "tfidf": partial(TfidfVectorizer, **limits),
            "parts": partial(TfidfVectorizer, analyzer="char_wb", ngram_range=(2, 3), **limits),
        }
        frame = pd.read_parquet(folder / "sms_spam.parquet")
        return words[encoding]().fit_transform(frame["text"]).astype(np.float64), frame["label"]

    return read


def _common_words(folder: Path) -> tuple[Any, Any]:
    words, labels = _messages("binary", max_features=WORDS)(folder)
    return words.toarray(), labels


def _embedded(name: str) -> Callable[[Path], tuple[Any, Any]]:
    """A set that scikit-learn contains."""

    def read(folder: Path) -> tuple[Any, Any]:
        from sklearn import datasets

        found: tuple[Any, Any] = getattr(datasets, f"load_{name}")(return_X_y=True)
        return found

    return read


# -- generated tables: at most two thirds of their rows are for training ----------------------------------------------


def _indicators(rng: np.random.Generator, n: int, n_columns: int, n_levels: int) -> tuple[Float, Codes]:
    """Categories, and 0/1 columns of their levels."""
    codes = rng.integers(0, n_levels, (n, n_columns))
    return (codes[:, :, None] == np.arange(n_levels)).reshape(n, -1).astype(np.float64), codes


def _rule(n: int, n_columns: int, n_levels: int, n_wrong: float = 0.0) -> Callable[[Path], tuple[Any, Any]]:
    """At least two of three categories have one of their first levels; a fraction of the labels is wrong."""

    def read(folder: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        X, codes = _indicators(rng, n, n_columns, n_levels)
        y = ((codes[:, :3] < n_levels // 3).sum(axis=1) >= 2).astype(np.intp)
        return X, np.where(rng.random(n) < n_wrong, 1 - y, y)

    return read


def _scores(n: int, n_columns: int, n_levels: int) -> Callable[[Path], tuple[Any, Any]]:
    """Three categories have a score for each level; the sum is above its median or not."""

    def read(folder: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(1)
        X, codes = _indicators(rng, n, n_columns, n_levels)
        of_level = rng.standard_normal((3, n_levels))
        total = sum(score[code] for score, code in zip(of_level, codes.T, strict=False))
        return X, total > np.median(total)

    return read


def _genes(n: int, n_columns: int, n_classes: int, n_active: int, shift: float) -> Callable[[Path], tuple[Any, Any]]:
    """Some columns of each class are shifted; five factors make all columns dependent."""

    def read(folder: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(2)
        y, means = rng.integers(0, n_classes, n), np.zeros((n_classes, n_columns))
        for mean in means:
            mean[rng.choice(n_columns, n_active, replace=False)] = shift * rng.standard_normal(n_active)
        factors = rng.standard_normal((n, 5)) @ rng.standard_normal((5, n_columns))
        return means[y] + 0.5 * factors + rng.standard_normal((n, n_columns)), y

    return read


def _words(n: int, n_columns: int, n_classes: int, strength: float) -> Callable[[Path], tuple[Any, Any]]:
    """0/1 columns, most of them rare, whose log-odds differ between the classes in three of ten columns."""

    def read(folder: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(3)
        base = special.logit(np.clip(rng.beta(0.5, 4.0, n_columns), 0.01, 0.9))
        shift = strength * rng.standard_normal((n_classes, n_columns)) * (rng.random((n_classes, n_columns)) < 0.3)
        y = rng.integers(0, n_classes, n)
        return (rng.random((n, n_columns)) < special.expit(base + shift[y])).astype(np.float64), y

    return read


def _normal(n: int, n_columns: int, n_active: int, signal: float) -> Callable[[Path], tuple[Any, Any]]:
    """Normal columns, some of which matter; the standard deviation of the log-odds is ``signal``."""

    def read(folder: Path) -> tuple[Any, Any]:
        rng = np.random.default_rng(4)
        X, w = rng.standard_normal((n, n_columns)), np.zeros(n_columns)
        w[:n_active] = rng.standard_normal(n_active)
        a = X @ w * (signal / max(float(np.linalg.norm(w)), 1e-9))
        return X, rng.random(n) < special.expit(a)

    return read


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
    Table("sms spam", "sms_spam", _common_words),
    Table("sms spam, counts", "sms_spam", _messages("count"), is_standardised=False, most=600),
    Table("sms spam, 0/1", "sms_spam", _messages("binary"), is_standardised=False, most=600),
    Table("sms spam, TF-IDF", "sms_spam", _messages("tfidf"), is_standardised=False, most=600),
    Table("sms spam, parts", "sms_spam", _messages("parts", min_df=5), is_standardised=False, most=600),
    Table("soybean", "mlbench_soybean", _frame("soybean.parquet", "Class")),
    Table("spambase", "spambase", _arrays("spambase.npz", X="X_train", y="y_train")),
    Table("telco churn", "telco_churn", _churn),
    Table("vehicle", "mlbench_vehicle", _frame("vehicle.parquet", "Class")),
    Table("vowel", "mlbench_vowel", _frame("vowel.parquet", "Class")),
    Table("wine", "", _embedded("wine")),
    Table("iris", "", _embedded("iris")),
    Table("breast cancer", "", _embedded("breast_cancer")),
    Table("digits", "", _embedded("digits"), most=300),
    Table("rule", "", _rule(6000, 12, 6), is_standardised=False, most=1000),
    Table("rule, wrong labels", "", _rule(6000, 12, 6, n_wrong=0.03), is_standardised=False, most=1000),
    Table("rule, few columns", "", _rule(6000, 3, 12), is_standardised=False),
    Table("scores", "", _scores(6000, 10, 12), is_standardised=False, most=1000),
    Table("genes, two classes", "", _genes(600, 700, 2, 30, 1.2), most=60),
    Table("genes, four classes", "", _genes(600, 1500, 4, 40, 1.5), most=60),
    Table("0/1, three classes", "", _words(4000, 180, 3, 1.0), is_standardised=False, most=800),
    Table("0/1, wide", "", _words(3000, 300, 2, 1.5), is_standardised=False, most=200),
    Table("normal, wide", "", _normal(3000, 300, 10, 4.0), most=100),
    Table("normal, separable", "", _normal(3000, 10, 10, 40.0), most=200),
    Table("no relation", "", _normal(3000, 30, 0, 0.0), most=150),
)
