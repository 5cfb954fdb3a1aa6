"""Plans as mechanisms: the method that a policy names, run many times on tiny tables by the code that releases use.

What is computed from a table without chance is computed once and remembered. A sample is drawn for many runs at once: copies of
the table stand side by side, told apart by an attribute that is published as it is. Poisson sampling keeps each row by itself
and classes of different copies never meet, so the copies are independent runs of the very method.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.private_scheme import FEW, PrivateScheme
from shoal.anonymize.generalize.scheme import FixedScheme, Scheme
from shoal.anonymize.method.safe_k import SafeK
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.data.schema import Attribute, Missing, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import Counts, Engine, Table, open_engine
from shoal.errors import PolicyError
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.plan.noisy_counts import NoisyCountsPlan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.plan.views import ViewsPlan

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.anonymize.cluster.lattice import AttributeLattice
    from shoal.anonymize.measure.tables import NoisyTable

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Places = tuple[int, ...]
"""A table as the places of its records in a list of all records that tables may have."""
RECODINGS = 1_000_000
"""A recoding is known by a number below this, computed from its rules."""
MOST_DOUBLED = 6
"""Up to so many records are labelled by one query."""
LISTED = 64
"""A table of at most so many noisy counts is listed whole; of a larger one the counts of the records' cells."""


