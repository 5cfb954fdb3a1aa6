"""What the parts of the policy model share: numbers, words and names read from text, and mappings with a closed list of keys.

Numbers of a guarantee stay exact fractions.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from shoal.errors import ParameterError
from shoal.guarantee.rounding import LONGEST_NUMBER, exact_text, read_number
from shoal.policy.text.problem import excerpt, nearest

_WHOLE = re.compile(r"[+-]?[0-9](?:_?[0-9])*", re.ASCII)
MOST_LETTERS = 1000
"""Letters that the texts of one attribute may have, where their number is declared."""


LONGEST_NAME = 500
"""Letters of a name: of a dataset, an attribute, a file."""


LONGEST_LINE = 500
"""Letters of a label that says what a column or a value is."""


def refusal(wrong: str, allowed: str | None = None, fix: str | None = None) -> PydanticCustomError:
    """An error that pydantic carries and `problems` turns into our grammar."""
    return PydanticCustomError("shoal", "{wrong}", {"wrong": wrong, "allowed": allowed, "fix": fix})


def exact_number(text: str, allowed: str = "a number, such as 0.5 or 1e-6") -> Fraction:
    """The number that was typed, without a float in between; raises what pydantic carries."""
    try:
        return read_number(text)
    except ParameterError:
        raise refusal("not a number", allowed) from None


def whole_number(text: str, allowed: str = "a whole number") -> int:
    """The whole number that was typed; a leading zero is refused, because half the readers of YAML take it for octal."""
    body = text.strip()
    if len(body) > LONGEST_NUMBER or not _WHOLE.fullmatch(body):
        raise refusal("not a whole number", allowed)
    digits = body.lstrip("+-").replace("_", "")
    if len(digits) > 1 and digits[0] == "0":
        raise refusal("a whole number that begins with a zero", allowed, "write it without the zero")
    return int(body)


class NumberBetween:
    """An exact number in a range; the ends belong to it or not."""

    def __init__(self, words: str, low: int, high: Fraction | int | None = None, *, low_in: bool = False) -> None:
        self.words, self.low, self.high, self.low_in = words, low, high, low_in

    def __call__(self, value: Any) -> Fraction:
        """The exact number of a text, if it lies in the range."""
        number = exact_number(_text(value, self.words), self.words)
        below = number < self.low if self.low_in else number <= self.low
        if below or (self.high is not None and number >= self.high):
            raise refusal("out of range", self.words)
        return number


class WholeNumber:
    """A whole number from `least` up, perhaps to `most`."""

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, 2**63 - 1 if most is None else most
        self.words = f"a whole number from {least} " + ("up" if most is None else f"to {most}")

    def __call__(self, value: Any) -> int:
        """The whole number of a text, if it lies in the range."""
        number = whole_number(_text(value, self.words), self.words)
        if not self.least <= number <= self.most:
            raise refusal("out of range", self.words)
        return number


class Word:
    """One of a closed list; another word is refused, with the nearest one named."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Any) -> str:
        """The word as it was typed, if it is on the list."""
        allowed = ", ".join(self.words[:-1]) + f" or {self.words[-1]}" if len(self.words) > 1 else self.words[0]
        text = _text(value, allowed)
        if text not in self.words:
            raise refusal("not one of the words that are known here", allowed, nearest(text, self.words))
        return text


def _text(value: Any, allowed: str) -> str:
    if not isinstance(value, str):
        raise refusal(f"a {'list' if isinstance(value, list) else 'mapping'} where one value belongs", allowed)
    if not value.strip():
        raise refusal("no value", allowed)
    return value


def _name(value: Any) -> str:
    text = _text(value, "a name")
    if len(text) > LONGEST_NAME:
        raise refusal("a name that is too long", f"at most {LONGEST_NAME} letters")
    if text != text.strip() or not text.isprintable():
        raise refusal("a name with blanks around it or letters that cannot be seen", "a name on one line")
    return text


def _line(value: Any) -> str:
    text = _text(value, "a text on one line")
    if len(text) > LONGEST_LINE or not text.isprintable():
        raise refusal("a label that does not fit on a line", f"at most {LONGEST_LINE} letters that can be seen")
    return text.strip()


def _code(value: Any) -> str:
    text = one_value(value)
    if len(text) > LONGEST_NAME:
        raise refusal("a value that is too long for a label", f"at most {LONGEST_NAME} letters")
    return text


def one_value(value: Any) -> str:
    """One value of a domain or a label, exactly as it was typed."""
    if not isinstance(value, str):
        raise refusal(f"not one value: {excerpt(value)}", "one value")
    if not value:
        raise refusal("an empty value", "a text", "a missing value is a value of its own and needs no place here")
    return value


def _truth(value: Any) -> bool:
    return Word("true", "false")(value) == "true"


