"""The records of a table as a search takes them: the different combinations of values, as codes, and how often each occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.search.requirement import Distance
from shoal.anonymize.kernel.rollup import Integers
from shoal.data.domain import Values
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Type
from shoal.engine.base import ABSENT, Counts
from shoal.errors import DataError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ConfidentialValues:
    """The values of one confidential attribute: of each joint code its own code, by rank where values are ordered.

    `absent` is the code of a missing value, the last; −1 where none is missing. `heights` has for each height of its tree
    below the root the node of each value; one height of all values is the equal distance.
    """

    name: str
    of_joint: Integers
    size: int
    absent: int
    distance: Distance
    heights: tuple[Integers, ...]


@dataclass(frozen=True, eq=False)
class EncodedRecords:
    """The different combinations of quasi-identifying and confidential values of a table, and the combination of each row.

    `joint` numbers the combinations of confidential values; the number after the last is that of people of the population,
    who are counted beside the rows where a population is given.
    """

    quasi: Counts
    joint: Integers
    joints: int
    confidential: tuple[ConfidentialValues, ...]
    of_row: Integers
    """The combination of each row of the table."""
    rows: int
    has_population: bool = False

    def narrow(self, rows: Integers) -> EncodedRecords:
        """The same with these rows of the table alone, given by their places; the population stays whole."""
        of_row = self.of_row[rows]
        counts = np.bincount(of_row, minlength=len(self.quasi.counts)).astype(np.int64)
        people = self.joint == self.joints
        counts[people] = self.quasi.counts[people]
        kept = np.flatnonzero(counts)
        place = np.full(len(counts), -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        quasi = replace(self.quasi, codes=tuple(codes[kept] for codes in self.quasi.codes), counts=counts[kept])
        return replace(self, quasi=quasi, joint=self.joint[kept], of_row=place[of_row], rows=len(rows))


def encode_records(
    quasi: Sequence[Attribute],
    confidential: Sequence[Attribute],
    values: Mapping[str, Array],
    *,
    distance: Distance | None = None,
    population: Counts | None = None,
) -> EncodedRecords:
    """The records of a table from its columns in the order of the rows; what is missing is masked.

    Raises     DataError where the population lacks people that the table has.
    """
    encoded = {one.name: _encode(values[one.name]) for one in (*quasi, *confidential)}
    rows = len(values[quasi[0].name])
    tuples = _number([encoded[one.name][1] for one in quasi], rows)
    held = _number([encoded[one.name][1] for one in confidential], rows)
    of_row, first = _distinct(tuples, held)
    joints = int(held.max()) + 1 if rows else 0
    example = np.zeros(joints, dtype=np.int64)
    example[held[::-1]] = np.arange(rows)[::-1]
    counted = Counts(
        tuple(one.name for one in quasi),
        tuple(encoded[one.name][0] for one in quasi),
        tuple(encoded[one.name][1][first].astype(np.int32) for one in quasi),
        np.bincount(of_row, minlength=len(first)).astype(np.int64),
    )
    shown = tuple(
        _confidential(one, *encoded[one.name], encoded[one.name][1][example], distance) for one in confidential
    )
    records = EncodedRecords(counted, held[first], joints, shown, of_row, rows)
    return records if population is None else _with_population(records, population)


def _encode(values: Array) -> tuple[Array, Integers]:
    """The different values of a column, sorted, and the code of each row's; ABSENT where it is missing."""
    gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    codes = np.full(len(data), ABSENT, dtype=np.int64)
    present = data[~gone]
    if present.dtype.kind != "O":
        known, codes[~gone] = np.unique(present, return_inverse=True)
        return known, codes
    listed = present.tolist()
    order = sorted(set(listed))
    code = {one: at for at, one in enumerate(order)}
    codes[~gone] = np.fromiter(map(code.__getitem__, listed), np.int64, len(listed))
    known = np.empty(len(order), dtype=object)
    known[:] = order
    return known, codes


def _number(columns: Sequence[Integers], rows: int) -> Integers:
    """One number for each combination of codes, without gaps."""
    number = np.zeros(rows, dtype=np.int64)
    for codes in columns:
        _, number = np.unique(number * (int(codes.max(initial=ABSENT)) + 2) + codes + 1, return_inverse=True)
    return number


