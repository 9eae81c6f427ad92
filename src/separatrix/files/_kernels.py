# SPDX-License-Identifier: BSD-3-Clause
"""The compiled loop that parses sparse text files. Import it lazily, since it imports Numba.

A number m·10^p with |m| <= 2**53 and |p| <= 22 is exact after one multiplication or division (Clinger 1990). Most
numbers have this form. Other numbers, and tokens that are not numbers, are listed for the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array, Codes, Float

SparseArrays = tuple[Float, Codes, Codes, Float, Codes, Codes]  # label, start, column, value, hard, counts

# Reasons why parsing ended; READ means the end of the text.
READ, NO_LABEL, SEVERAL_LABELS, NO_INDEX, LARGE_INDEX, LOW_INDEX, HIGH_INDEX, UNSORTED = range(8)

NEWLINE, RETURN, TAB, SPACE, HASH = 10, 13, 9, 32, 35
PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON = 43, 44, 45, 46, 48, 57, 58
LETTER_D, LETTER_E, LETTER_I, LETTER_Q = 100, 101, 105, 113
N_ROWS, N_ENTRIES, N_QUERIES, N_HARD = range(4)  # positions in ``counts``
EXACT_MANTISSA, EXACT_POWER, MAX_INDEX = 2**53, 22, 2**31 - 2
POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(EXACT_POWER + 1)])


@njit(cache=True, nogil=True)
def _is_space(c: int) -> bool:
    return bool(c == SPACE or TAB <= c <= RETURN)  # the range includes line ends


@njit(cache=True, nogil=True)
def _ends_token(c: int) -> bool:
    return bool(_is_space(c) or c == HASH)


@njit(cache=True, nogil=True)
def _token_end(text: Array, at: int) -> int:
    while at < len(text) and not _ends_token(text[at]):
        at += 1
    return at


@njit(cache=True, nogil=True)
def _number(text: Array, at: int) -> tuple[float, int]:
    """Return the number that starts at ``at`` and the position after it; -1 if it cannot be parsed exactly."""
    size = len(text)
    negative = at < size and text[at] == MINUS
    if negative or (at < size and text[at] == PLUS):
        at += 1
    mantissa, power, digits, point = np.int64(0), np.int64(0), 0, False
    while at < size:
        c = np.int64(text[at])
        if ZERO <= c <= NINE:
            digits += 1
            mantissa = 10 * mantissa + (c - ZERO)
            power -= point
            if mantissa > EXACT_MANTISSA:
                return 0.0, -1
        elif c == POINT and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, -1
    if at < size and (text[at] | 32) == LETTER_E:
        at += 1
        down = at < size and text[at] == MINUS
        if down or (at < size and text[at] == PLUS):
            at += 1
        exponent, first = np.int64(0), at
        while at < size and ZERO <= text[at] <= NINE and exponent < 1000:
            exponent = 10 * exponent + (np.int64(text[at]) - ZERO)
            at += 1
        if at == first:
            return 0.0, -1
        power += -exponent if down else exponent
    if (at < size and not _ends_token(text[at])) or abs(power) > EXACT_POWER:
        return 0.0, -1
    number = mantissa * POWERS_OF_TEN[power] if power >= 0 else mantissa / POWERS_OF_TEN[-power]
    return (-number if negative else number), at


@njit(cache=True, nogil=True)
def _index(text: Array, at: int) -> tuple[int, int]:
    """Return the index before a colon and the position after the colon; -1 if index or colon is missing."""
    index, first = 0, at
    while at < len(text) and ZERO <= text[at] <= NINE:
        if index <= MAX_INDEX:
            index = 10 * index + (text[at] - ZERO)
        at += 1
    if at == first or at == len(text) or text[at] != COLON:
        return index, -1
    return index, at + 1


@njit(cache=True, nogil=True)
def _read_entries(text: Array, at: int, low: int, high: int, rows: SparseArrays) -> tuple[int, int]:
    """Parse the rest of a line after its label; return the reason why parsing ended, and the position."""
    _, _, column, value, hard, counts = rows
    before = -1
    while at < len(text) and text[at] != NEWLINE and text[at] != HASH:
        if _is_space(text[at]):
            at += 1
            continue
        if (
            text[at] == LETTER_Q
            and at + 4 <= len(text)
            and text[at + 1] == LETTER_I
            and text[at + 2] == LETTER_D
            and text[at + 3] == COLON
        ):
            counts[N_QUERIES] += 1
            at = _token_end(text, at)
            continue
        index, begin = _index(text, at)
        if begin < 0:
            return NO_INDEX, at
        if index > MAX_INDEX:
            return LARGE_INDEX, at
        if index < low:
            return LOW_INDEX, at
        if index > high:
            return HIGH_INDEX, at
        if index <= before:
            return UNSORTED, at
        number, end = _number(text, begin)
        if end < 0:
            end = _token_end(text, begin)
            _leave(hard, counts, begin, end, counts[N_ENTRIES])
        column[counts[N_ENTRIES]], value[counts[N_ENTRIES]] = index - low, number
        counts[N_ENTRIES] += 1
        at, before = end, index
    return READ, at


@njit(cache=True, nogil=True)
def _leave(hard: Codes, counts: Codes, begin: int, end: int, place: int) -> None:
    hard[counts[N_HARD], 0], hard[counts[N_HARD], 1], hard[counts[N_HARD], 2] = begin, end, place
    counts[N_HARD] += 1


@njit(cache=True, nogil=True)
def read_rows(text: Array, low: int, high: int, rows: SparseArrays) -> tuple[int, int]:
    """Parse complete lines into ``rows``; return the reason why parsing ended, and the position.

    ``rows`` are the arrays label (n,), start (n + 1,), column and value (entries,), hard and counts. Column 0 has index
    ``low``. ``counts`` (4,), initially zero, are the numbers of rows, entries, queries and tokens in ``hard``. Each row
    of ``hard`` is a token that the caller must parse: its start, its end, and where the number belongs, which is the
    position of a value, or -1 - n for the label of row n.
    """
    label, start, _, _, hard, counts = rows
    at = 0
    start[0] = 0
    while at < len(text):
        if _is_space(text[at]):
            at += 1
            continue
        if text[at] == HASH:
            while at < len(text) and text[at] != NEWLINE:
                at += 1
            continue
        number, end = _number(text, at)
        if end < 0:
            end = _token_end(text, at)
            for i in range(at, end):
                if text[i] == COLON:
                    return NO_LABEL, at
                if text[i] == COMMA:
                    return SEVERAL_LABELS, at
            _leave(hard, counts, at, end, -1 - counts[N_ROWS])
        label[counts[N_ROWS]] = number
        fault, at = _read_entries(text, end, low, high, rows)
        if fault != READ:
            return fault, at
        counts[N_ROWS] += 1
        start[counts[N_ROWS]] = counts[N_ENTRIES]
    return READ, at
