"""The first link of each response is canonical: the slope is ±(t - μ), and the curvature does not depend on t."""

import numpy as np
import pytest

from separatrix.likelihoods.glm import LIKELIHOODS, mean_likelihood


@pytest.mark.parametrize("family", LIKELIHOODS)
def test_the_default_link_is_canonical(family):
    likelihood = mean_likelihood(family)
    a, t = np.array([0.4, 0.4]), np.array([0.25, 0.75])
    _, slope, curvature = likelihood.derivatives(a, t)
    assert curvature[0] == pytest.approx(curvature[1], rel=1e-12)
    np.testing.assert_allclose(np.abs(slope), np.abs(t - likelihood.mean(a)), rtol=1e-12)


@pytest.mark.parametrize(("family", "link"), [(f, link) for f, links in LIKELIHOODS.items() for link in links])
def test_each_knows_its_names(family, link):
    likelihood = mean_likelihood(family, link)
    assert likelihood.response.name == family
    assert likelihood.link == link
    assert likelihood.n_outputs == 1
