"""One column as the policy file writes it: role, type, domain, hierarchy, and what to do with what does not fit."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from shoal.data.date_format import DateFormat
from shoal.data.hierarchy.build import KINDS
from shoal.data.schema import DECIMALS, Missing, Outside, Role, Type
from shoal.errors import PolicyError
from shoal.policy.model.base import (
    Code,
    Epsilon,
    FromOne,
    Letters,
    Line,
    Name,
    PolicyPart,
    Value,
    Word,
    one_value,
    only_key,
    refusal,
)

DATE_PARTS = ("hour", "day", "week", "month", "quarter", "year", "decade")


def _as_list(value: Any) -> Any:
    """A list of one where a single value was written."""
    return [value] if isinstance(value, str) and value else value


def _tree(value: Any) -> Any:
    """Nested lists and mappings of texts, as they were typed; what they mean is checked when they are built."""
    if value == "":
        raise refusal("no value", "a list or a mapping")
    return value


Tree = Annotated[Any, BeforeValidator(_tree)]
Widths = Annotated[
    tuple[Epsilon, ...],
    BeforeValidator(_as_list),
    WithJsonSchema({"type": ["array", "number", "string"], "items": {"type": ["number", "string"]}}),
]
Side = Literal["left", "right"]
_Side = Annotated[Side, BeforeValidator(Word("left", "right"))]
_DatePart = Annotated[
    Literal["hour", "day", "week", "month", "quarter", "year", "decade"], BeforeValidator(Word(*DATE_PARTS))
]


class MaskModel(PolicyPart):
    """Letters hidden on one side, or a bare prefix."""

    short: ClassVar = {"enum": ["left", "right"]}
    long_words: ClassVar = "right, left, {side: right, keep: [4, 3]} or {prefix: [3, 2]}"

    side: _Side | None = Field(
        default=None, description="The side on which letters are hidden; `mask: right` says the same."
    )
    keep: Annotated[tuple[FromOne, ...], BeforeValidator(_as_list)] | None = Field(
        default=None,
        description="With `side`: how many letters each level keeps, falling; one less each time when left out.",
    )
    prefix: Annotated[tuple[FromOne, ...], BeforeValidator(_as_list)] | None = Field(
        default=None, description="The first letters alone, as many as each level says."
    )
    length: Letters | None = Field(
        default=None, description="How many letters the texts have, where the domain does not say."
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """`mask: right` is `mask: {side: right}`."""
        return {"side": Word("left", "right")(value)} if isinstance(value, str) and value else value

    @model_validator(mode="after")
    def _one_kind(self) -> MaskModel:
        if only_key(self, "side", "prefix") == "prefix" and self.keep is not None:
            raise refusal("`keep` beside `prefix`", "one of the two")
        return self


class HierarchyModel(PolicyPart):
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
    mask: MaskModel | None = Field(
        default=None, description="Letters of a text hidden one after another: `right` or `left`."
    )
    date: Annotated[tuple[_DatePart, ...], BeforeValidator(_as_list)] | None = Field(
        default=None,
        description="Parts of the calendar from fine to coarse: " + ", ".join(f"`{part}`" for part in DATE_PARTS) + ".",
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
    def expand_short_form(cls, value: Any) -> Any:
        """`auto` names no kind: it is found from type and domain alone."""
        return dict.fromkeys(KINDS) if value == "auto" else value

    @model_validator(mode="after")
    def _one_kind(self) -> HierarchyModel:
        if self.auto:
            return self
        kind = only_key(self, *KINDS)
        for option in self.given_keys():
            if option != kind and option not in KINDS[kind].options:
                beside = [word for word, known in KINDS.items() if option in known.options]
                raise refusal(f"`{option}` does not belong to a hierarchy by {kind}", f"beside {' or '.join(beside)}")
        return self

    @property
    def auto(self) -> bool:
        """Whether type and domain alone decide the levels."""
        return set(KINDS) <= self.model_fields_set and not self.given_keys()

    def spec(self) -> dict[str, Any]:
        """The kind and its options as plain values, the form that `shoal.data.hierarchy.build` reads."""
        return self.model_dump(mode="json", exclude_none=True)


Origin = Literal["declared", "profiled"]
ORIGINS: tuple[Origin, ...] = ("declared", "profiled")

_Origin = Annotated[Origin, BeforeValidator(Word(*ORIGINS))]


class _Member:
    """A member of an enumeration by its word; `json_schema` gives the JSON Schema that lists the words."""

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind
        self.words = tuple(str(member.value) for member in kind)

    def __call__(self, value: Any) -> Enum:
        return self.kind(Word(*self.words)(value))

    def json_schema(self) -> WithJsonSchema:
        return WithJsonSchema({"enum": list(self.words)})


def _date_format(value: Any) -> str:
    """The text of a date format, if it is one."""
    try:
        return DateFormat(one_value(value)).text
    except PolicyError as error:
        raise refusal(error.wrong, error.allowed) from None


_role, _type, _missing, _outside = _Member(Role), _Member(Type), _Member(Missing), _Member(Outside)
_word = PlainSerializer(lambda member: member.value, return_type=str)


class DomainModel(PolicyPart):
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
    def _one_kind(self) -> DomainModel:
        kind = only_key(self, "interval", "values", "pattern")
        if self.length is not None and kind != "pattern":
            raise refusal("a length without a pattern", "length beside pattern")
        return self


class ProvenanceModel(PolicyPart):
    """Where the domain and the hierarchy came from."""

    short: ClassVar = {"enum": list(ORIGINS)}
    long_words: ClassVar = "declared, profiled, or {domain: ..., hierarchy: ...}"

    domain: _Origin = Field(
        default="declared",
        description="`declared` by a person or a codebook, or `profiled`: drafted from the data, not yet confirmed.",
    )
    hierarchy: _Origin = Field(default="declared", description="The same, for the hierarchy.")

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """`provenance: profiled` says it of the domain and of the hierarchy."""
        if isinstance(value, str) and value:
            word = Word(*ORIGINS)(value)
            return {"domain": word, "hierarchy": word}
        return value


class AttributeModel(PolicyPart):
    """One column of the table: its role, type, domain, hierarchy and what to do with odd values."""

    long_words: ClassVar = "a mapping, such as {role: quasi, type: integer, domain: [0, 110]}"

    role: Annotated[Role, BeforeValidator(_role), _word, _role.json_schema()] = Field(
        description="What the column is for: `identifier` names a person and is never published; `quasi` is what an "
        "intruder may know; `confidential` is what an intruder wants to learn; `other` is published and neither; "
        "`weight` is a survey weight; `drop` is never read."
    )
    type: Annotated[Type, BeforeValidator(_type), _word, _type.json_schema()] | None = Field(
        default=None,
        description="What the values look like: `integer`, `decimal`, `category` (no order), `ordinal` (an order), "
        "`text`, `boolean`, `date` or `datetime`. An identifier and a dropped column need none.",
    )
    domain: DomainModel | None = Field(
        default=None,
        description="The values that may occur, from a codebook, never from the data: `[low, high]` for numbers, "
        "dates and times, a list of values, or a pattern. A boolean needs none.",
    )
    hierarchy: HierarchyModel | None = Field(
        default=None, description="Coarser and coarser labels over the whole domain; exactly one kind, or `auto`."
    )
    missing: Annotated[Missing, BeforeValidator(_missing), _word, _missing.json_schema()] = Field(
        default=Missing.VALUE, description="A missing value is a `value` of its own, or a reason to `refuse` the table."
    )
    outside: Annotated[Outside, BeforeValidator(_outside), _word, _outside.json_schema()] = Field(
        default=Outside.ERROR,
        description="A value outside the domain is an `error`, is moved to the nearest end (`clamp`; numbers, dates "
        "and times only), or counts as missing (`suppress`).",
    )
    weight: Epsilon | None = Field(
        default=None, description="How much this column's detail counts when a recoding is chosen; 1 when left out."
    )
    provenance: ProvenanceModel = Field(
        default=ProvenanceModel(),
        description="Where domain and hierarchy came from: one word for both, or a word for each.",
    )

    label: Line | None = Field(
        default=None, description="What the column is, in one line: the codebook of a release shows it."
    )
    value_labels: dict[Code, Line] | None = Field(
        default=None,
        description="What values mean, such as `{1: employed, 2: not employed}`: each is in the domain or a missing code. "
        "Releases keep the values and show these texts in their codebook.",
    )
    missing_values: tuple[Value, ...] = Field(
        default=(),
        description="Codes that stand for a missing value in this column, such as `['-9', refused]`, besides `file.missing`.",
    )
    format: Annotated[str, BeforeValidator(_date_format), WithJsonSchema({"type": "string"})] | None = Field(
        default=None,
        description="How dates or times are written where they are stored as text: `%d.%m.%Y` reads 31.12.2024. "
        "As in 2024-12-31 when left out; never guessed.",
    )
    decimal: Annotated[str, BeforeValidator(Word(*DECIMALS)), WithJsonSchema({"enum": list(DECIMALS)})] | None = Field(
        default=None, description="The decimal mark of this column alone; that of `file.decimal` when left out."
    )

    @model_validator(mode="after")
    def _codes_once(self) -> AttributeModel:
        if len(set(self.missing_values)) != len(self.missing_values):
            raise refusal("a missing code is listed twice", "each code once")
        return self

    @model_validator(mode="before")
    @classmethod
    def _list_by_type(cls, value: Any) -> Any:
        """A domain that is a plain list is an interval for numbers, dates and times, else its values."""
        if isinstance(value, dict) and isinstance(listed := value.get("domain"), list):
            ranged = value.get("type") in [kind.value for kind in Type if kind.numeric]
            return {**value, "domain": {"interval" if ranged else "values": listed}}
        return value

    @property
    def is_published(self) -> bool:
        """Whether a release may show the column."""
        return self.role not in (Role.IDENTIFIER, Role.DROP)
