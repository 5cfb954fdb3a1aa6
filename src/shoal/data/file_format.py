"""How the file of a table is written: what a reader must know that no row may decide.

A promise about tables holds for files only if reading is a map that is applied to each record by itself. So encoding,
delimiter, quote, decimal mark and missing codes come from the policy and, for the delimiter, from the header line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shoal.errors import UsageError

ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be", "windows-1252", "iso-8859-1")
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


STANDARD: Final = FileFormat()
"""UTF-8 and RFC 4180: what holds where a policy says nothing."""
