"""A rehearsal: the plan run on tables simulated from the policy alone, to say what to expect of a release.

No row of anybody is read, so nothing is promised, nothing is charged, and it may be done as often as one likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.treatment.steps import treat
from shoal.chance.source import Source
from shoal.datasets.marginals import Marginals, check_marginals
from shoal.datasets.simulate import DEPENDENCE, MOST_ROWS, SKEW, simulate
from shoal.engine.base import Engine, Table, open_engine
from shoal.errors import ParameterError
from shoal.guarantee.rounding import text_near
from shoal.publish.plan.base import Plan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.report.column_detail import FEW, NOTHING, Original, SampleSize, by_label, column_detail
from shoal.publish.report.document import rows_taking_part

VERSION = 1
ROWS = 50_000
RUNS = 5
MOST_RUNS = 1000
CONFIDENCE = 0.95
STREAM = "stand-in"
"""The stream that tables are simulated from; another name would change what a seed repeats."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Spread:
    """What some runs gave: their mean, and the least and the most of them.

    Runs are independent and alike, so one more lies below the least of n with a probability of at most 1/(n + 1), and above
    the most likewise: between them with (n - 1)/(n + 1) or more, whatever their distribution is.
    """

    mean: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of one number for each run.

        >>> Spread.of([1.0, 2.0, 6.0])
        Spread(mean=3.0, least=1.0, most=6.0)
        """
        return cls(float(np.mean(values)), float(min(values)), float(max(values)))


@dataclass(frozen=True)
class Proportion:
    """How many of some runs did it: the share with its 95 % interval (Clopper and Pearson 1934)."""

    count: int
    runs: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, runs: int) -> Proportion:
        """The share of `count` in `runs`, with the exact 95 % interval of its probability.

        >>> round(Proportion.of(0, 5).high, 2)
        0.52
        """
        from scipy.special import betaincinv

        tail = (1 - CONFIDENCE) / 2
        low = float(betaincinv(count, runs - count + 1, tail)) if count else 0.0
        high = float(betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
        return cls(count, runs, count / runs, low, high)


@dataclass(frozen=True)
class Detail:
    """One attribute: how much of it is left, measured as in the custodian's report (`column_detail`)."""

    name: str
    detail: Spread | None
    """How far labels tell sampled people apart, a suppressed one counting 0; None where the simulated tables have one value."""
    distance: Spread | None
    """Between the labels of all rows and those published; None where no run says anything."""
    public: bool
    """Whether its marginal was given, and not assumed."""
    nothing: int = 0
    """In how many runs all published rows showed one label, or none was published."""
    little: int = 0
    """In how many runs one coarse label had most of the published rows."""


@dataclass(frozen=True)
class Expectation:
    """What to expect of one release of a table of so many rows."""

    rows: int
    taking_part: Spread
    """Rows left when each person has at most as many as the unit allows."""
    sampled: Spread
    """The expected size of the sample."""
    published: Spread
    kept: Spread
    """Published rows as a share of those sampled."""
    groups: Spread
    granularity: Spread
    """The mean detail of all attributes, a suppressed row counting 0: rows and detail in one number."""
    empty: Proportion
    """How often nothing was published."""
    attributes: tuple[Detail, ...]


