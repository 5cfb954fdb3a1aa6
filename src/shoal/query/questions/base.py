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
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Role, Schema
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.language.condition.predicate import Predicate
from shoal.mechanism.base import Sensitivity, to_values
from shoal.policy.text.problem import excerpt, nearest


@dataclass(frozen=True)
class Question(ABC):
    """One question that a person wrote; `where` leaves rows out before anything is counted or added."""

    word: ClassVar[str]
    """The name of the question in batch files and on the command line."""

    def __post_init__(self) -> None:
        for key in ("attribute", "where"):
            given = getattr(self, key, None)
            needed = any(each.name == key and each.default is MISSING for each in fields(self))
            if (given is not None or needed) and not isinstance(given, str):
                raise UsageError(f"{self.word}: '{key}' is not a text", came=excerpt(given), allowed="a text")

    @abstractmethod
    def resolve(self, schema: Schema, unit: Unit) -> Query:
        """The query that the question means under a policy; UsageError where the policy does not allow it. No row is read."""

    @abstractmethod
    def normalize(self, schema: Schema) -> Self:
        """The same question with every part in its one spelling."""

    def canonical(self, schema: Schema) -> str:
        """The identity of the question: one text for one meaning, as far as normalising goes.

        It is relative to the schema: bounds that the domain implies are left out.
        """
        return json.dumps(self.normalize(schema).to_saved(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    # --- as plain values -----------------------------------------------------------------------------------------

    def to_saved(self) -> dict[str, Any]:
        """The question as plain values, for a file."""
        found = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return {"kind": self.word, **{key: value for key, value in found.items() if value is not None}}

    @classmethod
    def from_options(cls, options: object) -> Self:
        """A question from the options of a batch file: a mapping, or a bare text for the key that comes first."""
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
                    f"{cls.word}: unknown key", came=excerpt(key), allowed=allowed, fix=nearest(str(key), known)
                )
        for each in fields(cls):
            if each.default is MISSING and each.name not in options:
                raise UsageError(f"{cls.word}: the key '{each.name}' is missing")
        return cls(**options)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return exact_text(value)
    return list(value) if isinstance(value, tuple) else value


def parse_condition(where: str | None, schema: Schema) -> Predicate:
    """The condition of a question; without one, every row satisfies it."""
    return Predicate.everything() if where is None else Predicate.parse(where, schema)


def normalize_where(where: str | None, schema: Schema) -> str | None:
    """A condition in its one spelling; None for a condition that every row satisfies."""
    found = parse_condition(where, schema)
    return None if found.always else found.canonical()


def check_unit(unit: Unit, schema: Schema) -> Unit:
    """The unit of privacy, refused where its column is not an identifier of the policy."""
    if unit.column is not None:
        attribute = schema.by_name.get(unit.column)
        if attribute is None or attribute.role is not Role.IDENTIFIER:
            raise UsageError(
                "the column that identifies persons is not an identifier of the policy",
                came=unit.column,
                allowed="a column with role: identifier",
            )
    return unit


def sum_sensitivity(unit: Unit, low: int, high: int, *, always: bool) -> int:
    """The sensitivity of a sum to which each row adds `low` to `high`, or nothing where it is left out.

    add_remove   max(|low|, |high|) for each row
    replace_one  the largest minus the least that a row can add; nothing is among it, unless `always` every row takes part and
                 the unit is one row: then high − low
    """
    if unit.neighbours == "add_remove":
        return unit.max_rows * max(abs(low), abs(high))
    if always and unit.whose == "row":
        return high - low
    return unit.max_rows * (max(high, 0) - min(low, 0))


# --- resolved under a policy ------------------------------------------------------------------------------------------

Steps = npt.NDArray[Any]
"""Whole numbers: int64, or Python's own where they might not fit."""


@dataclass(frozen=True)
class Query(ABC):
    """A question resolved against the schema and the unit of privacy of a policy."""

    identity: str
    unit: Unit

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""

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
"""The largest error of each component in steps, in 95 of 100 cases, when so many components are to hold at once."""


@dataclass(frozen=True)
class DerivedEstimate:
    """A statistic derived from noisy sums: the sums, and a confidence interval for its true value from these sums alone."""

    parts: dict[str, int | float]
    name: str
    low: Any
    high: Any
    """In at least 95 of 100 cases the true value lies between them, if any row takes part."""
    usable: bool
    """Whether the noisy count stands out from its own noise; if not, the statistic is of no use."""


@dataclass(frozen=True)
class LinearQuery(ABC):
    """A vector of sums over rows: its grid, its sensitivity, and its exact value.

    `steps` and `linf` have one entry for each component, or a single one for all. One unit changes a component by at most
    `linf` steps, and all of them together by `l1` steps where they are the cells of a table.
    """

    where: Predicate
    unit: Unit
    statistic: ClassVar[str | None] = None
    """The name of what is computed from the components, where they are not the answer themselves."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of components."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each component."""

    @property
    @abstractmethod
    def steps(self) -> tuple[Fraction, ...]:
        """The step of the grid of each component."""

    @property
    @abstractmethod
    def linf(self) -> tuple[int, ...]:
        """The L∞ sensitivity: how many steps one unit can change each component."""

    @property
    def l0_of_row(self) -> int:
        """How many components one row takes part in."""
        return self.size

    @property
    def l1(self) -> int | None:
        """The L1 sensitivity in steps; None where every component may change by its whole L∞ sensitivity at once."""
        return None

    @abstractmethod
    def truth(self, table: Table) -> Steps:
        """The exact value in steps."""

    @abstractmethod
    def finish(self, noisy: Sequence[int]) -> Any:
        """The answer as plain values, from the noisy components; the rows are not read again."""

    def estimate(self, noisy: Sequence[int], tails: Tails) -> DerivedEstimate | None:  # noqa: ARG002
        """The statistic that is computed from the components, with its interval; None where they are the answer."""
        return None

    @property
    def scope(self) -> tuple[str, ...]:
        """Which rows and values the sums are made of, where that is not all of them as they are."""
        return ()


@dataclass(frozen=True)
class VectorQuery(Query):
    """Linear queries as one vector on a grid, to which noise is added.

    session:  noise = M.for_target(target, sensitivity=query.sensitivity, grid=query.grid)
              query.finish(noise.draw_steps(query.values(query.truth(table)), source))

    `scaled_sensitivity` and `scaled_grid` measure every component in units of its own L∞ sensitivity, so that a mechanism with
    one scale for all (Laplace) gives a count and a sum of incomes each the noise that it needs. The steps are the same.

    `disjoint_parts` where no row satisfies the conditions of two parts, by the conditions alone: then the L1 sensitivity is
    that of the largest part under add_remove, and no more than that of the two largest under replace_one (SC13 Prop 4).
    """

    parts: tuple[LinearQuery, ...]
    disjoint_parts: bool = False

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
    def linf_steps(self) -> tuple[int, ...]:
        """The L∞ sensitivity of each component in steps; one for all where they are alike."""
        return self._each([part.linf for part in self.parts])

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of the vector, in the units of the answer."""
        return self._sensitivity([part.steps for part in self.parts])

    @cached_property
    def scaled_sensitivity(self) -> Sensitivity:
        """The sensitivity of the vector, each component in units of its own L∞ sensitivity."""
        return self._sensitivity([tuple(Fraction(1, largest) for largest in part.linf) for part in self.parts])

    @cached_property
    def scaled_grid(self) -> tuple[Fraction, ...]:
        """The step of each component in units of its own L∞ sensitivity."""
        return self._each([tuple(Fraction(1, largest) for largest in part.linf) for part in self.parts])

    @property
    def is_table(self) -> bool:
        """Whether the components are the cells of one table, so that a row lies in one of them and all cost as one."""
        return len(self.parts) == 1 and self.parts[0].l1 is not None

    def truth(self, table: Table) -> Steps:
        """The exact value in steps, of a table with at most `unit.max_rows` rows of each person."""
        found = [part.truth(table) for part in self.parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def values(self, steps: Steps) -> npt.NDArray[Any]:
        """Steps in the units of the answer, exactly."""
        return to_values(steps, self.grid)

    def finish(self, noisy: Steps) -> Any:
        """The answer as plain values, from the noisy vector in steps."""
        if len(noisy) != self.components:
            raise UsageError("an answer of another length", came=len(noisy), allowed=str(self.components))
        found, start = [], 0
        for part in self.parts:
            found.append(part.finish(np.asarray(noisy[start : start + part.size]).tolist()))
            start += part.size
        return found

    def estimates(self, noisy: Steps, tails: Callable[[int], Steps]) -> list[DerivedEstimate | None]:
        """The statistic that is computed from each part, with its interval; the rows are not read."""
        found, start = [], 0
        for part in self.parts:
            own = slice(start, start + part.size)
            found.append(part.estimate(np.asarray(noisy[own]).tolist(), _tails_of_part(tails, own)))
            start += part.size
        return found

    @property
    def scope(self) -> tuple[str, ...]:
        return (*super().scope, *dict.fromkeys(each for part in self.parts for each in part.scope))

    def _each(self, given: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        alike = {value for values in given for value in values}
        if len(alike) == 1:
            return (alike.pop(),)
        wide = [values * (part.size // len(values)) for part, values in zip(self.parts, given, strict=True)]
        return tuple(value for values in wide for value in values)

    def _sensitivity(self, lengths: Sequence[tuple[Fraction, ...]]) -> Sensitivity:
        """The sensitivity of the vector, given how long a step of each component is."""
        pairs = list(zip(self.parts, lengths, strict=True))
        linf = [tuple(largest * step for largest, step in _pairs(part.linf, own)) for part, own in pairs]
        l1 = [_l1(part, own) for part, own in pairs]
        rows = self.unit.max_rows * (1 if self.unit.neighbours == "add_remove" else 2)
        l0 = [part.l0_of_row for part in self.parts]
        return Sensitivity(
            self._each(linf),
            self.unit,
            components=self.components,
            l0=min(self.components, rows * (max(l0) if self.disjoint_parts else sum(l0))),
            l1=self._l1_of_disjoint(pairs, l1) if self.disjoint_parts else sum(l1, Fraction(0)),
            multiples_of=self._each(lengths),  # exact values are whole steps: the grid rounds nothing away
        )

    def _l1_of_disjoint(
        self, pairs: Sequence[tuple[LinearQuery, tuple[Fraction, ...]]], l1: Sequence[Fraction]
    ) -> Fraction:
        """The L1 sensitivity where each row takes part in one part at most."""
        if self.unit.neighbours == "add_remove":
            return max(l1)
        removed = replace(self.unit, neighbours="add_remove")
        largest = sorted((_l1(replace(part, unit=removed), own) for part, own in pairs), reverse=True)
        if self.unit.whose == "person":
            return 2 * largest[0]  # all rows of the one who goes and all of the one who comes
        return max(*l1, largest[0] + largest[1])


@dataclass(frozen=True)
class SingleQuery(VectorQuery):
    """A vector that answers one question: its answer is not a list."""

    def finish(self, noisy: Steps) -> Any:
        return super().finish(noisy)[0]


def _tails_of_part(tails: Callable[[int], Steps], own: slice) -> Tails:
    return lambda many: [int(tail) for tail in tails(many)[own]]


def _l1(part: LinearQuery, lengths: tuple[Fraction, ...]) -> Fraction:
    """The L1 sensitivity of a part, given how long its steps are."""
    if part.l1 is not None:
        return part.l1 * lengths[0]
    linf = [largest * step for largest, step in _pairs(part.linf, lengths)]
    return linf[0] * part.size if len(linf) == 1 else sum(linf, Fraction(0))


def _pairs(linf: tuple[int, ...], lengths: tuple[Fraction, ...]) -> list[tuple[int, Fraction]]:
    count = max(len(linf), len(lengths))
    wide = (each if len(each) == count else each * count for each in (linf, lengths))
    return list(zip(*wide, strict=True))


@dataclass(frozen=True)
class SelectionQuery(Query):
    """One of many candidates, by a whole score that the rows give to each; one unit changes each score by at most `linf`."""

    @property
    @abstractmethod
    def candidates(self) -> int:
        """The number of candidates."""

    @property
    @abstractmethod
    def linf(self) -> int:
        """The L∞ sensitivity of the scores."""

    @property
    def error_name(self) -> str:
        """What the difference of scores between the choice and the best measures."""
        return "score, below that of the best candidate"

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of the scores, one number for all of them, as the exponential mechanism takes it."""
        return Sensitivity(self.linf, self.unit, multiples_of=1)

    @abstractmethod
    def scores(self, table: Table) -> npt.NDArray[np.int64]:
        """The score of each candidate; the best are highest."""

    @abstractmethod
    def finish(self, index: int) -> Any:
        """The candidate as a plain value."""
