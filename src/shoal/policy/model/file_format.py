"""How the table's file is written, as the policy says it: encoding, delimiter, quote, decimal mark, missing codes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.data.schema import DECIMALS, ENCODINGS, SIGNS, FileFormat
from shoal.policy.model.parts import Part
from shoal.policy.model.scalar import Value, Word, refused

_SIGN = "one ASCII sign, no letter, digit or blank"


class _Sign:
    """One sign, or one of some words; `tab` is a word for a sign that is hard to see."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Any) -> str:
        allowed = f"{', '.join(self.words)}, or {_SIGN}"
        if not isinstance(value, str):
            raise refused("not one sign", allowed)
        if value in self.words:
            return value
        if value not in SIGNS or value == "":
            raise refused("not one sign", allowed)
        return "tab" if value == "\t" else value


class FileAsked(Part):
    """How the table's file is written."""

    long_words: ClassVar = "a mapping, such as {encoding: windows-1252, delimiter: ;, decimal: ','}"

    encoding: Annotated[str, BeforeValidator(Word(*ENCODINGS)), WithJsonSchema({"enum": list(ENCODINGS)})] = Field(
        default="utf-8",
        description="How a CSV file spells letters: `utf-8` (a byte order mark may begin the file), `utf-16-le`, "
        "`utf-16-be`, `windows-1252` or `iso-8859-1`.",
    )
    delimiter: Annotated[str, BeforeValidator(_Sign("auto", "tab")), WithJsonSchema({"type": "string"})] = Field(
        default="auto",
        description="What stands between the cells of a CSV file: a sign, `tab`, or `auto`, which takes of comma, "
        "semicolon, tab and vertical bar the one that shows most of the policy's columns in the header line.",
    )
    quote: Annotated[str, BeforeValidator(_Sign("none")), WithJsonSchema({"type": "string"})] = Field(
        default='"',
        description="What encloses a cell that holds the delimiter or a line end, doubled inside it; `none` where quotes "
        "are letters like others.",
    )
    decimal: Annotated[str, BeforeValidator(Word(*DECIMALS)), WithJsonSchema({"enum": list(DECIMALS)})] = Field(
        default=".", description="What stands before the fraction of a number that is written as text."
    )
    missing: tuple[Value, ...] = Field(
        default=(),
        description="Texts that stand for a missing value, such as `[NA, '-9']`; an empty cell of a CSV file always does.",
    )

    @model_validator(mode="after")
    def _apart(self) -> FileAsked:
        if self.delimiter == self.quote:
            raise refused("delimiter and quote are the same sign", "two different ones")
        if len(set(self.missing)) != len(self.missing):
            raise refused("a missing code is listed twice", "each code once")
        return self

    def format(self) -> FileFormat:
        """What a reader is told."""
        return FileFormat(
            self.encoding,
            {"auto": None, "tab": "\t"}.get(self.delimiter, self.delimiter),
            None if self.quote == "none" else self.quote,
            self.decimal,
            tuple(sorted(self.missing)),
        )

    def locked(self) -> dict[str, Any]:
        """The same in its one form, defaults written out."""
        return {**self.model_dump(mode="json"), "missing": sorted(self.missing)}
