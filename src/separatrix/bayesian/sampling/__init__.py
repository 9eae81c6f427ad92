# SPDX-License-Identifier: BSD-3-Clause
"""Weighted draws from the posterior: exact as their number grows, and honest about when they are not.   PRML §11.1.4

    importance      draws from an approximation, weighted by how wrong it is: (11.19) - (11.23)
    pareto          whether those weights can be trusted: the shape k of their tail
    draws           what a set of draws predicts, and the likelihood of each in one pass

The weights also tell how good the approximation is that was drawn from: `diagnostics` asks for them.
"""
