"""What people see: results on standard output; notes and progress on standard error, progress only on a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from shoal.cli.commands import VERSION


def answer(fields: Mapping[str, Any]) -> None:
    """The JSON answer: a version, the fields, and null where a number is infinite."""
    click.echo(json.dumps({"version": VERSION, **_plain(fields)}, indent=2, allow_nan=False))


def line(text: str = "") -> None:
    """One line of the result."""
    click.echo(text)


def note(text: str) -> None:
    """Something worth knowing that is not the result."""
    click.echo(f"note: {text}", err=True)


def warn(text: str) -> None:
    """Something that ought to change the reader's mind."""
    click.echo(f"warning: {text}", err=True)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """A table in plain characters, numbers to the right; it never wraps, so a pipe reads it line by line."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def put(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  " + "  ".join(padded).rstrip()

    if any(head):
        line(click.style(put(head), bold=True))
    for row in rows:
        line(put(row))


def paragraph(text: str, width: int = 96, indent: str = "") -> None:
    """Words for people, wrapped."""
    line(click.wrap_text(text, width=width, initial_indent=indent, subsequent_indent=indent))


@contextmanager
def bar(words: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar; call what it yields once for each step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def busy(words: str) -> Iterator[None]:
    """A spinner, for work whose length nobody knows."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
