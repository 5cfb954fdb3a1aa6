"""Copy MathJax into the built pages, so that formulas show without a network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def copy(app: Sphinx, exception: Exception | None) -> None:
    """Put the one file beside the other static files of an HTML build."""
    if exception is None and app.builder.format == "html":
        shutil.copy(app.config.local_mathjax_file, Path(app.outdir) / "_static" / "tex-svg.js")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_config_value("local_mathjax_file", None, "env", [str])
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
