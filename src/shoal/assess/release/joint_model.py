"""One model of everything that a release with noisy counts says: estimates that agree with each other, for any attributes.

All tables of counts, and the tables of rows whose cells are those of a cross table, are measurements of one population; the model
(`shoal.model`) is fitted to all of them together. It is post-processing of what is published, so it costs no privacy.

    a table of counts      its counts, each with the variance of its noise
    a table of rows        a published cell: its rows / beta, with the variance of the sampling; an unpublished cell: what a
                           model of the counts expects of a cell that shows fewer than k, with the variance of anything up to k

Tables of boxes are left out: a box is no cell of a cross table.

An estimate of the model has no interval of its own. Where a table holds the attributes, the interval is that table's,
widened to hold the estimate. Where none does, it follows from tables of fewer attributes and holds whatever joins them: a set
of records is not larger than any of the sets that contain it, nor smaller than what must be left of them (Fréchet's bounds).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb

import numpy as np

from shoal.assess.release.answer import count_of, marginal
from shoal.assess.release.answers.noisy import UNCHOSEN, noisy_marginal
from shoal.assess.release.condition import Condition, Where, condition, condition_axes, condition_blocks, truth_table
from shoal.assess.release.consistency import shrink
from shoal.assess.release.estimate import Estimate, Floats, MarginalEstimate, Mask, risk_of
from shoal.assess.release.labels import AtomAxis, Label, Meaning, labels_of_atoms, resolve_masks, single
from shoal.assess.release.load import LoadedRelease
from shoal.assess.release.noisy_counts import WIDEST_CHOSEN, PublishedCountTable
from shoal.assess.release.sealed_folder import reading
from shoal.assess.release.view import Ints, PublishedView
from shoal.chance.source import Source
from shoal.data.type import Type, point
from shoal.errors import UsageError, VerificationError
from shoal.language.interface import LEVEL
from shoal.model.fit import FittedModel
from shoal.model.fit import fit as fit_model
from shoal.model.measurement import Axis, Measurement
from shoal.progress import Stage, silent

MOST_VIEW_CELLS = 1_000_000
"""A table of rows with more cells than this is left out of the model."""
MOST_PARTS = 12
"""From so many tables of fewer attributes, at most, bounds for more attributes are made."""
SOURCE = "model of all tables"
JOINED = (
    "model-based: one model fitted to all tables says what joins the attributes; the interval does not rest on the model: it "
    "holds whatever joins them, by bounds from tables of fewer attributes; pointwise"
)
AGREED = (
    "model-based: one model fitted to all tables; the interval is the exact one of the table alone, widened to hold the "
    "estimate; pointwise"
)


@dataclass(frozen=True)
class ConsistentCounts:
    """Estimates from one model of all tables of a release; whatever is asked of it agrees with whatever else is."""

    loaded: LoadedRelease
    model: FittedModel = field(repr=False)
    axes: Mapping[str, AtomAxis] = field(repr=False)
    """The atoms of each attribute, in the order of the model."""
    kept: Mapping[str, Mask] = field(repr=False)
    """Which atoms of each attribute the model has."""

    def __repr__(self) -> str:
        return f"<Consistent counts of {self.loaded.folder}: {self.total:,.0f} records by estimate>"

    @property
    def total(self) -> float:
        """How many records there are, by estimate."""
        return float(self.model.total)

    def marginal(self, *attributes: str, level: float = LEVEL) -> MarginalEstimate:
        """Estimate every cell of any attributes, whether or not a table holds them together.

        Arguments  `attributes`: their names, one by one; `level`: the level of the intervals
        Raises     UsageError for an attribute that is not published, or too many cells
        """
        self._require(attributes)
        holding = self.loaded.holding(attributes)
        if not holding:
            return self._joined_marginal(attributes, level)
        if any(isinstance(table, PublishedCountTable) for table in holding):
            found = marginal(self.loaded, attributes, level)
            axes = [
                next(own for own in self.loaded.meanings(name) if own.texts == labels)
                for name, labels in zip(attributes, found.labels, strict=True)
            ]
            value = self._table(
                attributes, [self._bins(name, own.labels) for name, own in zip(attributes, axes, strict=True)]
            )
        else:
            found = marginal(self.loaded, attributes, level, [self.loaded.axis(name) for name in attributes])
            value = self._table(attributes, [np.flatnonzero(self.kept[name]) for name in attributes], found.value.shape)
        return MarginalEstimate(
            found.attributes, found.labels, value, np.minimum(found.low, value), np.maximum(found.high, value),
            found.published, found.covered, level, f"{SOURCE}, with {found.view}", AGREED, found.records,
        )  # fmt: skip

    def count(self, where: Where, *, level: float = LEVEL) -> Estimate:
        """Estimate how many records satisfy a condition on any attributes.

        Arguments  `where` and `level` as in `LoadedRelease.count`
        Raises     as `LoadedRelease.count` does
        """
        wanted = condition(self.loaded, where)
        named = _named(wanted)
        self._require(named)
        if not self.loaded.holding(named):
            return self.joined_count(wanted, level, risk_of(level))
        found, value = count_of(self.loaded, wanted, level, risk_of(level)), self._expected(wanted)
        return Estimate(
            value,
            min(found.low, value),
            max(found.high, value),
            level,
            f"{SOURCE}, with {found.view}",
            AGREED,
            found.records,
        )

    def joined_count(self, wanted: Condition, level: float, risk: float) -> Estimate:
        """Estimate how many records satisfy a condition on attributes that no table of counts holds together, at this risk."""
        self._require(_named(wanted))
        low, high, used = _bounds(self.loaded, wanted, _risk_without_table(self.loaded, _named(wanted), risk))
        value = min(max(self._expected(wanted), low), high)
        source = f"{SOURCE}; bounds from {', '.join(used[:4])}" + (
            f" and {len(used) - 4} more" if len(used) > 4 else ""
        )
        return Estimate(value, low, high, level, source, JOINED, self.loaded.records)

    def table(self, attributes: Sequence[str], labels: Sequence[Sequence[Label]]) -> Floats:
        """Estimate the records of every combination of labels, which divide the domain of each attribute into pieces of atoms."""
        self._require(attributes)
        bins = [self._bins(name, own) for name, own in zip(attributes, labels, strict=True)]
        return self._table(attributes, bins, [len(own) for own in labels])

    def spread_table(self, attributes: Sequence[str], shares: Sequence[Floats]) -> Floats:
        """Estimate the records of every cell of any attributes; `shares` say how much of each atom lies in each part."""
        self._require(attributes)
        groups = [
            np.unique(own[self.kept[name]], axis=0, return_inverse=True)
            for name, own in zip(attributes, shares, strict=True)
        ]
        table = self._table(attributes, [np.ravel(group) for _, group in groups])
        for own, _ in groups:
            table = np.tensordot(table, own, axes=([0], [0]))
        return np.asarray(table)

    def draw(self, rows: int, source: Source, stage: Stage = silent) -> Ints:
        """Draw synthetic rows: for each attribute the number of an atom of its axis. `stage` is told what is done."""
        codes = self.model.draw(rows, source, stage)
        places = [np.flatnonzero(self.kept[name]) for name in self.axes]
        return np.stack([own[codes[:, j]] for j, own in enumerate(places)], axis=1)

    def _require(self, attributes: Sequence[str]) -> None:
        self.loaded.holding(attributes)
        if without := [name for name in attributes if name not in self.axes]:
            raise UsageError(
                f"attribute '{without[0]}' is in no table that the model is fitted to",
                allowed=", ".join(self.axes),
                fix="ask count() or marginal() about the table of rows that holds it",
            )

    def _table(self, attributes: Sequence[str], bins: Sequence[Ints], shape: Sequence[int] | None = None) -> Floats:
        """Give the expected counts of attributes in bins of their atoms; `shape` where some bins have no atom."""
        names = list(self.axes)
        dense = [np.unique(own, return_inverse=True) for own in bins]
        found = self.model.table([names.index(name) for name in attributes], [np.ravel(own) for _, own in dense])
        if shape is None:
            shape = [int(own.max()) + 1 for own in bins]
        whole = np.zeros(tuple(shape))
        whole[np.ix_(*(used for used, _ in dense))] = found
        return whole

    def _bins(self, name: str, labels: Sequence[Label]) -> Ints:
        return _label_of(self.axes[name], labels, name)[self.kept[name]]

    def _expected(self, wanted: Condition) -> float:
        """Give the number of records that satisfy a condition, by the model."""
        axes, named = condition_axes(self.loaded, wanted), _named(wanted)
        if not named:
            return self.total
        parts = [condition_blocks(axes[name], labels_of_atoms(self.axes[name]), wanted, name) for name in named]
        truth = truth_table([part.truth for part in parts], len(wanted))
        table = self.spread_table(named, [part.shares for part in parts])
        return float((table * truth).sum())

    def _joined_marginal(self, attributes: Sequence[str], level: float) -> MarginalEstimate:
        """Estimate every cell of attributes that no table holds together."""
        risk = _risk_without_table(self.loaded, attributes, risk_of(level))
        labels = [_widest_meaning(self.loaded, name) for name in attributes]
        value = self._table(
            attributes, [self._bins(name, own.labels) for name, own in zip(attributes, labels, strict=True)]
        )
        parts = _largest_parts(self.loaded, attributes)
        own_tables = [
            (part, tables)
            for part in parts
            if (tables := _tables_with(self.loaded, part, dict(zip(attributes, labels, strict=True))))
        ]
        each_risk = risk / (
            1 + (_possible_sets(self.loaded, [attributes]) if self.loaded.may_choose_tables else len(own_tables))
        )
        every = count_of(self.loaded, [{}], level, each_risk, by_counts=True)
        high, used = np.full(value.shape, every.high), [every.view]
        for part, tables in own_tables:
            found = noisy_marginal(part, tables, each_risk)
            most = np.maximum(np.floor(found.value + found.bound), 0)
            order = [part.index(name) for name in attributes if name in part]
            shape = [size if name in part else 1 for name, size in zip(attributes, value.shape, strict=True)]
            high = np.minimum(high, most.transpose(order).reshape(shape))
            used.append(found.source)
        nothing = np.zeros(value.shape, dtype=np.bool_)
        return MarginalEstimate(
            tuple(attributes), tuple(own.texts for own in labels), np.minimum(value, high), np.zeros(value.shape), high,
            nothing, ~nothing, level, f"{SOURCE}; bounds from {', '.join(used[:4])}", JOINED, self.loaded.records, joined=True,
        )  # fmt: skip


def fit_joint_model(loaded: LoadedRelease, stage: Stage = silent) -> ConsistentCounts:
    """Fit one model to all tables of counts, and to the tables of rows that are cross tables. `stage` is told what is done."""
    views = [view for view in loaded.views if _is_cross_table(view)] if not loaded.was_sampled_before else []
    columns = [*(table.columns for table in loaded.counts), *(view.columns for view in views)]
    names = tuple(dict.fromkeys(name for own in columns for name in own))
    axes = {name: loaded.axis(name) for name in names}
    kept = {name: _counted_atoms(loaded, name, axis) for name, axis in axes.items()}
    counted = tuple(dict.fromkeys(name for table in loaded.counts for name in table.columns))
    of_counts = [_measured_counts(table, axes, kept, names) for table in loaded.counts]
    with Source.seeded("joint model") as source:  # what is drawn is where a search begins
        first = fit_model(
            _model_axes(loaded, axes, kept, counted),
            of_counts,
            source=source.stream("counts"),
            forbidden=_forbidden(loaded, axes, kept, counted),
            stage=stage,
        )
        found = ConsistentCounts(loaded, first, {name: axes[name] for name in counted}, kept)
        if views:
            of_rows = [_measured_rows(view, axes, kept, names, found) for view in views]
            whole = fit_model(
                _model_axes(loaded, axes, kept, names),
                [*of_counts, *of_rows],
                source=source.stream("rows and counts"),
                start=first if names == counted else None,
                forbidden=_forbidden(loaded, axes, kept, names),
                stage=stage,
            )
            found = ConsistentCounts(loaded, whole, axes, kept)
    return found


def _forbidden(
    loaded: LoadedRelease, axes: Mapping[str, AtomAxis], kept: Mapping[str, Mask], names: Sequence[str]
) -> list[tuple[Mask | None, ...]]:
    """Give the combinations that the locked plan says no synthetic row has, as atoms of each attribute."""
    found = []
    for rule in loaded.plan.never:
        boxes = {
            name: axes[name].membership([_label_of_rule(loaded, name, own)])[0]
            for name, own in rule.items()
            if name in axes
        }
        if set(rule) <= set(names) and all(mask[kept[name]].any() for name, mask in boxes.items()):
            found.append(tuple(boxes[name][kept[name]] if name in boxes else None for name in names))
    return found


def _label_of_rule(loaded: LoadedRelease, name: str, values: Sequence[str]) -> Label:
    of = loaded.meanings(name)[0].type
    if not of.numeric:
        return Label(name, values=frozenset(values))
    with reading("the locked plan"):
        if len(values) == 2:
            low, high = (point(of, value) for value in values)
            return Label(name, ((low, high + 1 if of.discrete else high),))
        return Label(name, tuple(single(of, value) for value in values))


def _is_cross_table(view: PublishedView) -> bool:
    return view.box_tuples is None and view.cells is not None and view.cells <= MOST_VIEW_CELLS


def _model_axes(
    loaded: LoadedRelease, axes: Mapping[str, AtomAxis], kept: Mapping[str, Mask], names: Sequence[str]
) -> list[Axis]:
    kinds = {name: loaded.meanings(name)[0].type for name in names}
    return [
        Axis(name, int(kept[name].sum()), kinds[name].numeric or kinds[name] is Type.ORDINAL)
        for name in names
        if name in axes
    ]


def _counted_atoms(loaded: LoadedRelease, name: str, axis: AtomAxis) -> Mask:
    """Say which atoms the tables of counts have a cell for; all of them where no table of counts has the attribute."""
    found = np.ones(len(axis), dtype=np.bool_)
    for meaning in {
        id(own): own for table in loaded.counts if name in table.columns for own in [table.meanings[name]]
    }.values():
        found &= _label_of(axis, meaning.labels, name) >= 0
    if not found.any():
        raise VerificationError(f"attribute '{name}': its tables of counts have no value in common")
    return found


def _label_of(axis: AtomAxis, labels: Sequence[Label], name: str) -> Ints:
    """Give the number of the label that contains each atom; −1 where none does."""
    label, atom = axis.members(resolve_masks(axis, labels))
    if len(atom) and int(np.bincount(atom).max()) > 1:
        raise VerificationError(f"attribute '{name}': two labels of one table stand for the same value")
    found = np.full(len(axis), -1, dtype=np.int64)
    found[atom] = label
    return found


def _measured_counts(
    table: PublishedCountTable, axes: Mapping[str, AtomAxis], kept: Mapping[str, Mask], names: Sequence[str]
) -> Measurement:
    values, bins = table.values.astype(np.float64), []
    for place, name in enumerate(table.columns):
        used, own = np.unique(_label_of(axes[name], table.meanings[name].labels, name)[kept[name]], return_inverse=True)
        values = values.take(used, place)
        bins.append(np.ravel(own).astype(np.int64))
    return Measurement(tuple(names.index(name) for name in table.columns), tuple(bins), values, float(table.sigma) ** 2)


def _measured_rows(
    view: PublishedView,
    axes: Mapping[str, AtomAxis],
    kept: Mapping[str, Mask],
    names: Sequence[str],
    counts: ConsistentCounts,
) -> Measurement:
    """Give the cells of a table of rows as estimates with variances."""
    codes, shown_counts = view.tuples
    shape = tuple(len(view.meanings[name].labels) for name in view.columns)
    sampled = np.zeros(shape)
    sampled[tuple(codes.T)] = shown_counts
    bins = []
    for place, name in enumerate(view.columns):
        label = _label_of(axes[name], view.meanings[name].labels, name)[kept[name]]
        # An atom that no label of this view contains is never published by it.
        used, own = np.unique(np.where(label < 0, shape[place], label), return_inverse=True)
        padded = np.concatenate([sampled, np.zeros_like(sampled.take([0], place))], axis=place)
        sampled = padded.take(used, place)
        bins.append(np.ravel(own).astype(np.int64))
    beta, shown = float(view.beta), sampled > 0
    hidden = np.full(sampled.shape, (view.k - 1) / 2 / beta)
    if all(name in counts.axes for name in view.columns):
        expected = counts.model.table([list(counts.axes).index(name) for name in view.columns], bins)
        hidden = shrink(sampled, shown, expected * beta, view.k, beta)
    values = np.where(shown, sampled / beta, hidden)
    variance = np.where(shown, (sampled * (1 - beta) + 1) / beta**2, (hidden + view.k / beta) ** 2 / 3)
    return Measurement(tuple(names.index(name) for name in view.columns), tuple(bins), values, variance)


# --- attributes that no table holds together ------------------------------------------------------------------------


def _named(wanted: Condition) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in wanted for name in each))


def _largest_parts(loaded: LoadedRelease, attributes: Sequence[str]) -> list[tuple[str, ...]]:
    """Give the largest sets of these attributes that tables hold together, none within another.

    All of them together only where a table of counts holds them: bounds beside a table of rows come from other tables.
    """
    held = {tuple(name for name in attributes if name in table.columns) for table in loaded.tables} - {()}
    if len(held) > 1 and not any(set(attributes) <= set(table.columns) for table in loaded.counts):
        held.discard(tuple(attributes))
    largest = [own for own in held if not any(set(own) < set(other) for other in held)]
    return sorted(largest, key=lambda own: (-len(own), own))[:MOST_PARTS]


def _risk_without_table(loaded: LoadedRelease, attributes: Sequence[str], risk: float) -> float:
    """The risk of bounds where no table holds the attributes: part of it where one might have been chosen that does."""
    return risk * UNCHOSEN if loaded.may_choose_tables and len(attributes) <= WIDEST_CHOSEN else risk


def _possible_sets(loaded: LoadedRelease, wanted: Sequence[Collection[str]]) -> int:
    """Count the sets of attributes that tables may hold together, of each part of a condition.

    Where tables are chosen by noise, which sets they hold depends on it, so each that they may hold has its part of the risk.
    """
    widest = max(WIDEST_CHOSEN, *(len(table.columns) for table in loaded.tables))
    return sum(comb(len(each), size) for each in wanted for size in range(1, min(widest, len(each)) + 1))


def _bounds(loaded: LoadedRelease, wanted: Condition, risk: float) -> tuple[float, float, list[str]]:
    """Bound the number of records that satisfy a condition, whatever joins its attributes, and say from which tables."""
    parts = [_largest_parts(loaded, tuple(each)) if each else [()] for each in wanted]
    each_risk = risk / (1 + (_possible_sets(loaded, wanted) if loaded.may_choose_tables else 2 * sum(map(len, parts))))

    def counted(each: Mapping[str, Label], names: Collection[str]) -> Estimate:
        part = {name: label for name, label in each.items() if name in names}
        return count_of(loaded, [part], LEVEL, each_risk, by_counts=True)

    low, high, used = 0.0, 0.0, []
    for each, sets in zip(wanted, parts, strict=True):
        found = {own: counted(each, own) for own in sets}
        high += min(estimate.high for estimate in found.values())
        used += [estimate.view for estimate in found.values()]
        # Two sets lie within what satisfies their common part, so |one| + |other| − |common| or more lie in both.
        done: set[str] = set(sets[0])
        least = found[sets[0]].low
        for own in sets[1:]:
            if set(own) - done:
                least += found[own].low - counted(each, done & set(own)).high
                done |= set(own)
        low = max(low, least if done == set(each) else 0.0)
    high = min(high, counted({}, ()).high)
    return low, max(low, high), list(dict.fromkeys(used))


def _widest_meaning(loaded: LoadedRelease, name: str) -> Meaning:
    """Give the labels of an attribute in the widest table of counts that has it; they are the coarsest."""
    tables = [table for table in (loaded.counts or loaded.tables) if name in table.columns] or list(
        loaded.covering((name,))
    )
    return max(tables, key=lambda table: (len(table.columns), table.name)).meanings[name]


def _tables_with(
    loaded: LoadedRelease, attributes: Sequence[str], meanings: Mapping[str, Meaning]
) -> list[PublishedCountTable]:
    """Give the tables of counts that hold these attributes with these labels."""
    return [
        table
        for table in loaded.counts
        if set(attributes) <= set(table.columns) and all(table.meanings[name] is meanings[name] for name in attributes)
    ]
