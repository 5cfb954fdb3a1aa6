"""Membership inference against any release: was this person in the table?

Homer and others 2008 asked it of published frequencies, Shokri, Stronati, Song and Shmatikov 2017 of models; here it is asked of
whatever a policy publishes. In every run people are simulated from the policy, the policy's method publishes a table with the
target and a table without, and the intruder scores each release by how near it is to the target:

    nearest   the distance of the nearest published row
    density   how many published rows are near, each counted the less the farther it is
    and both beside the same of other people, who are simulated too: what is common is no evidence

The score and its threshold are chosen on a third of the runs, and success and control are counted on the others, so the intervals
hold. The target is the most isolated of some people, for whom releases are most dangerous. The claim (epsilon, delta) of a
method bounds the advantage of this and of every other attack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.treatment.steps import treat
from shoal.assess.frame.column import EVERY, GONE, PublishedColumn, PublishedLabel
from shoal.assess.release.load import load_any
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.schema import Attribute, Schema
from shoal.data.type import point, spell
from shoal.datasets.simulate import simulate
from shoal.engine.base import Engine, open_engine
from shoal.errors import InfeasibleError, ParameterError, PolicyError, UsageError
from shoal.files.work_folder import temporary_folder
from shoal.guarantee.claim import Status
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, choose_one, compare
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan
from shoal.publish.plan.methods import plan as resolve

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
CANDIDATES = 25
"""The target is the most isolated of so many people."""
WIDTH = 0.03
"""The distance at which a row counts 1/e in the density, where 1 is the whole width of every column."""
CALIBRATION = 3
"""One run in so many chooses the score and its threshold."""
_RANGE = re.compile(r"^\[(-?[0-9.]+), (-?[0-9.]+)[\])]$")
POLICIES = {
    "MDAV centroids, k = 3": "{method: microaggregation, k: 3}",
    "safe-k tree (ours)": "{method: safe-k, epsilon: 1, delta: 1e-6, recoding: tree}",
}
"""The releases that are attacked where no policy is given."""
_PEOPLE = """
version: 1
dataset: patients
unit: row
neighbours: add_remove
attributes:
  age: {{role: quasi, type: integer, domain: [0, 110], hierarchy: {{intervals: [5, 10, 20, 40]}}}}
  income: {{role: quasi, type: decimal, domain: [0, 200000], hierarchy: {{intervals: [10000, 20000, 40000]}}}}
  insurance: {{role: confidential, type: category, domain: [public, private, company, none], hierarchy: auto}}
