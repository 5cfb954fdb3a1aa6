"""What the ways of publishing would give under one promise, compared on tables simulated from the policy.

No row of anybody is read and nothing is charged. Each way goes through its own plan, run and folder, and is read back as a
recipient reads it; what is compared is how far the tables of pairs of columns are from those of the simulated table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.treatment.steps import treat
from shoal.assess.release.labels import Label, atom_axis, meaning, resolve_masks
from shoal.assess.release.load import LoadedRelease, load
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.domain import list_values
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import STANDARD, Attribute
from shoal.data.type import spell
from shoal.datasets.marginals import Marginals, check_marginals
from shoal.datasets.simulate import DEPENDENCE, SKEW, simulate
from shoal.engine.base import Engine, Table, open_engine
from shoal.errors import InfeasibleError, PolicyError, UsageError
from shoal.files.work_folder import temporary_folder
from shoal.guarantee.rounding import exact_text
from shoal.ledger.ledger import Ledger
from shoal.policy.model.method import method_of
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.plan.views import narrow_schema
from shoal.publish.rehearse import STREAM, Spread, check_options

Floats = npt.NDArray[np.float64]

ROWS = 20_000
RUNS = 2
WAYS = 5
"""How many ways there are."""
PARTS = 8
"""Into so many parts at most the domain of a column is divided for the comparison; a missing value is one more."""
COUNTS: Mapping[str, Any] = {"every": "pairs"}
"""Which noisy tables are compared: those that are meant where a policy names no method."""
MOST_PAIRS = 45
"""Pairs of columns that are compared; of more, those of the first columns in the order of the policy, each about as often."""


@dataclass(frozen=True)
class Way:
    """One way of publishing: its name, what a recipient gets, and the keys of `release` that ask for it."""

    name: str
    title: str
    keys: Mapping[str, Any]
    real: bool
    """Whether what is published are rows of people in the table."""


@dataclass(frozen=True)
class WayOutcome:
    """What one way gave on the simulated tables; `why_not` says why it gave nothing."""

    name: str
    title: str
    real: bool
    pairs: Spread | None = None
    """The mean total variation of the pairs of columns, as a recipient would estimate them."""
    singles: Spread | None = None
    """The same for the columns by themselves."""
    rows: Spread | None = None
    """Published rows: of people where `real`, synthetic ones or none otherwise."""
    why_not: str | None = None


@dataclass(frozen=True)
class WaysComparison:
    """The ways of publishing beside each other, for one policy and one promise."""

    dataset: str
    epsilon: str
    delta: str
    columns: int
    compared: int
    """How many pairs of columns were compared."""
    rows: int
    runs: int
    seed: int
    ways: tuple[WayOutcome, ...]
    treatments: int = 0
    """Steps that changed the simulated values before each way, as the policy says."""

    def __repr__(self) -> str:
        best = self.best()
        said = "no way gave anything" if best is None else f"nearest: {best.title}"
        return f"<Comparison of {len(self.ways)} ways to publish '{self.dataset}', {self.runs} runs: {said}>"

    def best(self, *, real: bool | None = None) -> WayOutcome | None:
        """The way whose pairs are nearest to the table's; with `real`, among those of real or of no real rows.

        A way that showed no row of anybody is not among those of real rows.
        """
        held = [way for way in self.ways if way.pairs is not None and real in (None, way.real)]
        if real:
            held = [way for way in held if way.rows is not None and way.rows.mean > 0]
        return min(held, key=lambda way: way.pairs.mean if way.pairs else 1.0, default=None)

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values, with the fields that `shoal plan --compare --json` prints."""
        return {**asdict(self), "charged": False, "data_read": False, "recommended": self.recommended()}

    def recommended(self) -> dict[str, str]:
        """For each use the way to publish."""
        found: dict[str, str] = {}
        made = next((way for way in self.ways if way.name == "synthetic" and way.pairs is not None), None)
        # a synthetic table adds nothing to the counts that it is drawn from
        plain = replace(self, ways=tuple(way for way in self.ways if way is not made))
        if (tables := plain.best() or made) is not None:
            found["tables, shares and their intervals"] = tables.title
        if made is not None:
            found["one file of full width, to try programs and models on"] = made.title
        if (people := self.best(real=True)) is not None:
            found["rows of people who are in the table"] = people.title
        return found

    def words(self) -> list[str]:
        """What the numbers mean and what they do not, in sentences."""
        what = (
            f"Each way was run on {self.runs} tables of {self.rows:,} rows, simulated from the policy's domains, for the same "
            f"promise (epsilon {self.epsilon}, delta {self.delta}). No row of yours was read, and nothing was charged. The "
            "distance is the total variation between a table and what a recipient estimates of it: 0 where they agree, 1 where "
            f"they have nothing in common; a column counts in at most {PARTS} parts, and {self.compared:,} pairs of columns were "
            "compared."
        )
        what += " Each table is treated first, as the policy says, and compared as treated." if self.treatments else ""
        uses = "; ".join(f"for {use}: {title}" for use, title in self.recommended().items())
        limits = (
            "A simulated table is not the data: its frequencies and dependences are assumed. Compare the ways by these numbers, "
            "and do not take them for those of your table."
        )
        said = f"Recommended {uses}." if uses else "No way gave anything at this promise."
        if uses and self.best(real=True) is None:
            said += " No way showed rows of people at this promise and with so many rows."
        return [what, said, limits]


