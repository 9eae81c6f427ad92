import numpy as np
import pytest

import separatrix as sx
from separatrix.cli.errors import CommandError
from separatrix.cli.surfaces import CELLS, draw, require


@pytest.fixture(scope="module")
def rows():
    return sx.datasets.make_overlapping(60, rng=3)


@pytest.fixture
def surfaces(monkeypatch):
    """The surfaces that were drawn."""
    from separatrix.plots import EvidenceSurfaceDisplay

    seen, make = [], EvidenceSurfaceDisplay.from_surface

    def keep(surface, **options):
        seen.append(surface)
        return make(surface, **options)

    monkeypatch.setattr(EvidenceSurfaceDisplay, "from_surface", keep)
    return seen


@pytest.mark.parametrize("standardize", [True, False])
def test_in_the_middle_of_the_evidence_is_the_model_itself(rows, surfaces, standardize):
    X, y = rows
    basis = sx.basis.RBF(centres="grid", n_centres=3, width=2.0)
    options = {"approximation": "laplace", "tune": "evidence", "standardize": standardize}
    model = sx.BayesianLogisticRegression(basis=basis, **options).fit(X, y)
    require("evidence", model)
    draw("evidence", model, X, y)
    middle = CELLS // 2
    assert surfaces[0].widths[middle] == pytest.approx(2.0)
    assert surfaces[0].log_evidence[middle, middle] == pytest.approx(model.log_evidence_, abs=1e-6)
    assert surfaces[0].log_evidence[middle].max() <= model.log_evidence_ + 0.02  # the scale was tuned


def test_a_point_estimate_is_placed_by_its_alpha(rows, surfaces):
    X, y = rows
    model = sx.LogisticRegression(alpha=0.25, basis=sx.basis.RBF(centres="grid", n_centres=3, width=2.0)).fit(X, y)
    draw("evidence", model, X, y)
    assert surfaces[0].scales[CELLS // 2] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("kind", "model", "said"),
    [
        ("evidence", sx.BayesianLogisticRegression(), "has no such functions"),
        ("evidence", sx.LinearDiscriminantAnalysis(), "has no such functions"),
        ("evidence", sx.LogisticRegression(alpha=0.0, basis=sx.basis.RBF(n_centres=3, centres="grid")), "no scale"),
        ("likelihood", sx.LinearDiscriminantAnalysis(), r"does not maximise p\(t \| x, w\).*--models logistic"),
        ("likelihood", sx.LogisticRegression(basis=sx.basis.RBF(n_centres=3, centres="grid")), "acts by curves"),
    ],
)
@pytest.mark.filterwarnings("ignore::separatrix.exceptions.SeparationWarning")
def test_a_model_without_the_surface_is_refused_with_a_remedy(rows, kind, model, said):
    with pytest.raises(CommandError, match=said):
        require(kind, model.fit(*rows))


def test_the_lowest_point_of_the_likelihood_is_the_maximum_likelihood_estimate(rows, monkeypatch):
    from separatrix.plots import LikelihoodSurfaceDisplay

    X, y = rows
    model = sx.LogisticRegression(alpha=0.0).fit(X, y)
    seen, make = [], LikelihoodSurfaceDisplay.from_estimator
    monkeypatch.setattr(
        LikelihoodSurfaceDisplay,
        "from_estimator",
        lambda *rows, **options: seen.append(make(*rows, **options)) or seen[0],
    )
    require("likelihood", model)
    draw("likelihood", model, X, y)
    assert seen[0].minimum.length == pytest.approx(float(np.linalg.norm(model.coef_)), rel=1e-5)
