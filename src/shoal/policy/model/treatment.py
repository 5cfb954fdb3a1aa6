"""The steps that change values before any method sees them: coding of extremes, rounding, thresholds, PRAM, swapping."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from shoal.guarantee.rounding import exact_text
from shoal.policy.model.base import (
    Distance,
    FromOne,
    FromTwo,
    Name,
    NumberBetween,
    PolicyPart,
    Rate,
    Value,
    WholeNumber,
    Word,
    one_value,
    only_key,
    refusal,
)

MOST_TREATMENTS = 100
"""Steps that one policy may list."""
_TEXT = {"type": ["string", "number", "boolean"]}


class _FileOrTable:
    """The name of a file, or the mapping that it would hold, read by one reader of its cells."""

    def __init__(self, words: str, cell: Any) -> None:
        self.words, self.cell = words, cell

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return one_value(value)
        if not isinstance(value, dict) or not value:
            raise refusal("neither a file nor a mapping", self.words)
        return {one_value(key): self.cell(item) for key, item in value.items()}


def _probabilities(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refusal("no row of a matrix", "a mapping from values to probabilities, such as {a: 0.9, b: 0.1}")
    reader = NumberBetween("a probability from 0 to 1", 0, 2, low_in=True)
    found = {one_value(key): reader(item) for key, item in value.items()}
    if any(each > 1 for each in found.values()):
        raise refusal("out of range", reader.words)
    return found


def _spelled(value: Any) -> Any:
    """A table of exact numbers as plain values; the name of a file as it is."""
    if not isinstance(value, dict):
        return value if isinstance(value, str | int) or value is None else exact_text(value)
    return {key: _spelled(item) for key, item in value.items()}


Counts = Annotated[
    Any,
    BeforeValidator(
        _FileOrTable("a file, or a mapping from values to counts, such as {a: 12000, b: 800}", WholeNumber(0))
    ),
    PlainSerializer(_spelled),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "integer"}}]}),
]
Matrix = Annotated[
    Any,
    BeforeValidator(
        _FileOrTable("a file, or a mapping of rows, such as {a: {a: 0.9, b: 0.1}, b: {b: 1}}", _probabilities)
    ),
    PlainSerializer(_spelled),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _TEXT}},
            ]
        }
    ),
]


class PopulationThresholdModel(PolicyPart):
    """Areas with too few people lose their name."""

    long_words: ClassVar = "{attribute: town, least: 10000, counts: population.csv, other: elsewhere}"

    attribute: Name = Field(description="The attribute whose values are areas, or anything else that has a population.")
    least: FromOne = Field(description="The least population with which a value is shown.")
    counts: Counts | None = Field(
        default=None,
        description="The public population of every value: a CSV file with a header line and two columns, or the mapping "
        "itself. Left out, the rows of the table are counted, which depends on other records.",
    )
    other: Value | None = Field(
        default=None,
        description="The declared value that stands for all values below the threshold; left out, they become missing.",
    )


class PramModel(PolicyPart):
    """Values change at random by a known matrix (PRAM)."""

    long_words: ClassVar = "{attribute: diagnosis, keep: 0.8}, or {attribute: diagnosis, matrix: matrix.csv}"

    attribute: Name = Field(description="The attribute whose values change; its values are listed.")
    keep: Rate | None = Field(
        default=None,
        description="The probability with which a value stays; else it becomes one of the others, each with the same "
        "probability.",
    )
    matrix: Matrix | None = Field(
        default=None,
        description="In place of `keep`: for every value (and `(missing)`, where values may be missing) the probability of "
        "each value that it may become; a CSV file with a header line, or the mapping itself. Rows sum to exactly 1.",
    )
    missing: Annotated[
        Literal["stay", "draw"] | None,
        BeforeValidator(Word("stay", "draw")),
        WithJsonSchema({"enum": ["stay", "draw"]}),
    ] = Field(
        default=None,
        description="With `keep`: whether a missing value stays missing (`stay`) or takes part like any other value (`draw`).",
    )

    @model_validator(mode="after")
    def _one_form(self) -> PramModel:
        if only_key(self, "keep", "matrix") == "matrix" and self.missing is not None:
            raise refusal(
                "the matrix says what becomes of missing values", "missing: beside keep alone", "leave it out"
            )
        return self


class SwapModel(PolicyPart):
    """Values change places between records."""

    long_words: ClassVar = "{attributes: [town], rate: 0.05, within: [sex]}"

    attributes: tuple[Name, ...] = Field(min_length=1, description="The attributes that change places, all together.")
    rate: Rate = Field(description="The share of the records that take part, on average.")
    within: tuple[Name, ...] = Field(
        default=(), description="Records change places only with records that have the same values of these attributes."
    )


class TreatmentModel(PolicyPart):
    """One step: what is done to which attributes."""

    long_words: ClassVar = "one step, such as {top: {age: 85}}"

    top: dict[Name, Value] | None = Field(
        default=None, min_length=1, description="Top coding: for each attribute the value that all above it become."
    )
    bottom: dict[Name, Value] | None = Field(
        default=None, min_length=1, description="Bottom coding: for each attribute the value that all below it become."
    )
    round: dict[Name, Distance] | None = Field(
        default=None,
        min_length=1,
        description="Rounding: for each attribute the base; values become the nearest multiple of it inside the domain, "
        "halves the one farther from 0.",
    )
    random_round: dict[Name, FromTwo] | None = Field(
        default=None,
        min_length=1,
        description="Random rounding: for each attribute the base; values become one of the two multiples around them (or an "
        "end of the domain), so that the expected value is the true one.",
    )
    population_threshold: PopulationThresholdModel | None = Field(
        default=None, description="Values with too small a population become one value, or missing."
    )
    pram: PramModel | None = Field(
        default=None, description="Values change at random by a matrix that is known to the recipient (PRAM)."
    )
    swap: SwapModel | None = Field(
        default=None, description="Values change places between random pairs of records; it depends on other records."
    )

    @model_validator(mode="after")
    def _one_step(self) -> TreatmentModel:
        only_key(self, *KINDS)
        return self

    @property
    def kind(self) -> str:
        """Which step it is."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values may change, in the order in which they are named."""
        asked = getattr(self, self.kind)
        if isinstance(asked, SwapModel):
            return asked.attributes
        return tuple(asked) if isinstance(asked, dict) else (asked.attribute,)

    @property
    def depends_on_others(self) -> bool:
        """Whether what becomes of a record depends on other records."""
        threshold = self.population_threshold
        return self.swap is not None or (threshold is not None and threshold.counts is None)


KINDS = ("top", "bottom", "round", "random_round", "population_threshold", "pram", "swap")
"""The steps by their keys."""
