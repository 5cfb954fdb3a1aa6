"""Every key that a policy may have, found by walking the model: for messages, for the JSON Schema of editors, for the reference.

python -m shoal.policy.text.keys        writes policy.schema.json again, after a change of the model
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from shoal.policy.model.base import PolicyPart
from shoal.policy.model.file import PolicyModel


@dataclass(frozen=True)
class PolicyKey:
    """One key: its path, with `NAME` for a name of the person's own and `[]` for items of a list, and its field in the model."""

    path: str
    field: FieldInfo

    @property
    def words(self) -> str:
        """What the key means."""
        return self.field.description or ""

    @property
    def default(self) -> str:
        """What holds when the key is left out."""
        if self.field.is_required():
            return "required"
        value = self.field.default
        if value is None:
            return ""
        if isinstance(value, PolicyPart):
            return ", ".join(f"{key}: {word}" for key, word in value.model_dump(mode="json").items())
        return str(getattr(value, "value", value))


def every_key() -> Iterator[PolicyKey]:
    """All keys of the policy file, each after the key that holds it.

    >>> [key.path for key in every_key()][:3]
    ['version', 'dataset', 'unit']
    """
    yield from _below(PolicyModel, "")


def known_at(location: Iterable[str | int]) -> dict[str, FieldInfo]:
    """The keys that a place of the model knows, by name."""
    kind: Any = PolicyModel
    for step in location:
        kind = _step(kind, step)
    return dict(kind.model_fields) if _is_part(kind) else {}


def _below(kind: Any, prefix: str) -> Iterator[PolicyKey]:
    if get_origin(kind) is dict:
        prefix, kind = f"{prefix}NAME.", _bare(get_args(kind)[1])
    elif get_origin(kind) is tuple and _is_part(_bare(get_args(kind)[0])):
        prefix, kind = f"{prefix[:-1]}[].", _bare(get_args(kind)[0])
    if _is_part(kind):
        for name, field in kind.model_fields.items():
            yield PolicyKey(prefix + name, field)
            yield from _below(_bare(field.annotation), f"{prefix}{name}.")


def _step(kind: Any, step: str | int) -> Any:
    if _is_part(kind):
        field = kind.model_fields.get(step)
        return None if field is None else _bare(field.annotation)
    inner = get_args(kind)
    if get_origin(kind) is dict:
        return _bare(inner[1])
    return _bare(inner[0]) if get_origin(kind) is tuple else None


def _bare(kind: Any) -> Any:
    """The type without `Annotated` and `None`."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        return _bare(options[0]) if len(options) == 1 else kind
    return kind


def _is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PolicyPart)


SCHEMA_FILE = Path(__file__).parents[1] / "policy.schema.json"
MARK = "% keys"
NAME = "urn:shoal:policy:1"
DRAFT = "http://json-schema.org/draft-07/schema#"


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of the policy file.

    An editor reads YAML by its own rules, so a number may come as a number or as a text; what a text means in its
    place, and what keys say about each other, is checked when the policy is read.
    """
    schema = _draft_7(PolicyModel.model_json_schema(mode="validation"))
    return {"$schema": DRAFT, "$id": NAME, **schema, "title": "Shoal policy"}


def json_schema_text() -> str:
    """The JSON Schema as the text that is shipped."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def table_of_keys() -> str:
    """Every key with its meaning and its default, as a table in Markdown."""
    rows = [f"| `{key.path}` | {key.words} | {key.default} |" for key in every_key()]
    return "\n".join(["| key | meaning | default |", "| --- | --- | --- |", *rows]) + "\n"


def _draft_7(value: Any) -> Any:
    """What later drafts call otherwise, in the words of draft 7; nulls, which a policy never holds, left out."""
    if isinstance(value, list):
        return [_draft_7(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "default" in value and value["default"] is None:
        value = {key: item for key, item in value.items() if key != "default"}
    options = value.get("anyOf")
    if options and {"type": "null"} in options:
        left = [option for option in options if option != {"type": "null"}]
        value = {key: item for key, item in value.items() if key != "anyOf"}
        value = {**value, **left[0]} if len(left) == 1 else {**value, "anyOf": left}
    if "$ref" in value:
        pointer = {"$ref": value["$ref"].replace("#/$defs/", "#/definitions/")}
        words = {key: item for key, item in value.items() if key != "$ref"}
        return {**words, "allOf": [pointer]} if words else pointer
    return {"definitions" if key == "$defs" else key: _draft_7(item) for key, item in value.items()}


def with_table(page: str) -> str:
    """A page with the table between its marks written again."""
    before, _, rest = page.partition(MARK)
    _, _, after = rest.partition(MARK)
    return f"{before}{MARK}\n\n{table_of_keys()}\n{MARK}{after}"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json_schema_text(), "utf-8")
    for name in sys.argv[1:]:
        Path(name).write_text(with_table(Path(name).read_text("utf-8")), "utf-8")