def ways(policy: Policy, pairs: Sequence[tuple[str, str]]) -> tuple[Way, ...]:
    """The ways that are compared, each under the promise of the policy."""
    asked = policy.release
    if asked is None or asked.epsilon is None or asked.delta is None or not method_of(asked).pays:
        raise PolicyError(
            "the policy makes no differential promise, so there is nothing to compare",
            fix="give release.epsilon and release.delta",
        )
    if not asked.delta:
        raise PolicyError(
            "the policy promises a pure epsilon, and the ways that are compared need a delta above 0",
            came="delta: 0",
            fix="give release.delta for the comparison, such as 1e-6"
            + ", and leave out release.method: boxes have no delta" * (asked.grouping == "boxes"),
        )
    promise = {"epsilon": str(asked.epsilon), "delta": str(asked.delta), "output": "parquet"}
    levels = asked.recoding.levels if asked.recoding is not None else None
    fixed = {"recoding": {"levels": dict(levels)}} if levels else {}
    coarse = fixed or {"recoding": {"levels": {each.name: _coarse_level(each) for each in policy.schema.published}}}
    safe = {"method": "safe-k", **promise}
    named = [list(pair) for pair in pairs]
    return (
        Way(
            "levels",
            "one wide table, one level for each column",
            {**safe, **(fixed or {"recoding": "choose"})},
            real=True,
        ),
        Way("tree", "one wide table, a tree of boxes", {**safe, "recoding": "tree"}, real=True),
        Way("rows", "views of rows, pairs", {**safe, **coarse, "views": {"workload": named}}, real=True),
        Way("counts", "noisy counts of pairs", {**safe, **fixed, "views": {"show": "counts", **COUNTS}}, real=False),
        Way(
            "synthetic",
            "noisy counts of pairs and a synthetic table",
            {"method": "synthetic", **promise, **fixed, "views": dict(COUNTS)},
            real=False,
        ),
    )