@dataclass(frozen=True)
class Rehearsal:
    """What a plan gave on simulated tables, for each size of the table that was asked about."""

    dataset: str
    plan: str
    k: int
    beta: float
    releases: int
    views: int
    """How many narrow tables there are; 0 for one wide one."""
    runs: int
    seed: int
    skew: float
    dependence: float
    expected: tuple[Expectation, ...]
    version: int = VERSION
    treatments: int = 0
    """Steps that changed the simulated values before the method saw them, as the policy says."""

    def __repr__(self) -> str:
        each = ", ".join(f"{one.published.mean:,.0f} of {one.rows:,} rows" for one in self.expected[:4])
        more = ", …" if len(self.expected) > 4 else ""
        return f"<Rehearsal of '{self.dataset}', {self.runs} runs: {each}{more} published on average>"

    def to_json(self) -> dict[str, Any]:
        """The rehearsal as plain values, with the fields that `shoal rehearse --json` prints."""
        return {
            **asdict(self),
            "charged": False,
            "data_read": False,
            "intervals": {
                "least to most": "one more run, with probability (n - 1)/(n + 1) or more",
                "empty": "Clopper-Pearson, 95 %",
                "over": "simulated tables",
            },
        }

    def words(self) -> list[str]:
        """What the numbers mean and what they do not, in sentences."""
        first = self.expected[0]
        public = [part.name for part in first.attributes if part.public]
        known = f" The shares of {', '.join(public)} are those you gave." if public else ""
        known += " Each table is treated first, as the policy says, and compared as treated." if self.treatments else ""
        each = f" Every number is for one of the {self.releases} releases." if self.releases > 1 else ""
        each += f" Rows and classes are those of all {self.views} views together." if self.views else ""
        what = (
            "Each run simulates a new table from the policy's domains and hierarchies and puts it through the plan "
            f"(k = {self.k}, beta = {text_near(self.beta, 4)}). No row of yours was read, nothing was charged, and nothing here "
            f"is part of a release.{known}{each}"
        )
        terms = (
            "Each number is a mean over the runs, with the least and the most of them; one more run of the same kind lies "
            "between these with a probability of (n - 1)/(n + 1) or more, n being the runs that gave the number "
            f"({self.runs} where all did). Detail is 1 where every row's value is shown and 0 where nothing is said; rows are "
            "weighed, not declared values, and a suppressed one counts 0. Granularity is the mean over the columns."
        )
        limits = (
            "A simulated table is not the data. Its frequencies and dependences are assumed, so take the numbers for their size, "
            "and compare policies by them; a real table may lie outside all the runs, above them if its rows are more alike."
        )
        found = [what, terms, limits, *self._cautions()]
        gone = [one for one in self.expected if one.empty.count]
        if gone:
            rows = ", ".join(f"{one.rows:,}" for one in gone)
            found.append(
                f"Some runs published nothing (at {rows} rows). Coarser labels, fewer columns, or a plan that leans to "
                "detail (sampling: {prefer: detail}) let smaller classes appear."
            )
        return found

    def _cautions(self) -> list[str]:
        """Columns that said nothing, or little, in half of the runs or more."""
        found = []
        for one in self.expected:
            nothing = [part.name for part in one.attributes if 2 * part.nothing >= self.runs]
            little = [
                part.name
                for part in one.attributes
                if part.name not in nothing and 2 * (part.nothing + part.little) >= self.runs
            ]
            said = [f"say nothing, all published rows showing one label: {', '.join(nothing)}"] if nothing else []
            said += [f"say little: {', '.join(little)}"] if little else []
            if said:
                fix = "Try the policy without them, with views of fewer columns, or with finer levels where it fixes levels."
                found.append(f"At {one.rows:,} rows, in half of the runs or more, columns {'; and '.join(said)}. {fix}")
        return found


def rehearse(
    plan: SafeKPlan,
    *,
    rows: int | Sequence[int] = ROWS,
    runs: int = RUNS,
    engine: Engine | None = None,
    marginals: Marginals | None = None,
    seed: int = 0,
    skew: float = SKEW,
    dependence: float = DEPENDENCE,
    tick: Callable[[], None] = lambda: None,
) -> Rehearsal:
    """Run a plan on simulated tables of each size in `rows`, `runs` times; `datasets.simulate` says what they assume.

    The same seed gives the same tables, at every size and for every plan over the same schema, so that plans can be
    compared. `tick` is called after each run.
    """
    known = check_marginals(plan.schema, marginals)
    expected = []
    for size, results in run_each(
        partial(_run, plan), plan, rows=rows, runs=runs, engine=engine, marginals=marginals, seed=seed, skew=skew,
        dependence=dependence, tick=tick,
    ):  # fmt: skip
        names = [attribute.name for attribute in plan.policy.schema.published]
        shown = {name for view in plan.views for name in view.columns} if plan.views else set(names)
        names = [name for name in names if name in shown or plan.chooser is not None]
        expected.append(_expectation(size, results, names, frozenset(known)))
    return Rehearsal(
        dataset=plan.policy.dataset,
        plan=plan.lock.sha256,
        k=plan.promise.k,
        beta=float(plan.promise.beta),
        releases=plan.repeat,
        views=len(plan.views),
        runs=runs,
        seed=seed,
        skew=skew,
        dependence=dependence,
        expected=tuple(expected),
        treatments=len(plan.treatments),
    )


def run_each(
    run: Callable[[Table, Source], Result],
    plan: Plan,
    *,
    rows: int | Sequence[int],
    runs: int,
    engine: Engine | None,
    marginals: Marginals | None,
    seed: int,
    skew: float,
    dependence: float,
    tick: Callable[[], None],
) -> Iterator[tuple[int, list[Result]]]:
    """For each size what `run` gave on `runs` tables, simulated from the schema and the unit of a plan, with chance of its own.

    Raises     ParameterError for sizes, runs or a seed out of range.
    """
    sizes = [rows] if isinstance(rows, int) else list(rows)
    check_options(sizes, runs, seed)
    engine = engine or open_engine()
    for size in sizes:
        results = []
        for number in range(runs):
            with Source.seeded(f"rehearsal {seed} {number}") as source:
                with source.stream(STREAM) as world:
                    frame = simulate(
                        plan.schema, size, world, unit=plan.unit, marginals=marginals, skew=skew, dependence=dependence
                    )
                table = engine.scan(frame, plan.schema)
                with source.stream("treatments") as chance:
                    results.append(run(treat(table, plan.treatments, chance).table, source))
            tick()
        yield size, results


