"""Find a name that a signature mentions by its last part, instead of going through every object for each of them.

Sphinx looks up `Table` by comparing the end of every documented name: a thousand modules' worth of comparisons, thirty
thousand times. A name can only end in `.Table` if its last part is `Table`, so the search is narrowed to those first.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sphinx.domains.python import ObjectEntry, PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


class IndexedPythonDomain(PythonDomain):
    """The Python domain, with the same answers."""

    narrowed: dict[str, ObjectEntry] | None = None
    indexed: tuple[int, dict[str, dict[str, ObjectEntry]]] = (0, {})

    @property
    def objects(self) -> dict[str, ObjectEntry]:
        """All documented objects, or those that a search may find."""
        return super().objects if self.narrowed is None else self.narrowed

    def index(self) -> dict[str, dict[str, ObjectEntry]]:
        """The objects by the last part of their name; made again when objects have come or gone."""
        everything = super().objects
        if self.indexed[0] != len(everything):
            found: dict[str, dict[str, ObjectEntry]] = defaultdict(dict)
            for name, entry in everything.items():
                found[name.rpartition(".")[2]][name] = entry
            self.indexed = len(everything), dict(found)
        return self.indexed[1]

    def find_obj(
        self,
        env: BuildEnvironment,
        modname: str,
        classname: str,
        name: str,
        type: str | None,  # noqa: A002 - as Sphinx calls it
        searchmode: int = 0,
    ) -> list[tuple[str, ObjectEntry]]:
        if searchmode != 1:
            return super().find_obj(env, modname, classname, name, type, searchmode)
        self.narrowed = self.index().get(name.removesuffix("()").rpartition(".")[2], {})
        try:
            return super().find_obj(env, modname, classname, name, type, searchmode)
        finally:
            self.narrowed = None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_domain(IndexedPythonDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
