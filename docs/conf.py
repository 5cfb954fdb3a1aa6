"""How the documentation is built: MyST pages, executed cells, formulas without a network."""

from __future__ import annotations

import gc
import logging
import sys
from importlib import metadata
from pathlib import Path

from sphinx.pycode.parser import Parser

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# Trees of pages are large and live long: looking for cycles in them is a sixth of a build, and would free some hundred megabytes
# a little before it ends.
gc.disable()

# A debug line for every event that nobody reads, and where each definition begins and ends, which is for links to source code
# that the pages do not have: another tenth.
logging.disable(logging.DEBUG)
Parser.parse_definition = lambda _: None  # type: ignore[method-assign]

project = "Shoal"
author = "the Shoal authors"
project_copyright = "the Shoal authors; Apache-2.0"
version = release = metadata.version("shoal")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "click_tree",
    "indexed_names",
    "local_mathjax",
    "patient_cells",
    "plain_docstrings",
    "quick_trees",
    "room",
]
exclude_patterns = ["_*"]
templates_path: list[str] = []

html_theme = "furo"
html_title = f"Shoal {release}"
html_static_path = ["_static"]
html_css_files = ["shoal.css"]
html_copy_source = False
html_show_sphinx = False

myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A page with {code-cell} runs when it is built; an error in a cell is an error of the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = -1  # no limit that a busy machine could miss
nb_execution_show_tb = True
nb_merge_streams = True

autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_use_type_comments = False  # there are none, and looking for them parses every function again
suppress_warnings = ["ref.python"]  # two rooms may each have a `Source`; a signature links to one of them
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries = (
    False  # contents list modules; every page carries all contents, and thousands of names would fill them
)

# One file holds TeX input and SVG output, fonts included; local_mathjax copies it.
# No menu: it would ask a network.
mathjax_path = "tex-svg.js"
mathjax3_config = {
    "options": {"enableMenu": False, "enableAssistiveMml": True},
    "svg": {"fontCache": "global"},
}
local_mathjax_file = next(
    str(file.locate()) for file in metadata.files("sphinx-mathjax-offline") or [] if file.name == "tex-svg.js"
)