@dataclass(frozen=True)
class PlanMechanism:
    """The method of a policy as a mechanism of many runs on tables whose records come from a short list.

    Of each record of the list the output says what is published about its class: the number of rows, or a noisy count. With
    `one_by_one` every run is drawn by itself, through the job that a release has.
    """

    policy: Policy
    records: pa.Table
    """The list: a row for each record that a table may have, with all columns that the policy reads."""
    one_by_one: bool = False

    def __call__(self, data: Places, source: Source, runs: int) -> Floats:
        return audited_plan(self.policy).outputs(self, data, source, runs)

    @property
    def draws_at_once(self) -> bool:
        """Whether many runs take hardly longer than one: a sample, and a recoding that the policy fixes."""
        return audited_plan(self.policy).draws_at_once and not self.one_by_one

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers of an output are, where each record has one; nothing where they are too many to be named."""
        own = audited_plan(self.policy)
        if not own.counts_classes:
            return ()
        rows = tuple(
            f"the number of rows with the label of record {place + 1}" for place in range(self.records.num_rows)
        )
        return (*rows, "the number of the recoding") if own.recodes else rows

    def table(self, data: Places) -> Table:
        """The records at these places as a real table; where a unit is a person, each row is another person's."""
        import pyarrow as pa

        plan = plan_of(self.policy)
        frame = self.records.take(pa.array(data, pa.int64()))
        column = plan.unit.column
        if column is not None:
            kind = frame.schema.field(column).type
            names = pa.array(range(1, len(data) + 1), pa.int64()).cast(pa.string()).cast(kind)
            frame = frame.set_column(frame.schema.get_field_index(column), column, names)
        return engine().scan(frame, plan.schema)

    @property
    def _everyone(self) -> Places:
        return tuple(range(self.records.num_rows))

    def _remembered(self, data: Places) -> Any:
        """The records at these places as a table that remembers its counts; an audit has two of them."""
        return self._once(f"table {data}", lambda: RememberedTable(self.table(data)))

    def _once(self, what: str, make: Callable[[], Any]) -> Any:
        """What chance plays no part in, made once in each process."""
        key = f"{self.policy.lock().sha256} {self.records.to_pydict()} {what}"
        if key not in _MADE:
            if len(_MADE) >= MOST_MADE:
                _MADE.clear()
            _MADE[key] = make()
        return _MADE[key]

    # --- sampling and safe k-anonymization --------------------------------------------------------------------------------

    def rows(self, plan: SafeKPlan, methods: Sequence[SafeK], data: Places, source: Source, runs: int) -> Floats:
        """The published rows in the class of each record, for each table that is drawn by itself."""
        if self.one_by_one or not copies_allowed(plan):
            return np.array([self._by_job(plan, data, source) for _ in range(runs)], dtype=np.float64)
        return np.concatenate([self._copies(method, data, source, runs) for method in methods], axis=1)

    def _copies(self, method: SafeK, data: Places, source: Source, runs: int) -> Floats:
        """Settle the recoding of each run, then draw the samples of all runs together."""
        chosen = method.partition.epsilon > 0
        table = self._remembered(data)
        if draws_schemes_at_once(method) and self.records.num_rows <= MOST_DOUBLED:
            partition = cast("PrivateScheme", method.partition)
            counts = table.recode(partition.levels).count_by(partition.columns)
            with source.stream("settle") as chance:
                schemes = partition.draw_many(counts, chance, runs)
            classes = self.scheme_classes(partition)[schemes]
            return np.column_stack([draw_copies(method, classes, data, source), schemes])
        with source.stream("settle") as chance:
            recodings = [self._settle(method, table, chance) for _ in range(runs if chosen else 1)]
        numbers = [recoding_number(recoding) for recoding in recodings]
        classes = np.array([self._classes(*pair) for pair in zip(recodings, numbers, strict=True)])
        found = draw_copies(method, np.broadcast_to(classes, (runs, self.records.num_rows)), data, source)
        return np.column_stack([found, numbers]) if chosen else found

    @staticmethod
    def _settle(method: SafeK, table: Any, source: Source) -> Recoding:
        """The recoding of one run; that of a view reads the view's columns alone."""
        if set(method.partition.columns) == {each.name for each in table.schema.published}:
            return method.settle(table, source)
        return method.partition.settle(table, source)

    def _classes(self, recoding: Recoding, number: int) -> Codes:
        """The number of the class that each record of the list falls into."""
        found = self._once(f"labels {number} {','.join(recoding.columns)}", lambda: self._labels(recoding))
        known = {label: place for place, label in enumerate(dict.fromkeys(found))}
        return np.array([known[label] for label in found], dtype=np.int64)

    def scheme_classes(self, partition: PrivateScheme | FixedScheme) -> Codes:
        """For each scheme that may be drawn, the number of the class that each record of the list falls into."""
        lattice = partition.lattice if isinstance(partition, PrivateScheme) else _lattice_of(partition.scheme)
        return cast(
            "Codes", self._once(f"classes {','.join(partition.columns)}", lambda: self._scheme_classes(lattice))
        )

    def _scheme_classes(self, lattice: Lattice) -> Codes:
        # As in `_labels`: the counts say which tuple is whose.
        doubled = self._remembered(tuple(place for place in self._everyone for _ in range(1 << place)))
        counts = doubled.count_by(lattice.names)
        tuples = [int(np.flatnonzero(counts.counts >> place & 1)[0]) for place in self._everyone]
        same = np.ones((*lattice.shape, len(tuples), len(tuples)), dtype=np.bool_)
        for at, column in enumerate(lattice.columns(counts)):
            labels = np.stack([codes[column.codes[tuples]] for codes in column.levels])
            equal = labels[:, :, None] == labels[:, None, :]
            same &= equal.reshape(
                *(len(labels) if axis == at else 1 for axis in range(len(lattice.shape))), *equal.shape[1:]
            )
        # A class has the number of the first record in it.
        return np.asarray(same.argmax(axis=-1).reshape(len(lattice), len(tuples)), dtype=np.int64)

    def _labels(self, recoding: Recoding) -> list[tuple[Any, ...]]:
        """The label of each record of the list."""
        columns = list(recoding.columns)
        if self.records.num_rows > MOST_DOUBLED:
            alone = [recoding.apply(self.table((place,))).count_by(columns).tuples for place in self._everyone]
            return [tuple(column[0] for column in own) for own in alone]
        # Record 1 stands once in the table, record 2 twice, record 3 four times: the counts say whose label is whose.
        doubled = self._remembered(tuple(place for place in self._everyone for _ in range(1 << place)))
        counts = recoding.finish(doubled.recode(recoding.levels).unwrapped).count_by(columns)
        labels = list(zip(*(column.tolist() for column in counts.tuples), strict=True))
        sizes = counts.counts.tolist()
        return [
            next(label for label, size in zip(labels, sizes, strict=True) if size >> place & 1)
            for place in self._everyone
        ]

    def _by_job(self, plan: SafeKPlan, data: Places, source: Source) -> list[float]:
        """One run through the job of a release, with its whole way from the table to the published rows."""
        shown: list[float] = []
        table = self.table(data)
        if plan.treatments:
            from shoal.anonymize.treatment.steps import treat

            with source.stream("treatments") as chance:
                table = treat(table, plan.treatments, chance).table
        number = 0
        with closing(plan.job().draw(table, source)) as drawn:
            for one, published in drawn:
                columns = list(one.recoding.columns)
                counts = published.count_by(columns)
                labels = list(zip(*(column.tolist() for column in counts.tuples), strict=True))
                sizes = dict(zip(labels, counts.counts.tolist(), strict=True))
                number = recoding_number(one.recoding)
                labelled = self._once(f"labels {number} {','.join(columns)}", partial(self._labels, one.recoding))
                shown += [sizes.get(label, 0) for label in labelled]
        own = audited_plan(self.policy)
        return [*shown, number] if own.counts_classes and own.recodes else shown

    # --- noise ------------------------------------------------------------------------------------------------------------

    def noisy_counts(self, plan: NoisyCountsPlan, data: Places, source: Source, runs: int) -> Floats:
        """The noisy counts: all of small tables, else those of the records' cells; of a table that was not chosen, zeros.

        Where tables are chosen, what the chosen ones say of each record's cell comes first, on average, and the noisy scores by
        which they were chosen: a zero in place of a table that was not chosen would hide both.
        """
        method = plan.method
        table = self._remembered(data)
        singles = [(name,) for name in method.columns] if method.setting.singles else []
        groups = [*singles, *(group for group in method.groups if group not in singles)]
        sizes = {each.name: len(each) for each in method.cells}
        whole = not method.merged and all(prod(sizes[name] for name in group) <= LISTED for group in groups)
        chosen = method.setting.kind != "fixed"
        cells = None if whole and not chosen else self._once("cells", lambda: self._cells(plan))
        found = []
        for _ in range(runs):
            with source.stream("counts") as chance:
                everything = method.measure(table, chance)
            measured = {each.attributes: each for each in everything.tables}
            numbers: list[float] = []
            if chosen and cells is not None:
                wide = [each for each in everything.tables if len(each.attributes) > 1]
                numbers += np.mean([self._at(each, cells) for each in wide], axis=0).tolist()
                numbers += [float(each.score) for each in everything.scores]
            for group in groups:
                own = measured.get(group)
                if cells is None or whole:
                    numbers += (
                        own.values.reshape(-1).tolist() if own is not None else [0.0] * prod(sizes[n] for n in group)
                    )
                elif own is None:
                    numbers += [0.0] * (1 + self.records.num_rows)
                else:
                    numbers += [1.0, *self._at(own, cells)]
            found.append(numbers)
        return np.array(found, dtype=np.float64)

    def _at(self, own: NoisyTable, cells: Mapping[str, list[int]]) -> list[float]:
        """The noisy count of the entry that each record of the list falls into."""
        at = [tuple(each.of_cell[cells[each.name][place]] for each in own.bins) for place in self._everyone]
        return [float(own.values[place]) for place in at]

    def _cells(self, plan: NoisyCountsPlan) -> dict[str, list[int]]:
        """The cell of each record of the list along each attribute."""
        from shoal.anonymize.generalize.tree.model import CellCounts

        found: dict[str, list[int]] = {each.name: [] for each in plan.method.cells}
        for place in range(self.records.num_rows):
            table = self.table((place,))
            for each in plan.method.cells:
                counts = table.recode({each.name: each.level}).count_by([each.name])
                found[each.name].append(int(CellCounts.of(counts, [each]).cells[0][0]))
        return found

    def _codes(self, lattices: Sequence[AttributeLattice], data: Places) -> list[Codes]:
        """The records at these places in the codes of a method of microaggregation."""

        def codes() -> list[Codes]:
            held = self.table(self._everyone).collect([each.name for each in lattices])
            return [np.asarray(each.codes(held[each.name]), dtype=np.int64) for each in lattices]

        return [column[list(data)] for column in self._once("codes", codes)]

    def centroids(self, plan: CentroidsPlan, data: Places, source: Source, runs: int) -> Floats:
        """The published centroids: each number's column sorted, for a release has no order, and how far two columns are apart."""
        method = plan.method
        codes = self._codes(method.lattices, data)
        found = []
        for _ in range(runs):
            with source.stream("centroids") as chance:
                tables = method.centroids(codes, chance).tables
            shown: list[Floats] = []
            for table in tables:
                columns = [_as_numbers(values) for values in table.columns.values()]
                shown += [np.sort(column) for column in columns]
                shown += [np.sort(columns[0] - columns[1])] if len(columns) > 1 else []
            found.append(np.concatenate(shown))
        return np.array(found, dtype=np.float64)

    def boxes(self, plan: BoxesPlan, data: Places, source: Source, runs: int) -> Floats:
        """What is measured of the box of each record: its count and its sums, and beside them the boxes and the total count."""
        method = plan.method
        codes, listed = self._codes(method.lattices, data), self._codes(method.lattices, self._everyone)
        found = []
        for _ in range(runs):
            with source.stream("boxes") as chance:
                measured = method.measure(codes, chance)
            places = np.stack(
                [
                    np.argsort(side.order)[column] if side.nominal else column
                    for side, column in zip(measured.sides, listed, strict=True)
                ],
                axis=1,
            )
            inside = (measured.boxes.low <= places[:, None, :]) & (places[:, None, :] < measured.boxes.high)
            homes = inside.all(axis=2).argmax(axis=1)
            numbers = measured.numbers
            found.append([*numbers[homes].reshape(-1).tolist(), len(measured.boxes), float(numbers[:, 0].sum())])
        return np.array(found, dtype=np.float64)


