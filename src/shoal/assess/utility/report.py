"""The utility of a released table: every measure of this folder, in one frozen value with words and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.assess.comparison.table import ComparableTable, count_tuples
from shoal.assess.distortion.information_loss import Distortion, distortion
from shoal.assess.utility.learning import MODELS, Distinction, Learning, learn, tell_apart
from shoal.assess.utility.marginals import ColumnDistance, MarginalDistances, compare_column, compare_marginals
from shoal.assess.utility.queries import QueryErrors, compare_queries
from shoal.assess.utility.relations import Relations, compare_relations
from shoal.chance.source import Source
from shoal.progress import Stage, silent

SEED = "utility"
"""Queries, resampled rows and drawn labels are the same each time, so that two assessments of one release agree."""


@dataclass(frozen=True)
class ReleasedClasses:
    """The equivalence classes of the released rows by some columns: the measures of full-domain recoding."""

    columns: tuple[str, ...]
    classes: int
    average: float
    """Rows in an average class."""
    discernibility: float
    """Bayardo and Agrawal 2005: the sum of the squared sizes of classes; rows that are not there are not counted."""


@dataclass(frozen=True)
class UtilityReport:
    """How near a released table is to its original. All numbers compare the tables at hand; they promise nothing."""

    rows: tuple[int, int]
    """Of the original and of the release."""
    words_of_rows: str
    real: bool
    columns: tuple[ColumnDistance, ...]
    learned_from: str
    """What rows models were trained on, in words."""
    lost_columns: tuple[str, ...]
    """Columns that the release does not have."""
    marginals: tuple[MarginalDistances, ...]
    relations: Relations
    queries: QueryErrors
    granularity: float | None
    """The mean share of the domain that cells rule out (ARX's granularity): 1 where all show values, 0 where all show stars."""
    classes: ReleasedClasses | None
    information_loss: Distortion | None
    """SSE and IL of the columns of numbers, where row i of the release is record i of the original; else None."""
    distinction: Distinction | None
    learning: tuple[Learning, ...]
    left_out: tuple[str, ...]
    """What was not computed, and why."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {
            "rows": list(self.rows),
            "of": self.words_of_rows,
            "real": self.real,
            "columns": [one.to_json() for one in self.columns],
            "learned_from": self.learned_from,
            "lost_columns": list(self.lost_columns),
            "marginals": [one.to_json() for one in self.marginals],
            "relations": self.relations.to_json(),
            "queries": self.queries.to_json(),
            "granularity": self.granularity,
            "classes": None if self.classes is None else {**vars(self.classes), "columns": list(self.classes.columns)},
            "information_loss": None if self.information_loss is None else self.information_loss.to_json(),
            "distinction": None if self.distinction is None else self.distinction.to_json(),
            "learning": [one.to_json() for one in self.learning],
            "left_out": list(self.left_out),
            "notes": list(self.notes),
        }

    def words(self) -> list[str]:
        """What the numbers say, in sentences."""
        said = []
        for one in self.marginals:
            what = (
                "single columns" if one.width == 1 else "pairs of columns" if one.width == 2 else "triples of columns"
            )
            said.append(
                f"Tables of {what} are {one.mean.value:.3f} from the original's on average (total variation; 0 is the same, 1 "
                f"nothing in common), the worst {one.worst:.3f} ({' × '.join(one.worst_names)})."
            )
        said.append(
            f"Random range queries are off by {_percent(self.queries.absolute.value)} of all records on average; half of them "
            f"by at most {_percent(self.queries.relative_median)} of their true answer."
        )
        if self.information_loss is not None:
            said.append(f"Record by record, of numbers: {self.information_loss.words()}")
        for learned in self.learning:
            best = max(learned.models, key=lambda model: model.released.value)
            said.append(
                f"'{learned.target}' is predicted with an area under the curve of {best.released.value:.3f} by {best.model} "
                f"trained on the release, {best.original.value:.3f} trained on the originals (0.5 is guessing)."
                + ("" if learned.control else " The release was made of the test records too, which may flatter it.")
            )
        return said


def _percent(share: float) -> str:
    """A share in percent, with two digits or more.

    >>> _percent(1.0), _percent(0.0123), _percent(12.345)
    ('100 %', '1.2 %', '1,234 %')
    """
    return f"{100 * share:,.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


def steps_of(targets: Sequence[str], *, learning: bool) -> int:
    """How often `tick` is called by `assess_utility`."""
    return 6 + (1 + 2 * len(MODELS) * len(targets) if learning else 0)


def assess_utility(
    original: ComparableTable,
    released: ComparableTable,
    *,
    quasi: Sequence[str] = (),
    targets: Sequence[str] = (),
    control: ComparableTable | None = None,
    learning: bool = True,
    tick: Callable[[], None] = lambda: None,
    stage: Stage = silent,
) -> UtilityReport:
    """Measure everything. `tick` is called after each step, `stage` with what begins.

    Arguments  `quasi`: the columns whose classes are counted; `targets`: columns that models predict; `control`: originals that
               took no part in the release; `learning`: whether models are trained
    """
    names, left_out = released.names, []
    with Source.seeded(SEED) as source:
        stage("columns")
        columns = tuple(compare_column(original, released, name) for name in names)
        tick()
        marginals = []
        for width in (1, 2, 3):
            stage(f"tables of {width} column{'s' * (width > 1)}")
            found = compare_marginals(original, released, width, source.stream(f"marginals {width}"))
            marginals += [] if found is None else [found]
            tick()
        stage("relations")
        relations = compare_relations(original, released)
        tick()
        stage("queries")
        queries = compare_queries(original, released, source.stream("queries"))
        tick()
        distinction, learned = None, []
        if learning:
            rows = released if released.drawn is None else released.drawn
            stage("telling rows apart")
            distinction = tell_apart(original, rows, source.stream("telling apart"))
            if distinction is None:
                left_out.append("telling rows apart: fewer than 20 rows")
            tick()
            for target in targets:
                stage(f"predicting {target}")
                ticks = _Counter(tick, 2 * len(MODELS))
                one = (
                    learn(original, rows, target, source.stream(target), control=control, tick=ticks)
                    if target in rows.names
                    else None
                )
                ticks.finish()
                if one is None:
                    left_out.append(f"predicting '{target}': too little to learn from")
                else:
                    learned.append(one)
            if not targets:
                left_out.append("predictions: no column was named as a target")
        else:
            left_out.append("predictions and telling rows apart: not asked for")
    own = [name for name in quasi if name in names]
    return UtilityReport(
        rows=(original.rows, released.rows),
        words_of_rows=released.words,
        real=released.real,
        columns=columns,
        learned_from=(released if released.drawn is None else released.drawn).words,
        lost_columns=tuple(name for name in original.names if name not in names),
        marginals=tuple(marginals),
        relations=relations,
        queries=queries,
        granularity=_granularity(released),
        classes=_classes(released, own) if released.real and own and released.rows else None,
        information_loss=_information_loss(original, released),
        distinction=distinction,
        learning=tuple(learned),
        left_out=tuple(left_out),
        notes=released.notes,
    )


def _information_loss(original: ComparableTable, released: ComparableTable) -> Distortion | None:
    """What masking changed, record by record; a label counts as the mean of the numbers that it stands for."""
    numeric = [name for name in released.names if original[name].parts.numeric]
    if not released.aligned or not numeric or not released.rows:
        return None
    before, after = ({name: table[name].numbers for name in numeric} for table in (original, released))
    return distortion(before, after)


class _Counter:
    """Calls on a tick up to so many times, and makes up for those that did not come."""

    def __init__(self, tick: Callable[[], None], left: int) -> None:
        self._tick, self._left = tick, left

    def __call__(self) -> None:
        self._left -= 1
        self._tick()

    def finish(self) -> None:
        while self._left > 0:
            self()


def _granularity(table: ComparableTable) -> float | None:
    if not table.rows:
        return None
    return float(np.mean([1 - own.coverage[own.codes].mean() for own in table.columns.values()]))


def _classes(table: ComparableTable, names: Sequence[str]) -> ReleasedClasses:
    columns = [table[name] for name in names]
    _, counts = count_tuples([own.codes for own in columns], [len(own.shares) for own in columns])
    return ReleasedClasses(
        tuple(names), len(counts), float(counts.mean()), float((counts.astype(np.float64) ** 2).sum())
    )
