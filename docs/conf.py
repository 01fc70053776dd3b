"""Configuration of the documentation site: ``make docs`` builds it with Sphinx."""

import sys
from pathlib import Path

from airshed.core.version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "Airshed"
author = "Airshed developers"
project_copyright = "Airshed developers, Apache-2.0"
release = version = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "commands",
    "docstrings",
    "links",
    "mathematics",
    "servertypes",
]
exclude_patterns = ["_build", "extensions", "templates"]
templates_path = ["templates"]
default_role = "literal"  # docstrings write code in single backquotes

# Pages are Markdown; their links to headings use the anchors that code hosts use.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

# Tutorials are executed; results are stored in docs/_build until their code changes.
nb_execution_mode = "cache"
nb_execution_timeout = 240  # [s] for a cell, on a busy machine
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# The Python reference comes from docstrings.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

html_theme = "pydata_sphinx_theme"
html_title = "Airshed"
html_static_path = ["static"]
html_css_files = ["airshed.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "Airshed"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "tango",
}