release: {release}
"""


def infer_membership(setting: AttackSetting) -> AttackResult:
    """Attack what a policy publishes of simulated people; without a policy, two releases.

    Raises     PolicyError and InfeasibleError where the policy cannot be planned or published; ParameterError where no run is
               left to count on
    """
    if setting.runs < CALIBRATION:
        raise ParameterError(
            "runs of membership inference", came=setting.runs,
            allowed=f"{CALIBRATION} or more: some choose the test, and the others are counted",
        )  # fmt: skip
    if setting.policy is not None:
        policy = Policy.load(setting.policy)
        policies = {_method_name(policy): policy}
    else:
        policies = {name: Policy.parse(_PEOPLE.format(release=release)) for name, release in POLICIES.items()}
    outcomes, lines, engine = [], [], open_engine()
    for name, policy in policies.items():
        planned = resolve(policy.with_changes({"budget": None}) if policy.budget is not None else policy)
        scored = list(_scores(planned, setting, name, engine))
        calibration = max(2, setting.runs // CALIBRATION)
        choice = choose_threshold(scored[:calibration])
        success, control = ([choice.says_in(pair[side]) for pair in scored[calibration:]] for side in (0, 1))
        claim = bounding_claim(planned)
        outcomes.append(compare(name, success, control, of="runs that were not used to choose the test", claim=claim))
        lines.append(
            f"{name}: {sum(success)} of {len(success)} people who were in are said to be, and {sum(control)} of "
            f"{len(control)} who were not (test: {SCORES[choice.score]})"
        )
    return AttackResult(
        "membership",
        "Membership inference: was this person in the table?",
        "Homer and others 2008; Shokri, Stronati, Song and Shmatikov 2017",
        "The intruder knows everything about a person and scores the release by how near it is to them; from a threshold "
        f"on, the person is said to be in. The person is the most isolated of {CANDIDATES}. Success: the person is in, and "
        "is said to be (true positives).",
        "Control: the release of the same table without the person, who is said to be in (false positives). Score and "
        f"threshold are chosen on one run in {CALIBRATION}, and the rates are those of the others; every run simulates new "
        "people.",
        tuple(outcomes),
        _why(outcomes),
        setting,
        tuple(lines),
    )


def bounding_claim(planned: Plan) -> DifferentialPrivacy | None:
    """The differential promise that bounds this attack; None where there is none, or where it holds for a population alone.

    A table that is itself a sample hides who of its population was drawn, and nobody of whom it is known.
    """
    first = planned.claims[0]
    if not isinstance(first.guarantee, DifferentialPrivacy) or first.status is Status.CONDITION:
        return None
    return first.guarantee if first.guarantee.own is not None else None


def _why(outcomes: Sequence[Any]) -> tuple[str, ...]:
    found = [
        (
            "Success minus control is the advantage of the attack. Where it is above zero, what is published is nearer to "
            "an unusual person when they are in it: a centroid, a class or a row moved towards them."
        ),
    ]
    bounds = [f"{one.method}: {one.largest_advantage:.3g}" for one in outcomes if one.largest_advantage is not None]
    if bounds:
        found.append(
            "An (epsilon, delta) claim bounds the advantage of every attack by (e^epsilon - 1 + 2 delta)/(e^epsilon + 1): "
            f"{'; '.join(bounds)}. An advantage far below it is what one attack reached, and not what the best one would."
        )
    if len(bounds) < len(outcomes):
        found.append("A method without a differential claim bounds nothing: a better attack may find everybody.")
    return tuple(found)


def _method_name(policy: Policy) -> str:
    asked = policy.release
    if asked is None or asked.method is None:
        raise PolicyError("the policy asks for no release", fix="add a `release:` block")
    return f"{asked.method} of '{policy.dataset}'"


# --- the runs ----------------------------------------------------------------------------------------------------------


def _scores(planned: Plan, setting: AttackSetting, name: str, engine: Engine) -> Iterator[tuple[Floats, Floats]]:
    """For each run the scores of a release with the target and of one without."""
    for run in range(setting.runs):
        with setting.source(f"membership {name} {run}") as source:
            world = _World.simulate(planned, setting.rows, source)
            score = score_against(world.target, world.others, planned.schema)
            pair = []
            for frame in (world.inside, world.outside):
                with temporary_folder("attacking a release") as place:
                    publish(planned, frame, place / "release", source, engine)
                    pair.append(score(list(read_rows(place / "release", planned.schema))))
        yield pair[0], pair[1]


@dataclass(frozen=True)
class _World:
    """Simulated people: a table with the target, one without, the target's row, and other people that are like them."""

    inside: pa.Table
    outside: pa.Table
    target: dict[str, Any]
    others: pa.Table

    @classmethod
    def simulate(cls, planned: Plan, people: int, source: Source) -> _World:
        import pyarrow as pa

        unit, schema = planned.unit, planned.schema
        declared = getattr(getattr(planned, "setting", None), "rows", None)  # a public number of people
        count = declared if isinstance(declared, int) else people
        many = (2 * count + 1) * (1 if unit.column is None else 3)
        with source.stream("people") as chance:
            frame = simulate(schema, many, chance, unit=unit)
        who = np.arange(many) if unit.column is None else _numbers(frame.column(unit.column))
        own, others = frame.filter(pa.array(who < count)), frame.filter(pa.array(who >= count))
        whose = who[who < count]
        with source.stream("target") as chance:
            target = _most_isolated(own, schema, chance)
        same = whose == whose[target]
        left = own.filter(pa.array(~same))
        if unit.neighbours == "replace_one":
            left = pa.concat_tables([left, others.filter(pa.array(who[who >= count] == count))])
            others = others.filter(pa.array(who[who >= count] > count))
        return cls(own, left, own.slice(target, 1).to_pylist()[0], others)


def _numbers(column: Any) -> npt.NDArray[np.int64]:
    """A number for each different name, in the order in which they come."""
    return np.asarray(column.combine_chunks().dictionary_encode().indices.to_numpy(), dtype=np.int64)


def _most_isolated(frame: pa.Table, schema: Schema, source: Source) -> int:
    rows = PublishedRows.of_values(frame, schema)
    candidates = [choose_one(source, frame.num_rows) for _ in range(CANDIDATES)]

    def alone(row: int) -> float:
        far = rows.distances(frame.slice(row, 1).to_pylist()[0])
        return float(np.partition(far, 1)[1])  # the first is the person's own

    return max(candidates, key=alone)


