"""The people that attacks are run on: patients of the made-up hospital of `datasets.visits`, one record each, nothing missing.

Beside them what several attacks share: a release of these people by safe k-anonymization at levels that are fixed in advance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.scheme import FixedScheme, Scheme
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.datasets import hospital
from shoal.datasets.visits import LARGEST_INCOME, LONGEST_STAY, arrays
from shoal.engine.base import Counts, Engine, Table, open_engine
from shoal.guarantee.safe_k.setting import Setting, solve

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[Any]
VISITS_PER_PERSON = 4
"""Enough visits for one complete record of as many people."""
_AGES, _INCOMES, _STAYS = Interval(0, 110), Interval(0, LARGEST_INCOME), Interval(0, LONGEST_STAY)
_REGIONS = tuple(name for name, *_ in hospital.REGIONS)
_PARTS = tuple(dict.fromkeys(part for _, part, *_ in hospital.REGIONS))
CHAPTERS = tuple(f"{letter} {name}" for letter, name, _ in hospital.CHAPTERS)
"""The chapters of diagnoses, by which a diagnosis is published where single ones would be too rare."""
ATTRIBUTES: dict[str, Attribute] = {}
"""Every column of the people, with its declared domain and levels."""


def _declare() -> None:
    numbers: tuple[tuple[str, Type, Interval, dict[str, Any]], ...] = (
        ("age", Type.INTEGER, _AGES, {"intervals": [5, 10, 20, 40]}),
        ("stay", Type.INTEGER, _STAYS, {"intervals": [2, 4, 8, 16], "above": 32}),
        ("income", Type.DECIMAL, _INCOMES, {"intervals": [10_000, 20_000, 40_000], "above": 120_000}),
    )
    for name, kind, domain, levels in numbers:
        ATTRIBUTES[name] = Attribute(name, Role.QUASI, kind, domain, hierarchy(levels, kind, domain))
    parts = {part: [region for region, its, *_ in hospital.REGIONS if its == part] for part in _PARTS}
    for name, values in (
        ("sex", hospital.SEXES),
        ("region", _REGIONS),
        ("insurance", hospital.INSURANCES),
        ("diagnosis", hospital.CODES),
        ("chapter", CHAPTERS),
    ):
        own = Values(values)
        groups = hierarchy({"groups": [parts] if name == "region" else []}, Type.CATEGORY, own)
        ATTRIBUTES[name] = Attribute(name, Role.QUASI, Type.CATEGORY, own, groups)


_declare()


@dataclass(frozen=True)
class People:
    """Records of generated people, column by column; a person is a row number."""

    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def take(self, rows: Any) -> People:
        """Some of the people, by number or by a mask."""
        return People({name: values[rows] for name, values in self.columns.items()})

    def select(self, names: Sequence[str]) -> People:
        """Some of their columns."""
        return People({name: self.columns[name] for name in names})

    def table(self, schema: Schema) -> Table:
        """The people as a table of the engine, with the columns of a schema."""
        import pyarrow as pa

        return _engine().scan(pa.table({name: self.columns[name] for name in schema.names}), schema)


@cache
def _engine() -> Engine:
    """One engine for all tables: opening one takes longer than reading a table of so few people."""
    return open_engine()


@cache
def people(rows: int, seed: int) -> People:
    """So many people with a complete record each: the first visit of each patient.

    >>> len(people(100, 1)), sorted(people(100, 1).columns)[:3]
    (100, ['age', 'chapter', 'diagnosis'])
    """
    found = arrays(VISITS_PER_PERSON * rows + 200, seed)
    first = np.zeros(len(found["age"]), dtype=bool)
    first[np.unique(found["patient_id"], return_index=True)[1]] = True
    for values in found.values():
        first &= ~np.ma.getmaskarray(values)
    kept = np.flatnonzero(first)[:rows]
    columns = {name: np.ma.getdata(found[name])[kept] for name in ATTRIBUTES if name != "chapter"}
    letters = {chapter[0]: chapter for chapter in CHAPTERS}
    columns["chapter"] = np.array([letters[code[0]] for code in columns["diagnosis"]], dtype=object)
    return People({name: columns[name] for name in ATTRIBUTES})


def schema(quasi: Sequence[str], confidential: Sequence[str] = ()) -> Schema:
    """The schema of some columns: what an intruder knows of a person, and what the intruder wants to learn."""
    return Schema(
        (
            *(ATTRIBUTES[name] for name in quasi),
            *(replace(ATTRIBUTES[name], role=Role.CONFIDENTIAL) for name in confidential),
        )
    )


# --- safe k-anonymization at fixed levels ------------------------------------------------------------------------------


@cache
def safe_setting(epsilon: str = "1", delta: str = "1e-6", beta: str = "0.2") -> Setting:
    """The numbers of a safe release: by default (1, 1e-6) at a rate of 0.2."""
    return solve(epsilon=epsilon, delta=delta, beta=beta)


def safe_method(levels: Mapping[str, int], setting: Setting) -> SafeK:
    """Safe k-anonymization of the named columns at these levels; a level of −1 shows nothing of its column."""
    shape = schema(tuple(levels))
    whole = {name: len(_hierarchy(name)) - 1 for name in levels}
    return SafeK(
        setting,
        FixedScheme(Scheme(shape, {name: whole[name] if at < 0 else at for name, at in levels.items()})),
        setting.unit,
    )


def safe_counts(own: People, method: SafeK, source: Source) -> Counts:
    """One safe release of these people: every published tuple of labels with its rows."""
    table = own.table(schema(method.partition.columns))
    released = method.run(table, method.settle(table, source.stream("settle")), source.stream("release"))
    return released.count_by(released.columns)


def labels_of(own: People, levels: Mapping[str, int]) -> list[tuple[str, ...]]:
    """The labels of each person at these levels; a level of −1 is the coarsest."""
    columns = []
    for name, at in levels.items():
        shown = _hierarchy(name).level(len(_hierarchy(name)) - 1 if at < 0 else at)
        columns.append([str(one) for one in (own[name] if at == 0 else shown.apply(np.asarray(own[name])))])
    return list(zip(*columns, strict=True))


def _hierarchy(name: str) -> Hierarchy:
    found = ATTRIBUTES[name].hierarchy
    assert found is not None  # noqa: S101 - every column of the people has one
    return found


def describe(person: People) -> str:
    """What is known of one person, in words: `aged 34, income 31,200, stay 3`."""
    units = {"age": "aged {:.0f}", "income": "income {:,.0f}", "stay": "stay {:.0f}"}
    return ", ".join(
        units[name].format(values[0]) if name in units else str(values[0]) for name, values in person.columns.items()
    )
