"""What the methods of near neighbours share: how records are grouped, and what is refused before they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster import mdav as near
from shoal.anonymize.cluster.approx import approx
from shoal.anonymize.cluster.diversify import Secret, Wanted, diverse
from shoal.anonymize.cluster.insensitive import insensitive
from shoal.anonymize.cluster.mdav import Labels, Progress
from shoal.anonymize.cluster.optimal import optimal
from shoal.anonymize.cluster.points import Column, Scale, points
from shoal.anonymize.cluster.records import column, columns
from shoal.anonymize.generalize.base import Stage, StageProgress
from shoal.chance.source import Source
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type
from shoal.engine.base import Table, bound_contributions
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.unit import Unit

Array = npt.NDArray[Any]
Grouping = Literal["mdav", "vmdav", "approx", "ranking", "optimal", "insensitive"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
GAIN = Fraction(1, 5)


@dataclass(frozen=True)
class Crowd:
    """How records are grouped: the least size, the way, and what every group must have of the confidential attributes."""

    k: int
    grouping: Grouping = "mdav"
    gain: Fraction = GAIN
    wanted: Wanted = field(default=Wanted())

    def groups(
        self,
        attributes: Sequence[Attribute],
        values: dict[str, Array],
        source: Source,
        tell: Progress = near.quiet,
    ) -> Labels:
        """The group of each record by the named attributes, before anything else is asked of it.

        Records are put into an order drawn from `source` before anything is computed, and their groups are told in the
        order that came. So equal distances, sums that round and the numbers of groups depend on that draw, and never on
        the order of the input, which may be that of a confidential value.
        """
        order, mixed = _mixed(attributes, values, source)
        return _told(self._near(columns(attributes, mixed), tell), order)

    def _near(self, records: Sequence[Column], tell: Progress) -> Labels:
        """The groups of records in the order they came, before anything else is asked of them."""
        if self.grouping == "insensitive":
            return insensitive(records, self.k, progress=tell)
        if self.grouping in ("ranking", "optimal"):
            raise PreconditionError(
                "microaggregation-k",
                "ranks group one attribute at a time, and then records that share one group share nothing else",
                came=f"grouping: {self.grouping} for {len(records)} attributes",
                allowed="one attribute",
                fix="take grouping: mdav",
            )
        places = points(records, Scale.DEVIATION)
        if self.grouping == "vmdav":
            return near.vmdav(places, self.k, gain=float(self.gain), progress=tell)
        return (near.mdav if self.grouping == "mdav" else approx)(places, self.k, progress=tell)

    def ranked(self, table: Table, attribute: Attribute, source: Source) -> Labels:
        """Groups of one attribute: runs of k in rank, sorted and numbered by the engine; or the cheapest cuts there are.

        Equal values are ranked in an order drawn from `source`, because the file's own order may tell who is who.
        """
        if not _ranks(attribute):
            raise InfeasibleError(
                f"attribute '{attribute.name}' has no order, so it has no ranks",
                came=attribute.type.value,
                allowed="numbers, dates, times, ordinal values",
                fix="declare it ordinal, or take grouping: mdav",
            )
        if self.grouping == "optimal":
            order, mixed = _mixed([attribute], table.collect([attribute.name]), source)
            return _told(_cheapest(column(attribute, mixed[attribute.name]), self.k), order)
        group, rank, tie = unused(table, "group"), unused(table, "rank"), unused(table, "tie")
        if attribute.type is Type.ORDINAL:
            ranks = column(attribute, table.collect([attribute.name])[attribute.name]).order()
            table = table.attach(rank, np.asarray(ranks, dtype=np.float64))
        table = table.attach(tie, source.stream("ties").permutation(table.rows()))
        first = rank if attribute.type is Type.ORDINAL else attribute.name
        return np.asarray(table.chunk([first, tie], self.k, group).collect([group])[group]).astype(np.int32)

    def joined(
        self,
        labels: Labels,
        attributes: Sequence[Attribute],
        values: dict[str, Array],
        secrets: Sequence[Secret],
        source: Source,
        tell: Progress = near.quiet,
    ) -> Labels:
        """The groups after those that lack l or t have been joined with their nearest, again in an order that is drawn."""
        if self.wanted.nothing:
            return labels
        order, mixed = _mixed(attributes, values, source.stream("joining"))
        places = points(columns(attributes, mixed), Scale.DEVIATION)
        held = [replace(one, codes=one.codes[order]) for one in secrets]
        return _told(diverse(labels[order], places, held, self.wanted, progress=tell), order)


def _mixed(
    attributes: Sequence[Attribute], values: dict[str, Array], source: Source
) -> tuple[npt.NDArray[np.int64], dict[str, Array]]:
    """A uniform order of the records, and their values in it."""
    order = source.stream("order of records").permutation(len(values[attributes[0].name]))
    return order, {attribute.name: values[attribute.name][order] for attribute in attributes}


def _told(found: Labels, order: npt.NDArray[np.int64]) -> Labels:
    """Groups of records in a drawn order, as groups of the records in the order that came."""
    labels = np.empty_like(found)
    labels[order] = found
    return labels


def _cheapest(own: Column, k: int) -> Labels:
    """The cuts with the least loss; a missing value has no place on the line."""
    if own.absent.any():
        raise InfeasibleError(
            f"attribute '{own.name}' has missing values, and the cheapest cuts are of numbers",
            came=f"{np.count_nonzero(own.absent):,} of {len(own.absent):,}",
            allowed="no missing values",
            fix="take grouping: ranking, where missing values come first",
        )
    return optimal(own.order(), k)


def unused(table: Table, name: str) -> str:
    """A name that no column of the table has."""
    while name in table.columns or name in table.schema.names:
        name += "_"
    return name


def secret(attribute: Attribute, values: Array) -> Secret:
    """A confidential attribute with its order, where it has one; two truth values are 1 apart, as any two names are."""
    ordered = attribute.type.numeric or attribute.type is Type.ORDINAL
    if attribute.type is Type.ORDINAL:
        own = column(attribute, values)
        values = np.ma.masked_array(own.order(), own.absent)
    return Secret.of(attribute.name, values, ordered=ordered)


def _ranks(attribute: Attribute) -> bool:
    return attribute.type.numeric or attribute.type in (Type.ORDINAL, Type.BOOLEAN)


def one_row_each(table: Table, unit: Unit, source: Source, stage: Stage) -> Table:
    """One row of each person, chosen at random; every row where rows are the unit.

    A crowd of k rows is a crowd of k people only where nobody has two.
    """
    if unit.whose != "person" or unit.column is None:
        return table
    if unit.max_rows > 1:
        raise PreconditionError(
            "microaggregation-k",
            "a group of k rows hides no unit when several of them are one unit's",
            came=f"max_rows: {unit.max_rows}",
            allowed="one row of each unit",
            fix="set max_rows: 1",
        )
    stage("choosing rows of each unit")
    return bound_contributions(table, unit, source.row_mask(Fraction(1, 2)).words, "microaggregation-k")


def refuse_few(rows: int, k: int) -> None:
    """Fewer than two groups leave nothing to tell."""
    if rows < 2 * k:
        raise InfeasibleError(
            "too few records: they would all stand in one group",
            came=f"{rows:,} records and k = {k:,}",
            allowed="at least 2k records",
            fix="choose a smaller k" if rows >= 4 else "bring more records",
        )


def refuse_constant(attributes: Sequence[Attribute], values: dict[str, Array], why: str) -> None:
    """Attributes none of which varies cannot be grouped or mixed."""
    if attributes and not any(_varies(values[attribute.name]) for attribute in attributes):
        names = ", ".join(f"'{attribute.name}'" for attribute in attributes[:6])
        raise InfeasibleError(f"every record has the same {names}: {why}", fix="leave these attributes out")


def _varies(values: Array) -> bool:
    gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    present = data[~gone]
    return bool(len(present) and (gone.any() or (present != present[0]).any()))


def refuse_no_quasi(schema: Schema) -> None:
    """Groups are of people who look alike, so something must be there to look at."""
    if not schema.quasi:
        raise PreconditionError(
            "microaggregation-k", "the policy names no quasi-identifier", fix="give an attribute the role quasi"
        )


def watched(stage: Stage, what: str) -> Progress:
    """Progress told as stages, in whole percents."""
    last = -1

    def tell(done: int, of: int) -> None:
        nonlocal last
        share = 100 * done // max(1, of)
        if share != last:
            last = share
            stage(StageProgress(what, done, of))

    return tell


@dataclass(frozen=True)
class Masked:
    """What a method of near neighbours made: the records in their order with what they show, and who stood with whom."""

    table: Table
    groups: dict[str, Labels]
    """The group of each record, by the attributes that were treated together; for the holder alone."""
    original: Table
    """The same records in the same order, as they were; for the holder alone."""
