"""Tables masked as SC13 chapter 6 does it and by boxes, with SSE and record linkage of each version.

Only a laboratory can measure these: which centroid stands for which record is known here, and no release says it.

Draws    Algorithm 6.2 draws anew for every record of a cluster (`Draws.RECORD`); a release shows one noisy centroid for the
         whole cluster (`Draws.CLUSTER`). The epsilon of a draw is that of one attribute in one draw.
Whole    What the data set is promised, with N clusters and m attributes: N·m draws at epsilon/(N·m) each.
Boxes    What releases take by default (`grouping: boxes`). A record's masked version is its box's noisy mean, or for names a row
         that is published of the same box.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import MetricColumn, NominalColumn, NumericColumn
from shoal.anonymize.cluster.insensitive import insensitive
from shoal.anonymize.cluster.lattice import lattices_of
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.method.box_microaggregation import BoxMicroaggregation, MeasuredBoxes, box_attributes, estimate
from shoal.assess.distortion.information_loss import distortion
from shoal.assess.distortion.linkage import ALIKE, linkage
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Missing, Role, Schema
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type
from shoal.errors import DataError
from shoal.guarantee.unit import Unit
from shoal.lab.papers.adult_taxonomies import NATIVE_COUNTRY, OCCUPATION
from shoal.lab.papers.sc13_chapter3 import Trial, read_table
from shoal.mechanism.boxes import solve_boxes

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CENSUS = ("FICA", "FEDTAX", "INTVAL", "POTHVAL")
ADULT = {"occupation": OCCUPATION, "native-country": NATIVE_COUNTRY}
ADULT_ROWS = 30_162
FINE = 1 << 40
"""Distances of names are whole multiples of 1/FINE, so that a choice is drawn exactly."""


class Draws(Enum):
    """How often noise is drawn: anew for each record of a cluster, or once for the cluster."""

    RECORD = "record"
    CLUSTER = "cluster"


@dataclass(frozen=True)
class Quality:
    """What a masked table lost and what it shows: SSE, and the record linkage rate RL in percent."""

    sse: float
    rl: float


class MaskingTrial(ABC):
    """A table, its clusters, and its masked versions: one masked record for each record, in the same order."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of records."""

    @property
    @abstractmethod
    def attributes(self) -> int:
        """The number of attributes."""

    @abstractmethod
    def columns(self) -> list[MetricColumn]:
        """Give the columns with their declared domains."""

    @abstractmethod
    def masked_by_mdav(self, k: int) -> Array:
        """Mask by plain MDAV."""

    @abstractmethod
    def masked(self, k: int, epsilon: Fraction, draws: Draws, source: Source, runs: int) -> list[Array]:
        """Mask by insensitive clusters of k and noise, in several runs; epsilon is that of one attribute in one draw."""

    @abstractmethod
    def schema(self) -> Schema:
        """Give the attributes as a policy would declare them."""

    @abstractmethod
    def box_versions(self, method: BoxMicroaggregation, measured: MeasuredBoxes, home: Ints, source: Source) -> Array:
        """Mask every record by what is published of its box."""

    @abstractmethod
    def codes(self) -> list[Ints]:
        """Give the records in codes of the schema's lattices."""

    def masked_by_boxes(self, epsilon: Fraction, source: Source, runs: int) -> list[Array]:
        """Mask by boxes of the declared domain, with a pure epsilon for one replaced record."""
        schema = self.schema()
        setting = solve_boxes(epsilon, attributes=box_attributes(schema), unit=Unit.row("replace_one"))
        method, codes = BoxMicroaggregation.of(setting, schema), self.codes()
        found = []
        for _ in range(runs):
            measured = method.measure(codes, source)
            found.append(self.box_versions(method, measured, locate(measured, codes), source))
        return found

    @abstractmethod
    def quality(self, masked: Array) -> Quality:
        """Measure a masked version."""

    def clusters(self, k: int) -> Labels:
        """Cluster insensitively, all corners in turn; every record by itself at k = 1."""
        return np.arange(self.rows, dtype=np.int32) if k == 1 else insensitive(self.columns(), k)

    def labels(self, k: int) -> Labels:
        """Give the clusters of k, which are made once."""
        if k not in self._made:
            self._made[k] = self.clusters(k)
        return self._made[k]

    @cached_property
    def _made(self) -> dict[int, Labels]:
        return {}

    def masked_as_printed(self, k: int, epsilon: Fraction, source: Source, runs: int) -> list[Array]:
        """Mask as the thesis did: a draw for each record, each attribute with the whole epsilon."""
        return self.masked(k, epsilon, Draws.RECORD, source, runs)

    def masked_whole(self, k: int, epsilon: Fraction, source: Source, runs: int) -> list[Array]:
        """Mask so that epsilon holds for the data set: a draw for each cluster, epsilon shared by all draws."""
        return self.masked(k, epsilon / (self.rows // k * self.attributes), Draws.CLUSTER, source, runs)


@dataclass(frozen=True, eq=False)
class NumericTrial(MaskingTrial):
    """Whole numbers from 0 to a width for each attribute."""

    table: Floats
    widths: Floats
    turns: int | None = None
    """How many corners of the domain take turns; None: all."""

    @classmethod
    def read_census(cls, path: Path) -> NumericTrial:
        """Read four attributes of Census, each from 0 to 1.5 times its maximum: read from the data, as in the thesis."""
        table = read_table(path, CENSUS)
        return cls(table, np.asarray(1.5 * table.max(axis=0)))

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self.table)

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return int(self.table.shape[1])

    def columns(self) -> list[MetricColumn]:
        return [
            NumericColumn(values, f"A_{place + 1}", low=0.0, high=float(width))
            for place, (values, width) in enumerate(zip(self.table.T, self.widths, strict=True))
        ]

    def clusters(self, k: int) -> Labels:
        return np.arange(self.rows, dtype=np.int32) if k == 1 else insensitive(self.columns(), k, turns=self.turns)

    def schema(self) -> Schema:
        return Schema(
            tuple(
                Attribute(f"A_{j + 1}", Role.QUASI, Type.INTEGER, Interval(0, ceil(width)), missing=Missing.REFUSE)
                for j, width in enumerate(self.widths.tolist())
            )
        )

    def codes(self) -> list[Ints]:
        return [column.astype(np.int64) for column in self.table.T]

    def box_versions(self, method: BoxMicroaggregation, measured: MeasuredBoxes, home: Ints, source: Source) -> Array:  # noqa: ARG002
        """The mean of each record's box, as it is published."""
        low, high = measured.boxes.low, measured.boxes.high
        means = estimate(measured.numbers, measured.boxes, method.setting)[1]
        return np.asarray(((low + high - 1) / 2 + means * (high - low - 1) / 2)[home])

    def rows_of_boxes(self, epsilon: Fraction, source: Source, runs: int) -> list[Floats]:
        """Give the rows of releases by boxes, which are not paired with records and may be more or fewer."""
        schema = self.schema()
        setting = solve_boxes(epsilon, attributes=box_attributes(schema), unit=Unit.row("replace_one"))
        method, codes = BoxMicroaggregation.of(setting, schema), self.codes()
        released = [method.rows(method.measure(codes, source), source).tables[0].columns for _ in range(runs)]
        return [np.stack([one[name] for name in method.columns], axis=1).astype(np.float64) for one in released]

    def masked_by_mdav(self, k: int) -> Array:
        return np.asarray(Trial(self.table / self.widths, 0).identical(k) * self.widths)

    def aggregated(self, k: int) -> Floats:
        """Give each record its cluster's centroid, without noise."""
        labels = self.labels(k)
        return np.asarray((self.sums(k) / np.bincount(labels)[:, None])[labels])

    def masked(self, k: int, epsilon: Fraction, draws: Draws, source: Source, runs: int) -> list[Array]:
        """Noise goes on the sums of clusters, in whole units, and the centroid is clamped to the domain, as in the thesis."""
        labels, sums = self.labels(k), self.sums(k)
        sizes = np.bincount(labels)
        if draws is Draws.RECORD:
            sums, sizes = sums[labels], sizes[labels]
        noise = [
            source.discrete_laplace(Fraction(float(width)) / epsilon, runs * len(sums)).astype(np.float64)
            for width in self.widths
        ]
        noisy = (sums + np.stack(noise, axis=1).reshape(runs, *sums.shape)) / sizes[:, None]
        clamped = np.clip(noisy, 0.0, self.widths)
        return list(clamped if draws is Draws.RECORD else clamped[:, labels])

    def quality(self, masked: Array) -> Quality:
        linked = linkage(self.table, masked, units=self.widths.tolist())
        return Quality(distortion(self.table, masked).sse, linked.rate)

    def sums(self, k: int) -> Floats:
        """Give the sum of each cluster's records, before noise."""
        return np.stack([np.bincount(self.labels(k), column) for column in self.table.T], axis=1)


@dataclass(frozen=True, eq=False)
class AdultTrial(MaskingTrial):
    """Two nominal attributes of Adult with a taxonomy each; few different records, so everything is a table of them.

    A masked version is a table of places in `Taxonomy.nodes`.
    """

    values: Mapping[str, Array]
    taxonomies: Mapping[str, Taxonomy]

    @classmethod
    def read(cls, path: Path) -> AdultTrial:
        """Read the two columns; DataError if it is another table than that of the thesis."""
        with path.open(encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file, delimiter=";")
        lacking = [name for name in ADULT if name not in names]
        if lacking or len(rows) != ADULT_ROWS:
            came = f"no column {', '.join(lacking)}" if lacking else f"{len(rows)} rows"
            raise DataError(
                f"{path.name} is not the table of the thesis", came=came, allowed=f"{ADULT_ROWS:,} complete rows"
            )
        return cls(
            {name: np.array([row[names.index(name)] for row in rows], dtype=object) for name in ADULT}, dict(ADULT)
        )

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(next(iter(self.values.values())))

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.values)

    @cached_property
    def _trees(self) -> list[Taxonomy]:
        return [self.taxonomies[name] for name in self.values]

    @cached_property
    def _codes(self) -> list[Ints]:
        """The place of each value in its domain."""
        places = [{value: i for i, value in enumerate(tree.values)} for tree in self._trees]
        return [
            np.array([place[value] for value in column], dtype=np.int64)
            for place, column in zip(places, self.values.values(), strict=True)
        ]

    @cached_property
    def _distinct(self) -> tuple[list[Ints], Ints, Ints]:
        """The codes of the different records, which of them each record is, and how many each is."""
        sizes = tuple(len(tree.values) for tree in self._trees)
        keys = np.ravel_multi_index(tuple(self._codes), sizes)
        found, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return [np.asarray(codes) for codes in np.unravel_index(found, sizes)], place, counts

    @property
    def distinct(self) -> int:
        """How many different records there are."""
        return len(self._distinct[2])

    def columns(self) -> list[MetricColumn]:
        return [NominalColumn(values, name, taxonomy=self.taxonomies[name]) for name, values in self.values.items()]

    def schema(self) -> Schema:
        return Schema(
            tuple(
                Attribute(name, Role.QUASI, Type.CATEGORY, Values(tree.values), missing=Missing.REFUSE)
                for name, tree in self.taxonomies.items()
            )
        )

    def codes(self) -> list[Ints]:
        lattices = lattices_of(self.schema())
        return [lattice.codes(self.values[lattice.name]) for lattice in lattices]

    def box_versions(self, method: BoxMicroaggregation, measured: MeasuredBoxes, home: Ints, source: Source) -> Array:
        """A published row of each record's box, or of any where its box has none."""
        shown = method.rows(measured, source).tables[0].columns
        codes = [lattice.codes(shown[lattice.name]) for lattice in method.lattices]
        boxes = locate(measured, codes)
        order = np.argsort(boxes, kind="stable")
        counts = np.bincount(boxes, minlength=len(measured.boxes))
        starts, many = (np.cumsum(counts) - counts)[home], counts[home]
        words = source.words(self.rows).astype(np.float64) / 2.0**64
        empty = many == 0
        taken = order[np.where(empty, words * len(order), starts + words * many).astype(np.int64)]
        masked = []
        for tree, name in zip(self._trees, self.values, strict=True):
            nodes = {node: i for i, node in enumerate(tree.nodes)}
            masked.append(np.array([nodes[value] for value in shown[name]], dtype=np.int64)[taken])
        return np.stack(masked, axis=1)

    def masked_by_mdav(self, k: int) -> Array:
        """MDAV on the different records: the farthest is that with the largest sum of squared distances to all that are left."""
        codes, place, counts = self._distinct
        squares = sum(
            (tree.distances()[np.ix_(code, code)] / tree.distance(*tree.boundaries)) ** 2
            for code, tree in zip(codes, self._trees, strict=True)
        )
        labels = _mdav_of_counts(np.asarray(squares), counts, k)
        rows = np.argsort(place, kind="stable")
        own = np.empty(self.rows, dtype=np.int32)
        own[rows] = labels
        return self._centroids(own)

    def aggregated(self, k: int) -> Array:
        """Give each record its cluster's centroid, without noise."""
        return self._centroids(self.clusters(k))

    def _centroids(self, labels: Labels) -> Array:
        """The least marginal concept of each cluster (Eq 6.4), one for each record."""
        masked = []
        for tree, code in zip(self._trees, self._codes, strict=True):
            kinds, place = _compositions(code, labels, len(tree.values))
            nodes = {node: i for i, node in enumerate(tree.nodes)}
            found = [nodes[tree.centroid(dict(zip(tree.values, row.tolist(), strict=True)))] for row in kinds]
            masked.append(np.array(found)[place][labels])
        return np.stack(masked, axis=1)

    def masked(self, k: int, epsilon: Fraction, draws: Draws, source: Source, runs: int) -> list[Array]:
        """Algorithm 6.3: a concept of the whole taxonomy, the likelier the less marginal it is in the cluster."""
        labels = self.labels(k)
        masked = []
        for tree, code in zip(self._trees, self._codes, strict=True):
            kinds, place = _compositions(code, labels, len(tree.values))
            owners = place[labels] if draws is Draws.RECORD else place
            distances = np.rint(tree.distances(tree.nodes, tree.values) * FINE).astype(np.int64).astype(object)
            spread = 2 * round(tree.diameter * FINE)
            found = np.empty((runs, len(owners)), dtype=np.int64)
            order = np.argsort(owners, kind="stable")
            ends = np.cumsum(np.bincount(owners, minlength=len(kinds)))[:-1]
            for row, rows in zip(kinds, np.split(order, ends), strict=True):
                weights = [-epsilon * int(score) / spread for score in distances @ row.astype(object)]
                found[:, rows] = source.choices(weights, runs * len(rows)).reshape(runs, -1)
            masked.append(found if draws is Draws.RECORD else found[:, labels])
        return list(np.stack(masked, axis=2))

    @cached_property
    def _answers(self) -> tuple[Floats, Floats]:
        """For every possible masked record and every different record: the squared distance, and the chance of a match."""
        codes, _, counts = self._distinct
        own = np.zeros((1, self.distinct))
        unit = np.zeros((1, self.distinct))
        for tree, code in zip(self._trees, codes, strict=True):
            table = tree.distances(tree.nodes, tree.values)[:, code] ** 2
            scaled = table / tree.distance(*tree.boundaries) ** 2
            own = (own[:, None, :] + table[None, :, :]).reshape(-1, self.distinct)
            unit = (unit[:, None, :] + scaled[None, :, :]).reshape(-1, self.distinct)
        near = unit <= unit.min(axis=1, keepdims=True) * ALIKE
        return own, near / (near @ counts)[:, None]

    def quality(self, masked: Array) -> Quality:
        """By tables of the different records; the same as `distortion` and `linkage` on all of them, and far sooner."""
        squares, chances = self._answers
        place = np.ravel_multi_index(tuple(masked.T), tuple(len(tree.nodes) for tree in self._trees))
        pairs = place * self.distinct + self._distinct[1]
        return Quality(float(squares.ravel()[pairs].sum()), 100 * float(chances.ravel()[pairs].sum()) / self.rows)


