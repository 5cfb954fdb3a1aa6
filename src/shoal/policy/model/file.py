"""The whole policy file as one model: the truth for the file, the command line, forms and certificates."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.data.schema import DECIMALS, ENCODINGS, SIGNS, FileFormat
from shoal.guarantee.unit import NEIGHBOURS, Neighbours, Unit
from shoal.policy.model.attribute import AttributeModel
from shoal.policy.model.base import Delta, Epsilon, FromOne, Name, PolicyPart, Value, Word, refusal
from shoal.policy.model.release import ReleaseModel
from shoal.policy.model.treatment import MOST_TREATMENTS, TreatmentModel

_SIGN = "one ASCII sign, no letter, digit or blank"


class _Sign:
    """One sign, or one of some words; `tab` is a word for a sign that is hard to see."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Any) -> str:
        allowed = f"{', '.join(self.words)}, or {_SIGN}"
        if not isinstance(value, str):
            raise refusal("not one sign", allowed)
        if value in self.words:
            return value
        if value not in SIGNS or value == "":
            raise refusal("not one sign", allowed)
        return "tab" if value == "\t" else value


class FileModel(PolicyPart):
    """How the table's file is written."""

    long_words: ClassVar = "a mapping, such as {encoding: windows-1252, delimiter: ;, decimal: ','}"

    encoding: Annotated[str, BeforeValidator(Word(*ENCODINGS)), WithJsonSchema({"enum": list(ENCODINGS)})] = Field(
        default="utf-8",
        description="How a CSV file or JSON lines spell letters: `utf-8` (a byte order mark may begin the file), `utf-16` "
        "(one does), `utf-16-le`, `utf-16-be`, `windows-1250` to `windows-1258`, `iso-8859-1` to `iso-8859-16`, "
        "`mac-roman`, `cp437`, `cp850`, `cp852`, `cp866`, `koi8-r`, `koi8-u`, `shift_jis`, `cp932`, `euc_jp`, `gb18030`, "
        "`big5` or `euc_kr`.",
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

    sheet: Value | None = Field(
        default=None, description="The sheet of a workbook; not needed where only one is not hidden."
    )
    table: Value | None = Field(default=None, description="The table or view of a database, such as `visits`.")
    query: Value | None = Field(
        default=None, description="The one SQL query that gives the table, in place of `table`; it is part of the lock."
    )

    @model_validator(mode="after")
    def _one_place(self) -> FileModel:
        if sum(each is not None for each in (self.sheet, self.table, self.query)) > 1:
            raise refusal("rows come from one place", "one of sheet, table and query")
        return self

    @model_validator(mode="after")
    def _apart(self) -> FileModel:
        if self.delimiter == self.quote:
            raise refusal("delimiter and quote are the same sign", "two different ones")
        if len(set(self.missing)) != len(self.missing):
            raise refusal("a missing code is listed twice", "each code once")
        return self

    def format(self) -> FileFormat:
        """The file format that a reader of the table is given."""
        return FileFormat(
            self.encoding,
            {"auto": None, "tab": "\t"}.get(self.delimiter, self.delimiter),
            None if self.quote == "none" else self.quote,
            self.decimal,
            tuple(sorted(self.missing)),
            self.sheet,
            self.table,
            self.query,
        )

    def canonical(self) -> dict[str, Any]:
        """How the file is written, in one form for one meaning: defaults written out, codes sorted, places that are not named
        left out.
        """
        return {**self.model_dump(mode="json", exclude_none=True), "missing": sorted(self.missing)}


class UnitModel(PolicyPart):
    """The unit of privacy: one row, or all rows with one value of a column. `shoal.guarantee.unit.Unit` says which to choose."""

    short: ClassVar = {"const": "row"}
    long_words: ClassVar = "row, or {column: ..., max_rows: ...}"

    column: Name | None = Field(
        default=None,
        description="The identifier that names a person: text, or whole numbers; names are compared letter by letter.",
    )
    max_rows: FromOne | None = Field(
        default=None, description="The most rows that one person may have; 1 keeps one of each person's rows at random."
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """`unit: row` is a unit without a column."""
        return {"column": None, "max_rows": None} if value == "row" else value

    @model_validator(mode="after")
    def _whole(self) -> UnitModel:
        if len(self.model_fields_set) < 2:
            raise refusal("a person needs both a column and a number of rows", self.long_words)
        return self

    def unit(self, neighbours: Neighbours) -> Unit:
        """The unit of privacy under a neighbouring relation."""
        if self.column is None or self.max_rows is None:
            return Unit.row(neighbours)
        return Unit.person(self.column, self.max_rows, neighbours)


_Accounting = Annotated[Literal["basic", "gaussian"], BeforeValidator(Word("basic", "gaussian"))]


class BudgetModel(PolicyPart):
    """The ceiling on all releases of the dataset together."""

    long_words: ClassVar = "{epsilon: a number, delta: a number}"

    epsilon: Epsilon = Field(description="The most that all releases of this dataset may cost together.")
    delta: Delta = Field(description="The delta of all releases together.")
    accounting: _Accounting | None = Field(
        default=None,
        description="How costs add up: `basic`, epsilon by epsilon, or `gaussian`, by which many questions cost less together; "
        "it keeps 7/10 of delta for them. What is on record where it is left out, at first `basic`.",
    )


def _version(value: Any) -> int:
    if value != "1":
        raise refusal("a version of the policy file that is not known", "1", "this Shoal reads version 1")
    return 1


class PolicyModel(PolicyPart):
    """The policy file, key by key."""

    long_words: ClassVar = "a mapping that begins with `version: 1`"

    version: Annotated[Literal[1], BeforeValidator(_version), WithJsonSchema({"const": 1})] = Field(
        description="The version of this file's form: 1."
    )
    dataset: Name = Field(description="The name under which the ledger keeps what was spent on this table.")
    unit: UnitModel = Field(
        description="Whose contribution is hidden: one `row`, or all rows of one person. There is no default."
    )
    neighbours: Annotated[Neighbours, BeforeValidator(Word(*NEIGHBOURS))] = Field(
        description="What the promise compares: tables with a unit more or less (`add_remove`), or with one unit "
        "replaced by any other (`replace_one`). One for each dataset; there is no default."
    )
    file: FileModel = Field(
        default=FileModel(),
        description="How the table's file is written; never found out from its rows, which would let one person's row "
        "change how everybody else's are read.",
    )
    attributes: dict[Name, AttributeModel] = Field(description="Every column of the table by its name.", min_length=1)
    treatments: tuple[TreatmentModel, ...] = Field(
        default=(),
        max_length=MOST_TREATMENTS,
        description="Steps that change values before the method of `release` sees them, one after the other.",
    )
    release: ReleaseModel | None = Field(
        default=None, description="What to publish. A policy without it can check a table and no more."
    )
    budget: BudgetModel | None = Field(
        default=None, description="The ceiling for the dataset; it holds all releases together."
    )
