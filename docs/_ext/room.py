"""The directive `room`: the reference of every module of a package, or of one module, so that none can be forgotten."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

SECTION = """
## {title}

```{{eval-rst}}
.. automodule:: {module}
```
"""


class Room(SphinxDirective):
    """One section for each public module of the package and of its sub-packages, in alphabetical order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List the modules and hand each to autodoc."""
        package = import_module(self.arguments[0])
        start = f"{package.__name__}."
        inside = pkgutil.walk_packages(getattr(package, "__path__", []), start)
        found = [each.name for each in inside] or [package.__name__]
        public = sorted(name for name in found if not name.rpartition(".")[2].startswith("_"))
        text = "".join(SECTION.format(title=name.removeprefix(start), module=name) for name in public)
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("room", Room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
