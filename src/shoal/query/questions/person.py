"""The value of one person, who may be absent from the table: answered by refining the prior of the analyst."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from unicodedata import category

import numpy as np

from shoal.data.domain import Domain, list_values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, spell
from shoal.engine.base import Table
from shoal.errors import PolicyError, UsageError
from shoal.guarantee.unit import Unit
from shoal.language.condition.ranks import attribute_of, domain_of
from shoal.policy.schema import value_of
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import Query, Question, check_unit

LONGEST = 1000
"""Letters of a key."""


@dataclass(frozen=True)
class ValueOf(Question):
    """The value of an attribute for one person, who may be absent: answered by refining the prior of the analyst.

    It needs a policy whose unit of privacy is a person with one row, and a prior when it is priced or asked.

    Arguments  person: the name of the person in the column that identifies persons, a text or a whole number.
               attribute: the attribute.
    Raises     UsageError where the name is empty, longer than 1000 letters or contains a control character; when it is priced or
               asked, UsageError where the unit of privacy is not a person with one row, or no prior is given.

    >>> ValueOf(17, "insurance").to_saved()
    {'kind': 'value_of', 'person': '17', 'attribute': 'insurance'}
    """

    word: ClassVar[str] = "value_of"
    person: str
    attribute: str

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.person
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise UsageError("value_of: the person is neither a text nor a whole number", came=excerpt(given))
        object.__setattr__(self, "person", spell(given))
        if not 0 < len(self.person) <= LONGEST:
            raise UsageError(
                "value_of: the name of a person is empty or too long", came=len(self.person), allowed=f"1 to {LONGEST}"
            )
        if any(category(letter) in ("Cc", "Cs") for letter in self.person):
            raise UsageError("value_of: the name of a person contains a control character", came=excerpt(self.person))

    def normalize(self, schema: Schema) -> Self:  # noqa: ARG002 - a key has one spelling, but for numbers
        return replace(self)

    def resolve(self, schema: Schema, unit: Unit) -> PersonQuery:
        if unit.column is None:
            raise UsageError(
                "a question about one person needs a policy whose unit of privacy is a person",
                fix="declare unit: {column: …, max_rows: 1} in the policy",
            )
        if unit.max_rows != 1:
            raise UsageError(
                "a question about one person needs one row for each person",
                came=unit.max_rows,
                allowed="max_rows: 1",
            )
        check_unit(unit, schema)
        attribute = attribute_of(schema, self.attribute, "ask one person about")
        domain = domain_of(attribute, "ask one person about")
        key = _key(schema[unit.column], self.person)
        identity = replace(self, person=spell(key)).canonical(schema)
        return PersonQuery(identity, unit, key, attribute, domain)


@dataclass(frozen=True)
class PersonQuery(Query):
    """The value of one person, found by the column that identifies persons; there may be no such person."""

    key: Any
    attribute: Attribute
    domain: Domain

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({self.attribute.name, self.unit.column or ""}))

    @property
    def values(self) -> tuple[str, ...] | None:
        """The declared values where they can be listed, for a prior over them."""
        return list_values(self.attribute.type, self.domain)

    @property
    def scope(self) -> tuple[str, ...]:
        return ("where there are several rows of the name, the value in one of them, chosen at random",)

    def truth(self, table: Table) -> int | float | str | None:
        """The person's value: a number, or a text; None where the person or the value is not there."""
        counts = table.count_by([self.unit.column or "", self.attribute.name])
        near = np.flatnonzero(counts.values[0] == self.key)
        at = near[[each == self.key for each in counts.values[0][near].tolist()]]  # NumPy does not see a NUL at the end
        if not len(at):
            return None
        rows = np.flatnonzero(counts.codes[0] == at[0])
        found = counts.tuples[1][rows[0]] if len(rows) else None
        if found is None:
            return None
        kind = self.attribute.type
        if kind in (Type.INTEGER, Type.DECIMAL):
            return int(found) if kind is Type.INTEGER else float(found)
        return ("true" if found else "false") if kind is Type.BOOLEAN else str(found)

    def finish(self, value: Any) -> Any:
        """The value that the mechanism drew."""
        return value


def _key(attribute: Attribute, person: str) -> Any:
    """The name of a person in the type of the column that identifies persons."""
    if attribute.type is Type.INTEGER:
        try:
            key = value_of(person, Type.INTEGER)
        except PolicyError:
            key = None
        if key is None or spell(key) != person:
            raise UsageError(
                f"'{attribute.name}' identifies persons by whole numbers",
                came=excerpt(person),
                allowed="a whole number in digits, without blanks, a plus or leading zeros",
            )
        return key
    if attribute.type.numeric or attribute.type is Type.BOOLEAN:
        raise UsageError(
            f"'{attribute.name}' is of a type that cannot identify persons",
            came=attribute.type.value,
            allowed="text, integer",
        )
    return person
