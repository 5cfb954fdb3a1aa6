"""The argument DATA of a command: a path, or the address of a database, which is kept as it was typed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.engine.read.foreign.address import is_address

if TYPE_CHECKING:
    from collections.abc import Callable


class TableSource(click.Path):
    """A path, completed by the shell as one, or an address such as postgresql://ann@db.example.org/clinic."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if is_address(value) else super().convert(value, param, ctx)


data_argument: Callable[[Any], Any] = click.argument("data", type=TableSource())