def publish(planned: Plan, frame: pa.Table, folder: Path, source: Source, engine: Engine) -> None:
    """Publish a simulated table by the whole of a plan's run: its treatments, its charge to a ledger of its own, its files."""
    with source.stream("treatments") as chance:
        table = treat(engine.scan(frame, planned.schema), planned.treatments, chance).table
    folder.mkdir()
    with Ledger("sqlite://") as ledger:
        job = planned.job()
        job.check_table(table)
        job.prepare(table.rows(), ledger)
        job.charge(ledger, table, None)
        job.write(table, folder, source, ledger, lambda _: None)


# --- what a release shows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedRows:
    """Published rows, or cells with counts, as an intruder compares them with a person: what each cell may stand for."""

    columns: tuple[Attribute, ...]
    cells: tuple[tuple[_Meanings, npt.NDArray[np.int64]], ...]
    """For each column the different meanings, and which of them each row has."""
    weights: Floats

    @classmethod
    def of_values(cls, frame: pa.Table, schema: Schema) -> PublishedRows:
        """The rows of a table as they are."""
        return cls.of(frame, schema, lambda _: {}, None)

    @classmethod
    def of(
        cls, frame: pa.Table, schema: Schema, labels: Callable[[str], dict[str, PublishedLabel]], count: str | None
    ) -> PublishedRows:
        """The rows of a published table; `labels` says what the labels of a column stand for, `count` how many rows each is."""
        known = [schema[name] for name in frame.column_names if name in schema.names and schema[name].published]
        cells = []
        for attribute in known:
            encoded = frame.column(attribute.name).combine_chunks()
            encoded = encoded if hasattr(encoded, "indices") else encoded.dictionary_encode()
            different, own = encoded.dictionary.to_pylist(), labels(attribute.name)
            meanings = _Meanings([_meaning(attribute, value, own) for value in [*different, None]])
            codes = np.nan_to_num(encoded.indices.to_numpy(zero_copy_only=False), nan=len(different)).astype(np.int64)
            cells.append((meanings, codes))
        weights = np.ones(frame.num_rows) if count is None else frame.column(count).to_numpy().astype(np.float64)
        return cls(tuple(known), tuple(cells), weights)

    def distances(self, person: dict[str, Any]) -> Floats:
        """How far each row is from a person: the mean over its columns, 0 for equal values and 1 for the whole domain."""
        found = np.zeros(len(self.weights))
        for attribute, (meanings, codes) in zip(self.columns, self.cells, strict=True):
            found += meanings.distances(_meaning(attribute, person.get(attribute.name), {}))[codes]
        return found / max(1, len(self.columns))


@dataclass(frozen=True)
class _Meaning:
    """What a cell may stand for: a stretch of a line from 0 to 1, or some of the values of a column."""

    low: float = 0.0
    high: float = 1.0
    values: frozenset[str] | None = None
    of: int = 1
    """How many values the column has."""
    missing: bool = False


class _Meanings:
    """The different meanings of a column's cells, and how far each is from a person's own value."""

    def __init__(self, each: Sequence[_Meaning]) -> None:
        self.each = each
        self.low, self.high = (np.array([getattr(one, end) for one in each]) for end in ("low", "high"))
        self.missing = np.array([one.missing for one in each])

    def distances(self, person: _Meaning) -> Floats:
        """The expected distance of each from the person's value, which is one point or one value; 1 where one is missing."""
        if person.missing:
            return np.where(self.missing, 0.0, 1.0)
        if person.values is not None:
            return np.array([1.0 if one.missing else 1.0 - _share(one, person.values) for one in self.each])
        gap = np.maximum(0.0, np.maximum(self.low - person.low, person.low - self.high))
        return np.where(self.missing, 1.0, np.minimum(1.0, gap + (self.high - self.low) / 4))


def _share(cell: _Meaning, values: frozenset[str]) -> float:
    """The part of what a cell may stand for that is the person's value."""
    return 1 / cell.of if cell.values is None else len(cell.values & values) / max(1, len(cell.values))


def _meaning(attribute: Attribute, value: Any, labels: dict[str, PublishedLabel]) -> _Meaning:
    if value is None:
        return _Meaning(missing=True)
    text = spell(value)
    domain = attribute.domain
    many = len(domain.values) if isinstance(domain, Values) else 1
    label = labels.get(text)
    if text == MISSING or (label is not None and label.kind == GONE):
        return _Meaning(missing=True)
    if (label is not None and label.kind == EVERY) or text == SUPPRESSED:
        return _Meaning(of=max(many, 2))
    if attribute.type.numeric:
        return _stretch(attribute, value, label)
    held = frozenset(label.values) if label is not None and label.values else frozenset({text})
    return _Meaning(values=held, of=many)


