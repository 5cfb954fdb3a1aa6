"""Hierarchies to files and back: ARX's CSV, a YAML tree, or the words of a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.files import arx, tree
from shoal.data.hierarchy.files.form import Form
from shoal.data.taxonomy import Taxonomy


def to_csv(hierarchy: Hierarchy, path: Path, form: Form | None = None) -> dict[str, Any]:
    """Write ARX's form; the words that read it again come back.

    A hierarchy that came from a file is written as that file was: delimiter, line ends, quotes.
    """
    form = form or hierarchy.form or Form()
    rows = hierarchy.rows if form.closed else [row[:-1] for row in hierarchy.rows]
    raw = arx.written(rows, form)
    path.write_bytes(raw)
    words: dict[str, Any] = {"file": path.name}
    if arx.sniffed(raw.decode("utf-8-sig")) != form.delimiter:
        words["delimiter"] = form.delimiter
    return words


def to_tree(source: Hierarchy | Taxonomy, path: Path) -> dict[str, Any]:
    """Write a YAML tree; the words that read it again come back."""
    taxonomy = source if isinstance(source, Taxonomy) else Taxonomy(tree.from_rows(source.rows))
    tree.write(path, taxonomy.nested())
    return {"taxonomy": path.name}


def to_spec(hierarchy: Hierarchy) -> dict[str, Any]:
    """The words of a policy that give this hierarchy again, as plain Python for YAML."""
    return dict(hierarchy.spec)
