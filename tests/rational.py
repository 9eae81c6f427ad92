"""Separation in rational numbers, with no tolerance: the alternatives of Gordan and Stiemke, by the simplex method.

Floating-point numbers are rational, so rows can be judged exactly as they are given.
"""

from __future__ import annotations

from fractions import Fraction


def has_solution(A, b):
    """Whether A x = b has a solution x >= 0: the first phase of the simplex method, by Bland's rule, which ends."""
    m, n = len(A), len(A[0])
    table = [
        [Fraction(v) for v in (*row, *(int(i == j) for j in range(m)), right)]
        for i, (row, right) in enumerate(zip(A, b, strict=True))
    ]
    table = [row if row[-1] >= 0 else [-v for v in row[:n]] + row[n:-1] + [-row[-1]] for row in table]
    basis = list(range(n, n + m))
    cost = [-sum(row[j] for row in table) for j in range(n)]
    while (entering := next((j for j in range(n) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(table) if row[entering] > 0]
        pivot = min(ratios)[2]  # never empty: the sum of what is missing cannot fall without end
        basis[pivot] = entering
        table[pivot] = [v / table[pivot][entering] for v in table[pivot]]
        for i, row in enumerate(table):
            if i != pivot and row[entering]:
                table[i] = [v - row[entering] * p for v, p in zip(row, table[pivot], strict=True)]
        cost = [c - cost[entering] * p for c, p in zip(cost, table[pivot][:n], strict=True)]
    return not any(row[-1] for row, j in zip(table, basis, strict=True) if j >= n)


def is_strictly_separable(G):
    """Gordan (1873): G b > 0 has a solution, or else G'λ = 0, Σλ = 1 has one with λ >= 0."""
    return not has_solution([*_transposed(G), [1] * len(G)], [0] * len(G[0]) + [1])


def status(G):
    """Stiemke (1915): G b >= 0, with some row > 0, has a solution, or else G'λ = 0 has one with every λ >= 1."""
    if is_strictly_separable(G):
        return "complete"
    rows = _transposed(G)
    return "overlapping" if has_solution(rows, [-sum(row) for row in rows]) else "quasi-complete"


def differences(X, t, K, *, fit_intercept=True):
    """The rows of G for each row of X and each rival class, weights relative to class 0."""
    G = []
    for x, k in zip(X, map(int, t), strict=True):
        z = [Fraction(float(v)) for v in x] + [Fraction(1)] * fit_intercept
        G += [[((c == k) - (c == j)) * v for c in range(1, K) for v in z] for j in range(K) if j != k]
    return G


def _transposed(G):
    return [[Fraction(v) for v in column] for column in zip(*G, strict=True)]
