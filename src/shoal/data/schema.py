"""What a table means: the role, type, declared domain and hierarchy of each column, and how its file is written.

A promise about tables holds for files only if reading is a map that is applied to each record by itself. So encoding,
delimiter, quote, decimal mark and missing codes come from the policy and, for the delimiter, from the header line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final

from shoal.data.date_format import DateFormat
from shoal.data.domain import Domain
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.type import Type
from shoal.errors import UsageError

__all__ = ["STANDARD", "Attribute", "FileFormat", "Missing", "Outside", "Role", "Schema", "Type"]


NAMING = frozenset({Type.TEXT, Type.CATEGORY, Type.ORDINAL, Type.INTEGER})
"""The types whose values can name people. Decimals are rounded, times and truth values have several spellings."""


class Role(Enum):
    """What an attribute is for."""

    IDENTIFIER = "identifier"  # names a person; never published
    QUASI = "quasi"  # an intruder may know it
    CONFIDENTIAL = "confidential"  # what an intruder wants to learn
    OTHER = "other"  # published, neither of the two
    WEIGHT = "weight"  # a survey weight
    DROP = "drop"  # in the file, of no interest; never read further


class Missing(Enum):
    """What a missing value means."""

    VALUE = "value"  # a value of its own
    REFUSE = "refuse"  # an error


class Outside(Enum):
    """What happens to a value outside its declared domain."""

    ERROR = "error"
    CLAMP = "clamp"  # to the nearest end; numbers, dates and times only
    SUPPRESS = "suppress"  # treated as missing


def _fit(text: str, most: int = 60) -> str:
    """The text, or the first part of it where it would not fit into a line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class Attribute:
    """One column: its name, role and type, and what is declared about its values.

    Arguments  domain (None: nothing is declared), hierarchy (None: the values as they are), missing (a value of its own,
               or refused), outside (an error, clamped to the nearest end, or suppressed), names (whether values name people),
               missing_values (codes that stand for a missing value), format (of dates stored as text), decimal (the mark in
               numbers stored as text; None: that of the file).
    Raises     UsageError where the name is empty or the parts do not fit together.

    >>> from shoal.data.domain import Interval
    >>> Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 110))
    <Attribute 'age': quasi, integer, 0..110>
    """

    name: str
    role: Role
    type: Type
    domain: Domain | None = None
    hierarchy: Hierarchy | None = None
    missing: Missing = Missing.VALUE
    outside: Outside = Outside.ERROR
    names: bool = False
    """Whether its values name people. Such values are read without merging two of them: text as it is stored, a whole
    number in one spelling alone (`7`, not `007`); see `Schema.with_names`."""
    missing_values: tuple[str, ...] = ()
    """Texts that stand for a missing value in this column, besides those of its file."""
    format: DateFormat | None = None
    """How its dates or times are written where they are stored as text; None: as in 2024-12-31."""
    decimal: str | None = None
    """The decimal mark of its numbers where they are stored as text; None: that of its file."""

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """What was computed from these declarations alone, by what was asked for: nothing in it is computed twice."""
        return {}

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("an attribute without a name")
        self._refuse_spelling()
        if self.names:
            self._refuse_merging()
        if self.outside is Outside.CLAMP and not self.type.numeric:
            raise UsageError(
                f"attribute '{self.name}': only numbers, dates and times can be clamped",
                came=self.type.value,
                allowed="outside: error or suppress",
            )

    def __repr__(self) -> str:
        domain = "no domain" if self.domain is None else _fit(self.domain.words())
        levels = "" if self.hierarchy is None else f", {len(self.hierarchy)} levels"
        return f"<Attribute {_fit(self.name)!r}: {self.role.value}, {self.type.value}, {domain}{levels}>"

    def _refuse_merging(self) -> None:
        """Raise where reading could give two people one name, or a row none."""
        if self.type not in NAMING:
            raise UsageError(
                f"attribute '{self.name}': values of this type do not name people",
                came=self.type.value,
                allowed=", ".join(sorted(kind.value for kind in NAMING)),
            )
        if self.missing is not Missing.REFUSE or self.outside is not Outside.ERROR:
            raise UsageError(
                f"attribute '{self.name}': every row names somebody, and no name becomes another",
                came=f"missing: {self.missing.value}, outside: {self.outside.value}",
                allowed="missing: refuse, outside: error",
            )

    def _refuse_spelling(self) -> None:
        """Raise where what is declared of the text of values does not belong to their type."""
        if "" in self.missing_values or len(set(self.missing_values)) != len(self.missing_values):
            raise UsageError(f"attribute '{self.name}': a missing code is a text, and is listed once")
        if self.decimal is not None and (self.type is not Type.DECIMAL or self.decimal not in DECIMALS):
            raise UsageError(
                f"attribute '{self.name}': a decimal mark belongs to decimals",
                came=f"{self.decimal!r} for {self.type.value}",
                allowed=" or ".join(DECIMALS),
            )
        if self.format is None:
            return
        if self.type not in (Type.DATE, Type.DATETIME) or (self.type is Type.DATE and self.format.has_time):
            raise UsageError(
                f"attribute '{self.name}': a date format belongs to dates, one with a time of day to times",
                came=f"{self.format.text} for {self.type.value}",
                allowed="type: date or type: datetime",
            )

    @property
    def published(self) -> bool:
        """Whether a release may show it."""
        return self.role not in (Role.IDENTIFIER, Role.DROP)


