"""Clustering: the methods that put near records into clusters of at least k, by their names, and the function for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.approx import approx
from shoal.anonymize.cluster.columns import (
    MetricColumn,
    NominalColumn,
    NumericColumn,
    Scale,
    column_of,
    columns_of,
    points,
)
from shoal.anonymize.cluster.diversify import ConfidentialColumn, DiversityRequirement, diversify
from shoal.anonymize.cluster.insensitive import insensitive
from shoal.anonymize.cluster.mdav import Labels, check_points, mdav, no_progress, vmdav
from shoal.anonymize.cluster.mondrian import mondrian, strict_mondrian
from shoal.anonymize.cluster.ranking import is_long, optimal, ranking, shortest_path
from shoal.anonymize.kernel.remaining_points import is_much, loops
from shoal.chance.source import Source
from shoal.compilation import load_kernels
from shoal.data.schema import Attribute
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.progress import Progress

Array = npt.NDArray[Any]
Grouping = Literal["mdav", "vmdav", "approx", "ranking", "optimal", "insensitive", "mondrian", "strict_mondrian"]
METHODS: tuple[Grouping, ...] = get_args(Grouping)
CUTTING: Mapping[str, Callable[..., Labels]] = {
    "insensitive": insensitive,
    "mondrian": mondrian,
    "strict_mondrian": strict_mondrian,
}
"""The methods that take columns one by one, rather than records as points."""
GAIN = Fraction(1, 5)
"""The gain factor of V-MDAV where none is given."""


@dataclass(frozen=True)
class Clustering:
    """A method of clustering with its parameters: the least size k, the method, and what every cluster must show.

    Promise   every cluster has at least k records; with a requirement, each has l different confidential values, or is
              within t of the whole table. The clusters do not depend on the order of the rows.
    Requires  at least k records; declared domains for `insensitive`; an order of the values for `ranking` and `optimal`.
    Reads     the attributes that it clusters by, and the confidential attributes where there is a requirement.

    >>> Clustering(5, "vmdav").grouping
    'vmdav'
    """

    k: int
    grouping: Grouping = "mdav"
    gain: Fraction = GAIN
    requirement: DiversityRequirement = field(default=DiversityRequirement())

    def load_kernels(self, rows: int, attributes: int) -> tuple[str, ...]:
        """Compile what so many rows take, clustered by so many attributes; notes for the custodian where that fails."""
        if self.grouping == "optimal":
            return load_kernels([shortest_path] if is_long(rows, self.k) else [])
        k = self.k if self.grouping == "mdav" else 1
        compiled = self.grouping in ("mdav", "vmdav", "approx") and is_much(rows, attributes, k)
        return load_kernels(loops() if compiled else [])

    def clusters(
        self,
        attributes: Sequence[Attribute],
        values: dict[str, Array],
        source: Source,
        progress: Progress = no_progress,
    ) -> Labels:
        """The cluster of each record by these attributes, before any requirement on confidential values.

        Records are put into an order drawn from `source` before anything is computed, and the clusters are given back in the
        order of the input. So equal distances, sums that round and the numbers of clusters depend on that draw, and never
        on the order of the input, which may be that of a confidential value.
        """
        order, shuffled = _shuffle(attributes, values, source)
        return _unshuffle(self._cluster(columns_of(attributes, shuffled), progress), order)

    def _cluster(self, records: Sequence[MetricColumn], progress: Progress) -> Labels:
        """The clusters of records in the order in which they came."""
        if self.grouping in CUTTING:
            return CUTTING[self.grouping](records, self.k, progress=progress)
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
            return vmdav(places, self.k, gain=float(self.gain), progress=progress)
        return (mdav if self.grouping == "mdav" else approx)(places, self.k, progress=progress)

    def clusters_by_rank(self, table: Table, attribute: Attribute, source: Source) -> Labels:
        """The clusters of one attribute: runs of k in rank, sorted and numbered by the engine, or the optimal partition.

        Equal values are ranked in an order drawn from `source`, because the order of the file may tell who is who.
        """
        if not _has_ranks(attribute):
            raise InfeasibleError(
                f"attribute '{attribute.name}' has no order, so it has no ranks",
                came=attribute.type.value,
                allowed="numbers, dates, times, ordinal values",
                fix="declare it ordinal, or take grouping: mdav",
            )
        if self.grouping == "optimal":
            order, shuffled = _shuffle([attribute], table.collect([attribute.name]), source)
            return _unshuffle(_optimal(column_of(attribute, shuffled[attribute.name]), self.k), order)
        group, rank, tie = unused_name(table, "group"), unused_name(table, "rank"), unused_name(table, "tie")
        if attribute.type is Type.ORDINAL:
            ranks = column_of(attribute, table.collect([attribute.name])[attribute.name]).order()
            table = table.attach(rank, np.asarray(ranks, dtype=np.float64))
        table = table.attach(tie, source.stream("ties").permutation(table.rows()))
        first = rank if attribute.type is Type.ORDINAL else attribute.name
        return np.asarray(table.chunk([first, tie], self.k, group).collect([group])[group]).astype(np.int32)

    def merge(
        self,
        labels: Labels,
        attributes: Sequence[Attribute],
        values: dict[str, Array],
        confidential: Sequence[ConfidentialColumn],
        source: Source,
        progress: Progress = no_progress,
    ) -> Labels:
        """The clusters after those that lack l or t were merged with their nearest, again in an order that is drawn."""
        if self.requirement.nothing:
            return labels
        order, shuffled = _shuffle(attributes, values, source.stream("joining"))
        places = points(columns_of(attributes, shuffled), Scale.DEVIATION)
        held = [replace(one, codes=one.codes[order]) for one in confidential]
        return _unshuffle(diversify(labels[order], places, held, self.requirement, progress=progress), order)


def _shuffle(
    attributes: Sequence[Attribute], values: dict[str, Array], source: Source
) -> tuple[npt.NDArray[np.int64], dict[str, Array]]:
    """A uniform order of the records, and their values in it."""
    order = source.stream("order of records").permutation(len(values[attributes[0].name]))
    return order, {attribute.name: values[attribute.name][order] for attribute in attributes}


def _unshuffle(found: Labels, order: npt.NDArray[np.int64]) -> Labels:
    """The clusters of records in a drawn order, put back into the order of the input."""
    labels = np.empty_like(found)
    labels[order] = found
    return labels


def _optimal(own: MetricColumn, k: int) -> Labels:
    """The optimal partition; refused where values are missing, which have no place on the line."""
    if own.absent.any():
        raise InfeasibleError(
            f"attribute '{own.name}' has missing values, and the cheapest cuts are of numbers",
            came=f"{np.count_nonzero(own.absent):,} of {len(own.absent):,}",
            allowed="no missing values",
            fix="take grouping: ranking, where missing values come first",
        )
    return optimal(own.order(), k)


def unused_name(table: Table, name: str) -> str:
    """A name that no column of the table has."""
    while name in table.columns or name in table.schema.names:
        name += "_"
    return name


def confidential_column(attribute: Attribute, values: Array) -> ConfidentialColumn:
    """The column of a confidential attribute, ordered where its values are; two truth values are 1 apart, as any two names."""
    ordered = attribute.type.numeric or attribute.type is Type.ORDINAL
    if attribute.type is Type.ORDINAL:
        own = column_of(attribute, values)
        values = np.ma.masked_array(own.order(), own.absent)
    return ConfidentialColumn.of(attribute.name, values, ordered=ordered)


def _has_ranks(attribute: Attribute) -> bool:
    return attribute.type.numeric or attribute.type in (Type.ORDINAL, Type.BOOLEAN)


# --- arrays and frames ------------------------------------------------------------------------------------------------

Bounds = tuple[float, float]


def microaggregate(
    values: Any,
    k: int,
    method: str = "mdav",
    *,
    scale: str = "deviation",
    gain: float = 0.2,
    domain: Sequence[Bounds] | Mapping[str, Bounds] | None = None,
    turns: int | None = None,
    progress: Progress = no_progress,
) -> npt.NDArray[np.int32]:
    """The cluster of each record, as an int32 array: clusters of at least k, numbered as they were formed.

    Values    an array of numbers (rows and columns, or one column), a pandas, Polars or PyArrow frame of numbers, or a
              list of columns that say what they are (`columns.NumericColumn`, `OrdinalColumn`, `NominalColumn`).
    Methods   mdav, vmdav (with `gain`), approx; ranking, whose answer has a column of labels for each column; optimal, for
              one column; insensitive, which needs the declared `domain` of every column and takes `turns` corners;
              mondrian and strict_mondrian.
    Scale     what makes columns comparable for the first three: 'deviation' (z-scores), 'domain', or 'none'.
    Promise   clusters of at least k records and no privacy by itself: what a cluster shows decides. Deterministic; ties go
              to the lowest row.
    Requires  finite numbers, or columns with a declared order or taxonomy; at least k records.
    Reads     all values.
    Raises    ParameterError for an unknown method, scale or k; DataError for values that are no finite numbers;
              InfeasibleError for fewer than k records.

    >>> microaggregate([1.0, 2.0, 9.0, 10.0], 2).tolist()
    [0, 0, 1, 1]
    """
    if method not in METHODS:
        raise ParameterError("no such method of microaggregation", came=repr(method), allowed=", ".join(METHODS))
    if scale not in {kind.value for kind in Scale}:
        raise ParameterError("no such scale", came=repr(scale), allowed=", ".join(kind.value for kind in Scale))
    columns = _columns(values, domain)
    if method == "insensitive":
        return insensitive(columns, k, turns=turns, progress=progress)
    if method in CUTTING:
        return CUTTING[method](columns, k, progress=progress)
    if method in {"ranking", "optimal"}:
        if any(isinstance(column, NominalColumn) for column in columns):
            raise UsageError("a nominal column has no ranks", came=method, fix="use 'mdav' or 'insensitive'")
        ranks = np.stack([column.order() for column in columns]).T
        return ranking(ranks, k) if method == "ranking" else optimal(ranks, k)
    places = points(columns, Scale(scale))
    if method == "vmdav":
        return vmdav(places, k, gain=gain, progress=progress)
    return (mdav if method == "mdav" else approx)(places, k, progress=progress)


def _columns(values: Any, domain: Sequence[Bounds] | Mapping[str, Bounds] | None) -> list[MetricColumn]:
    """The columns of whatever came, with their domains where those are declared."""
    if isinstance(values, Sequence) and values and all(isinstance(column, MetricColumn) for column in values):
        if domain is not None:
            raise UsageError("a domain beside columns that have their own", fix="declare it in each column")
        return list(values)
    named = _frame(values)
    if named is None:
        table = check_points(values)
        named = {f"{j}": table[:, j] for j in range(table.shape[1])}
    if domain is None:
        return [NumericColumn(column, name) for name, column in named.items()]
    bounds = domain if isinstance(domain, Mapping) else dict(zip(named, domain, strict=False))
    if set(bounds) != set(named) or len(domain) != len(named):
        raise UsageError("domains for other columns than there are", came=len(domain), allowed=", ".join(named))
    return [NumericColumn(column, name, low=bounds[name][0], high=bounds[name][1]) for name, column in named.items()]


def _frame(values: Any) -> dict[str, npt.NDArray[Any]] | None:
    """The columns of a frame by name; None for what is none."""
    if isinstance(values, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame: Any = nw.from_native(values, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    if not frame.columns:
        raise UsageError("a frame without columns", fix="bring at least one")
    return {name: frame[name].to_numpy() for name in frame.columns}
