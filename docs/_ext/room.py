"""The directive `room`: the reference of every module of a package, so that none can be forgotten."""

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
    """One section for each public module of the package, in alphabetical order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List the modules and hand each to autodoc."""
        package = import_module(self.arguments[0])
        names = [found.name for found in pkgutil.iter_modules(package.__path__) if not found.name.startswith("_")]
        text = "".join(SECTION.format(title=name, module=f"{package.__name__}.{name}") for name in sorted(names))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("room", Room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
