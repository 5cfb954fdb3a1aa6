"""DP microaggregation: clusters that one record can barely move, and noisy centroids that hide it (SC13 chapter 6, corrected)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.insensitive import insensitive, single_order
from shoal.anonymize.cluster.lattice import AttributeLattice, ConceptLattice, NumberLattice, lattices_of
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.method.microaggregation import bound_to_one_row
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.engine.runs import OrderedCodes, RunTotals, total_runs
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.centroids import CentroidAttribute, CentroidEntry, CentroidSetting
from shoal.mechanism.staircase.distribution import LatticeDistribution
from shoal.progress import Stage, report_progress

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CentroidTable:
    """One table of noisy centroids: a row for each cluster, in no order that tells anything before it is sorted for a release."""

    columns: dict[str, Array]
    """What is shown of each attribute, one value for each cluster: clamped to its domain, rounded to its type."""
    sizes: Codes
    """How many records each cluster has, and so how often its row is published; the sizes follow from n and k alone."""

    @property
    def rows(self) -> dict[str, Array]:
        """The published rows: every cluster's row as often as the cluster is large; the caller sorts them by their own values."""
        return {name: np.repeat(values, self.sizes) for name, values in self.columns.items()}


@dataclass(frozen=True)
class NoisyCentroids:
    """The outcome: one table of whole records, or for ranks one table for each attribute, never joined by record."""

    tables: tuple[CentroidTable, ...]
    setting: CentroidSetting


