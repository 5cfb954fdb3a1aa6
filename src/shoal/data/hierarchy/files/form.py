"""How a hierarchy file was written, so that an edited one is written the same way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """Delimiter, line ends, and the other habits of one CSV file; the defaults are ARX's."""

    delimiter: str = ";"
    newline: str = "\n"
    mark: bool = False
    """Whether the file opens with a byte order mark."""
    quoted: bool = False
    """Whether every field stands in quotes, and not only those that need them."""
    ended: bool = True
    """Whether the last line has a line end."""
    closed: bool = True
    """Whether the last column holds one label for all; if not, ours is not written."""
