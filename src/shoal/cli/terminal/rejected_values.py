"""Values that do not fit the policy, shown to the custodian who asks for them, on the custodian's own screen alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from shoal.errors import DataError, NextCommand

if TYPE_CHECKING:
    from shoal.data.schema import Schema

MOST_CELLS = 20
"""Cells of each attribute that are shown."""
MOST_LETTERS = 80
"""Letters of a cell that are shown."""
HINT = "--show-values shows these cells, on your screen alone"

show_values_option: Callable[[Any], Any] = click.option(
    "--show-values",
    is_flag=True,
    help="Show values that do not fit the policy, with their rows. For the custodian's own screen: they are personal data.",
)


@contextmanager
def show_rejected(data: object, schema: Schema, *, show: bool) -> Iterator[None]:
    """Add to an error that names rows of the table the values in them, if `show`; else say how to see them."""
    try:
        yield
    except DataError as error:
        if error.rows is not None:
            if show:
                error.values = _read_cells(data, schema, error)
            else:
                _advise(error, HINT)
                error.step = NextCommand(add=("--show-values",))
        raise


@contextmanager
def note_rejected(look: Callable[[], str | None]) -> Iterator[None]:
    """Let an error that counts rows of the real table out only after the look is on record: that, too, is something seen."""
    try:
        yield
    except DataError as error:
        if error.rows is not None and look() is not None:
            _advise(error, "this look is on record in the ledger")
        raise


def _advise(error: DataError, words: str) -> None:
    error.fix = words if error.fix is None else f"{error.fix}; {words}"
    error.args = (str(error),)


def _read_cells(data: object, schema: Schema, error: DataError) -> dict[str, dict[int, str]]:
    from shoal.engine.read.input import open_input

    named = error.rows or {}
    source = open_input(data, schema)
    place = {attribute.name: place for place, attribute in enumerate(source.attributes)}
    wanted = {name: list(rows[:MOST_CELLS]) for name, rows in named.items()}
    held = source.cells({place[name]: [row - 1 for row in rows] for name, rows in wanted.items()})
    return {
        name: dict(zip(rows, (_printable(cell) for cell in held[place[name]]), strict=True))
        for name, rows in wanted.items()
    }


def _printable(cell: object) -> str:
    """A cell on one line; control characters that a terminal would obey are spelled out."""
    text = "(missing)" if cell is None else repr(cell) if isinstance(cell, str) else str(cell)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