def _stretch(attribute: Attribute, value: Any, label: PublishedLabel | None) -> _Meaning:
    low, width = _line(attribute)
    if label is not None and label.spans:
        lows = [end for end, _ in label.spans if end is not None]
        highs = [end for _, end in label.spans if end is not None]
        ends = (float(min(lows)) if lows else low, float(max(highs)) if highs else low + width)
    elif isinstance(value, str) and (found := _RANGE.match(value)) is not None:
        ends = (float(found[1]), float(found[2]))
    elif isinstance(value, int | float):  # also a centroid of whole numbers, which is none
        ends = (float(value),) * 2
    else:
        try:
            ends = (float(point(attribute.type, value)),) * 2
        except PolicyError:  # a label that no rule describes says nothing
            ends = (low, low + width)
    return _Meaning(min(1.0, max(0.0, (ends[0] - low) / width)), min(1.0, max(0.0, (ends[1] - low) / width)))


def _line(attribute: Attribute) -> tuple[float, float]:
    """The lower end of the declared domain, and its width."""
    if not isinstance(attribute.domain, Interval):
        return 0.0, 1.0
    low, high = (float(point(attribute.type, end)) for end in (attribute.domain.low, attribute.domain.high))
    return low, max(high - low, 1e-9)


def read_rows(folder: Path, schema: Schema) -> Iterator[PublishedRows]:
    """Every table of a release, as a recipient reads it."""
    try:
        release = load_any(folder)
    except UsageError:  # centroids and permuted values: one table that is read as it is
        yield PublishedRows.of_values(_read_table(folder), schema)
        return
    tables: Any = getattr(release, "tables", None) or (getattr(release, "records"),)  # noqa: B009
    for table in tables:
        frame = table.to_arrow()
        counts = [name for name in frame.column_names if name not in schema.names]
        count = next((name for name in counts if name == getattr(table, "count", "count")), None)

        def labels(name: str, table: Any = table) -> dict[str, PublishedLabel]:
            described: PublishedColumn = table.describe(name)
            return {label.text: label for label in described.labels}

        yield PublishedRows.of(frame, schema, labels, count)


def _read_table(folder: Path) -> pa.Table:
    from pyarrow import csv, parquet

    file = next((path for path in sorted(folder.iterdir()) if path.stem == "table"), None)
    if file is None:
        raise InfeasibleError("the release has no table of rows, so there is nothing to compare a person with")
    return parquet.read_table(file) if file.suffix == ".parquet" else csv.read_csv(file)


# --- the test ----------------------------------------------------------------------------------------------------------

SCORES = ("nearest row", "nearest row beside others", "density", "density beside others")
Score = Callable[[Sequence[PublishedRows]], Floats]


def score_against(target: dict[str, Any], others: pa.Table, schema: Schema) -> Score:
    """The four scores of a release for one person, larger where the person seems to be in it; `others` are people like them."""
    far = PublishedRows.of_values(others, schema).distances(target)
    usual, crowd = float(far.min(initial=1.0)), float(np.exp(-far / WIDTH).mean()) if len(far) else 0.0

    def score(tables: Sequence[PublishedRows]) -> Floats:
        nearest, density = [], []
        for table in tables:
            own = table.distances(target)
            shown = own[table.weights > 0]
            nearest.append(-float(shown.min(initial=1.0)))
            density.append(float((table.weights * np.exp(-own / WIDTH)).sum()))
        near, dense = float(np.mean(nearest)), float(np.mean(density))
        return np.array([near, near + usual, dense, dense - crowd * len(far)])

    return score


@dataclass(frozen=True)
class ThresholdTest:
    """A person is said to be in where one of the scores reaches a threshold."""

    score: int
    threshold: float

    def says_in(self, scores: Floats) -> bool:
        """What is said of a person whose release has these scores."""
        return bool(scores[self.score] >= self.threshold)


def choose_threshold(pairs: Sequence[tuple[Floats, Floats]]) -> ThresholdTest:
    """The score and threshold with the largest advantage on these runs; the largest threshold of several.

    >>> choose_threshold([(np.array([3.0, 0.0]), np.array([1.0, 0.0])), (np.array([2.0, 0.0]), np.array([1.5, 0.0]))])
    ThresholdTest(score=0, threshold=2.0)
    """
    best, chosen = -np.inf, ThresholdTest(0, np.inf)
    inside, outside = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    for score in range(inside.shape[1]):
        for threshold in sorted({*inside[:, score].tolist(), *outside[:, score].tolist()}, reverse=True):
            gain = float((inside[:, score] >= threshold).mean() - (outside[:, score] >= threshold).mean())
            if gain > best + 1e-12:
                best, chosen = gain, ThresholdTest(score, float(threshold))
    return chosen
