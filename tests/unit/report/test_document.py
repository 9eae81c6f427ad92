"""The document as a whole: well-formed, self-contained, escaped, whole or not at all."""

import base64
import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from separatrix.report import render, write_report
from separatrix.report.document import TEMPLATES

WHEN = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)
SECTIONS = ["data", "models", "model", "effects", "calibration", "decisions", "warnings", "use", "provenance"]
VOID = {"meta", "input", "br", "link", "hr"}
STUDIES = ["study_of_two", "study_of_five", "study_without_weights", "hostile_study"]


class Outline(HTMLParser):
    """Every element is closed by its own end; attributes and text are kept."""

    def __init__(self, document):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links, self.text, self.headings, self.heads = [], [], [], [], [], [], []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert len(found) == len(attributes), "an attribute is stated twice"
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module", params=STUDIES)
def document(request):
    return render(request.getfixturevalue(request.param), written=WHEN)


def test_the_document_is_well_formed_and_names_are_unique(document):
    outline = Outline(document)
    assert len(set(outline.ids)) == len(outline.ids)
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)


def test_headings_go_down_one_step_at_a_time(document):
    levels = Outline(document).headings
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_nothing_is_fetched_and_nothing_runs(document):
    tags = Outline(document).tags
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in tags}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]
    assert "url(" not in document
    assert "@import" not in document


def test_the_policy_allows_its_own_style_sheet_alone(document):
    style = re.search(r"<style>(.*?)</style>", document, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in document


def test_pictures_and_tables_have_names_and_heads_have_scopes(document):
    tags = Outline(document).tags
    assert all(a.get("aria-label") or a.get("aria-hidden") for tag, a in tags if tag == "svg" and "viewbox" not in a)
    assert all(a.get("scope") in ("row", "col") for tag, a in tags if tag == "th")
    assert ("html", {"lang": "en"}) in tags


def test_every_section_is_there(study_of_two):
    ids = Outline(render(study_of_two)).ids
    assert [name for name in ids if name in SECTIONS] == SECTIONS


def test_one_model_alone_has_no_comparison(study_of_two):
    document = render(replace(study_of_two, compared=None))
    assert "models" not in Outline(document).ids


def test_hostile_names_are_text(hostile_study):
    document = render(hostile_study)
    assert "<script" not in document
    assert document.count("</style>") == 1
    assert "49" not in re.findall(r"quoted&#39; (\S+)", document)
    text = "".join(Outline(document).text)
    assert hostile_study.name in text
    assert "<b>target</b>" in text


def test_the_same_study_gives_the_same_document(study_of_five):
    assert render(study_of_five, written=WHEN) == render(study_of_five, written=WHEN)


def test_the_document_is_small(study_of_two, study_of_five):
    assert max(len(render(study)) for study in (study_of_two, study_of_five)) < 120_000


def test_a_report_is_written_and_not_over_another(study_of_two, tmp_path):
    path = write_report(study_of_two, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="report.html exists.*force=True"):
        write_report(study_of_two, path)
    assert path.read_text() == "mine"
    write_report(study_of_two, path, force=True)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_report_that_fails_leaves_nothing(study_of_two, tmp_path):
    broken = replace(study_of_two, counts=None)
    with pytest.raises(TypeError):
        write_report(broken, tmp_path / "report.html")
    with pytest.raises(FileNotFoundError):
        write_report(study_of_two, tmp_path / "no folder" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_no_unicode_is_written_all_the_same(study_of_two, tmp_path):
    path = write_report(
        replace(study_of_two, question=replace(study_of_two.question, name="caf\udce9.csv")), tmp_path / "report.html"
    )
    assert "caf?.csv" in path.read_text(encoding="utf-8")


def luminance(colour):
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_of_level_aa(theme):
    style = TEMPLATES.joinpath("report.css").read_text()
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colour = {name: pair[theme] for name, *pair in pairs}
    for ground in ("ground", "raised", "warn"):
        assert contrast(colour["ink"], colour[ground]) >= 7
        assert contrast(colour["muted"], colour[ground]) >= 4.5
        assert contrast(colour["accent"], colour[ground]) >= 4.5


def test_classes_have_the_colours_of_the_plots_on_a_light_ground():
    from separatrix.plots.drawing import COLOURS

    style = TEMPLATES.joinpath("report.css").read_text()
    light = re.findall(r"--k\d: light-dark\((#\w{6}),", style)
    differ = [(ours, theirs) for ours, theirs in zip(light, COLOURS, strict=True) if ours != theirs]
    assert [theirs for _, theirs in differ] == ["#F0E442"]  # yellow, which cannot be seen on white