# --- kinds of plans ---------------------------------------------------------------------------------------------------------


class AuditedPlan(ABC):
    """What an audit knows of a kind of plan: how its runs are drawn, and which neighbours tell them apart."""

    runs = 100
    """How many runs an audit of a policy has if nobody says: few where a run takes long."""
    public_rows: int | None = None
    """The number of rows, where it is public: then neighbours have as many."""
    setting: Setting | None = None
    """k and beta of rows that are sampled; None for other methods."""
    recodes = False
    """Whether a recoding is chosen on the table."""
    counts_classes = False
    """Whether an output is a number of rows for each record, in one table."""
    draws_at_once = False
    drawn_before = False
    adds_another_kind = False
    """Whether a record of another kind than all others is told best."""

    @abstractmethod
    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        """What so many runs show."""


class AuditedRows(AuditedPlan):
    """One table of sampled rows."""

    counts_classes = True

    def __init__(self, plan: SafeKPlan) -> None:
        self._plan = plan
        self.setting = plan.promise
        self.recodes = plan.method.partition.epsilon > 0
        self.drawn_before = plan.method.drawn_before
        self.draws_at_once = copies_allowed(plan) and (not self.recodes or draws_schemes_at_once(plan.method))
        self.runs = 20_000 if self.draws_at_once else 60

    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        return mechanism.rows(self._plan, [self._plan.method], data, source, runs)


