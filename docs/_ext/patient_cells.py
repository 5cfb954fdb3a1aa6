"""Run the cells of all pages in one kernel that may start late and print late.

A kernel takes more than a second of CPU to start and to import Shoal, most pages a fraction of one to run; so one serves all.
Every page begins with an empty namespace, in its own folder. A loaded machine is no reason for a build to fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_cache.executors import utils
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx

DAY = 24 * 60 * 60
"""Seconds that a kernel may take to start, and its output to arrive after a cell is done; nbclient's own are 60 and 4."""


class SharedKernel:
    """One kernel for all pages of a build. Called as `nbclient.execute` is, in whose place it stands."""

    def __init__(self) -> None:
        self._client: NotebookClient | None = None

    def __call__(self, page: NotebookNode, cwd: str, **options: Any) -> NotebookNode:
        """Run the cells of a page and write down what they print; an error in a cell is raised."""
        fresh = new_notebook(cells=[new_code_cell(f"%cd -q {cwd}\n%reset -f")], metadata=page.metadata)
        if self._client is None:
            self._client = NotebookClient(fresh, startup_timeout=DAY, iopub_timeout=DAY)
        for notebook, settings in ((fresh, {"allow_errors": False, "timeout": -1}), (page, options)):
            self._client.nb = notebook
            for name, value in settings.items():
                setattr(self._client, name, value)
            self._client.execute(cleanup_kc=False)
        return page

    def stop(self) -> None:
        """End the kernel, if one was started."""
        client, self._client = self._client, None
        if client is not None and client.kc is not None and client.km is not None:
            client.kc.stop_channels()
            run_sync(client.km.shutdown_kernel)(now=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx. How long a cell may run is `nb_execution_timeout`; myst-nb has no key for the rest."""
    kernel = SharedKernel()
    utils.executenb = kernel
    app.connect("build-finished", lambda *_: kernel.stop())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
