"""What the parts of the model share: unknown keys refused, values frozen, and short forms spelled out."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from shoal.policy.model.scalar import refused


class Part(BaseModel):
    """A mapping of the policy with a closed list of keys.

    `short` is the JSON Schema of a short form (`unit: row`), and `spelled` turns such a value into the long one,
    so that the rest of the program knows one form.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    short: ClassVar[dict[str, Any] | None] = None
    long_words: ClassVar[str] = "a mapping"

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """The long form of a value that is not a mapping; as it is where there is none."""
        return value

    @model_validator(mode="before")
    @classmethod
    def _long(cls, value: Any) -> Any:
        value = value if isinstance(value, dict) else cls.spelled(value)
        if not isinstance(value, dict):
            raise refused("no value" if value == "" else "not in the form that belongs here", cls.long_words)
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

    def given(self) -> dict[str, Any]:
        """The keys that hold something, with their values."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


def one_of(part: Part, *names: str) -> str:
    """The one key of these that is given; none or two are refused."""
    given = [name for name in names if getattr(part, name) is not None]
    if len(given) != 1:
        raise refused(
            "exactly one of these keys belongs here" if len(given) > 1 else "one of these keys is needed",
            ", ".join(names[:-1]) + f" or {names[-1]}",
        )
    return given[0]
