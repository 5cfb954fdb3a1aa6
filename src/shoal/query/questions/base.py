"""What every question is: a frozen value that a person wrote, which a policy gives a meaning and a price."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Self

from shoal.data.schema import Role, Schema
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.policy.text.problem import nearest, shown
from shoal.query.condition.predicate import Predicate
from shoal.query.questions.meaning import Asked


@dataclass(frozen=True)
class Question(ABC):
    """One question; `where` leaves rows out before anything is counted or added."""

    word: ClassVar[str]
    """Its name in batch files and on the command line."""

    def __post_init__(self) -> None:
        for key in ("attribute", "where"):
            given = getattr(self, key, None)
            needed = any(each.name == key and each.default is MISSING for each in fields(self))
            if (given is not None or needed) and not isinstance(given, str):
                raise UsageError(f"{self.word}: '{key}' is a text", came=shown(given))

    @abstractmethod
    def plan(self, schema: Schema, unit: Unit) -> Asked:
        """What it means and what it costs under a policy; UsageError where the policy does not allow it. No row is read."""

    @abstractmethod
    def meant(self, schema: Schema) -> Self:
        """The same question in its one spelling."""

    def canonical(self, schema: Schema) -> str:
        """The identity of the question: one text for one meaning, as far as normalising goes.

        It is relative to the schema: bounds that the domain implies are left out.
        """
        return json.dumps(self.meant(schema).to_saved(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    # --- as plain values -----------------------------------------------------------------------------------------

    def to_saved(self) -> dict[str, Any]:
        """As plain values, for a file."""
        found = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return {"kind": self.word, **{key: value for key, value in found.items() if value is not None}}

    @classmethod
    def from_options(cls, options: object) -> Self:
        """From what a batch file says: a mapping, or a bare text for the key that comes first."""
        known = [each.name for each in fields(cls)]
        if options is None:
            options = {}
        if isinstance(options, str):
            options = {known[0]: options}
        if not isinstance(options, Mapping):
            raise UsageError(f"{cls.word}: not a mapping of options", came=shown(options), allowed=", ".join(known))
        for key in options:
            if key not in known:
                allowed = ", ".join(known)
                raise UsageError(
                    f"{cls.word}: no such key", came=shown(key), allowed=allowed, fix=nearest(str(key), known)
                )
        for each in fields(cls):
            if each.default is MISSING and each.name not in options:
                raise UsageError(f"{cls.word}: the key '{each.name}' is missing")
        return cls(**options)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return exact_text(value)
    return list(value) if isinstance(value, tuple) else value


def condition(where: str | None, schema: Schema) -> Predicate:
    """The condition of a question; none is everything."""
    return Predicate.everything() if where is None else Predicate.parse(where, schema)


def spelled_where(where: str | None, schema: Schema) -> str | None:
    """A condition in its one spelling; None for everything."""
    found = condition(where, schema)
    return None if found.always else found.canonical()


def checked(unit: Unit, schema: Schema) -> Unit:
    """A unit whose column names people by the policy."""
    if unit.column is not None:
        attribute = schema.by_name.get(unit.column)
        if attribute is None or attribute.role is not Role.IDENTIFIER:
            raise UsageError("the column that names a person is no identifier of the policy", came=unit.column)
    return unit


def reach(unit: Unit, low: int, high: int, *, always: bool) -> int:
    """How far one unit moves a sum to which each row adds `low` to `high`, or nothing where it does not take part.

    add_remove   max(|low|, |high|) for each row
    replace_one  from the most to the least that a row adds; nothing is among it, unless every row `always` takes part
                 and the unit is one row: then high − low
    """
    if unit.neighbours == "add_remove":
        return unit.max_rows * max(abs(low), abs(high))
    if always and unit.whose == "row":
        return high - low
    return unit.max_rows * (max(high, 0) - min(low, 0))
