"""Hold a value of JSON against a schema, in the words that our own schemas speak; an unknown word is refused, never skipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from shoal.errors import UsageError

Schema = dict[str, Any]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
SAID = {"$schema", "$id", "title", "description", "definitions"}
"""Words for people, and what is looked up."""
REFERENCE = "#/definitions/"


def faults(value: Any, schema: Schema) -> list[str]:
    """Where a value is not as its schema says, and why; nothing where it fits. Values are not quoted."""
    return list(_faults(value, schema, schema, "the certificate"))


def _faults(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    if unknown := set(schema) - SAID - set(_RULES) - {"$ref"}:
        raise UsageError("a schema speaks words that are not known here", came=", ".join(sorted(unknown)))
    if "$ref" in schema:
        yield from _faults(value, root["definitions"][schema["$ref"].removeprefix(REFERENCE)], root, where)
    for word, rule in _RULES.items():
        if word in schema:
            yield from rule(value, schema, root, where)


def _is(value: Any, name: str) -> bool:
    """Whether a value has the type of this name; truth is no number."""
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _type(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is(value, name) for name in names):
        yield f"{where} is no {' or '.join(names)}"


def _const(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    if not _same(value, schema["const"]):
        yield f"{where} is not {schema['const']}"


def _enum(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    if not any(_same(value, known) for known in schema["enum"]):
        yield f"{where} is not on the list"


def _pattern(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    # In a schema `$` is the end alone, in Python also the place before a last line end.
    if isinstance(value, str) and not re.search(schema["pattern"].replace("$", r"\Z"), value):
        yield f"{where} is not written as it must be"


def _minimum(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    if _is(value, "number") and not value >= schema["minimum"]:
        yield f"{where} is below {schema['minimum']}"


def _size(
    kind: type[str | list[Any] | dict[str, Any]], word: str, *, most: bool = False
) -> Callable[[Any, Schema, Schema, str], Iterator[str]]:
    """A rule about how much there is of something."""

    def rule(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
        if isinstance(value, kind) and (len(value) > schema[word] if most else len(value) < schema[word]):
            yield f"{where} holds too {'much' if most else 'little'}"

    return rule


def _items(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    for place, item in enumerate(value if isinstance(value, list) else []):
        yield from _faults(item, schema["items"], root, f"{where}.{place}")


def _unique(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    listed = value if schema["uniqueItems"] and isinstance(value, list) else []
    if any(_same(item, other) for place, item in enumerate(listed) for other in listed[:place]):
        yield f"{where} holds something twice"


def _required(value: Any, schema: Schema, _: Schema, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{where} has no {name}" for name in schema["required"] if name not in value)


def _properties(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    for name, own in schema["properties"].items():
        if isinstance(value, dict) and name in value:
            yield from _faults(value[name], own, root, f"{where}.{name}")


def _additional(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    more = set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else set()
    allowed = schema["additionalProperties"]
    if allowed is False and more:
        yield f"{where} holds keys that it does not have"
    if isinstance(allowed, dict):
        for name in sorted(more):
            yield from _faults(value[name], allowed, root, f"{where}.{name}")


def _any(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    if all(any(_faults(value, form, root, where)) for form in schema["anyOf"]):
        yield f"{where} has none of the forms that are allowed"


def _one(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    if sum(not any(_faults(value, form, root, where)) for form in schema["oneOf"]) != 1:
        yield f"{where} has not one of the forms that are allowed"


_RULES: dict[str, Callable[[Any, Schema, Schema, str], Iterator[str]]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _minimum,
    "minLength": _size(str, "minLength"),
    "minItems": _size(list, "minItems"),
    "maxItems": _size(list, "maxItems", most=True),
    "minProperties": _size(dict, "minProperties"),
    "items": _items,
    "uniqueItems": _unique,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "anyOf": _any,
    "oneOf": _one,
}