def _coarse_level(attribute: Attribute) -> int:
    """The finest level with few labels: a view of rows at the values themselves would show next to nothing of a large domain."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return 0
    labels = [hierarchy.labels(index) for index in range(len(hierarchy))]
    few = [index for index, own in enumerate(labels) if own is not None and len(own) <= 2 * PARTS]
    return few[0] if few else len(hierarchy) - 1


def compare(
    policy: Policy,
    *,
    rows: int = ROWS,
    runs: int = RUNS,
    engine: Engine | None = None,
    marginals: Marginals | None = None,
    seed: int = 0,
    tick: Callable[[], None] = lambda: None,
) -> WaysComparison:
    """Run every way of publishing on `runs` simulated tables of `rows` rows; `tick` is called after each.

    Arguments  `policy`: with epsilon and delta; `marginals` as for a rehearsal; the same seed simulates the same tables
    Raises     PolicyError for a policy without a differential promise or with fewer than two published columns;
               ParameterError for numbers that are out of range
    """
    check_options([rows], runs, seed)
    schema, names = policy.schema, [attribute.name for attribute in policy.schema.published]
    check_marginals(schema, marginals)
    if len(names) < 2:
        raise PolicyError(
            "one published column has no pairs to compare", came=len(names), fix="plan it with `shoal plan`"
        )
    pairs = tuple(combinations(names, 2))[:MOST_PAIRS] if len(names) < 11 else _spread_pairs(names)
    grid = {name: Grid.of(schema[name]) for name in {name for pair in pairs for name in pair}}
    asked, engine = ways(policy, pairs), engine or open_engine()
    found: dict[str, list[tuple[float, float, float]]] = {way.name: [] for way in asked}
    refused: dict[str, str] = {}
    for number in range(runs):
        with Source.seeded(f"rehearsal {seed} {number}") as source:
            with source.stream(STREAM) as world:
                frame = simulate(
                    schema, rows, world, unit=policy.unit, marginals=marginals, skew=SKEW, dependence=DEPENDENCE
                )
            for way in asked:
                if way.name not in refused:
                    try:
                        found[way.name].append(_run(policy, way, frame, engine, grid, pairs, source.stream(way.name)))
                    except (InfeasibleError, PolicyError, UsageError) as error:
                        refused[way.name] = error.wrong
                tick()
    outcomes = tuple(_outcome(way, found[way.name], refused.get(way.name)) for way in asked)
    release = policy.release
    assert release is not None  # noqa: S101 - `ways` has asked
    delta = exact_text(Fraction(release.delta or 0))
    return WaysComparison(
        policy.dataset, spell(release.epsilon), delta, len(names), len(pairs), rows, runs, seed, outcomes,
        len(policy.model.treatments),
    )  # fmt: skip


def _spread_pairs(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs that go round the columns, neighbours first, so that each column occurs about as often."""
    count = len(names)
    every = (
        (names[i], names[(i + step) % count])
        for step in range(1, count // 2 + 1)
        for i in range(count if 2 * step < count else count // 2)
    )
    return tuple(pair for _, pair in zip(range(MOST_PAIRS), every, strict=False))


def _outcome(way: Way, results: Sequence[tuple[float, float, float]], why_not: str | None) -> WayOutcome:
    if why_not is not None or not results:
        return WayOutcome(way.name, way.title, way.real, why_not=why_not or "it gave nothing")
    pairs, singles, rows = (Spread.of([result[place] for result in results]) for place in range(3))
    return WayOutcome(way.name, way.title, way.real, pairs, singles, rows)


# --- one run ----------------------------------------------------------------------------------------------------------


def _run(
    policy: Policy,
    way: Way,
    frame: object,
    engine: Engine,
    grid: Mapping[str, Grid],
    pairs: Sequence[tuple[str, str]],
    source: Source,
) -> tuple[float, float, float]:
    """The distances of pairs and of single columns, and the rows that were published."""
    planned = resolve(policy.with_changes({"release": dict(way.keys), "budget": None}))
    with source.stream("treatments") as chance:
        table = treat(engine.scan(frame, planned.schema), planned.treatments, chance).table
    truth = _codes(table, grid)
    with temporary_folder("comparing ways to publish") as place, Ledger("sqlite://") as ledger:
        folder, job = place / "release", planned.job()
        folder.mkdir()
        job.prepare(table.rows(), ledger)
        job.charge(ledger, table, None)
        _, rows = job.write(table, folder, source, ledger, lambda _: None)
        loaded = load(folder)
        if way.name == "synthetic":
            names = tuple(attribute.name for attribute in policy.schema.published)
            written = replace(
                narrow_schema(policy.schema, names), file=STANDARD
            )  # the policy's form is that of the original
            made = engine.scan(folder / "synthetic.parquet", written)
            codes = _codes(made, grid)
            estimates: Iterator[tuple[tuple[str, str], Floats]] = ((pair, _joint(codes, grid, pair)) for pair in pairs)
            rows = made.rows()
        else:
            estimates = _estimates(loaded, grid, pairs)
        two, one = [], []
        for pair, estimate in estimates:
            own = _joint(truth, grid, pair)
            two.append(distance(own, estimate))
            one += [distance(own.sum(1), estimate.sum(1)), distance(own.sum(0), estimate.sum(0))]
    return float(np.mean(two)), float(np.mean(one)), float(rows)


def distance(one: Floats, other: Floats) -> float:
    """The total variation between two tables of counts; negative estimates count as none, and without any estimate it is 1.

    >>> distance(np.array([1.0, 1.0]), np.array([3.0, 1.0]))
    0.25
    """
    kept = np.maximum(other, 0)
    total = kept.sum()
    return float(np.abs(one / max(one.sum(), 1e-300) - kept / total).sum() / 2) if total > 0 else 1.0


def _estimates(
    loaded: LoadedRelease, grid: Mapping[str, Grid], pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Floats]]:
    """What a recipient estimates of each pair: from all tables made consistent, or from one wide table of rows."""
    if len(loaded.views) == 1 and not loaded.counts:
        view = loaded.views[0]
        codes, counts = view.tuples
        shares = {name: grid[name].share_labels(view.meanings[name].labels, loaded, name) for name in grid}
        for pair in pairs:
            first, second = (shares[name][codes[:, view.columns.index(name)]] for name in pair)
            yield pair, np.asarray((first * counts[:, None]).T @ second)
        return
    model, known = loaded.consistent(), {name: _known_labels(loaded, name) for name in grid}
    for pair in pairs:
        if loaded.counts and all(set(grid[name].cells.labels) <= set(known[name]) for name in pair):
            yield pair, loaded.consistent_counts().table(pair, [grid[name].labels_in(known[name]) for name in pair])
            continue
        found = model.marginal(*pair)
        first, second = (
            grid[name].share_labels([known[name][text] for text in texts], loaded, name)
            for name, texts in zip(found.attributes, found.labels, strict=True)
        )
        yield pair, np.asarray(first.T @ found.value @ second)


def _known_labels(loaded: LoadedRelease, name: str) -> dict[str, Label]:
    """What the labels of a column stand for, in any table and in the atoms of all tables together."""
    axis = loaded.axis(name)
    atoms = {
        text: Label(text, () if span is None else (span,), leaves, missing=number == axis.missing)
        for number, (text, span, leaves) in enumerate(zip(axis.names, axis.spans, axis.leaves, strict=True))
    }
    return atoms | {label.text: label for each in loaded.meanings(name) for label in each.labels}


def _codes(table: Table, grid: Mapping[str, Grid]) -> dict[str, npt.NDArray[np.int64]]:
    """For each column the part of every row."""
    recoded = table.recode({name: own.cells.level for name, own in grid.items()})
    found = recoded.collect(list(grid))
    return {name: own.parts_of(found[name]) for name, own in grid.items()}


def _joint(codes: Mapping[str, npt.NDArray[np.int64]], grid: Mapping[str, Grid], pair: tuple[str, str]) -> Floats:
    first, second = (len(grid[name]) for name in pair)
    flat = np.bincount(codes[pair[0]] * second + codes[pair[1]], minlength=first * second)
    return flat.reshape(first, second).astype(np.float64)


@dataclass(frozen=True)
class Grid:
    """A column in a few parts: runs of its declared cells, and a part for the missing value."""

    cells: AttributeCells
    part: npt.NDArray[np.int64]
    """The part of each cell."""
    labels: tuple[Label, ...]
    """What each part stands for."""

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, attribute: Attribute) -> Grid:
        """At most `PARTS` runs of equally many declared cells."""
        cells = cells_of(attribute)
        own = len(cells) - (cells.missing is not None)
        part = np.arange(own) * min(own, PARTS) // own
        if cells.missing is not None:
            part = np.append(part, part[-1] + 1)
        return cls(cells, part, _join(cells, part, _meanings(cells)))

    def labels_in(self, known: Mapping[str, Label]) -> tuple[Label, ...]:
        """The parts, put together from the labels of cells as a release has them."""
        return _join(self.cells, self.part, known)

    def parts_of(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The part of each label of a cell; a missing value has the last."""
        place = {label: int(self.part[number]) for number, label in enumerate(self.cells.labels)}
        hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(len(values), bool)
        texts = np.where(hidden, MISSING, np.asarray(np.ma.getdata(values), dtype=object))
        known, codes = np.unique(np.array([spell(each) for each in texts]), return_inverse=True)
        return np.array([place.get(str(each), len(self) - 1) for each in known], dtype=np.int64)[codes]

    def share_labels(self, labels: Sequence[Label], loaded: LoadedRelease, name: str) -> Floats:
        """How much of each label lies in each part, its records spread evenly over what it stands for."""
        axis = atom_axis(loaded.meanings(name), self.labels)
        held = axis.even_split(axis.membership(resolve_masks(axis, labels)))
        inside = axis.membership(resolve_masks(axis, self.labels)).astype(np.float64)
        return np.asarray(held @ (inside / np.maximum(inside.sum(0), 1)).T)


def _join(cells: AttributeCells, part: npt.NDArray[np.int64], meant: Mapping[str, Label]) -> tuple[Label, ...]:
    """The union of the cells of each part."""
    found = []
    for number in range(int(part[-1]) + 1):
        first, *rest = [meant[cells.labels[place]] for place in np.flatnonzero(part == number)]
        found.append(first.union(rest, f"part {number}"))
    return tuple(found)


def _meanings(cells: AttributeCells) -> dict[str, Label]:
    """What the label of each cell stands for."""
    from shoal.anonymize.generalize.base import level_rule

    attribute = cells.attribute
    hierarchy = attribute.hierarchy
    index = next((i for i, each in enumerate(hierarchy.levels) if each is cells.level), 0) if hierarchy else 0
    shown = [text for text in cells.labels if text != MISSING]
    values = None if attribute.domain is None else list_values(attribute.type, attribute.domain)
    found = meaning(level_rule(attribute, index, cells.level), shown, missing=cells.missing is not None, values=values)
    return {label.text: label for label in found.labels}