@dataclass(frozen=True)
class DPMicroaggregation:
    """Cluster records by orders that are fixed in advance, add noise to the clusters' sums, and publish the centroids.

    Promise   what the parts of the setting compose to, for one record replaced by another, the number of records being public
              (`theorems`). With `calibration: per_record` that is the cost of all clusters, not the thesis' epsilon.
    Requires  a declared domain for every published attribute; no missing values; one row of each unit; as many records as the
              setting says, at least 2k.
    Reads     the published columns, once. Clusters of a single order (ranks, one corner) are runs that the engine adds up: what
              comes to this machine is what each cluster adds up to. Several corners in turn need all records here.
    """

    setting: CentroidSetting
    lattices: tuple[AttributeLattice, ...]
    """The published attributes in whole steps, in the order of the setting's entries."""

    name = "dp-microaggregation"

    def __post_init__(self) -> None:
        declared = [lattice.centroid_attribute(entry.attribute.weight) for lattice, entry in self._pairs()]
        if declared != [entry.attribute for entry in self.setting.entries]:
            raise PreconditionError(
                self.setting.cluster_theorem,
                "the noise was solved for other attributes or domains than these",
                fix="solve the setting for `centroid_attributes` of the same schema",
            )

    @classmethod
    def of(cls, setting: CentroidSetting, schema: Schema) -> DPMicroaggregation:
        """The method for the published attributes of a schema."""
        return cls(setting, lattices_of(schema))

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of the theorems on which the claim rests, without those of composition."""
        return self.setting.theorems

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes that are published, in order."""
        return tuple(lattice.name for lattice in self.lattices)

    def check(self, schema: Schema) -> None:
        """Refuse a schema whose published attributes are not those that the noise was solved for, before any row is read."""
        DPMicroaggregation.of(self.setting, schema)

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:  # noqa: ARG002 - the shape of every method
        """Compile what a table of so many rows takes; nothing is compiled here."""
        return ()

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> NoisyCentroids:
        """The noisy centroids of a table. The table is seen here and nowhere else."""
        self.check(table.schema)
        setting = self.setting
        table = bound_to_one_row(table, setting.unit, source, stage, setting.cluster_theorem)
        if table.rows() != setting.rows:
            raise PreconditionError(
                setting.cluster_theorem,
                "the table has another number of records than the policy declares",
                came=f"{table.rows():,}",
                allowed=f"{setting.rows:,}",
                fix="declare the public number of records as release.rows",
            )
        if not setting.single_order:
            held = table.collect(list(self.columns))
            codes = [lattice.codes(held.pop(lattice.name)) for lattice in self.lattices]
            return self.centroids(codes, source, stage)
        stage("grouping")
        tables = []
        for pairs in self._partitions():
            lattices = tuple(lattice for lattice, _ in pairs)
            names = [lattice.name for lattice in lattices]
            totals = table.total_runs(names, SingleOrder(lattices), setting.k, _counted(lattices))
            tables.append(self._table(pairs, totals, source))
        return NoisyCentroids(tuple(tables), setting)

    def centroids(self, codes: Sequence[Codes], source: Source, stage: Stage = lambda _: None) -> NoisyCentroids:
        """The noisy centroids of records given in codes, one array for each attribute."""
        if any(len(column) != self.setting.rows for column in codes):
            raise ParameterError(
                "another number of records than the noise was solved for", allowed=f"{self.setting.rows:,}"
            )
        if self.setting.single_order:
            tables = []
            for pairs in self._partitions():
                own = [codes[self.columns.index(lattice.name)] for lattice, _ in pairs]
                lattices = tuple(lattice for lattice, _ in pairs)
                found = SingleOrder(lattices).of_codes(own)
                tables.append(self._table(pairs, total_runs(found, self.setting.k, _counted(lattices)), source))
            return NoisyCentroids(tuple(tables), self.setting)
        stage("grouping")
        labels = self.clusters(codes, stage)
        stage("adding noise")
        totals = self._totals(codes, labels)
        return NoisyCentroids((self._table(self._pairs(), totals, source),), self.setting)

    def clusters(self, codes: Sequence[Codes], stage: Stage = lambda _: None) -> Labels:
        """The cluster of each record, numbered in the order in which clusters are made; equal records are interchangeable."""
        columns = [lattice.column(column) for lattice, column in zip(self.lattices, codes, strict=True)]
        return insensitive(
            columns, self.setting.k, turns=self.setting.corners, progress=report_progress(stage, "grouping")
        )

    def _pairs(self) -> list[tuple[AttributeLattice, CentroidEntry]]:
        if len(self.lattices) != len(self.setting.entries):
            raise PreconditionError(
                self.setting.cluster_theorem,
                "the noise was solved for another number of attributes",
                came=len(self.lattices),
                allowed=str(len(self.setting.entries)),
            )
        return list(zip(self.lattices, self.setting.entries, strict=True))

    @cached_property
    def _sizes(self) -> Codes:
        sizes = np.full(self.setting.clusters, self.setting.k, dtype=np.int64)
        sizes[-1] = self.setting.last_size
        return sizes

    def _partitions(self) -> list[list[tuple[AttributeLattice, CentroidEntry]]]:
        """The attributes that are clustered together: all of them, or of ranks each by itself."""
        pairs = self._pairs()
        return [[pair] for pair in pairs] if self.setting.grouping == "ranking" else [pairs]

    def _totals(self, codes: Sequence[Codes], labels: Labels) -> RunTotals:
        """What the clusters of these labels add up to."""
        order = np.argsort(labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        sums, counts = [], []
        for column, values in zip(codes, _counted(self.lattices), strict=True):
            sums.append(np.add.reduceat(column[order], starts) if values is None else None)
            counts.append(None if values is None else self._counts(column, labels, values))
        return RunTotals(tuple(sums), tuple(counts))

    def _counts(self, column: Codes, labels: Labels, values: int) -> Codes:
        pairs = labels.astype(np.int64) * values + column
        return np.bincount(pairs, minlength=self.setting.clusters * values).reshape(-1, values)

    def _table(
        self, pairs: Sequence[tuple[AttributeLattice, CentroidEntry]], totals: RunTotals, source: Source
    ) -> CentroidTable:
        """The centroids of one partition. Exact sums become numbers that may be published here and nowhere else."""
        shown: dict[str, Array] = {}
        for (lattice, entry), sums, counts in zip(pairs, totals.sums, totals.counts, strict=True):
            own = source.stream(f"centroids of {lattice.name}")
            if isinstance(lattice, ConceptLattice) and counts is not None:
                drawn = self._choices(lattice, entry, self._scores(lattice, counts), own)
                shown[lattice.name] = lattice.shown(drawn)
            elif isinstance(lattice, NumberLattice) and sums is not None:
                noisy = sums + self._noise(entry, own)
                shown[lattice.name] = lattice.shown(self._means(noisy, lattice))
        return CentroidTable(shown, self._sizes)

    def _noise(self, entry: CentroidEntry, source: Source) -> Codes:
        """The noise of every cluster's sum: one draw each, or the differences of draws on the partial sums."""
        setting = self.setting
        if entry.scale is not None:
            drawn = source.discrete_laplace(entry.scale, setting.nodes)
        elif entry.sigma is not None:
            drawn = source.discrete_gaussian(entry.sigma, setting.nodes)
        elif entry.side is not None and entry.inner is not None and entry.epsilon is not None:
            sides, inner = (entry.side,) * setting.nodes, (entry.inner,) * setting.nodes
            drawn = LatticeDistribution(entry.epsilon, sides, inner).draw(source, 1)[0]
        else:
            raise PreconditionError(setting.cluster_theorem, "a centroid without noise", fix="solve the setting for it")
        return np.diff(drawn) if setting.ordered else drawn

    def _means(self, noisy: Codes, lattice: NumberLattice) -> Codes:
        """Noisy sums over sizes, clamped to the domain and rounded to whole steps; of ranks in rising order: post-processing."""
        sizes = self._sizes
        if self.setting.grouping == "ranking":
            from scipy.optimize import isotonic_regression

            rising = isotonic_regression(noisy / sizes, weights=sizes).x
            return np.asarray(np.floor(np.clip(rising, 0, lattice.steps) + 0.5), dtype=np.int64)
        inside = np.clip(noisy, 0, lattice.steps * sizes)
        return (2 * inside + sizes) // (2 * sizes)

    def _scores(self, lattice: ConceptLattice, counts: Codes) -> Codes:
        """For each cluster (rows) and each concept (columns) less the sum of its distances to the cluster's values."""
        # Floats below 2^53 are whole numbers, and multiply faster.
        exactly = self.setting.last_size * int(lattice.distances.max()) < 1 << 53
        kind = np.float64 if exactly else np.int64
        total = counts.astype(kind) @ lattice.distances.T.astype(kind)
        return -np.asarray(total, dtype=np.int64)

    def _choices(self, lattice: ConceptLattice, entry: CentroidEntry, scores: Codes, source: Source) -> Codes:
        """One draw of the exponential mechanism for each cluster: the number of a concept."""
        if entry.choice_epsilon is None or lattice.spread > entry.attribute.spread:
            raise PreconditionError("taxonomy-choices", "the choice was solved for scores that move less")
        return source.choose_each_by_score(scores, entry.choice_epsilon / entry.attribute.spread)


@dataclass(frozen=True)
class SingleOrder:
    """The order of records by which clusters of a single order are runs of k: keys and codes from each record's values alone.

    One attribute is ordered by its codes, where they are numbers: that is also its order by distance to the lower end. Others are
    ordered as `insensitive` orders them by its first corner.
    """

    lattices: tuple[AttributeLattice, ...]

    def __call__(self, values: Sequence[Array]) -> OrderedCodes:
        return self.of_codes([own.codes(column) for own, column in zip(self.lattices, values, strict=True)])

    def of_codes(self, codes: Sequence[Codes]) -> OrderedCodes:
        """The order of records that are given in codes."""
        if len(codes) == 1 and isinstance(self.lattices[0], NumberLattice):
            return OrderedCodes([codes[0].astype(np.float64)], codes)
        columns = [lattice.column(column) for lattice, column in zip(self.lattices, codes, strict=True)]
        return OrderedCodes(single_order(columns), codes)


def _counted(lattices: Sequence[AttributeLattice]) -> list[int | None]:
    """For each attribute how many values are counted in every cluster; None where their codes are added up."""
    return [own.distances.shape[1] if isinstance(own, ConceptLattice) else None for own in lattices]


def centroid_attributes(schema: Schema, weights: dict[str, Fraction] | None = None) -> tuple[CentroidAttribute, ...]:
    """What the noise depends on, for every published attribute of a schema: what `solve_centroids` is given."""
    return tuple(
        lattice.centroid_attribute((weights or {}).get(lattice.name, Fraction(1))) for lattice in lattices_of(schema)
    )