def _distinct(tuples: Integers, held: Integers) -> tuple[Integers, Integers]:
    """The combination of each row, and one row of each combination."""
    key = tuples * (int(held.max(initial=0)) + 1) + held
    _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
    return of_row.astype(np.int64), first.astype(np.int64)


def _confidential(
    attribute: Attribute, known: Array, codes: Integers, of_joint: Integers, distance: Distance | None
) -> ConfidentialValues:
    """The values of a confidential attribute in their order, with the distance that is meant."""
    ranks = np.arange(len(known))
    if attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values):
        place = {value: rank for rank, value in enumerate(attribute.domain.values)}
        order = sorted(range(len(known)), key=lambda at: place.get(str(known[at]), len(place)))
        ranks[order] = np.arange(len(known))
        known = known[order]
    is_absent = bool((codes == ABSENT).any())
    own = np.append(ranks, len(known))[of_joint]  # ABSENT is −1: the last
    is_ordered = attribute.type.numeric or attribute.type is Type.ORDINAL
    meant: Distance = distance or ("ordered" if is_ordered else "equal")
    if meant == "ordered" and not is_ordered:
        meant = "equal"
    heights = _heights(attribute, known, is_absent) if meant == "hierarchical" else ()
    size = len(known) + is_absent
    return ConfidentialValues(
        attribute.name, own, size, len(known) if is_absent else -1, meant, heights or (np.arange(size),)
    )


def _heights(attribute: Attribute, known: Array, is_absent: bool) -> tuple[Integers, ...]:
    """The node of each value at every height of its hierarchy below the root; a missing value is a branch of its own."""
    if attribute.hierarchy is None:
        return ()
    found = []
    for level in attribute.hierarchy.levels:
        if level.labels is not None and len(level.labels) <= 1:
            continue
        labels = known if isinstance(level, ValueLevel) else level.apply(known)
        nodes = np.unique(np.array([str(label) for label in labels.tolist()]), return_inverse=True)[1].astype(np.int64)
        found.append(np.append(nodes, nodes.max(initial=-1) + 1) if is_absent else nodes)
    return tuple(found)


def _with_population(records: EncodedRecords, population: Counts) -> EncodedRecords:
    """The records with the people of the population beside them, in codes of both."""
    values, mine, theirs = [], [], []
    for own, codes, other, places in zip(
        records.quasi.values, records.quasi.codes, population.values, population.codes, strict=True
    ):
        known = {value: code for code, value in enumerate(own.tolist())}
        code = np.array([known.setdefault(value, len(known)) for value in other.tolist()] + [ABSENT], dtype=np.int32)
        both = np.empty(len(known), dtype=object)
        both[:] = list(known)
        values.append(both if own.dtype.kind == "O" else both.astype(own.dtype))
        mine.append(codes)
        theirs.append(code[places])
    together = [np.concatenate(pair).astype(np.int64) for pair in zip(mine, theirs, strict=True)]
    of_table = np.arange(len(together[0])) < len(records.quasi)
    number = _number(together, len(of_table))
    counts = np.concatenate([records.quasi.counts, population.counts])
    people = np.bincount(number, weights=counts * ~of_table)
    in_table = np.bincount(number, weights=counts * of_table)
    lacking = int(np.count_nonzero(in_table > people))
    if lacking:
        raise DataError(
            "the population does not hold the table: it has fewer people than rows for some combinations of quasi-identifiers",
            came=f"{lacking:,} of {int(np.count_nonzero(in_table)):,} combinations",
            allowed="every person of the table is in the population",
            fix="bring the population that the table is part of, with values spelled alike; where a column says how many people "
            "a line stands for, name it: k_map: {count: NAME}",
        )
    quasi = Counts(records.quasi.columns, tuple(values), tuple(one.astype(np.int32) for one in together), counts)
    joint = np.concatenate([records.joint, np.full(len(population), records.joints, dtype=np.int64)])
    return replace(records, quasi=quasi, joint=joint, has_population=True)
