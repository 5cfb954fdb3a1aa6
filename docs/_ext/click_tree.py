"""The directive `click-tree`: the reference of a command line, taken from its commands at build time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

WIDTH = 92


def walk(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    """A context for the command and for everything under it, in the order that `--help` lists them."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=WIDTH, terminal_width=WIDTH)
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is None:
                raise LookupError(f"{context.command_path} lists {child!r} and cannot give it")
            if not found.hidden:
                yield from walk(found, context, child)


class ClickTree(SphinxDirective):
    """One section for each command: its path as title, its own help text as body."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Import `module:attribute` and write out its tree."""
        module, _, attribute = self.arguments[0].partition(":")
        root = getattr(import_module(module), attribute)
        return [self.section(context) for context in walk(root, None, module.partition(".")[0])]

    def section(self, context: click.Context) -> nodes.section:
        """What `--help` prints, under a heading that can be linked to."""
        path = context.command_path
        section = nodes.section(ids=[nodes.make_id(path)], names=[nodes.fully_normalize_name(path)])
        section += nodes.title("", "", nodes.literal(path, path))
        text = context.command.get_help(context)
        section += nodes.literal_block(text, text, language="text")
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("click-tree", ClickTree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