def _auto_or_rate(value: Any) -> Fraction | str:
    return "auto" if value == "auto" else NumberBetween("auto, or a number between 0 and 1", 0, 1)(value)


def _auto_or_size(value: Any) -> int | None:
    return None if value == "auto" else WholeNumber(1)(value)


_DIGITS = r"^[+-]?([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$|^[0-9]+/[0-9]+$"


def schema_of_number(**limits: float) -> WithJsonSchema:
    """The JSON Schema of a number within limits, which may be written as a number or as its exact text."""
    return WithJsonSchema({"anyOf": [{"type": "number", **limits}, {"type": "string", "pattern": _DIGITS}]})


def _schema_of_count(least: int) -> WithJsonSchema:
    return WithJsonSchema({"type": "integer", "minimum": least})


as_text = PlainSerializer(exact_text, return_type=str)

Epsilon = Annotated[
    Fraction, BeforeValidator(NumberBetween("a number above 0", 0)), as_text, schema_of_number(exclusiveMinimum=0)
]
EpsilonOrNothing = Annotated[
    Fraction, BeforeValidator(NumberBetween("a number from 0 up", 0, low_in=True)), as_text, schema_of_number(minimum=0)
]
Delta = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a number from 0 to below 1", 0, 1, low_in=True)),
    as_text,
    schema_of_number(minimum=0, exclusiveMaximum=1),
]
Rate = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a number between 0 and 1", 0, 1)),
    as_text,
    schema_of_number(exclusiveMinimum=0, exclusiveMaximum=1),
]
RateOrAuto = Annotated[
    Fraction | Literal["auto"],
    BeforeValidator(_auto_or_rate),
    PlainSerializer(lambda value: value if isinstance(value, str) else exact_text(value), return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "auto"},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                {"type": "string", "pattern": _DIGITS},
            ]
        }
    ),
]
Share = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a share from 0 to below 1", 0, 1, low_in=True)),
    as_text,
    schema_of_number(minimum=0, exclusiveMaximum=1),
]
Distance = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a number above 0", 0)),
    as_text,
    schema_of_number(exclusiveMinimum=0),
]
Gain = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a number from 0 to below 1000", 0, 1000, low_in=True)),
    as_text,
    schema_of_number(minimum=0, exclusiveMaximum=1000),
]
FromZero = Annotated[int, BeforeValidator(WholeNumber(0)), _schema_of_count(0)]
FromOne = Annotated[int, BeforeValidator(WholeNumber(1)), _schema_of_count(1)]
FromTwo = Annotated[int, BeforeValidator(WholeNumber(2)), _schema_of_count(2)]
SizeOrAuto = Annotated[
    int | None,
    BeforeValidator(_auto_or_size),
    WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1}]}),
]
"""The size of a class; `auto` says what leaving it out says: it is found from the promise."""
Letters = Annotated[
    int,
    BeforeValidator(WholeNumber(1, MOST_LETTERS)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_LETTERS}),
]
Truth = Annotated[bool, BeforeValidator(_truth), WithJsonSchema({"type": "boolean"})]
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Line = Annotated[str, BeforeValidator(_line), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Code = Annotated[str, BeforeValidator(_code)]
Value = Annotated[str, BeforeValidator(one_value), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]


class PolicyPart(BaseModel):
    """A mapping of the policy with a closed list of keys.

    `short` is the JSON Schema of a short form (`unit: row`), and `expand_short_form` turns such a value into the long one,
    so that the rest of the program knows one form.
    """

    # Parts are built with the model that holds them, when it is first used, and not each by itself as well.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    short: ClassVar[dict[str, Any] | None] = None
    long_words: ClassVar[str] = "a mapping"

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """The long form of a value that is not a mapping; as it is where there is none."""
        return value

    @model_validator(mode="before")
    @classmethod
    def _long(cls, value: Any) -> Any:
        value = value if isinstance(value, dict) else cls.expand_short_form(value)
        if not isinstance(value, dict):
            raise refusal("no value" if value == "" else "not in the form that belongs here", cls.long_words)
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        written = handler(core_schema)
        if cls.short is None:
            return written
        found = handler.resolve_ref_schema(written)
        long = dict(found)
        found.clear()
        found.update({"title": long.pop("title"), "description": long.pop("description")})
        found["anyOf"] = [cls.short, long]
        return written

    def given_keys(self) -> dict[str, Any]:
        """The keys that hold something, with their values."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def only_key(part: PolicyPart, *names: str) -> str:
    """The one key of these that is given; none or two are refused."""
    given = [name for name in names if getattr(part, name) is not None]
    if len(given) != 1:
        raise refusal(
            "exactly one of these keys belongs here" if len(given) > 1 else "one of these keys is needed",
            ", ".join(names[:-1]) + f" or {names[-1]}",
        )
    return given[0]
