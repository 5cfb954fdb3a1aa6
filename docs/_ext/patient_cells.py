"""Let the kernel of a page's cells start late and print late: a loaded machine is no reason for a build to fail."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_cache.executors import utils

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DAY = 24 * 60 * 60
"""Seconds that a kernel may take to start, and its output to arrive after a cell is done; nbclient's own are 60 and 4."""


def setup(app: Sphinx) -> dict[str, Any]:  # noqa: ARG001 - Sphinx passes it
    """Register with Sphinx. How long a cell may run is `nb_execution_timeout`; myst-nb has no key for these two."""
    utils.executenb = partial(utils.executenb, startup_timeout=DAY, iopub_timeout=DAY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
