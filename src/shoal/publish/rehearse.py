"""A rehearsal: the plan run on stand-ins drawn from the policy alone, to say what to expect of a release.

No row of anybody is read, so nothing is promised, nothing is charged, and it may be done as often as one likes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.method.views import draw_all
from shoal.anonymize.partition.base import Recoding
from shoal.chance.source import Source
from shoal.data.level import MISSING
from shoal.data.type import spelled
from shoal.datasets.marginals import Marginals, resolved
from shoal.datasets.stand_in import DEPENDENCE, MOST_ROWS, SKEW, stand_in
from shoal.engine.base import Counts, Engine, Table
from shoal.errors import ParameterError
from shoal.publish.plan import Plan
from shoal.publish.tables import settled_views

VERSION = 1
ROWS = 50_000
RUNS = 5
MOST_RUNS = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """What some runs gave: their mean with a 95 % interval (Student's t), and the least and the most of them."""

    mean: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float], floor: float = 0.0, ceiling: float = math.inf) -> Spread:
        """From one number for each run; `floor` and `ceiling` are what no number can pass.

        One run says nothing about the others, so its interval is everything; where all agree it is that one number.
        """
        from scipy.special import stdtrit

        mean, reach = float(np.mean(values)), math.inf
        if len(values) > 1:
            error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
            reach = error * float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
        least, most = float(min(values)), float(max(values))
        return cls(mean, max(floor, mean - reach), min(ceiling, mean + reach), least, most)


@dataclass(frozen=True)
class Chance:
    """How many of some runs did it: the share with its 95 % interval (Clopper and Pearson 1934)."""

    count: int
    runs: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, count: int, runs: int) -> Chance:
        """The exact interval of a probability that was met `count` times in `runs`."""
        from scipy.special import betaincinv

        tail = (1 - CONFIDENCE) / 2
        low = float(betaincinv(count, runs - count + 1, tail)) if count else 0.0
        high = float(betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
        return cls(count, runs, count / runs, low, high)


@dataclass(frozen=True)
class Detail:
    """One attribute: how much of it is left in the published rows; None when no run published any."""

    name: str
    detail: Spread | None
    """1 less the mean loss of the published labels: 1 is the value itself, 0 is one label for all."""
    total_variation: Spread | None
    """Between the labels of all rows and those of the published rows: what sampling and suppression distort."""
    public: bool
    """Whether its marginal was given, and not assumed."""


@dataclass(frozen=True)
class Expected:
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
    """Over the sampled rows: the mean detail of a published one, 0 for a suppressed one."""
    empty: Chance
    """How often nothing was published."""
    attributes: tuple[Detail, ...]


@dataclass(frozen=True)
class Rehearsal:
    """What a plan gave on stand-ins, for each size of the table that was asked about."""

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
    expected: tuple[Expected, ...]
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **asdict(self),
            "charged": False,
            "data_read": False,
            "intervals": {"mean": "Student t, 95 %", "empty": "Clopper-Pearson, 95 %", "over": "stand-ins"},
        }

    def words(self) -> list[str]:
        """What it means, and what it does not."""
        first = self.expected[0]
        public = [part.name for part in first.attributes if part.public]
        known = f" The shares of {', '.join(public)} are those you gave." if public else ""
        each = f" Every number is for one of the {self.releases} releases." if self.releases > 1 else ""
        each += f" Rows and groups are those of all {self.views} views together." if self.views else ""
        what = (
            "Each run draws a new stand-in from the policy's domains and hierarchies and puts it through the plan "
            f"(k = {self.k}, beta = {self.beta:.4g}). No row of yours was read, nothing was charged, and nothing here is "
            f"part of a release.{known}{each}"
        )
        terms = (
            "Each number is a mean over the runs, with the 95 % interval of that mean. Detail is 1 for the value itself and "
            "0 for one label that says nothing; granularity is the mean detail of a sampled row, a suppressed one counting 0."
        )
        limits = (
            "A stand-in is not the data. Its frequencies and dependences are assumed, so take the numbers for their size, "
            "and compare policies by them; a real table may lie outside all the runs, above them if its rows are more alike."
        )
        found = [what, terms, limits]
        gone = [one for one in self.expected if one.empty.count]
        if gone:
            rows = ", ".join(f"{one.rows:,}" for one in gone)
            found.append(
                f"Some runs published nothing (at {rows} rows). Coarser labels, fewer columns, or a plan that leans to "
                "detail (sampling: {prefer: detail}) let smaller groups appear."
            )
        return found


def rehearse(
    plan: Plan,
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
    """Run a plan on stand-ins of each size in `rows`, `runs` times; see `datasets.stand_in` for what they assume.

    The same seed gives the same worlds, at every size and for every plan over the same schema, so that plans can be
    compared. `tick` is called after each run.
    """
    sizes = [rows] if isinstance(rows, int) else list(rows)
    _refuse(sizes, runs, seed)
    known = resolved(plan.schema, marginals)
    if engine is None:
        from shoal.engine.open import engine as named

        engine = named()
    expected = []
    for size in sizes:
        results = []
        for number in range(runs):
            with Source.seeded(f"rehearsal {seed} {number}") as source:
                results.append(_run(plan, size, source, engine, marginals, skew, dependence))
            tick()
        names = [attribute.name for attribute in plan.policy.schema.published]
        shown = {name for view in plan.views for name in view.columns} if plan.views else set(names)
        names = [name for name in names if name in shown or plan.chooser is not None]
        expected.append(_expected(size, results, names, frozenset(known), max(1, len(plan.views))))
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
    )


