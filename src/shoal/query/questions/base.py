"""What every question is, and what it becomes under a policy.

A `Question` is a frozen value that a person wrote. Resolved against the schema and the unit of privacy of a policy it is a
`Query`, whose sensitivity and error are known before any row is read. There are three kinds, by how they are answered:

    VectorQuery      a vector of numbers in whole steps of a grid, to which noise is added
    SelectionQuery   one of many candidates, each with a score that the rows decide
    PersonQuery      the value of one person, refined from the prior of the analyst

All are frozen, have an `identity` (one text for one meaning) and the `columns` that they read, and depend on no row.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Role, Schema
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity, to_values
from shoal.policy.text.problem import excerpt, nearest
from shoal.query.condition.predicate import Predicate


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
                raise UsageError(f"{self.word}: '{key}' is a text", came=excerpt(given))

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
            raise UsageError(f"{cls.word}: not a mapping of options", came=excerpt(options), allowed=", ".join(known))
        for key in options:
            if key not in known:
                allowed = ", ".join(known)
                raise UsageError(
                    f"{cls.word}: no such key", came=excerpt(key), allowed=allowed, fix=nearest(str(key), known)
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


Steps = npt.NDArray[Any]
"""Whole numbers: int64, or Python's own where they might not fit."""


@dataclass(frozen=True)
class Asked(ABC):
    """What every planned question has."""

    kind: ClassVar[Literal["add", "choose", "refine"]]
    identity: str
    unit: Unit

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, sorted."""

    @property
    def scope(self) -> tuple[str, ...]:
        """What the answer and its errors are about, where that is not every row and value as it is: by the policy alone."""
        column, most = self.unit.column, self.unit.max_rows
        if column is None:
            return ()
        rows = "1 row" if most == 1 else f"{most:,} rows"
        few = f"at most {rows} of each '{column}', chosen at random; further rows are not counted"
        return (f"{few}, so this is not the number, sum or rank over all rows of the table",)


Tails = Callable[[int], Sequence[int]]
"""By how many steps each component may be off, in 95 of 100 cases, when so many of them are to hold at once."""


@dataclass(frozen=True)
class Behind:
    """The numbers with noise that an answer was computed from, and an interval for the truth, from these numbers alone."""

    parts: dict[str, int | float]
    name: str
    low: Any
    high: Any
    """In at least 95 of 100 cases the truth lies between them, if any row takes part."""
    enough: bool
    """Whether the count stands out from its own noise; if not, the answer is worth nothing."""


@dataclass(frozen=True)
class Part(ABC):
    """A run of components that belong together: their grid, how far one unit moves them, and what they add up to.

    `steps` and `reaches` have one entry for each component, or a single one for all. One unit moves a component by at
    most its reach (in steps), and all of them together by `moves` steps where they are the cells of a table.
    """

    where: Predicate
    unit: Unit
    computed: ClassVar[str | None] = None
    """What is computed from the components, where they are not the answer themselves."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, sorted."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many components."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each component."""

    @property
    @abstractmethod
    def steps(self) -> tuple[Fraction, ...]:
        """The grid."""

    @property
    @abstractmethod
    def reaches(self) -> tuple[int, ...]:
        """How far one unit moves each component, in steps."""

    @property
    def touched(self) -> int:
        """How many components one row takes part in."""
        return self.size

    @property
    def moves(self) -> int | None:
        """How far one unit moves all components together, in steps; None where each may move by its whole reach."""
        return None

    @abstractmethod
    def truth(self, table: Table) -> Steps:
        """The exact answer in steps."""

    @abstractmethod
    def finish(self, noisy: Sequence[int]) -> Any:
        """The answer as plain values, from components with noise; the rows are not looked at again."""

    def behind(self, noisy: Sequence[int], tails: Tails) -> Behind | None:  # noqa: ARG002
        """What the answer was computed from; None where it is the components."""
        return None

    @property
    def scope(self) -> tuple[str, ...]:
        """Which rows and values the numbers are made of, where that is not all of them as they are."""
        return ()


