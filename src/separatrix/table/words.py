# SPDX-License-Identifier: BSD-3-Clause
"""Words of free text: which words and pairs of words become features, and their weights in each text.

A word is a run of letters, digits and underscores with their accents and vowel signs, perhaps with apostrophes (don't);
in scripts without spaces (Chinese, Japanese, Thai, ...), each character is a word. A pair is two adjacent words of a
text. Case and the optional vowel points of Hebrew and Arabic are ignored. A *term* is a word or a pair.

    x_t = v_t / (Σ_s v_s²)^¼,        v_t = (1 + ln n_t) (1 + ln (1 + N)/(1 + N_t))

is the weight of a term that occurs n_t times in a text and in N_t of the N training rows: TF-IDF (Salton & Buckley
1988), divided by the square root of its norm. Divided by the norm itself, as usual, long and short texts would have
log-odds of the same size; not divided at all, the log-odds would be proportional to the length. docs/tables.md compares
the predictions.

The terms come from `Documents`, a sum over batches, whose memory does not grow with the table: beyond a number of
characters, only the texts with the smallest hashes are kept. They are a random sample of the distinct texts that
depends neither on the batches nor on their order.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from separatrix._array import Codes, Float
from separatrix.table.hashes import N_HASHES, hash_levels

MAX_CHARACTERS = 20_000_000  # of the distinct texts of a column that are kept; counting their words takes 10 seconds
MAX_TERMS = 50_000
MIN_ROWS = 3  # rows with a term; rarer terms do not improve predictions
MAX_READ_TEXTS = 5_000  # texts from which a column is recognised as free text
MIN_WORDS = 3  # mean number of words of free text
MIN_SHARED = 0.25  # fraction of the words of free text that occur in several texts; words of codes do not
MAX_SHARED = 0.9  # fraction of the texts with a word, above which it is part of a template
MAX_CAPITAL = 0.5  # fraction of capitalised words, above which short texts are names, titles or addresses
# How far the place of a word in a text is fixed (`_fixed_places`), above which short texts are names or addresses. They
# have 0.3 to 1 (generated), short messages, headlines and names of products 0 to 0.22.
MAX_FIXED = 0.27
MIN_LONG_WORDS = 8  # names, titles, addresses and the levels of categories are shorter

ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese kana, Chinese characters (also beyond 16
# bits). Korean has spaces.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
FIRST_MARK, LAST_MARK = 0x300, 0x1FFFF  # code points of the marks that are combined with a letter before them
JOINERS = "\u200c\u200d"  # between letters of one word, for example in Persian and Hindi
# Canonical combining classes of the vowel points of Hebrew and Arabic, which are written in few texts (Unicode 4.3)
POINTS = range(10, 36)
TATWEEL = "\u0640"  # lengthens an Arabic word, and means nothing


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns of a word, of a word of prose, and of characters that are left out, for texts that are not ASCII.

    A word of prose is a piece between spaces without digits and without signs inside, so that dates, codes, addresses
    of mail and paths have none.
    """
    marks = [chr(code) for code in range(FIRST_MARK, LAST_MARK) if unicodedata.category(chr(code)).startswith("M")]
    mark = f"[{''.join(marks)}{JOINERS}]"
    word, prose = (rf"{each}+(?:{mark}+{each}*)*" for each in (rf"[^\W{UNSPACED}]", rf"[^\W\d_{UNSPACED}]"))
    points = [each for each in marks if unicodedata.combining(each) in POINTS]
    return (
        re.compile(rf"[{UNSPACED}]{mark}*|{word}(?:'{word})*"),
        re.compile(rf"[{UNSPACED}]{mark}*|(?<!\S)[^\w\s]*({prose}(?:['\u2019-]{prose})*)[^\w\s]*(?!\S)"),
        re.compile(f"[{''.join(points)}{TATWEEL}]"),
    )


def words_of(text: str) -> list[str]:
    """Words of a text, in lower case.

    >>> words_of("Don't call: FREE entry, 2 tickets!")
    ["don't", 'call', 'free', 'entry', '2', 'tickets']
    """
    if text.isascii():
        return ASCII_WORD.findall(text.lower())
    word, _, left_out = _patterns()
    return word.findall(left_out.sub("", unicodedata.normalize("NFKC", text)).replace("\u2019", "'").lower())