ENCODINGS: Final = (
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    *(f"windows-{number}" for number in range(1250, 1259)),
    *(f"iso-8859-{number}" for number in range(1, 17) if number != 12),
    "mac-roman",
    "cp437",
    "cp850",
    "cp852",
    "cp866",
    "koi8-r",
    "koi8-u",
    "shift_jis",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
)
"""The encodings that are read, by the names of Python's codecs. In each of them a line end is a line end whatever stands before
it, so that no record changes how another one is decoded."""
DELIMITERS: Final = (",", ";", "\t", "|")
"""What is looked for in the header line where the policy names no delimiter."""
DECIMALS: Final = (".", ",")
SIGNS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\t")
"""The characters that may separate or enclose cells."""


@dataclass(frozen=True)
class FileFormat:
    """Encoding, delimiter (None: found in the header line), quote (None: cells are never quoted), decimal mark, and codes.

    `missing` lists texts that stand for a missing value; an empty cell of a CSV file is missing anyway.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    quote: str | None = '"'
    decimal: str = "."
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    """The sheet of a workbook; None: the only one that it has."""
    table: str | None = None
    """The table of a database."""
    query: str | None = None
    """The query that a database answers with the table."""

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise UsageError("no such encoding", came=self.encoding, allowed=", ".join(ENCODINGS))
        for value, name in ((self.delimiter, "delimiter"), (self.quote, "quote")):
            if value is not None and value not in SIGNS:
                raise UsageError(f"a {name} is one ASCII sign, no letter, digit or blank", came=repr(value))
        if self.quote is not None and self.quote == self.delimiter:
            raise UsageError("delimiter and quote are the same sign", came=repr(self.quote))
        if self.decimal not in DECIMALS:
            raise UsageError("no such decimal mark", came=repr(self.decimal), allowed=" or ".join(DECIMALS))
        if "" in self.missing or len(set(self.missing)) != len(self.missing):
            raise UsageError("a missing code is a text, and is listed once", fix="an empty cell is missing anyway")
        if sum(each is not None for each in (self.sheet, self.table, self.query)) > 1:
            raise UsageError("rows come from one place", allowed="one of sheet, table and query")


STANDARD: Final = FileFormat()
"""UTF-8 and RFC 4180: what holds where a policy says nothing."""


@dataclass(frozen=True)
class Schema:
    """The columns of one table, in order, and how its file is written.

    Arguments  attributes, one for each column; file, how a CSV file of the table is written.
    Raises     UsageError where there is no attribute, or two of one name.

    >>> schema = Schema((Attribute("age", Role.QUASI, Type.INTEGER), Attribute("name", Role.IDENTIFIER, Type.TEXT)))
    >>> [attribute.name for attribute in schema.published]
    ['age']
    """

    attributes: tuple[Attribute, ...]
    file: FileFormat = STANDARD

    def __post_init__(self) -> None:
        names = [a.name for a in self.attributes]
        if not names:
            raise UsageError("a schema without attributes")
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise UsageError("an attribute is described twice", came=", ".join(twice))

    def __repr__(self) -> str:
        shown = ", ".join(_fit(name) for name in self.names[:8])
        more = "" if len(self.names) <= 8 else f", … ({len(self.names)} in all)"
        return f"<Schema: {shown}{more}>"

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        """The attributes by their names."""
        return {a.name: a for a in self.attributes}

    def __getitem__(self, name: str) -> Attribute:
        if name not in self.by_name:
            raise UsageError("no such attribute", came=name, allowed=", ".join(self.by_name))
        return self.by_name[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all attributes, in order."""
        return tuple(a.name for a in self.attributes)

    def with_names(self, column: str | None) -> Schema:
        """The schema with the values of one column marked as the names of people; unchanged where the column is None.

        A row that names nobody is refused. Such rows would share one name, and taking one of them away would let another
        in: more than a promise for one person covers.
        """
        if column is None:
            return self
        named = replace(self[column], missing=Missing.REFUSE, names=True)
        return replace(self, attributes=tuple(named if each.name == column else each for each in self.attributes))

    def with_role(self, *roles: Role) -> tuple[Attribute, ...]:
        """The attributes that have one of these roles, in order."""
        return tuple(a for a in self.attributes if a.role in roles)

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers."""
        return self.with_role(Role.QUASI)

    @property
    def confidential(self) -> tuple[Attribute, ...]:
        """The confidential attributes."""
        return self.with_role(Role.CONFIDENTIAL)

    @property
    def published(self) -> tuple[Attribute, ...]:
        """The attributes that a release may show."""
        return tuple(a for a in self.attributes if a.published)