class AuditedViews(AuditedRows):
    """Several tables of sampled rows."""

    counts_classes = False

    def __init__(self, plan: ViewsPlan) -> None:
        super().__init__(plan)
        self._views = plan.views
        self.setting = plan.views[0].method.promise if plan.views else plan.promise

    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        return mechanism.rows(self._plan, [view.method for view in self._views], data, source, runs)


class AuditedCounts(AuditedPlan):
    """Tables of noisy counts."""

    def __init__(self, plan: NoisyCountsPlan) -> None:
        self._plan = plan
        self.runs = 1_000 if plan.setting.kind == "fixed" else 200

    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        return mechanism.noisy_counts(self._plan, data, source, runs)


class AuditedCentroids(AuditedPlan):
    """Noisy centroids of a public number of records."""

    def __init__(self, plan: CentroidsPlan) -> None:
        self._plan = plan
        self.public_rows = plan.setting.rows
        self.runs = 500 if plan.setting.rows <= 1_000 else 100

    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        return mechanism.centroids(self._plan, data, source, runs)


class AuditedBoxes(AuditedPlan):
    """Boxes that are halved where records are."""

    runs = 500
    adds_another_kind = True

    def __init__(self, plan: BoxesPlan) -> None:
        self._plan = plan

    def outputs(self, mechanism: PlanMechanism, data: Places, source: Source, runs: int) -> Floats:
        return mechanism.boxes(self._plan, data, source, runs)


KINDS: Mapping[type[Plan], Callable[[Any], AuditedPlan]] = {
    SafeKPlan: AuditedRows,
    ViewsPlan: AuditedViews,
    NoisyCountsPlan: AuditedCounts,
    CentroidsPlan: AuditedCentroids,
    BoxesPlan: AuditedBoxes,
}
"""The kinds of plans with a differential promise."""


def audited_plan(policy: Policy) -> AuditedPlan:
    """What an audit knows of the plan of a policy; PolicyError for one without a differential promise."""
    plan = plan_of(policy)
    if type(plan) not in KINDS:
        raise no_promise(policy)
    return KINDS[type(plan)](plan)


