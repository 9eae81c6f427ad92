# SPDX-License-Identifier: BSD-3-Clause
"""The compiled loop that measures the cells of a sheet. Import it lazily, since it imports Numba.

It reads the XML of a sheet, or of the shared strings, in chunks of bytes, and allocates nothing. If the XML is unusual,
it finds too many cells or too long texts, never too few: tags in comments count, and so does the larger of two places.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix._array import Array, Codes

# Positions in ``state``: results, then what must be remembered between two chunks.
N_CELLS, BOTTOM, BOTTOM_COLUMN, RIGHT, RIGHT_ROW, N_BYTES, ROW, COLUMN, SHARED, INDEX, N_STATE = range(11)
NO_STRING, BEFORE_INDEX, IN_INDEX, UNKNOWN_INDEX = range(4)  # values of SHARED
LESS, GREATER, SLASH, COLON, SPACE, QUOTE, APOSTROPHE, EQUALS, EXCLAMATION, QUESTION = (
    60,
    62,
    47,
    58,
    32,
    34,
    39,
    61,
    33,
    63,
)
LETTER_A, LETTER_Z, LETTER_C, LETTER_R, LETTER_S, LETTER_T, LETTER_V, LETTER_I = 65, 90, 99, 114, 115, 116, 118, 105
LETTER_O, LETTER_W, ZERO, NINE, LOWER_CASE = 111, 119, 48, 57, 32
MAX_PLACE = np.int64(2**31)  # larger rows and columns are counted as this one


@njit(cache=True, nogil=True)
def tag_name(text: Array, at: int, stop: int) -> tuple[int, int]:
    """Start and end of the name of the tag that begins at ``at``, without its prefix."""
    start = end = at
    while end < stop and text[end] > SPACE and text[end] != SLASH:
        if text[end] == COLON:
            start = end + 1
        end += 1
    return start, end


@njit(cache=True, nogil=True)
def is_name(text: Array, start: int, end: int, a: int, b: int, c: int) -> bool:
    """Whether a name has these letters; 0 stands for no letter."""
    size = (a > 0) + (b > 0) + (c > 0)
    if end - start != size:
        return False
    return bool(text[start] == a and (size < 2 or text[start + 1] == b) and (size < 3 or text[start + 2] == c))


@njit(cache=True, nogil=True)
def tag_end(text: Array, at: int) -> int:
    """Position of the > that ends the tag at ``at``, outside quotes; the end of the text if it is incomplete."""
    mark = 0
    while at < len(text):
        c = text[at]
        if mark:
            mark = 0 if c == mark else mark
        elif c == GREATER:
            return at
        elif c in (QUOTE, APOSTROPHE):
            mark = c
        at += 1
    return at


@njit(cache=True, nogil=True)
def measure(text: Array, state: Codes, lengths: Codes, longest: int) -> int:  # noqa: PLR0912  # one loop over bytes
    """Add the cells of a chunk to ``state``, and the bytes of their shared strings, of these ``lengths``.

    Returns the number of bytes that were used. The rest of the chunk is an incomplete tag, which the caller puts before
    the next chunk.
    """
    at, size = 0, len(text)
    while at < size:
        c = np.int64(text[at])
        if c != LESS:
            if state[SHARED] == IN_INDEX:
                if ZERO <= c <= NINE:
                    state[INDEX] = min(10 * state[INDEX] + c - ZERO, MAX_PLACE)
                elif c > SPACE:  # such as a character reference
                    state[SHARED] = UNKNOWN_INDEX
            at += 1
            continue
        if at + 1 < size and text[at + 1] in (EXCLAMATION, QUESTION):  # quotes in a comment need not be closed
            state[SHARED] = UNKNOWN_INDEX if state[SHARED] == IN_INDEX else state[SHARED]
            at += 2
            continue
        stop = tag_end(text, at)
        if stop == size:
            return at
        is_end = text[at + 1] == SLASH
        start, end = tag_name(text, at + 1 + is_end, stop)
        is_cell = is_name(text, start, end, LETTER_C, 0, 0)
        if is_name(text, start, end, LETTER_R, LETTER_O, LETTER_W):
            if not is_end:
                _read_attributes(text, end, stop, state, True)
            if is_end or text[stop - 1] == SLASH:
                state[ROW] = min(state[ROW] + 1, MAX_PLACE)
                state[COLUMN] = 0
        elif is_cell and not is_end:
            state[SHARED] = NO_STRING
            _read_attributes(text, end, stop, state, False)
            if state[ROW] >= state[BOTTOM]:
                state[BOTTOM], state[BOTTOM_COLUMN] = state[ROW], state[COLUMN]
            if state[COLUMN] >= state[RIGHT]:
                state[RIGHT], state[RIGHT_ROW] = state[COLUMN], state[ROW]
            state[N_CELLS] += 1
            state[COLUMN] = min(state[COLUMN] + 1, MAX_PLACE)
        elif is_name(text, start, end, LETTER_V, 0, 0) and state[SHARED] and not is_end:
            state[SHARED], state[INDEX] = IN_INDEX, 0
        elif (is_cell or is_name(text, start, end, LETTER_V, 0, 0)) and is_end and state[SHARED] >= IN_INDEX:
            if state[SHARED] == UNKNOWN_INDEX:
                state[N_BYTES] += longest
            elif state[INDEX] < len(lengths):
                state[N_BYTES] += lengths[state[INDEX]]
            state[SHARED] = BEFORE_INDEX
        at = stop + 1
    return size


@njit(cache=True, nogil=True)
def _read_attributes(text: Array, at: int, stop: int, state: Codes, is_row: bool) -> None:
    """Read r="B7" or r="7" into ROW and COLUMN, and t="s" into SHARED."""
    last_row = last_column = np.int64(0)
    while at < stop:
        while at < stop and (text[at] <= SPACE or text[at] == SLASH):
            at += 1
        start = at
        while at < stop and text[at] > SPACE and text[at] != EQUALS:
            at += 1
        end = at
        while at < stop and text[at] != QUOTE and text[at] != APOSTROPHE:
            at += 1
        mark = text[at] if at < stop else 0
        at += 1
        value = at
        while at < stop and text[at] != mark:
            at += 1
        if is_name(text, start, end, LETTER_R, 0, 0):
            row = column = np.int64(0)
            for i in range(value, at):
                c = np.int64(text[i])
                upper = c - LOWER_CASE if c > LETTER_Z else c
                if LETTER_A <= upper <= LETTER_Z:
                    column = min(26 * column + upper - LETTER_A + 1, MAX_PLACE)
                elif ZERO <= c <= NINE:
                    row = min(10 * row + c - ZERO, MAX_PLACE)
            last_row, last_column = max(last_row, row), max(last_column, column)
        elif is_name(text, start, end, LETTER_T, 0, 0) and at - value == 1 and text[value] == LETTER_S and not is_row:
            state[SHARED] = BEFORE_INDEX
        at += 1
    if last_row:
        state[ROW] = last_row - 1
    if last_column and not is_row:
        state[COLUMN] = last_column - 1


@njit(cache=True, nogil=True)
def shared_lengths(text: Array, state: Codes, lengths: Codes) -> int:
    """Write the number of bytes of each shared string to ``lengths``; return the bytes used, as `measure` does.

    INDEX counts the strings, and COLUMN the bytes of the current one. A string that is too many is not written.
    """
    at, size = 0, len(text)
    while at < size:
        if text[at] != LESS:
            state[COLUMN] += 1
            at += 1
            continue
        if at + 1 < size and text[at + 1] in (EXCLAMATION, QUESTION):
            at += 2
            continue
        stop = tag_end(text, at)
        if stop == size:
            return at
        is_end = text[at + 1] == SLASH
        start, end = tag_name(text, at + 1 + is_end, stop)
        if is_name(text, start, end, LETTER_S, LETTER_I, 0):
            if is_end or text[stop - 1] == SLASH:
                if state[INDEX] < len(lengths):
                    lengths[state[INDEX]] = state[COLUMN] if is_end else 0
                state[INDEX] += 1
            state[COLUMN] = 0
        at = stop + 1
    return size