def _refuse(sizes: list[int], runs: int, seed: int) -> None:
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
    """What one run gave; details and variations by attribute, empty when nothing was published."""

    taking_part: int
    sampled: float
    published: int
    groups: int
    granularity: float
    details: Mapping[str, float]
    variations: Mapping[str, float]

    @property
    def kept(self) -> float:
        return min(1.0, self.published / self.sampled) if self.sampled else 0.0


def _run(
    plan: Plan,
    rows: int,
    source: Source,
    engine: Engine,
    marginals: Marginals | None,
    skew: float,
    dependence: float,
) -> _Result:
    """One stand-in through the whole of the plan, with chance of its own."""
    method, schema = plan.method, plan.schema
    with source.stream("stand-in") as world:
        frame = stand_in(schema, rows, world, unit=method.unit, marginals=marginals, skew=skew, dependence=dependence)
    table = engine.scan(frame, schema)
    taking_part = _taking_part(plan, table)
    with source.stream("settle") as settling, source.stream("release") as drawing:
        if plan.views:
            people, views, recodings = settled_views(plan, table, settling)
            drawn = draw_all(people, [view.method for view in views], recodings, drawing)
            rates = [float(view.method.promise.beta) for view in views]
            shown = zip(recodings, drawn, rates, strict=True)
            return _together(
                [_result(table, own, shows, taking_part, taking_part * rate) for own, shows, rate in shown]
            )
        recoding = method.settle(table, settling)
        sampled = taking_part * (1.0 if method.drawn_before else float(plan.promise.beta))
        return _result(table, recoding, method.run(table, recoding, drawing), taking_part, sampled)


def _together(results: list[_Result]) -> _Result:
    """Views added up; an attribute's detail is the mean over the published rows of the views that show it."""

    def mean(of: Callable[[_Result], Mapping[str, float]]) -> dict[str, float]:
        names = {name for result in results for name in of(result)}
        held = {name: [(of(r)[name], r.published) for r in results if name in of(r)] for name in names}
        return {name: sum(v * n for v, n in own) / sum(n for _, n in own) for name, own in held.items()}

    sampled = sum(result.sampled for result in results)
    return _Result(
        results[0].taking_part,
        sampled,
        sum(result.published for result in results),
        sum(result.groups for result in results),
        sum(result.granularity * result.sampled for result in results) / sampled if sampled else 0.0,
        mean(lambda result: result.details),
        mean(lambda result: result.variations),
    )


def _result(table: Table, recoding: Recoding, published: Table, taking_part: int, sampled: float) -> _Result:
    """What one published table kept of the table it came from."""
    groups = published.count_by(published.columns)
    if not len(groups):
        return _Result(taking_part, sampled, 0, 0, 0.0, {}, {})
    details = {name: 1 - _loss(recoding, groups, at) for at, name in enumerate(groups.columns)}
    before = recoding.apply(table)
    variations = {name: _variation(before.count_by([name]), groups, at) for at, name in enumerate(groups.columns)}
    kept = min(1.0, groups.rows / sampled)
    granularity = kept * float(np.mean(list(details.values())))
    return _Result(taking_part, sampled, groups.rows, len(groups), granularity, details, variations)


def _taking_part(plan: Plan, table: Table) -> int:
    unit = plan.method.unit
    if unit.whose != "person" or unit.column is None:
        return table.rows()
    return int(np.minimum(table.count_by([unit.column]).counts, unit.max_rows).sum())


def _loss(recoding: Recoding, groups: Counts, at: int) -> float:
    """The mean loss of a column over the published rows; a value that is missing stands for itself."""
    losses = recoding.losses(groups.columns[at])

    def loss(label: str) -> float:
        if not isinstance(losses, Mapping):
            return 0.0 if label == MISSING else losses
        return losses.get(label, 0.0) if label == MISSING else losses[label]

    return sum(share * loss(label) for label, share in _shares(groups, at).items())


def _shares(counts: Counts, at: int) -> dict[str, float]:
    """The share of each label of a column."""
    values, codes = counts.values[at], counts.codes[at]
    # ABSENT is -1, so a missing value is counted in front.
    held: npt.NDArray[np.float64] = np.bincount(codes + 1, counts.counts, len(values) + 1) / counts.rows
    found = {spelled(values[code]): float(held[code + 1]) for code in np.flatnonzero(held[1:]).tolist()}
    if held[0]:
        found[MISSING] = found.get(MISSING, 0.0) + float(held[0])
    return found


def _variation(before: Counts, after: Counts, at: int) -> float:
    one, other = _shares(before, 0), _shares(after, at)
    return sum(abs(one.get(label, 0.0) - other.get(label, 0.0)) for label in {*one, *other}) / 2


# --- all runs -----------------------------------------------------------------------------------------------------


def _expected(rows: int, results: list[_Result], names: Sequence[str], public: frozenset[str], views: int) -> Expected:
    full = [result for result in results if result.published]

    def spread(of: Callable[[_Result], float], ceiling: float = rows * views) -> Spread:
        return Spread.of([of(result) for result in results], ceiling=ceiling)

    def part(name: str) -> Detail:
        own = [result for result in full if name in result.details]
        if not own:
            return Detail(name, None, None, name in public)
        detail = Spread.of([result.details[name] for result in own], ceiling=1.0)
        variation = Spread.of([result.variations[name] for result in own], ceiling=1.0)
        return Detail(name, detail, variation, name in public)

    return Expected(
        rows=rows,
        taking_part=spread(lambda result: result.taking_part),
        sampled=spread(lambda result: result.sampled),
        published=spread(lambda result: result.published),
        kept=spread(lambda result: result.kept, 1.0),
        groups=spread(lambda result: result.groups),
        granularity=spread(lambda result: result.granularity, 1.0),
        empty=Chance.of(len(results) - len(full), len(results)),
        attributes=tuple(part(name) for name in names),
    )
