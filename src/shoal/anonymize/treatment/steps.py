"""The steps that a policy asks for, and their run on a table: each column read once, changed in order, put back once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.anonymize.treatment.base import Array, Treatment
from shoal.anonymize.treatment.coding import ExtremeCoding
from shoal.anonymize.treatment.population import PopulationThreshold
from shoal.anonymize.treatment.pram import Pram
from shoal.anonymize.treatment.random_rounding import RandomRounding
from shoal.anonymize.treatment.rounding import Rounding
from shoal.anonymize.treatment.swap import DataSwapping
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.policy.model.treatment import TreatmentModel


@dataclass(frozen=True)
class ChangeCount:
    """How many values of an attribute a step changed: for the custodian alone."""

    kind: str
    attribute: str
    changed: int
    values: int
    """All values, missing ones among them."""


@dataclass(frozen=True)
class TreatedTable:
    """A table after its treatments, and how many values each step changed."""

    table: Table
    changes: tuple[ChangeCount, ...] = ()


def treatments_of(asked: Sequence[TreatmentModel], schema: Schema) -> tuple[Treatment, ...]:
    """The steps of a policy in their order; a step that names several attributes is one step for each, by name."""
    found: list[Treatment] = []
    for one in asked:
        found += _of_one(one, schema, found)
    return tuple(found)


def _of_one(one: TreatmentModel, schema: Schema, earlier: Sequence[Treatment]) -> Iterator[Treatment]:
    for name, code in sorted((one.top or {}).items()):
        yield ExtremeCoding(schema[name], code, "top")
    for name, code in sorted((one.bottom or {}).items()):
        yield ExtremeCoding(schema[name], code, "bottom")
    for name, base in sorted((one.round or {}).items()):
        yield Rounding(schema[name], base)
    for name, whole in sorted((one.random_round or {}).items()):
        yield RandomRounding(schema[name], whole)
    if (threshold := one.population_threshold) is not None:
        yield PopulationThreshold(schema[threshold.attribute], threshold.least, threshold.counts, threshold.other)
    if (pram := one.pram) is not None:
        seen = any(_looks_at(each, pram.attribute) for each in earlier)
        yield Pram(schema[pram.attribute], pram.keep, pram.matrix, pram.missing == "draw", seen)
    if (swap := one.swap) is not None:
        yield DataSwapping(swap.attributes, swap.rate, swap.within)


def _looks_at(earlier: Treatment, name: str) -> bool:
    """Whether an earlier step lets a value of this attribute decide what becomes of other records or other attributes."""
    counted = isinstance(earlier, PopulationThreshold) and not earlier.dependence.is_record_wise
    return name in earlier.within or (counted and name in earlier.attributes)


def treat(table: Table, treatments: Sequence[Treatment], source: Source) -> TreatedTable:
    """Run the steps one after the other; every step draws from a stream of its own, once.

    The rows, their order and their numbers stay as they are, and so does every other column.
    """
    if not treatments:
        return TreatedTable(table)
    names = list(dict.fromkeys(name for each in treatments for name in each.reads))
    columns, changes = dict(table.collect(names)), []
    for each in treatments:
        with source.stream(f"treatment {each.kind}") as chance:
            made = each.apply(columns, chance)
        for name, values in made.items():
            changes.append(ChangeCount(each.kind, name, _count_changed(columns[name], values), len(values)))
            columns[name] = values
    treated = table
    for name in dict.fromkeys(name for each in treatments for name in each.attributes):
        treated = treated.attach(name, columns[name])
    return TreatedTable(treated, tuple(changes))


def _count_changed(old: Array, new: Array) -> int:
    """How many values differ; missing is equal to missing and to nothing else."""
    before, after = np.ma.getmaskarray(old), np.ma.getmaskarray(new)
    there = ~before & ~after
    differ = np.ma.getdata(old)[there] != np.ma.getdata(new)[there]
    return int((before != after).sum()) + int(np.asarray(differ).sum())
