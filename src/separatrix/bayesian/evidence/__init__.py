# SPDX-License-Identifier: BSD-3-Clause
"""How probable the data are, as a function of the prior: ln p(data | η).                             PRML §3.5, §4.4.1

    hyper           η: by what factor each group of columns widens its scales
    gradient        ∂ ln p(data)/∂η, and how many weights the data determine, (3.91)
    fitter          a way to approximate posteriors, as seen from here: a fit and that gradient
    surrogate       ln p(data | η) near a fit, by algebra alone
    rotation        coordinates in which one decomposition serves every scale
    surface         the evidence over a grid of widths and scales, to look at

Who looks for the maximum is in `tuning`.
"""
