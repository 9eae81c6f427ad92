# SPDX-License-Identifier: BSD-3-Clause
"""Tables whose classes follow from a rule about several columns; the same rules as in the UCI repository."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence.tables import Table

__all__ = ["RULES"]

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
WRONG = 0.05  # fraction of wrong labels of the monks' problems


def tic_tac_toe(_: Path) -> tuple[Any, Any]:
    """The 958 boards at the end of a game that x began; the class is whether x has three in a line."""
    import pandas as pd

    ended, seen, open_boards = set(), set(), [("b" * 9, "x")]

    def wins(board: str, player: str) -> bool:
        return any(all(board[i] == player for i in line) for line in LINES)

    while open_boards:
        board, player = open_boards.pop()
        if board in seen:
            continue
        seen.add(board)
        if wins(board, "x") or wins(board, "o") or "b" not in board:
            ended.add(board)
            continue
        following = "o" if player == "x" else "x"
        open_boards += [(board[:i] + player + board[i + 1 :], following) for i in range(9) if board[i] == "b"]
    boards = sorted(ended)
    columns = pd.DataFrame([list(board) for board in boards], columns=[f"c{i}" for i in range(9)], dtype=object)
    return columns, np.array([wins(board, "x") for board in boards])


def balance(_: Path) -> tuple[Any, Any]:
    """Weights and distances on a scale, each from 1 to 5: left, balanced or right."""
    import pandas as pd

    rows = np.array(list(product(range(1, 6), repeat=4)))
    torque = rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3]
    names = ["left weight", "left distance", "right weight", "right distance"]
    return pd.DataFrame(rows.astype(float), columns=names), np.sign(torque)


def monks(problem: int) -> Any:
    """Two copies of the 432 robots of the monks' problems, with wrong labels: 1 is an exclusive or, 2 a count."""

    def read(_: Path) -> tuple[Any, Any]:
        import pandas as pd

        rows = np.array(list(product(*(range(1, size + 1) for size in (3, 3, 2, 3, 4, 2)))))
        is_monk = (rows[:, 0] == rows[:, 1]) | (rows[:, 4] == 1) if problem == 1 else (rows == 1).sum(axis=1) == 2
        wrong = np.random.default_rng(problem).random((2, len(rows))) < WRONG
        first = is_monk ^ wrong[0]
        texts = pd.DataFrame(np.tile(rows, (2, 1)), columns=[f"a{d + 1}" for d in range(6)]).map("v{}".format)
        return texts.astype(object), np.concatenate([first, first ^ wrong[1]])

    return read


RULES = (
    Table("tic-tac-toe", "", tic_tac_toe),
    Table("balance scale", "", balance),
    Table("monks 1", "", monks(1)),
    Table("monks 2", "", monks(2)),
)