def locate(measured: MeasuredBoxes, codes: Sequence[Ints]) -> Ints:
    """Find the box of each record: boxes part the domain, so there is one."""
    low, high = measured.boxes.low, measured.boxes.high
    inside = np.ones((len(codes[0]), len(low)), dtype=np.bool_)
    for j, (sides, column) in enumerate(zip(measured.sides, codes, strict=True)):
        places = column
        if sides.nominal:
            rank = np.empty(sides.points, dtype=np.int64)
            rank[sides.order] = np.arange(sides.points)
            places = rank[column]
        inside &= (places[:, None] >= low[:, j]) & (places[:, None] < high[:, j])
    return np.asarray(inside.argmax(axis=1))


def _compositions(code: Ints, labels: Labels, values: int) -> tuple[Ints, Ints]:
    """The different compositions of clusters, as counts of values, and which each cluster has."""
    counts = np.bincount(labels.astype(np.int64) * values + code, minlength=(int(labels.max()) + 1) * values)
    kinds, place = np.unique(counts.reshape(-1, values), axis=0, return_inverse=True)
    return kinds, place.ravel()


def _mdav_of_counts(squares: Floats, counts: Ints, k: int) -> Labels:
    """MDAV (SC13 Alg 2.1) of points that occur several times, from their squared distances; labels in the order of points.

    The point farthest from the mean of what is left has the largest sum of squared distances to it.
    """
    left = counts.copy()
    nearest = np.argsort(squares, axis=1, kind="stable")
    total = squares @ left
    pieces: list[list[int]] = [[] for _ in counts]  # group numbers, one for each copy taken

    def take(point: int, group: int, many: int) -> None:
        wanted = many
        for other in nearest[point]:
            copies = min(int(left[other]), wanted)
            if copies:
                left[other] -= copies
                total[:] -= copies * squares[:, other]
                pieces[other].extend([group] * copies)
                wanted -= copies
                if not wanted:
                    return

    def farthest() -> int:
        return int(np.argmax(np.where(left > 0, total, -1.0)))

    group, remaining = 0, int(counts.sum())
    while remaining >= 3 * k:
        first = farthest()
        second = int(np.argmax(np.where(left > 0, squares[first], -1.0)))
        take(first, group, k)
        second = second if left[second] else int(np.argmax(np.where(left > 0, squares[first], -1.0)))
        take(second, group + 1, k)
        group, remaining = group + 2, remaining - 2 * k
    if remaining >= 2 * k:
        take(farthest(), group, k)
        group, remaining = group + 1, remaining - k
    for point in range(len(counts)):
        pieces[point].extend([group] * int(left[point]))
    return np.array([label for piece in pieces for label in piece], dtype=np.int32)