def check_options(sizes: list[int], runs: int, seed: int) -> None:
    """Raise ParameterError for sizes, runs or a seed that a rehearsal cannot have."""
    if not sizes or any(type(size) is not int or not 1 <= size <= MOST_ROWS for size in sizes):
        came = ", ".join(map(str, sizes)) or "none"
        raise ParameterError("rows of a rehearsal", came=came, allowed=f"whole numbers from 1 to {MOST_ROWS:,}")
    if len(set(sizes)) != len(sizes):
        raise ParameterError("rows of a rehearsal: a size is named twice", came=", ".join(map(str, sizes)))
    if type(runs) is not int or not 2 <= runs <= MOST_RUNS:
        fix = "one run alone says nothing about the next"
        raise ParameterError("runs of a rehearsal", came=runs, allowed=f"a whole number from 2 to {MOST_RUNS}", fix=fix)
    if type(seed) is not int or seed < 0:
        raise ParameterError("seed of a rehearsal", came=seed, allowed="a whole number from 0 up")


# --- one run ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Result:
    """What one run gave; details and distances by attribute, empty when nothing was published."""

    taking_part: int
    sampled: float
    published: int
    groups: int
    granularity: float
    details: Mapping[str, float | None]
    """None for an attribute that has one value in the simulated table."""
    distances: Mapping[str, float]
    says: Mapping[str, str | None]

    @property
    def kept_share(self) -> float:
        return min(1.0, self.published / self.sampled) if self.sampled else 0.0


def _run(plan: SafeKPlan, table: Table, source: Source) -> _Result:
    """One simulated table through the whole of the plan, with chance of its own."""
    method = plan.method
    taking_part = rows_taking_part(plan, table)
    found = []
    with closing(plan.job().draw(table, source)) as drawn:
        for one, published in islice(drawn, len(plan.views) or 1):
            sampled = taking_part * (1.0 if method.drawn_before else float(one.promise.beta))
            found.append(_result(table, one.recoding, published, taking_part, sampled))
    return _together(found) if plan.views else found[0]


def _together(results: list[_Result]) -> _Result:
    """Views added up; an attribute's detail is the mean over the sampled rows of the views that hold it.

    It says nothing where it does so in all of them.
    """

    def mean(of: Callable[[_Result], Mapping[str, float | None]]) -> dict[str, float]:
        found: dict[str, list[tuple[float, float]]] = {}
        for result in results:
            for name, value in of(result).items():
                if value is not None:
                    found.setdefault(name, []).append((value, result.sampled))
        return {name: sum(v * n for v, n in own) / max(sum(n for _, n in own), 1e-300) for name, own in found.items()}

    def worst(name: str) -> str | None:
        held = [result.says[name] for result in results if name in result.says]
        return held[0] if len(set(held)) == 1 else None

    sampled = sum(result.sampled for result in results)
    return _Result(
        results[0].taking_part,
        sampled,
        sum(result.published for result in results),
        sum(result.groups for result in results),
        sum(result.granularity * result.sampled for result in results) / sampled if sampled else 0.0,
        mean(lambda result: result.details),
        mean(lambda result: result.distances),
        {name: worst(name) for result in results for name in result.says},
    )


def _result(table: Table, recoding: Recoding, published: Table, taking_part: int, sampled: float) -> _Result:
    """What one published table kept of the table it came from."""
    groups = published.count_by(published.columns)
    before, original, expected = recoding.apply(table), Original(table), SampleSize(sampled)
    found = {
        name: column_detail(recoding, original, name, by_label(before.count_by([name])), by_label(groups, at), expected)
        for at, name in enumerate(groups.columns)
    }
    details = {name: one.detail for name, one in found.items()}
    known = [value for value in details.values() if value is not None]
    granularity = float(np.mean(known)) if known else 0.0
    distances = {name: one.distance for name, one in found.items() if one.distance is not None}
    says = {name: one.says for name, one in found.items()}
    return _Result(taking_part, sampled, groups.rows, len(groups), granularity, details, distances, says)


# --- all runs -----------------------------------------------------------------------------------------------------


def _expectation(rows: int, results: list[_Result], names: Sequence[str], public: frozenset[str]) -> Expectation:
    full = [result for result in results if result.published]

    def spread(of: Callable[[_Result], float]) -> Spread:
        return Spread.of([of(result) for result in results])

    def part(name: str) -> Detail:
        details = [value for result in results if (value := result.details.get(name)) is not None]
        distances = [result.distances[name] for result in results if name in result.distances]
        says = [result.says.get(name) for result in results]
        return Detail(
            name,
            Spread.of(details) if details else None,
            Spread.of(distances) if distances else None,
            name in public,
            says.count(NOTHING),
            says.count(FEW),
        )

    return Expectation(
        rows=rows,
        taking_part=spread(lambda result: result.taking_part),
        sampled=spread(lambda result: result.sampled),
        published=spread(lambda result: result.published),
        kept=spread(lambda result: result.kept_share),
        groups=spread(lambda result: result.groups),
        granularity=spread(lambda result: result.granularity),
        empty=Proportion.of(len(results) - len(full), len(results)),
        attributes=tuple(part(name) for name in names),
    )
