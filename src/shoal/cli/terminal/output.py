"""What a command prints: results on standard output; notes and warnings on standard error."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

VERSION = 1
"""The version of the shape of every JSON answer."""


def print_json(fields: Mapping[str, Any]) -> None:
    """Print the result as JSON: a version, the fields, and null where a number is infinite."""
    click.echo(json.dumps({"version": VERSION, **_finite(fields)}, indent=2, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one line of the result."""
    click.echo(text)


def print_paragraph(text: str, width: int = 96, indent: str = "") -> None:
    """Print sentences of the result, wrapped."""
    print_line(click.wrap_text(text, width=width, initial_indent=indent, subsequent_indent=indent))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table in plain characters, the columns `right` aligned to the right; lines are never wrapped."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def align(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  " + "  ".join(padded).rstrip()

    if any(head):
        print_line(click.style(align(head), bold=True))
    for row in rows:
        print_line(align(row))


def print_facts(rows: Sequence[tuple[str, str]], width: int = 100) -> None:
    """Print names with what there is to say of each, wrapped beside the name."""
    indent = max(len(name) for name, _ in rows) + 4
    for name, text in rows:
        lines = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False) or [""]
        print_line(f"  {name:<{indent - 4}}  {lines[0]}".rstrip())
        for more in lines[1:]:
            print_line(" " * indent + more)


def note(text: str) -> None:
    """Print something worth knowing that is not the result."""
    click.echo(f"note: {text}", err=True)


def warn(text: str) -> None:
    """Print something that may change the reader's decision."""
    click.echo(f"warning: {text}", err=True)


def count_text(number: int, word: str) -> str:
    """A number of things: 1 release, 2 releases."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
