# SPDX-License-Identifier: BSD-3-Clause
"""The prior that makes the data most probable: type-II maximum likelihood.                           PRML §3.5

    scales          the scales of a prior: η* = argmax ln p(data | η)
    search          a trust region around the best fit so far, on a surrogate that is cheap
    outer           what is not a scale: a width, a degree, a rate of wrong labels
    report          what was found, why it stopped, and what it ran into

What is climbed here is described in `evidence`.
"""
