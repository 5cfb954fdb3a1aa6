"""Every key that a policy may have, found by walking the model: for messages, for the reference, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from shoal.policy.model.file import Asked
from shoal.policy.model.parts import Part


@dataclass(frozen=True)
class Key:
    """One key: its path with `NAME` for a name of the person's own, and its field in the model."""

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
        if isinstance(value, Part):
            return ", ".join(f"{key}: {word}" for key, word in value.model_dump(mode="json").items())
        return str(getattr(value, "value", value))


def every_key() -> Iterator[Key]:
    """All keys, each after the one that holds it."""
    yield from _below(Asked, "")


def known_at(location: Iterable[str | int]) -> dict[str, FieldInfo]:
    """The keys that a place of the model knows, by name."""
    kind: Any = Asked
    for step in location:
        kind = _step(kind, step)
    return dict(kind.model_fields) if _is_part(kind) else {}


def _below(kind: Any, prefix: str) -> Iterator[Key]:
    if get_origin(kind) is dict:
        prefix, kind = f"{prefix}NAME.", _bare(get_args(kind)[1])
    if _is_part(kind):
        for name, field in kind.model_fields.items():
            yield Key(prefix + name, field)
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
    return isinstance(kind, type) and issubclass(kind, Part)
