"""What a report is made of: sections with blocks, as plain values. The template `report.html` shows any list of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

Fact = tuple[str, str, str]
"""A name, its value, and a note, which may be empty."""
Cell = str | tuple[str, str]
"""The text of a cell, or the text and a note under it."""


@dataclass(frozen=True)
class Words:
    """A paragraph; a quiet one explains what is near it."""

    block: ClassVar[str] = "words"
    text: str
    quiet: bool = False


@dataclass(frozen=True)
class FactList:
    """Names with their values and notes."""

    block: ClassVar[str] = "facts"
    facts: Sequence[Fact]


@dataclass(frozen=True)
class BulletList:
    """Sentences, one below the other."""

    block: ClassVar[str] = "points"
    sentences: Sequence[str]


@dataclass(frozen=True)
class WarningList:
    """Sentences that a reader must not miss."""

    block: ClassVar[str] = "warnings"
    sentences: Sequence[str]


@dataclass(frozen=True)
class ColumnHead:
    """The head of a table's column: its name, what stands under it, and whether its cells are numbers."""

    name: str
    numeric: bool = False
    note: str = ""


def heads(texts: Sequence[str] = (), numbers: Sequence[str] = (), more: Sequence[str] = ()) -> tuple[ColumnHead, ...]:
    """The head of a table: columns of text, then columns of numbers, then columns of text.

    >>> [head.numeric for head in heads(["attribute"], ["loss", "gap"])]
    [False, True, True]
    """
    return (
        *(ColumnHead(name) for name in texts),
        *(ColumnHead(name, numeric=True) for name in numbers),
        *(ColumnHead(name) for name in more),
    )


@dataclass(frozen=True)
class DataTable:
    """Rows of cells under a head; those whose places are in `chosen` are set in bold."""

    block: ClassVar[str] = "table"
    head: Sequence[ColumnHead]
    rows: Sequence[Sequence[Cell]]
    chosen: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BarPair:
    """Two amounts of one label, and the texts that stand beside their bars; `rest` is a row that adds up what is not listed."""

    label: str
    before: float
    after: float
    cells: Sequence[str]
    rest: bool = False


@dataclass(frozen=True)
class BarTable:
    """A table that draws the two amounts of each row as bars, on one scale; its first two columns of numbers name them."""

    block: ClassVar[str] = "bars"
    label: str
    numbers: Sequence[str]
    rows: Sequence[BarPair]

    def widths(self, row: BarPair) -> tuple[str, str]:
        """How long both bars of a row are, in percent of the longest of the table.

        >>> one, two = BarPair("a", 0.1, 0.4, []), BarPair("b", 0.2, 0, [])
        >>> BarTable("label", [], [one, two]).widths(two)
        ('50', '0')
        """
        most = max((max(each.before, each.after) for each in self.rows), default=0.0)
        if most <= 0:
            return "0", "0"
        before, after = (f"{100 * size / most:.1f}".removesuffix(".0") for size in (row.before, row.after))
        return before, after


@dataclass(frozen=True)
class Figure:
    """Drawings with a caption, and under them the table of what they show: no drawing goes without."""

    block: ClassVar[str] = "figure"
    drawings: Sequence[str]
    caption: str
    table: DataTable | BarTable


Block = Words | FactList | BulletList | WarningList | DataTable | BarTable | Figure


@dataclass(frozen=True)
class Section:
    """A heading with its blocks; one of level 3 belongs to the section of level 2 before it.

    `mark` stands under the heading and says how sure all of it is, such as that it was measured and not proved.
    """

    title: str
    blocks: Sequence[Block]
    level: int = 2
    mark: str = ""