def _as_numbers(values: npt.NDArray[Any]) -> Floats:
    """A published column as numbers: values without an order by a number that their text decides."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([float(zlib.crc32(str(value).encode()) % RECODINGS) for value in values.tolist()])


def no_promise(policy: Policy) -> PolicyError:
    """The error for a policy without a differential promise."""
    return PolicyError(
        "release.method: it makes no differential promise, so there is none to put to the test",
        came=policy.release.method if policy.release else "no release",
        allowed="safe-k or dp-microaggregation",
    )


MOST_MADE = 500
_MADE: dict[str, Any] = {}
_PLANS: dict[str, Plan] = {}


def plan_of(policy: Policy) -> Plan:
    """The plan of a policy, made once in each process."""
    key = policy.lock().sha256
    if key not in _PLANS:
        _PLANS[key] = resolve(policy)
    return _PLANS[key]


@lru_cache
def engine() -> Engine:
    """The engine of all tables of audits in this process."""
    return open_engine()


def recoding_number(recoding: Recoding) -> int:
    """A number that stands for a recoding: the same for the same rules, and hardly ever for others."""
    levels = dict(recoding.indices) if isinstance(recoding, Scheme) else getattr(recoding, "listing", recoding.rules)()
    return zlib.crc32(json.dumps(levels, sort_keys=True, default=str).encode()) % RECODINGS


def copies_allowed(plan: SafeKPlan) -> bool:
    """Whether runs may share one draw: a unit has one row, and nothing but the recoding is decided before the sample."""
    more = plan.chooser is not None or plan.repeat > 1 or bool(plan.treatments)
    return plan.unit.max_rows == 1 and not plan.method.drawn_before and not more


def draws_schemes_at_once(method: SafeK) -> bool:
    """Whether the recoding is one of so few schemes that all of them are scored, which is then done once for all runs."""
    partition = method.partition
    return isinstance(partition, PrivateScheme) and len(partition.lattice) <= FEW and partition.rate == 1


def _lattice_of(scheme: Scheme) -> Lattice:
    """The lattice of one scheme alone."""
    levels = {each.name: scheme.indices.get(each.name, 0) for each in scheme.schema.published}
    return Lattice.of(scheme.schema.published, finest=levels, coarsest=levels)


def draw_copies(method: SafeK, classes: Codes, data: Places, source: Source) -> Floats:
    """Samples of many runs by one call of the method: for each run and each record of the list the published rows of its class.

    `classes` has the number of each record's class, in a row for each run. Copies of the table stand side by side. The number of
    a copy is an attribute that is published as it is, so that no class has rows of two copies.
    """
    import pyarrow as pa

    runs, most = len(classes), int(classes.max()) + 1
    if not data:
        return np.zeros(classes.shape)
    schema = Schema(
        tuple(
            Attribute(name, Role.QUASI, Type.INTEGER, Interval(0, many), missing=Missing.REFUSE)
            for name, many in (("run", runs), ("label", most))
        )
    )
    side_by_side = SafeK(method.promise, FixedScheme(Scheme(schema, {})), Unit.row(method.unit.neighbours))
    frame = pa.table({"run": np.repeat(np.arange(runs), len(data)), "label": classes[:, list(data)].reshape(-1)})
    table = engine().scan(frame, schema)
    with source.stream("release") as chance:
        counts = side_by_side.run(table, side_by_side.settle(table, chance), chance).count_by(["run", "label"])
    found = np.zeros((runs, most))
    found[counts.tuples[0].astype(np.int64), counts.tuples[1].astype(np.int64)] = counts.counts
    return np.take_along_axis(found, classes, axis=1)


class RememberedTable:
    """A table whose recodings and counts are computed once, however often a method asks for them.

    Everything else is asked of the table itself. Levels and columns decide a count, so nothing of chance is remembered.
    """

    def __init__(self, table: Table) -> None:
        self._inner = table
        self._recoded: list[tuple[Mapping[str, Any], RememberedTable]] = []
        self._counts: dict[tuple[str, ...], Counts] = {}
        self._rows: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def unwrapped(self) -> Table:
        """The table itself."""
        return self._inner

    def rows(self) -> int:
        """How many rows there are."""
        if self._rows is None:
            self._rows = self._inner.rows()
        return self._rows

    def recode(self, levels: Mapping[str, Any]) -> RememberedTable:
        """The table with labels; the same levels give the same table."""
        for known, table in self._recoded:
            if known.keys() == levels.keys() and all(
                known[name] is level or known[name] == level for name, level in levels.items()
            ):
                return table
        made = RememberedTable(self._inner.recode(levels))
        self._recoded.append((dict(levels), made))
        return made

    def recode_many(self, requests: Sequence[Any]) -> list[Any]:
        """The recoding of each request; one that takes a sample is drawn anew."""
        return [
            self.recode(each.levels) if each.mask is None else next(iter(self._inner.recode_many([each])))
            for each in requests
        ]

    def count_by(self, columns: Sequence[str]) -> Counts:
        """The counts of the tuples of these columns."""
        key = tuple(columns)
        if key not in self._counts:
            self._counts[key] = self._inner.count_by(columns)
        return self._counts[key]
