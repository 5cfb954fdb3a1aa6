"""Noisy counts: contingency tables with exact discrete Gaussian noise, in the bins and for the groups that are worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.model import project
from shoal.anonymize.measure.bins import AttributeBins, declared_bins, merged_bins
from shoal.anonymize.measure.count import ExactTables
from shoal.anonymize.measure.once import choose_tables, distance, independent_table
from shoal.anonymize.measure.rounds import ModelFit, measure_in_rounds, useful_groups
from shoal.anonymize.measure.tables import CandidateScore, MeasuredCounts, NoisyTable, estimate_total
from shoal.anonymize.method.safe_k import bound_rows
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells
from shoal.engine.base import Table
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.noisy_counts import CountsSetting
from shoal.progress import Stage, StageProgress

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Group = tuple[str, ...]
MOST_CELLS = 4_000_000
"""The most entries of one table."""


@dataclass(frozen=True)
class BinParameters:
    """How cells are merged to bins for wide tables; the defaults come from measurements (decision on noisy counts)."""

    fill: float = 0.25
    """The records that an entry of a wide table should have on average, in units of its noise."""
    most: int = 32
    """The most bins of an attribute, without the missing value."""

    def size(self, total: float, sigma: float, width: int) -> float:
        """The records that a bin should have, so that a table of so many attributes has entries that are filled.

        With b bins of equal size along each of w attributes an entry has total / b^w records.
        """
        return total / float(max(1.0, total / (self.fill * sigma)) ** (1.0 / max(width, 2)))


@dataclass(frozen=True)
class NoisyCounts:
    """Count the attributes one by one, merge cells to bins by what that published, and count groups of attributes in the bins.

    Where groups are chosen in rounds, the `first` ones are counted before the rounds.

    Promise   what the parts of the setting compose to: every number that leaves `measure` has noise of the setting's sigma,
              or is computed from such numbers; every choice is a mechanism of the setting (`theorems`).
    Requires  a declared domain for every attribute; as many attributes, candidates and tables as the setting was solved
              for; tables of at most `MOST_CELLS` entries.
    Reads     the counted columns, in few passes.
    """

    setting: CountsSetting
    cells: tuple[AttributeCells, ...]
    groups: tuple[Group, ...]
    """The groups of attributes that are counted, or, where tables are chosen, those that may be."""
    merged: bool = True
    """Whether groups are counted in bins, and not in the declared cells."""
    parameters: BinParameters = BinParameters()
    first: tuple[Group, ...] = ()
    """The groups that are counted before the rounds."""

    def __post_init__(self) -> None:
        setting, names = self.setting, {each.name for each in self.cells}
        every = (*self.first, *self.groups)
        if len(names) != len(self.cells) or not all(names.issuperset(group) and group for group in every):
            raise ParameterError(
                "the groups are not made of the counted attributes, each named once",
                came=", ".join(each.name for each in self.cells),
            )
        needed = counts_singles(setting.kind, self.cells, self.first, merged=self.merged)
        counted = 0 if setting.single_sigma is None else len(self.cells)
        if setting.singles != counted or (needed and not counted):
            raise PreconditionError(
                "noisy-tables",
                "another number of attributes is counted than the noise was solved for",
                came=len(self.cells) if needed else counted,
                allowed=str(setting.singles),
            )
        if setting.singles and any(len(group) == 1 for group in every):
            raise ParameterError("an attribute is counted by itself twice", allowed="groups of two attributes or more")
        first = 0 if setting.first is None else setting.first[0]
        if len(self.first) != first or (first and len({frozenset(group) for group in every}) != len(every)):
            raise PreconditionError(
                "adaptive-tables",
                "the groups before the rounds are not those that the noise was solved for, each once and no candidate",
                came=len(self.first),
                allowed=str(first),
            )
        allowed = setting.tables[0][0] if setting.kind == "fixed" else setting.candidates
        if len(self.groups) != allowed:
            raise PreconditionError(
                "noisy-tables",
                "another number of groups is counted than the noise was solved for",
                came=len(self.groups),
                allowed=str(allowed),
            )
        if any(number > len(self.groups) for number, _ in setting.tables):
            raise ParameterError(
                "more tables are to be measured than there are groups to choose from",
                came=max(number for number, _ in setting.tables),
                allowed=f"{len(self.groups)} at most",
            )
        if not self.merged:
            self._refuse_large_tables()

    def _refuse_large_tables(self) -> None:
        """Tables that are counted for certain are not too large; of candidates those that are will not be chosen."""
        for group in self.first or self.groups:
            entries = math.prod(len(self._by_name[name]) for name in group)
            if entries > MOST_CELLS:
                raise ParameterError(
                    f"the table of {' and '.join(group)} has too many declared cells",
                    came=f"{entries:,}",
                    allowed=f"{MOST_CELLS:,} at most",
                    fix="count merged cells (`cells: merged`), or fix coarser levels (`recoding: {levels: ...}`)",
                )

    @cached_property
    def _by_name(self) -> dict[str, AttributeCells]:
        return {each.name: each for each in self.cells}

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of the theorems on which the steps rest; for every unit, since `noisy-tables` speaks of all."""
        return self.setting.theorems

    @property
    def columns(self) -> tuple[str, ...]:
        """The attributes that are counted, in order."""
        return tuple(each.name for each in self.cells)

    def measure(self, table: Table, source: Source, stage: Stage = lambda _: None) -> MeasuredCounts:
        """All noisy tables of one release. The table is seen here and nowhere else."""
        exact_tables = ExactTables(
            bound_rows(table, self.setting.unit, source.row_mask(1).words, "noisy-tables", stage)
        )
        stage("counting")
        whole = {each.name: declared_bins(each) for each in self.cells}
        singles: tuple[NoisyTable, ...] = ()
        if self.setting.singles:
            noise = source.stream("singles")
            alone = [(each.name,) for each in self.cells]
            singles = tuple(
                self._noisy(exact, group, whole, _needed(self.setting.single_sigma), noise)
                for group, exact in zip(alone, exact_tables.count(alone, whole), strict=True)
            )
        bins = self.bins(singles)
        named = {each.name: each for each in bins}
        if self.setting.kind == "rounds":
            before = (*singles, *self._measure_first(exact_tables, named, source, stage))
            wide = self._measure_in_rounds(exact_tables, before, named, source, stage)
            return MeasuredCounts(self.cells, bins, (*before, *wide))
        scores: tuple[CandidateScore, ...] = ()
        sigma, groups = self.setting.tables[0][1], self.groups
        if self.setting.kind == "once":
            stage("choosing the tables")
            scores, sigma, groups = self._choose_once(exact_tables, singles, named, source)
        stage("counting the tables")
        noise = source.stream("tables")
        wide = [
            self._noisy(exact, group, named, sigma, noise)
            for group, exact in zip(groups, exact_tables.count(groups, named), strict=True)
        ]
        return MeasuredCounts(self.cells, bins, (*singles, *wide), scores)

    # --- what sees exact counts ---------------------------------------------------------------------------------------------

    @staticmethod
    def _noisy(
        exact: Numbers, group: Group, bins: Mapping[str, AttributeBins], sigma: Fraction, source: Source
    ) -> NoisyTable:
        """A table with noise on every entry: the only place where exact counts become a table that is published."""
        noise = source.discrete_gaussian(sigma, exact.size).reshape(exact.shape)
        return NoisyTable(tuple(bins[name] for name in group), exact + noise, sigma)

    def _choose_once(
        self,
        exact_tables: ExactTables,
        singles: Sequence[NoisyTable],
        bins: Mapping[str, AttributeBins],
        source: Source,
    ) -> tuple[tuple[CandidateScore, ...], Fraction, tuple[Group, ...]]:
        """The noisy scores of all candidates, and what is measured by them."""
        setting, total = self.setting, estimate_total(singles)
        counts = bin_counts(singles, bins, total)
        exact = np.empty(len(self.groups), dtype=np.int64)
        for number, (group, found) in enumerate(zip(self.groups, exact_tables.count(self.groups, bins), strict=True)):
            far = distance(found, independent_table(group, counts, total))
            # In units of what one unit of privacy can change, rounded down: so it changes the result by at most one.
            exact[number] = far // setting.score_change
        noise = source.stream("scores").discrete_gaussian(_needed(setting.score_sigma), len(exact))
        scores = ((exact + noise) * setting.score_change).tolist()
        entries = [math.prod(len(bins[name]) for name in group) for group in self.groups]
        choice = choose_tables(scores, entries, setting.tables)
        taken = set(choice.groups)
        listed = tuple(
            CandidateScore(group, score, number in taken)
            for number, (group, score) in enumerate(zip(self.groups, scores, strict=True))
        )
        return listed, choice.sigma, tuple(self.groups[number] for number in choice.groups)

    def _measure_first(
        self, exact_tables: ExactTables, bins: Mapping[str, AttributeBins], source: Source, stage: Stage
    ) -> list[NoisyTable]:
        """The tables that are counted before the rounds."""
        if self.setting.first is None:
            return []
        stage("counting the tables")
        noise, sigma = source.stream("first"), self.setting.first[1]
        return [
            self._noisy(exact, group, bins, sigma, noise)
            for group, exact in zip(self.first, exact_tables.count(self.first, bins), strict=True)
        ]

    def _measure_in_rounds(
        self,
        exact_tables: ExactTables,
        before: Sequence[NoisyTable],
        bins: Mapping[str, AttributeBins],
        source: Source,
        stage: Stage,
    ) -> list[NoisyTable]:
        """The tables of all rounds, each chosen where the model of all that is published by then fits worst."""
        (rounds, sigma), *_ = self.setting.tables
        small = [group for group in self.groups if math.prod(len(bins[name]) for name in group) <= MOST_CELLS]
        groups = useful_groups(small, bins, estimate_total(before), sigma, rounds)
        noise, chance, name = source.stream("tables"), source.stream("choice"), "choosing the tables"
        return measure_in_rounds(
            self.setting,
            groups,
            before,
            bins,
            exact_tables,
            ModelFit(self.cells, bins, source.stream("fit")),
            lambda exact, group: self._noisy(exact, group, bins, sigma, noise),
            chance,
            lambda done: stage(StageProgress(name, done, rounds)),
        )

    # --- what published numbers decide ----------------------------------------------------------------------------------

    def bins(self, singles: Sequence[NoisyTable]) -> tuple[AttributeBins, ...]:
        """The bins of every attribute, from the tables of one attribute each; the declared cells where they are kept."""
        if not self.merged or not singles:
            return tuple(declared_bins(each) for each in self.cells)
        total = estimate_total(singles)
        sigma = float((self.setting.first or self.setting.tables[len(self.setting.tables) // 2])[1])
        fixed = self.setting.kind == "fixed"
        width = max((len(group) for group in self.groups), default=2) if fixed else 2
        size = self.parameters.size(total, sigma, width)
        return tuple(
            merged_bins(each.bins[0].cells, project(each.values, total), size, self.parameters.most, float(each.sigma))
            for each in singles
        )


def counts_singles(kind: str, cells: Sequence[AttributeCells], first: Sequence[Group], *, merged: bool) -> bool:
    """Whether attributes must be counted by themselves first: to merge cells, or because not each is sure to be in a table."""
    return merged or (
        kind != "fixed" and not {name for group in first for name in group}.issuperset(each.name for each in cells)
    )


def _needed(sigma: Fraction | None) -> Fraction:
    """The sigma of a step that is taken."""
    if sigma is None:
        raise PreconditionError("noisy-tables", "a step without noise", fix="solve the setting for it")
    return sigma


def bin_counts(singles: Sequence[NoisyTable], bins: Mapping[str, AttributeBins], total: float) -> dict[str, Floats]:
    """Estimated counts of the bins of every attribute: not negative, and with the same total for all."""
    return {each.attributes[0]: bins[each.attributes[0]].sums(project(each.values, total)) + 0.5 for each in singles}
