"""A hierarchy as the policy file writes it: exactly one kind, with its options."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.data.hierarchy.build import KINDS
from shoal.policy.model.parts import Part, one_of
from shoal.policy.model.scalar import Epsilon, FromOne, Letters, Name, Value, Word, refused

PARTS = ("hour", "day", "week", "month", "quarter", "year", "decade")


def _listed(value: Any) -> Any:
    """One thing for a list of it."""
    return [value] if isinstance(value, str) and value else value


def _tree(value: Any) -> Any:
    """Nested lists and mappings of texts, as they were typed; what they mean is checked when they are built."""
    if value == "":
        raise refused("no value", "a list or a mapping")
    return value


Tree = Annotated[Any, BeforeValidator(_tree)]
Widths = Annotated[
    tuple[Epsilon, ...],
    BeforeValidator(_listed),
    WithJsonSchema({"type": ["array", "number", "string"], "items": {"type": ["number", "string"]}}),
]
Side = Literal["left", "right"]
_Side = Annotated[Side, BeforeValidator(Word("left", "right"))]
_DatePart = Annotated[
    Literal["hour", "day", "week", "month", "quarter", "year", "decade"], BeforeValidator(Word(*PARTS))
]


class MaskAsked(Part):
    """Letters hidden on one side, or a bare prefix."""

    short: ClassVar = {"enum": ["left", "right"]}
    long_words: ClassVar = "right, left, {side: right, keep: [4, 3]} or {prefix: [3, 2]}"

    side: _Side | None = Field(
        default=None, description="The side on which letters are hidden; `mask: right` says the same."
    )
    keep: Annotated[tuple[FromOne, ...], BeforeValidator(_listed)] | None = Field(
        default=None,
        description="With `side`: how many letters each level keeps, falling; one less each time when left out.",
    )
    prefix: Annotated[tuple[FromOne, ...], BeforeValidator(_listed)] | None = Field(
        default=None, description="The first letters alone, as many as each level says."
    )
    length: Letters | None = Field(
        default=None, description="How many letters the texts have, where the domain does not say."
    )

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """One word is the side."""
        return {"side": Word("left", "right")(value)} if isinstance(value, str) and value else value

    @model_validator(mode="after")
    def _one_kind(self) -> MaskAsked:
        if one_of(self, "side", "prefix") == "prefix" and self.keep is not None:
            raise refused("`keep` beside `prefix`", "one of the two")
        return self


class HierarchyAsked(Part):
    """Coarser and coarser labels over one declared domain."""

    short: ClassVar = {"const": "auto"}
    long_words: ClassVar = "one of " + ", ".join(f"{{{kind}: ...}}" for kind in KINDS) + ", or auto"

    intervals: Widths | None = Field(
        default=None, description="Intervals of equal width; each width is a multiple of the one before: `[5, 10, 20]`."
    )
    cuts: Tree | None = Field(
        default=None, description="Cut points of one level, or a list of such lists from fine to coarse: `[18, 65]`."
    )
    rounding: Widths | None = Field(default=None, description="Numbers rounded to multiples: `[10, 100]`.")
    mask: MaskAsked | None = Field(
        default=None, description="Letters of a text hidden one after another: `right` or `left`."
    )
    date: Annotated[tuple[_DatePart, ...], BeforeValidator(_listed)] | None = Field(
        default=None,
        description="Parts of the calendar from fine to coarse: " + ", ".join(f"`{part}`" for part in PARTS) + ".",
    )
    groups: Tree | None = Field(
        default=None, description="Labels and their members, `{north: [Alder, Birch]}`, or a list of such levels."
    )
    file: Name | None = Field(
        default=None,
        description="A CSV file as ARX writes it: value, label, coarser label, and so on; beside the policy.",
    )
    taxonomy: Tree | None = Field(
        default=None, description="A tree of names, written out here or in a YAML file beside the policy."
    )
    rest: Value | None = Field(default=None, description="With `groups`: the label of every value that no group names.")
    delimiter: Value | None = Field(
        default=None, description="With `file`: what stands between the columns, where it is not found by itself."
    )
    origin: Value | None = Field(
        default=None, description="With `intervals`: where one interval begins; 0 when left out."
    )
    below: Value | None = Field(
        default=None, description="Everything below this value shares one label (bottom coding)."
    )
    above: Value | None = Field(
        default=None, description="Everything from this value up shares one label (top coding)."
    )
    labels: Tree | None = Field(default=None, description="With `cuts`: names for the intervals of each level.")

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """`auto` names no kind: it is found from type and domain alone."""
        return dict.fromkeys(KINDS) if value == "auto" else value

    @model_validator(mode="after")
    def _one_kind(self) -> HierarchyAsked:
        if self.auto:
            return self
        kind = one_of(self, *KINDS)
        for option in self.given():
            if option != kind and option not in KINDS[kind].options:
                beside = [word for word, known in KINDS.items() if option in known.options]
                raise refused(f"`{option}` does not belong to a hierarchy by {kind}", f"beside {' or '.join(beside)}")
        return self

    @property
    def auto(self) -> bool:
        """Whether type and domain alone decide the levels."""
        return set(KINDS) <= self.model_fields_set and not self.given()

    def spec(self) -> dict[str, Any]:
        """The kind and its options as plain values, the form that `shoal.data.hierarchy.build` reads."""
        return self.model_dump(mode="json", exclude_none=True)