@dataclass(frozen=True)
class Added(Asked):
    """Numbers on a grid, as one vector.

    session:  noise = M.for_target(target, sensitivity=asked.sensitivity, grid=asked.grid)
              asked.finish(noise.draw_steps(asked.values(asked.truth(table)), source))

    `even_sensitivity` and `even_grid` measure every component in units of its own reach, so that a mechanism with one
    scale for all (Laplace) gives a count and a sum of incomes each the noise that it needs. The steps are the same.

    `apart` where no row satisfies the conditions of two parts, by the conditions alone: then the vector moves no more than
    its part that moves most when a row comes or goes, and no more than two of them when it is replaced (SC13 Prop 4).
    """

    kind = "add"
    parts: tuple[Part, ...]
    apart: bool = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({name for part in self.parts for name in part.columns}))

    @property
    def components(self) -> int:
        """How many numbers the vector has."""
        return sum(part.size for part in self.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each component."""
        return tuple(name for part in self.parts for name in part.names)

    @cached_property
    def grid(self) -> tuple[Fraction, ...]:
        """The step of each component, or one for all where they are alike."""
        return self._each([part.steps for part in self.parts])

    @cached_property
    def reaches(self) -> tuple[int, ...]:
        """How far one unit moves each component, in steps; one for all where they are alike."""
        return self._each([part.reaches for part in self.parts])

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far one unit moves the vector, in the units of the answer."""
        return self._sensitivity([part.steps for part in self.parts])

    @cached_property
    def even_sensitivity(self) -> Sensitivity:
        """The same, each component in units of its reach."""
        return self._sensitivity([tuple(Fraction(1, reach) for reach in part.reaches) for part in self.parts])

    @cached_property
    def even_grid(self) -> tuple[Fraction, ...]:
        """The step of each component in units of its reach."""
        return self._each([tuple(Fraction(1, reach) for reach in part.reaches) for part in self.parts])

    @property
    def disjoint(self) -> bool:
        """Whether the components are the cells of one table, so that a row lies in one of them and all cost as one."""
        return len(self.parts) == 1 and self.parts[0].moves is not None

    def truth(self, table: Table) -> Steps:
        """The exact answer in steps; with `unit.max_rows` rows of each person at most, which the caller sees to."""
        found = [part.truth(table) for part in self.parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def values(self, steps: Steps) -> npt.NDArray[Any]:
        """Steps in the units of the answer, exactly."""
        return to_values(steps, self.grid)

    def finish(self, noisy: Steps) -> Any:
        """The answer as plain values, from the vector with noise in steps."""
        if len(noisy) != self.components:
            raise UsageError("an answer of another length", came=len(noisy), allowed=str(self.components))
        found, start = [], 0
        for part in self.parts:
            found.append(part.finish(np.asarray(noisy[start : start + part.size]).tolist()))
            start += part.size
        return found

    def behind(self, noisy: Steps, tails: Callable[[int], Steps]) -> list[Behind | None]:
        """What each part of the answer was computed from; the rows are not looked at."""
        found, start = [], 0
        for part in self.parts:
            own = slice(start, start + part.size)
            found.append(part.behind(np.asarray(noisy[own]).tolist(), _sliced(tails, own)))
            start += part.size
        return found

    @property
    def scope(self) -> tuple[str, ...]:
        return (*super().scope, *dict.fromkeys(each for part in self.parts for each in part.scope))

    def _each(self, given: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        alike = {value for values in given for value in values}
        if len(alike) == 1:
            return (alike.pop(),)
        widened = [values * (part.size // len(values)) for part, values in zip(self.parts, given, strict=True)]
        return tuple(value for values in widened for value in values)

    def _sensitivity(self, lengths: Sequence[tuple[Fraction, ...]]) -> Sensitivity:
        """Given how long a step of each component is."""
        pairs = list(zip(self.parts, lengths, strict=True))
        sides = [tuple(reach * step for reach, step in _paired(part.reaches, own)) for part, own in pairs]
        totals = [_total(part, own) for part, own in pairs]
        rows = self.unit.max_rows * (1 if self.unit.neighbours == "add_remove" else 2)
        touched = [part.touched for part in self.parts]
        return Sensitivity(
            self._each(sides),
            self.unit,
            components=self.components,
            l0=min(self.components, rows * (max(touched) if self.apart else sum(touched))),
            l1=self._apart(pairs, totals) if self.apart else sum(totals, Fraction(0)),
            multiples_of=self._each(lengths),  # truths are whole steps: the grid rounds nothing away
        )

    def _apart(self, pairs: Sequence[tuple[Part, tuple[Fraction, ...]]], totals: Sequence[Fraction]) -> Fraction:
        """How far the vector moves where each row takes part in one part at most."""
        if self.unit.neighbours == "add_remove":
            return max(totals)
        gone = replace(self.unit, neighbours="add_remove")
        largest = sorted((_total(replace(part, unit=gone), own) for part, own in pairs), reverse=True)
        if self.unit.whose == "person":
            return 2 * largest[0]  # all rows of the one who goes and all of the one who comes
        return max(*totals, largest[0] + largest[1])


@dataclass(frozen=True)
class Single(Added):
    """A vector that answers one question: its answer is no list."""

    def finish(self, noisy: Steps) -> Any:
        return super().finish(noisy)[0]


def _sliced(tails: Callable[[int], Steps], own: slice) -> Tails:
    """The tails of one part."""
    return lambda many: [int(tail) for tail in tails(many)[own]]


def _total(part: Part, lengths: tuple[Fraction, ...]) -> Fraction:
    """How far one unit moves a part in sum, given how long its steps are."""
    if part.moves is not None:
        return part.moves * lengths[0]
    sides = [reach * step for reach, step in _paired(part.reaches, lengths)]
    return sides[0] * part.size if len(sides) == 1 else sum(sides, Fraction(0))


def _paired(reaches: tuple[int, ...], lengths: tuple[Fraction, ...]) -> list[tuple[int, Fraction]]:
    count = max(len(reaches), len(lengths))
    return list(
        zip(
            reaches if len(reaches) == count else reaches * count,
            lengths if len(lengths) == count else lengths * count,
            strict=True,
        )
    )


@dataclass(frozen=True)
class Chosen(Asked):
    """One of many candidates: the rows give each a whole score, and one unit moves each score by at most `reach`."""

    kind = "choose"

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """How far one unit moves any score."""

    @property
    def error_name(self) -> str:
        """What the difference of scores between the choice and the best measures."""
        return "score, below that of the best candidate"

    @property
    def sensitivity(self) -> Sensitivity:
        """Of each score."""
        return Sensitivity(self.reach, self.unit, components=self.candidates, multiples_of=1)

    @abstractmethod
    def scores(self, table: Table) -> npt.NDArray[np.int64]:
        """The score of each candidate; the best are highest."""

    @abstractmethod
    def finish(self, index: int) -> Any:
        """The candidate as a plain value."""
