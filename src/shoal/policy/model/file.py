"""The whole policy file as one model: the truth for the file, the command line, forms and certificates."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.guarantee.unit import NEIGHBOURS, Neighbours
from shoal.policy.model.attribute import AttributeAsked
from shoal.policy.model.file_format import FileAsked
from shoal.policy.model.parts import Part
from shoal.policy.model.release import ReleaseAsked
from shoal.policy.model.scalar import Delta, Epsilon, FromOne, Name, Word, refused


class UnitAsked(Part):
    """Whose contribution is hidden."""

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
    def spelled(cls, value: Any) -> Any:
        """A row has no column."""
        return {"column": None, "max_rows": None} if value == "row" else value

    @model_validator(mode="after")
    def _whole(self) -> UnitAsked:
        if len(self.model_fields_set) < 2:
            raise refused("a person needs both a column and a number of rows", self.long_words)
        return self


class BudgetAsked(Part):
    """The ceiling on all releases of the dataset together."""

    long_words: ClassVar = "{epsilon: a number, delta: a number}"

    epsilon: Epsilon = Field(description="The most that all releases of this dataset may cost together.")
    delta: Delta = Field(description="The delta of all releases together.")


def _version(value: Any) -> int:
    if value != "1":
        raise refused("a version of the policy file that is not known", "1", "this Shoal reads version 1")
    return 1


class Asked(Part):
    """The policy file, key by key."""

    long_words: ClassVar = "a mapping that begins with `version: 1`"

    version: Annotated[Literal[1], BeforeValidator(_version), WithJsonSchema({"const": 1})] = Field(
        description="The version of this file's form: 1."
    )
    dataset: Name = Field(description="The name under which the ledger keeps what was spent on this table.")
    unit: UnitAsked = Field(
        description="Whose contribution is hidden: one `row`, or all rows of one person. There is no default."
    )
    neighbours: Annotated[Neighbours, BeforeValidator(Word(*NEIGHBOURS))] = Field(
        description="What the promise compares: tables with a unit more or less (`add_remove`), or with one unit "
        "replaced by any other (`replace_one`). One for each dataset; there is no default."
    )
    file: FileAsked = Field(
        default=FileAsked(),
        description="How the table's file is written; never found out from its rows, which would let one person's row "
        "change how everybody else's are read.",
    )
    attributes: dict[Name, AttributeAsked] = Field(description="Every column of the table by its name.", min_length=1)
    release: ReleaseAsked | None = Field(
        default=None, description="What to publish. A policy without it can check a table and no more."
    )
    budget: BudgetAsked | None = Field(
        default=None, description="The ceiling for the dataset; it holds all releases together."
    )