@dataclass(frozen=True, slots=True)
class Documents:
    """Distinct texts of a column, with the number of rows of each.

    If they have more than `MAX_CHARACTERS`, only the texts whose hash is less than ``below`` are kept.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    n_characters: int = 0
    below: int = N_HASHES

    @classmethod
    def of(cls, rows: Mapping[str, int], below: int = N_HASHES) -> Documents:
        """Keep as many texts as `MAX_CHARACTERS` allow; all hashes are less than ``below``.

        ``below`` is a power of two, so that it changes rarely while batches are added, and hashes are computed rarely.
        """
        n_characters = sum(map(len, rows))
        if n_characters <= MAX_CHARACTERS:
            return cls(rows, n_characters, below)
        hashes, lengths = hash_levels(rows), np.fromiter(map(len, rows), np.intp, len(rows))
        order = np.argsort(hashes)
        first = int(hashes[order[np.searchsorted(np.cumsum(lengths[order]), MAX_CHARACTERS, side="right")]])  # left out
        below = 1 << first.bit_length() >> 1
        kept = hashes < below
        return cls(_selected(rows, kept), int(lengths[kept].sum()), below)

    def __add__(self, other: Documents) -> Documents:
        """Add the rows of each text; where one part has left texts out, leave out those of the other."""
        below = min(self.below, other.below)
        rows = dict(self._below(below))
        for text, n in other._below(below).items():
            rows[text] = rows.get(text, 0) + n
        return Documents.of(rows, below)

    def _below(self, below: int) -> Mapping[str, int]:
        return self.rows if below == self.below else _selected(self.rows, hash_levels(self.rows) < below)

    @property
    def is_sample(self) -> bool:
        """Whether texts were left out."""
        return self.below < N_HASHES

    @property
    def n_rows(self) -> int:
        """Number of rows of the texts."""
        return sum(self.rows.values())


def _selected(rows: Mapping[str, int], is_kept: Iterable[bool]) -> dict[str, int]:
    return {text: n for (text, n), is_one in zip(rows.items(), is_kept, strict=True) if is_one}


class Prose(NamedTuple):
    """Properties that distinguish free text from ids, codes and names.

    ``n_words`` is the mean number of words per text, ``shared`` the fraction of them that occur in other texts too,
    ``capital`` the fraction of them that begin with a capital letter, and ``fixed`` how far the place of a word in a
    text is fixed, from 0 to 1. Words of (nearly) all texts are not counted: they are a template, as in "order 17 of
    customer 5".
    """

    n_words: float = 0.0
    shared: float = 0.0
    capital: float = 0.0
    fixed: float = 0.0

    @classmethod
    def of(cls, documents: Documents) -> Prose:
        """Properties of the texts, or of a random sample of them."""
        texts = list(documents.rows)
        if len(texts) > MAX_READ_TEXTS:
            texts = [texts[i] for i in np.argsort(hash_levels(texts), kind="stable")[:MAX_READ_TEXTS]]
        _, of_prose, _ = _patterns()
        words = [[match[1] or match[0] for match in of_prose.finditer(text)] for text in texts]
        texts_with = Counter(word for each in words for word in {word.lower() for word in each})
        most = MAX_SHARED * len(texts)
        words = [[word for word in each if texts_with[word.lower()] <= most] for each in words]
        n_words = sum(map(len, words))
        if not n_words:
            return cls()
        lower = [[word.lower() for word in each] for each in words]
        n_shared = sum(texts_with[word] > 1 for each in lower for word in each)
        n_capital = sum(word[0].isupper() for each in words for word in each)
        fixed = max(_fixed_places(lower), _fixed_places([each[::-1] for each in lower]))
        return cls(n_words / len(texts), n_shared / n_words, n_capital / n_words, fixed)

    @property
    def why_not(self) -> str:
        """Why a column is not free text, or "" if it is."""
        if self.n_words < MIN_WORDS:
            return f"its values have {self.n_words:.1f} words on average, and free text has at least {MIN_WORDS}"
        if self.shared < MIN_SHARED:
            least = f"free text has at least {100 * MIN_SHARED:.0f} %"
            return f"{100 * self.shared:.0f} % of its words occur in several values, and {least}"
        if self.capital > MAX_CAPITAL and self.n_words < MIN_LONG_WORDS:
            return f"{100 * self.capital:.0f} % of its words begin with a capital letter, as in names"
        if self.fixed > MAX_FIXED and self.n_words < MIN_LONG_WORDS:
            return "most of its words have a fixed place in short values, as in names and addresses"
        return ""

    @property
    def is_long(self) -> bool:
        """Whether it is free text that is longer than names, titles and addresses."""
        return not self.why_not and self.n_words >= MIN_LONG_WORDS


def _fixed_places(texts: Sequence[Sequence[str]]) -> float:
    """How far the places of words in a text are fixed: 1 if each word has one place, about 0 if places are random.

    This is Cohen's kappa: the fraction of pairs of occurrences of a word that have the same place, compared with the
    fraction of all pairs of occurrences. Words that occur once are left out.
    """
    word, text = _coded(texts, {})
    place = np.arange(len(text)) - np.searchsorted(text, text)
    is_repeated = np.bincount(word)[word] > 1
    word, place = word[is_repeated], place[is_repeated]
    n, n_of_word, n_of_place = len(word), np.bincount(word), np.bincount(place)
    if len(n_of_place) < 2:
        return 0.0
    by_chance = (n_of_place * (n_of_place - 1)).sum() / (n * (n - 1))
    both, n_both = np.unique(word * len(n_of_place) + place, return_counts=True)
    found = (n_both * (n_both - 1) / (n_of_word[both // len(n_of_place)] - 1)).sum() / n
    return float((found - by_chance) / (1 - by_chance))


class Terms(NamedTuple):
    """Terms of a column, the most frequent first, and the factor 1 + ln (1 + N)/(1 + N_t) of each.

    ``n_words`` is the mean number of words of a row.
    """

    names: tuple[str, ...]
    rarity: tuple[float, ...]
    n_words: float = 0.0


def frequent_terms(documents: Documents, min_rows: int = MIN_ROWS, max_terms: int = MAX_TERMS) -> Terms:
    """The terms in at least ``min_rows`` rows; of more than ``max_terms``, the most frequent, then by the alphabet."""
    weight = np.fromiter(documents.rows.values(), np.intp, len(documents.rows))
    codes: dict[str, int] = {}
    word, text = _coded(map(words_of, documents.rows), codes)
    names = list(codes)
    n_rows = _rows_with(word, text, weight, len(codes))
    is_frequent = n_rows >= min_rows
    # A pair is in no more rows than each of its words.
    at = np.flatnonzero((text[1:] == text[:-1]) & is_frequent[word[1:]] & is_frequent[word[:-1]])
    pairs, pair = np.unique(word[at] * len(codes) + word[at + 1], return_inverse=True)
    n_rows_of_pair = _rows_with(pair, text[at], weight, len(pairs))
    found = [(int(-n_rows[i]), names[i]) for i in np.flatnonzero(is_frequent)]
    for i in np.flatnonzero(n_rows_of_pair >= min_rows):
        first, second = divmod(int(pairs[i]), len(codes))
        found.append((int(-n_rows_of_pair[i]), f"{names[first]} {names[second]}"))
    found = sorted(found)[:max_terms]
    rarity = 1.0 + np.log((1.0 + weight.sum()) / (1.0 - np.array([n for n, _ in found], dtype=np.float64)))
    n_words = float(weight[text].sum() / max(weight.sum(), 1))
    return Terms(tuple(name for _, name in found), tuple(rarity.tolist()), n_words)


def _coded(texts: Iterable[Sequence[str]], codes: dict[str, int]) -> tuple[Codes, Codes]:
    """The code of each word of all texts, and the number of its text; new words are added to ``codes``."""
    word: list[int] = []
    n_words: list[int] = []
    for found in texts:
        word += [codes.setdefault(each, len(codes)) for each in found]
        n_words.append(len(found))
    return np.array(word, dtype=np.intp), np.repeat(np.arange(len(n_words)), n_words)


def _rows_with(term: Codes, text: Codes, weight: Codes, n_terms: int) -> Codes:
    """Number of rows with each term; text i has ``weight[i]`` rows."""
    once = np.unique(term * len(weight) + text)
    return np.bincount(once // max(len(weight), 1), weight[once % max(len(weight), 1)], n_terms).astype(np.intp)


def weighted_terms(texts: Sequence[str], terms: Terms) -> tuple[sparse.csr_array, Codes]:
    """The weight of each term in each text, (n, T), and the number of words of each text, (n,).

    A text without a known term has only zeros.
    """
    n_terms, place = len(terms.names), {name: t for t, name in enumerate(terms.names)}
    rows: list[int] = []
    found: list[int] = []
    n_words: list[int] = []
    for row, each in enumerate(texts):
        words = words_of(each)
        n_words.append(len(words))
        pairs = map("{} {}".format, words, words[1:])
        known = [place[name] for name in (*words, *pairs) if name in place]
        rows += [row] * len(known)
        found += known
    at, times = np.unique(np.array(rows, dtype=np.intp) * n_terms + np.array(found, dtype=np.intp), return_counts=True)
    text, term = np.divmod(at, max(n_terms, 1))
    value: Float = (1.0 + np.log(times)) * np.array(terms.rarity)[term]
    root_of_norm = np.bincount(text, value**2, len(texts)) ** 0.25
    starts = np.searchsorted(text, np.arange(len(texts) + 1))
    weights = sparse.csr_array((value / root_of_norm[text], term, starts), shape=(len(texts), n_terms))
    return weights, np.array(n_words, dtype=np.intp)
