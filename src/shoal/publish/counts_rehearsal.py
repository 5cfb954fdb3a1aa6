"""A rehearsal of noisy counts: the plan run on tables simulated from the policy alone, and how far its tables are from them.

No row of anybody is read, so nothing is promised, nothing is charged, and it may be done as often as one likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.anonymize.measure.count import ExactTables
from shoal.anonymize.measure.tables import NoisyTable
from shoal.chance.source import Source
from shoal.datasets.marginals import Marginals, check_marginals
from shoal.datasets.simulate import DEPENDENCE, SKEW
from shoal.engine.base import Engine, Table, open_engine
from shoal.guarantee.rounding import exact_text
from shoal.publish.plan.noisy_counts import NoisyCountsPlan
from shoal.publish.rehearse import ROWS, RUNS, VERSION, Rehearsal, Spread, rehearse, run_each
from shoal.publish.run.noisy_counts import draw_codes

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TableDistance:
    """How far tables of so many attributes are from the simulated one: their mean total variation distance in each run."""

    attributes: int
    counts: Spread
    """Of the published counts as they are: 0 is the same table, and noise on cells that hold nobody counts too."""
    synthetic: Spread | None
    """Of the synthetic rows, counted in the same cells; None where none are drawn."""


@dataclass(frozen=True)
class CountsExpectation:
    """What to expect of one release of a table of so many rows."""

    rows: int
    tables: Spread
    """How many tables of counts are published."""
    cells: Spread
    """How many cells they have together."""
    distances: tuple[TableDistance, ...]


@dataclass(frozen=True)
class CountsRehearsal:
    """What a plan of noisy counts gave on simulated tables, for each size of the table that was asked about."""

    dataset: str
    plan: str
    half_widths: Mapping[str, int]
    """For each sigma of the plan, how far a count is off at most in 95 of 100 cases; known before any run."""
    runs: int
    seed: int
    skew: float
    dependence: float
    expected: tuple[CountsExpectation, ...]
    beside: Rehearsal | None = None
    """What to expect of the rows beside the counts."""
    version: int = VERSION
    treatments: int = 0
    """Steps that changed the simulated values before they were counted, as the policy says."""

    def __repr__(self) -> str:
        each = ", ".join(f"{one.tables.mean:,.0f} tables of {one.rows:,} rows" for one in self.expected[:4])
        return f"<CountsRehearsal of '{self.dataset}', {self.runs} runs: {each} on average>"

    def to_json(self) -> dict[str, Any]:
        """The rehearsal as plain values, with the fields that `shoal rehearse --json` prints."""
        return {
            **asdict(self),
            "beside": None if self.beside is None else self.beside.to_json(),
            "charged": False,
            "data_read": False,
            "intervals": {
                "least to most": "one more run, with probability (n - 1)/(n + 1) or more",
                "over": "simulated tables",
            },
        }

    def words(self) -> list[str]:
        """What the numbers mean and what they do not, in sentences."""
        what = (
            "Each run simulates a new table from the policy's domains and hierarchies and puts it through the plan. No row of "
            "yours was read, nothing was charged, and nothing here is part of a release."
        )
        what += " Each table is treated first, as the policy says, and compared as treated." if self.treatments else ""
        terms = (
            "A distance is the total variation distance of a table from the simulated one, the mean over all tables of as many "
            "attributes: 0 is the same, and 0.1 says that a tenth of the rows would have to move. Each number is a mean over "
            f"the {self.runs} runs, with the least and the most of them."
        )
        limits = (
            "A simulated table is not the data. Its frequencies and dependences are assumed, so take the numbers for their size, "
            "and compare policies by them."
        )
        return [what, terms, limits]

    def lines(self) -> list[tuple[str, tuple[Spread | None, ...], str]]:
        """A name, what each size of the table gave, and how to write it, for each line of a table for people."""
        found: list[tuple[str, tuple[Spread | None, ...], str]] = [
            ("tables of counts", tuple(one.tables for one in self.expected), ",.0f"),
            ("cells in all", tuple(one.cells for one in self.expected), ",.0f"),
        ]
        for place, first in enumerate(self.expected[0].distances):
            of = "one attribute" if first.attributes == 1 else f"{first.attributes} attributes"
            own = [one.distances[place] if place < len(one.distances) else None for one in self.expected]
            found.append((f"distance, {of}", tuple(None if each is None else each.counts for each in own), ".3f"))
            if first.synthetic is not None:
                drawn = tuple(None if each is None else each.synthetic for each in own)
                found.append((f"  of synthetic rows, {of}", drawn, ".3f"))
        return found


def rehearse_counts(
    plan: NoisyCountsPlan,
    *,
    rows: int | Sequence[int] = ROWS,
    runs: int = RUNS,
    engine: Engine | None = None,
    marginals: Marginals | None = None,
    seed: int = 0,
    skew: float = SKEW,
    dependence: float = DEPENDENCE,
    tick: Callable[[], None] = lambda: None,
) -> CountsRehearsal:
    """Run a plan on simulated tables of each size in `rows`, `runs` times; the tables are those of `rehearse`.

    Raises     ParameterError for sizes, runs or a seed out of range.
    """
    check_marginals(plan.schema, marginals)
    given: dict[str, Any] = {
        "rows": rows, "runs": runs, "marginals": marginals, "seed": seed, "skew": skew, "dependence": dependence,
        "engine": engine or open_engine(),
    }  # fmt: skip
    expected = [
        _expectation(size, results) for size, results in run_each(partial(_run, plan), plan, tick=tick, **given)
    ]
    beside = None if plan.rows is None else rehearse(plan.rows, **given)
    return CountsRehearsal(
        dataset=plan.policy.dataset,
        plan=plan.lock.sha256,
        half_widths={exact_text(sigma): width for sigma, width in plan.half_widths.items()},
        runs=runs,
        seed=seed,
        skew=skew,
        dependence=dependence,
        expected=tuple(expected),
        beside=beside,
        treatments=len(plan.treatments),
    )


@dataclass(frozen=True)
class _Result:
    """What one run gave: for each table its number of attributes, its cells, and its distances."""

    tables: tuple[tuple[int, int, float, float | None], ...]


def _run(plan: NoisyCountsPlan, table: Table, source: Source) -> _Result:
    """One simulated table through the whole of the plan, with chance of its own."""
    measured = plan.method.measure(table, source.stream("counts"))
    codes = None
    if plan.synthetic is not None:
        with source.stream("synthetic") as chance:
            codes = draw_codes(plan, measured, chance)
    place = {each.name: number for number, each in enumerate(measured.cells)}
    found = []
    for noisy, truth in zip(measured.tables, _truth(table, measured.tables), strict=True):
        rows = max(1, int(truth.sum()))
        apart = float(np.abs(noisy.values - truth).sum()) / 2 / rows
        drawn = None if codes is None else _apart(codes[:, [place[name] for name in noisy.attributes]], noisy, truth)
        found.append((len(noisy.bins), noisy.cells, apart, drawn))
    return _Result(tuple(found))


def _truth(table: Table, tables: Sequence[NoisyTable]) -> list[Numbers]:
    """The counts of the simulated table in the cells of each noisy one; those of one attribute have cells of their own."""
    exact = ExactTables(table)
    found: list[Numbers] = []
    for alone in (True, False):
        own = [each for each in tables if (len(each.bins) == 1) == alone]
        bins = {each.name: each for one in own for each in one.bins}
        found += exact.count([one.attributes for one in own], bins)
    return found


def _apart(codes: Numbers, noisy: NoisyTable, truth: Numbers) -> float:
    """The total variation distance of synthetic rows from the simulated table, each as shares of its own rows."""
    places = np.zeros(len(codes), dtype=np.int64)
    for axis, own in enumerate(noisy.bins):
        places = places * len(own) + own.of_cell[codes[:, axis]]
    drawn = np.bincount(places, minlength=prod(truth.shape)).reshape(truth.shape)
    return float(np.abs(drawn / max(1, drawn.sum()) - truth / max(1, truth.sum())).sum()) / 2


def _expectation(rows: int, results: Sequence[_Result]) -> CountsExpectation:
    widths = sorted({width for result in results for width, *_ in result.tables})

    def mean(result: _Result, width: int, place: Literal[2, 3]) -> float | None:
        held = [value for own in result.tables if own[0] == width and (value := own[place]) is not None]
        return float(np.mean(held)) if held else None

    def spread(width: int, place: Literal[2, 3]) -> Spread | None:
        known = [value for result in results if (value := mean(result, width, place)) is not None]
        return Spread.of(known) if known else None

    distances = [
        TableDistance(width, counts, spread(width, 3)) for width in widths if (counts := spread(width, 2)) is not None
    ]
    return CountsExpectation(
        rows=rows,
        tables=Spread.of([float(len(result.tables)) for result in results]),
        cells=Spread.of([float(sum(own[1] for own in result.tables)) for result in results]),
        distances=tuple(distances),
    )
