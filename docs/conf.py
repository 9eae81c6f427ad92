# SPDX-License-Identifier: BSD-3-Clause
"""How Sphinx builds the site. `make docs` writes it to docs/_build/html; every warning is an error.

The site is read without a network: MathJax, the fonts and the search index are part of it.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper

import separatrix as sx

sys.path.insert(0, str(Path(__file__).parent))
from docstrings import add_related, add_shared_parameters

project = "separatrix"
author = copyright = "separatrix developers"  # the name that Sphinx prescribes
version = release = sx.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]

# Pages. The book's notation |w| is no reference to a substitution, and headings are targets of links up to level 3.
exclude_patterns = ["_build", "reference/examples"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 3

# Appearance. A short title keeps the header of a phone on one line.
html_theme = "pydata_sphinx_theme"
html_title = "separatrix"
html_static_path = ["_static"]
html_css_files = ["site.css", "play/play.css"]
html_js_files = ["play/engine.js", ("play/page.js", {"defer": "defer"})]  # pages without a playground do nothing
html_show_sourcelink = False
html_theme_options: dict[str, Any] = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# Reference: one page per public name, written by autosummary. `name` in a docstring is a link if the name has a page.
templates_path = ["_templates"]
autosummary_generate = ["reference.rst"]
default_role = "autolink"
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"  # "fit", not "LogisticRegression.fit", in the list of methods


def skip_member(_app: Any, _what: str, name: str, _value: Any, skip: bool, _options: Any) -> bool:
    """Leave out methods of scikit-learn's base classes whose descriptions link to pages of its own site."""
    is_routing = name == "get_metadata_routing" or (name.startswith("set_") and name.endswith("_request"))
    return skip or is_routing or name == "set_output"


LITERAL = re.compile(r"(``.*?``|`[^`]*`)")


def escape_bars(_app: Any, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Keep the bars of |w| and p(t | x), which reStructuredText reads as references, outside of code."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = LITERAL.split(line)
            lines[i] = "".join([part if k % 2 else part.replace("|", r"\|") for k, part in enumerate(parts)])


# MathJax in one file, with fonts, from a package of the extra `docs`.
html_static_path += [
    str(file.locate()) for file in metadata.files("sphinx-mathjax-offline") or () if file.match("mathjax/tex-svg.js")
]
mathjax_path = "tex-svg.js"

# Gallery. Every figure has a label, which is the text for readers who do not see it.
ORDER = (
    "tutorials",
    "digits",
    "words",
    "rbf_experiment",
    "rules",
    "hyperplane_geometry",
    "ambiguous_regions",
    "least_squares_outliers",
    "fisher_vs_mean_difference",
    "perceptron_in_action",
    "gaussian_grid",
    "iris_rules",
    "generative",
    "lobsters",
    "lda_vs_qda",
    "naive_bayes_line",
    "family_log_odds",
    "learning_curves",
    "discriminative",
    "activations",
    "newton_tangent",
    "gradient_vs_irls",
    "likelihood_surface",
    "mislabelled_points",
    "counts",
    "sparse_weights",
    "bayesian",
    "four_kinds",
    "laplace_1d",
    "rbf_evidence",
    "decisions",
    "explained_prediction",
    "costs",
    "effects_of_columns",
    "honest_probabilities",
    "calibration",
)


def scrape_labelled(block: Any, variables: dict[str, Any], settings: dict[str, Any], **options: Any) -> str:
    """Save the figures of a code block as sphinx-gallery does, with their labels as alternative texts."""
    labels = iter([plt.figure(number).get_label() for number in plt.get_fignums()])
    pictures = matplotlib_scraper(block, variables, settings, **options)
    return re.sub(r":alt: .*", lambda _: f":alt: {next(labels)}", pictures)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py",
    "subsection_order": lambda folder: ORDER.index(Path(folder).name),
    "within_subsection_order": lambda script: ORDER.index(Path(script).stem),
    "image_scrapers": (scrape_labelled,),
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "show_signature": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "write_computation_times": False,
    "parallel": 2,
    "backreferences_dir": "reference/examples",
    "doc_module": ("separatrix",),
    "inspect_global_variables": True,
}

suppress_warnings = ["config.cache"]  # the function in this configuration cannot be kept for the next build

# Links of pages to files outside this folder, which a reader of the repository follows, lead to pages of the site.
OUTSIDE = {
    r"\]\(\.\./CONTRIBUTING\.md": "](project/contributing.md",
    r"\]\(\.\./examples/([\w/]+)\.py\)": r"](examples/\1.rst)",
}


def link_to_pages(_app: Any, _name: str, source: list[str]) -> None:
    """Replace links to files outside of docs by links to the pages that show them."""
    for link, page in OUTSIDE.items():
        source[0] = re.sub(link, page, source[0])


def setup(app: Any) -> None:
    """Register the functions above."""
    for addition in (add_shared_parameters, add_related):  # before numpydoc reads the sections
        app.connect("autodoc-process-docstring", addition, priority=100)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", link_to_pages)
