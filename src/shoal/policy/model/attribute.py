"""One column as the policy file writes it: role, type, domain, hierarchy, and what to do with what does not fit."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from shoal.data.schema import Missing, Outside, Role, Type
from shoal.policy.model.hierarchy import HierarchyAsked
from shoal.policy.model.parts import Part, one_of
from shoal.policy.model.scalar import Epsilon, Letters, Value, Word, refused

Source = Literal["declared", "profiled"]
SOURCES: tuple[Source, ...] = ("declared", "profiled")

_WordOfSource = Annotated[Source, BeforeValidator(Word(*SOURCES))]


class _Member:
    """A member of an enumeration by its word; `described` gives the JSON Schema that lists the words."""

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind
        self.words = tuple(str(member.value) for member in kind)

    def __call__(self, value: Any) -> Enum:
        return self.kind(Word(*self.words)(value))

    def described(self) -> WithJsonSchema:
        return WithJsonSchema({"enum": list(self.words)})


_role, _type, _missing, _outside = _Member(Role), _Member(Type), _Member(Missing), _Member(Outside)
_word = PlainSerializer(lambda member: member.value, return_type=str)


class DomainAsked(Part):
    """The values that an attribute may take, declared without looking at the data."""

    short: ClassVar = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "minItems": 1}
    long_words: ClassVar = "[low, high], a list of values, {values: [...]} or {pattern: ...}"

    interval: tuple[Value, ...] | None = Field(
        default=None,
        description="The lowest and the highest value, both included; `domain: [low, high]` says the same.",
    )
    values: tuple[Value, ...] | None = Field(
        default=None,
        description="Every value, each once, as text; their order counts where the type is `ordinal`. "
        "`domain: [a, b, c]` says the same.",
    )
    pattern: Value | None = Field(default=None, description="A regular expression that matches each text as a whole.")
    length: Letters | None = Field(default=None, description="With `pattern`: how many letters each text has.")

    @model_validator(mode="after")
    def _one_kind(self) -> DomainAsked:
        kind = one_of(self, "interval", "values", "pattern")
        if self.length is not None and kind != "pattern":
            raise refused("a length without a pattern", "length beside pattern")
        return self


class Provenance(Part):
    """Where the domain and the hierarchy came from."""

    short: ClassVar = {"enum": list(SOURCES)}
    long_words: ClassVar = "declared, profiled, or {domain: ..., hierarchy: ...}"

    domain: _WordOfSource = Field(
        default="declared",
        description="`declared` by a person or a codebook, or `profiled`: drafted from the data, not yet confirmed.",
    )
    hierarchy: _WordOfSource = Field(default="declared", description="The same, for the hierarchy.")

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """One word stands for both."""
        if isinstance(value, str) and value:
            word = Word(*SOURCES)(value)
            return {"domain": word, "hierarchy": word}
        return value


class AttributeAsked(Part):
    """One column of the table."""

    long_words: ClassVar = "a mapping, such as {role: quasi, type: integer, domain: [0, 110]}"

    role: Annotated[Role, BeforeValidator(_role), _word, _role.described()] = Field(
        description="What the column is for: `identifier` names a person and is never published; `quasi` is what an "
        "intruder may know; `confidential` is what an intruder wants to learn; `other` is published and neither; "
        "`weight` is a survey weight; `drop` is never read."
    )
    type: Annotated[Type, BeforeValidator(_type), _word, _type.described()] | None = Field(
        default=None,
        description="What the values look like: `integer`, `decimal`, `category` (no order), `ordinal` (an order), "
        "`text`, `boolean`, `date` or `datetime`. An identifier and a dropped column need none.",
    )
    domain: DomainAsked | None = Field(
        default=None,
        description="The values that may occur, from a codebook, never from the data: `[low, high]` for numbers, "
        "dates and times, a list of values, or a pattern. A boolean needs none.",
    )
    hierarchy: HierarchyAsked | None = Field(
        default=None, description="Coarser and coarser labels over the whole domain; exactly one kind, or `auto`."
    )
    missing: Annotated[Missing, BeforeValidator(_missing), _word, _missing.described()] = Field(
        default=Missing.VALUE, description="A missing value is a `value` of its own, or a reason to `refuse` the table."
    )
    outside: Annotated[Outside, BeforeValidator(_outside), _word, _outside.described()] = Field(
        default=Outside.ERROR,
        description="A value outside the domain is an `error`, is moved to the nearest end (`clamp`; numbers, dates "
        "and times only), or counts as missing (`suppress`).",
    )
    weight: Epsilon | None = Field(
        default=None, description="How much this column's detail counts when a recoding is chosen; 1 when left out."
    )
    provenance: Provenance = Field(
        default=Provenance(),
        description="Where domain and hierarchy came from: one word for both, or a word for each.",
    )

    @model_validator(mode="before")
    @classmethod
    def _list_by_type(cls, value: Any) -> Any:
        """A domain that is a plain list is an interval for numbers, dates and times, else its values."""
        if isinstance(value, dict) and isinstance(listed := value.get("domain"), list):
            ranged = value.get("type") in [kind.value for kind in Type if kind.numeric]
            return {**value, "domain": {"interval" if ranged else "values": listed}}
        return value

    @property
    def published(self) -> bool:
        """Whether a release may show the column."""
        return self.role not in (Role.IDENTIFIER, Role.DROP)
