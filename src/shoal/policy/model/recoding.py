"""The recoding as the policy file writes it: levels fixed in advance, one drawn from all, or a tree of boxes."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.policy.model.parts import Part, one_of
from shoal.policy.model.scalar import Count, Epsilon, FromZero, Name, Rate, Word, refused

Score = Literal["ramp", "records", "discernibility", "target"]
SCORES: tuple[Score, ...] = ("ramp", "records", "discernibility", "target")

DEPTHS = {"type": "integer", "minimum": 1, "maximum": 256}
Growth = Literal["surveys"]

SHARES: dict[str, Fraction] = {"choose": Fraction(1, 20), "tree": Fraction(3, 20)}
"""The part of `release.epsilon` that a choice takes when the policy does not say (decision 0002)."""


def _growth(value: Any) -> str:
    """The one way to grow a tree; the way that was removed is refused by its name."""
    if value == "privtree":
        raise refused(
            "the tree of noisy tests was removed: it kept less detail than `surveys` wherever the two were compared",
            "surveys",
            "leave `grow` out",
        )
    return Word("surveys")(value)


class Paid(Part):
    """A choice that looks at the data and pays for it."""

    long_words: ClassVar = "{epsilon: a number}"

    epsilon: Epsilon | None = Field(
        default=None, description="What the choice costs; a part of `release.epsilon`. A fixed share when left out."
    )
    finest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is finer than this level of its hierarchy."
    )
    coarsest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is coarser than this level of its hierarchy."
    )


class Choose(Paid):
    """One level for each attribute, drawn from all combinations."""

    long_words: ClassVar = "{epsilon: a number, ...}"

    score: Annotated[Score, BeforeValidator(Word(*SCORES))] | None = Field(
        default=None,
        description="What a good recoding keeps: records that likely survive (`ramp`, when left out), the expected "
        "published `records`, small groups (`discernibility`), or what tells a `target` attribute's values apart.",
    )
    target: Name | None = Field(default=None, description="The attribute of the score `target`.")


class Grow(Paid):
    """A tree of boxes, grown on noisy counts."""

    long_words: ClassVar = "{epsilon: a number, ...}"

    grow: Annotated[Growth, BeforeValidator(_growth)] | None = Field(
        default=None,
        description="How the tree learns: from `surveys`, noisy counts of whole partitions, as when it is left out.",
    )
    sample: Rate | None = Field(
        default=None,
        description="Grow on a separate random sample of this rate instead of the whole table: quicker where rows are many. "
        "Its surveys may be less noisy for the same price.",
    )
    depth: Annotated[int, BeforeValidator(Count(1, 256)), WithJsonSchema(DEPTHS)] | None = Field(
        default=None,
        description="How many times a box may be divided on the way from the whole domain; 64 when left out.",
    )


class Recoding(Part):
    """How coarse the labels are: fixed in advance, or chosen by a mechanism that is paid for."""

    short: ClassVar = {"enum": ["tree", "choose"]}
    long_words: ClassVar = "tree, choose, {levels: ...}, {choose: ...} or {tree: ...}"

    levels: dict[Name, FromZero] | None = Field(
        default=None,
        description="A level for each attribute, fixed in advance and free of cost; 0 is the value itself, and so is "
        "an attribute that is not named.",
    )
    choose: Choose | None = Field(
        default=None, description="One level for each attribute, chosen privately on the full table."
    )
    tree: Grow | None = Field(
        default=None,
        description="A tree of boxes, grown privately: fine labels where records are dense, coarse elsewhere.",
    )

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """One word stands for the choice with all its defaults."""
        return {Word("tree", "choose")(value): {}} if isinstance(value, str) and value else value

    @model_validator(mode="after")
    def _one_kind(self) -> Recoding:
        one_of(self, "levels", "choose", "tree")
        return self

    @property
    def paid(self) -> Paid | None:
        """The choice that costs something, if there is one."""
        return self.choose or self.tree

    @property
    def key(self) -> str:
        """Which of the three it is."""
        return "levels" if self.levels is not None else "choose" if self.choose is not None else "tree"

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the recoding costs, as far as the file says."""
        return (self.paid.epsilon or Fraction(0)) if self.paid else Fraction(0)

    def filled(self, epsilon: Fraction | None, published: tuple[str, ...]) -> Recoding:
        """With every default written out, given the release's epsilon and its attributes."""
        if self.levels is not None:
            return self.model_copy(update={"levels": {name: self.levels.get(name, 0) for name in published}})
        found: Paid = self.choose or self.tree or Grow()
        update: dict[str, Any] = {}
        if found.epsilon is None and epsilon is not None:
            update["epsilon"] = epsilon * SHARES[self.key]
        if isinstance(found, Choose):
            update["score"] = found.score or "ramp"
        if isinstance(found, Grow):
            update |= {"depth": found.depth or 64, "grow": found.grow or "surveys"}
        return self.model_copy(update={self.key: found.model_copy(update=update)})
