import re
from xml.etree import ElementTree

import numpy as np

from separatrix.report.svg import Scale
from separatrix.report.svg_curves import RUG, Curve, curves

AT = np.array([0.0, 0.5, 1.0])
UPRIGHT = Scale(0.0, 1.0, (0.0, 0.5, 1.0))
CURVE = Curve(np.array([0.1, 0.5, 0.9]), np.array([0.0, 0.4, 0.8]), np.array([0.2, 0.6, 1.0]), "k0 c0")


def paths(share, **options):
    markup = curves(AT, [CURVE], share, [(0.5, "middle")], UPRIGHT, "title", **options).markup
    return {p.get("class"): p.get("d") for p in ElementTree.fromstring(markup).iter("path")}


def test_the_line_is_inside_its_band():
    found = paths(np.ones(3) / 3)
    assert found["line k0 c0"] == "M0,900L500,500L1000,100"
    assert found["band k0 c0"] == "M0,800L500,400L1000,0L1000,200L500,600L0,1000Z"


def test_bars_have_areas_in_proportion_to_the_shares():
    share = np.array([0.2, 0.6, 0.2])
    bars = re.findall(r"M(\d+),1000V(\d+)H(\d+)V1000Z", paths(share)["rug"])
    areas = np.array([(int(b) - int(a)) * (1000 - int(top)) for a, top, b in bars], dtype=float)
    np.testing.assert_allclose(areas / areas.sum(), share, atol=0.01)
    assert max(1000 - int(top) for _, top, _ in bars) == 1000 * RUG


def test_without_rows_there_are_no_bars():
    assert "rug" not in paths(np.zeros(3))


def test_the_reference_is_level():
    assert paths(np.ones(3), reference=0.25)["level"] == "M0,750L1000,750"
