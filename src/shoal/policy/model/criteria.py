"""What `method: k-anonymity` asks of every class beyond k, l and t: criteria on confidential values, and k-map."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from shoal.policy.model.base import (
    Distance,
    FromTwo,
    Name,
    NumberBetween,
    PolicyPart,
    Rate,
    Truth,
    Word,
    as_text,
    only_key,
    schema_of_number,
)

GroundDistance = Literal["equal", "ordered", "hierarchical"]
GROUND_DISTANCES: tuple[GroundDistance, ...] = get_args(GroundDistance)
AboveOne = Annotated[
    Fraction, BeforeValidator(NumberBetween("a number above 1", 1)), as_text, schema_of_number(exclusiveMinimum=1)
]


class RecursiveModel(PolicyPart):
    """Recursive (c, l)-diversity."""

    long_words: ClassVar = "{c: a number, l: a whole number}"

    c: Distance = Field(
        description="The most frequent value of a class is rarer than c times all but the l - 1 most frequent."
    )
    l: FromTwo = Field(description="From which value on the rare ones are added up, counted from the most frequent.")  # noqa: E741


class BetaModel(PolicyPart):
    """Beta-likeness, in one of its two forms."""

    long_words: ClassVar = "{basic: a number} or {enhanced: a number}"

    basic: Distance | None = Field(
        default=None, description="By what factor more frequent a value may be in a class: p <= (1 + beta) q."
    )
    enhanced: Distance | None = Field(
        default=None, description="The same, and for frequent values less: p <= (1 + min(beta, -ln q)) q."
    )

    @model_validator(mode="after")
    def _one_form(self) -> BetaModel:
        only_key(self, "basic", "enhanced")
        return self


class KMapModel(PolicyPart):
    """k-map: how many people of a population every class stands for."""

    long_words: ClassVar = "{k: a whole number, population: FILE}"

    k: FromTwo = Field(description="How many people of the population have the labels of each class at least.")
    population: Name = Field(
        description="A CSV file (UTF-8, commas) with the quasi-identifiers of the population, in values that this policy "
        "declares; its hash is part of the lock."
    )
    count: Name | None = Field(
        default=None,
        description="The column of that file that says how many people a line stands for; one when left out.",
    )
    public: Truth | None = Field(
        default=None,
        description="`true`: the file may be passed on, and travels with the release, so that everybody can recount k-map. When "
        "left out, its hash alone does.",
    )


class CriteriaModel(PolicyPart):
    """What every class has to satisfy, beside k, l and t, for each confidential attribute."""

    long_words: ClassVar = "a mapping, such as {entropy_l: 2.5, alpha: 0.6}"

    entropy_l: AboveOne | None = Field(
        default=None, description="Entropy l-diversity: the entropy of a class's values is at least ln l."
    )
    recursive: RecursiveModel | None = Field(default=None, description="Recursive (c, l)-diversity.")
    distance: Annotated[GroundDistance, BeforeValidator(Word(*GROUND_DISTANCES))] | None = Field(
        default=None,
        description="Beside `t`: how far apart two values are, for the earth mover's distance. `equal`, any two values 1 apart; "
        "`ordered`, along their order; `hierarchical`, by the height at which their hierarchy joins them. When left out: "
        "`ordered` where the attribute has an order, else `equal`.",
    )
    alpha: Rate | None = Field(
        default=None, description="The largest share that one value may have in a class: (alpha, k)-anonymity."
    )
    beta: BetaModel | None = Field(default=None, description="Beta-likeness: how much more frequent a value may be.")
    delta: Distance | None = Field(
        default=None,
        description="Delta-disclosure: |ln(p / q)| stays below it for every value of the table, in every class.",
    )
    k_map: KMapModel | None = Field(default=None, description="Classes counted on a table of the population.")

    @property
    def of_values(self) -> tuple[str, ...]:
        """The keys that are given and are about confidential values."""
        return tuple(key for key in self.given_keys() if key != "k_map")
