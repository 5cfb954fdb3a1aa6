"""Methods side by side on one real table: what each claims, what intruders achieve, what is left for analysts, what it takes.

A fifth of the units, drawn at random, takes no part: it is the control group of attacks and the test set of models. Every policy
is planned and run by its own job on the other rows, into a temporary folder and against a temporary ledger, and is judged from
that folder as a recipient reads it. Nothing is published, nothing is charged and no release survives.

It is a look at the real table all the same, one for each plan, and goes on record as such: whoever chooses a plan by what is
shown here chooses it by the data, and a later certificate says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from shoal.anonymize.treatment.steps import treat
from shoal.assess.assessment import Assessment, assess_tables, steps_of
from shoal.assess.comparison.release_tables import OriginalTable, masked_table, released_table
from shoal.assess.comparison.table import ComparableTable
from shoal.assess.quantity import Quantity
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Engine, Table, open_engine
from shoal.errors import DataError, ParameterError, ShoalError, UsageError
from shoal.files.work_folder import temporary_folder
from shoal.guarantee.claim import Claim
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import text_up
from shoal.ledger.ledger import Ledger, is_ledger_missing, is_ledger_named, open_ledger, record_look
from shoal.ledger.look import LookCount
from shoal.policy.policy import Policy
from shoal.progress import Stage, silent, within
from shoal.publish.assess import lenient_schema, read_masked
from shoal.publish.comparison.yardstick import KINDS, Yardsticks, YardstickTarget, yardstick_targets
from shoal.publish.plan.base import Plan
from shoal.publish.plan.methods import plan as resolve

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
HOLDOUT = 0.2
"""The share of units that takes no part."""
FEWEST = 10
"""Units that a table needs to be parted."""
READING = 2
"""How often `tick` is called before the first method."""
TUNED = (
    "Several plans were tried on the real table. Whoever chooses one of them by these numbers chooses it by the data, and what "
    "that choice gives away is not covered by any promise. Where these looks are on record, the certificate of a later release "
    "with a differential promise says that its plan may be tuned on the data."
)
LIMITS = (
    "Risks and utility were measured on these tables, against the intruders and models that were tried. They promise nothing; "
    "what is promised stands under claim. A release of the whole table will differ from these trials on a part of it."
)
UNSEEDED = "its noise comes from the operating system whatever the seed, so it differs each time"
UNCLAIMED = "none that Shoal knows of"
"""What stands under claim for a table that another tool made."""


@dataclass(frozen=True)
class MethodMeasure:
    """One number by which methods are compared: its name in JSON, its title, whether it is a risk, and what it means."""

    name: str
    title: str
    risk: bool
    means: str
    large_is_good: bool = False


MEASURES = (
    MethodMeasure(
        "prosecutor.largest", "largest prosecutor risk", True,
        "the largest probability of finding the row of a person who is known to be in the table",
    ),
    MethodMeasure("prosecutor.mean", "mean prosecutor risk", True, "the same on average over the published rows"),
    MethodMeasure(
        "inference", "inference, excess", True,
        "guesses of a confidential value from the nearest published rows that are right, beyond those about the control group; "
        "of several confidential attributes the largest",
    ),
    MethodMeasure(
        "singling out", "singling out, excess", True,
        "conditions made from published rows that exactly one original meets, beyond those that were made at random",
    ),
    MethodMeasure(
        "linkability", "linkability, excess", True,
        "halves of what is known of a person that lead to the same published row, beyond those of the control group",
    ),
    MethodMeasure("columns", "distance of columns", False, "mean total variation of single columns, from 0 to 1"),
    MethodMeasure("pairs", "distance of pairs", False, "mean total variation of pairs of columns, from 0 to 1"),
    MethodMeasure("triples", "distance of triples", False, "mean total variation of triples of columns, from 0 to 1"),
    MethodMeasure(
        "queries", "error of queries", False, "mean absolute error of random range queries, as a share of all records"
    ),
    MethodMeasure(
        "area", "area under the curve", False,
        "of the best of three models that predict the first target, trained on the release and tested on the control group; 0.5 "
        "is guessing", large_is_good=True,
    ),
    MethodMeasure(
        "pmse", "pMSE", False, "how well a model tells published rows from originals: 0 not at all, 0.25 always"
    ),
)  # fmt: skip
"""What is compared, risks first."""
WIDTHS = {1: "columns", 2: "pairs", 3: "triples"}


@dataclass(frozen=True)
class MethodOutcome:
    """What one method gave on the part of the table that it was run on; `why_not` says why it gave nothing."""

    name: str
    method: str
    """What the policy calls it; for a table of another tool, what that table is."""
    claim: str
    """What it would promise, in few words."""
    status: str
    """How a certificate would state it after this comparison."""
    rows: int | None = None
    """Rows that were published, in all tables together, or that the table of another tool has."""
    measured_on: str = ""
    """What was measured, in words: the published rows, or rows drawn from a model of published tables."""
    cpu: float | None = None
    """CPU seconds for reading, treating, running and writing; not for planning, preparing and measuring."""
    assessment: Assessment | None = None
    why_not: str | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def measures(self) -> dict[str, Quantity]:
        """The numbers that methods are compared by, those that were measured."""
        found: dict[str, Quantity] = {}
        if self.assessment is None:
            return found
        one, utility = self.assessment, self.assessment.utility
        if one.after is not None:
            found["prosecutor.largest"] = one.after.prosecutor.largest
            found["prosecutor.mean"] = one.after.prosecutor.mean
        for attack in one.attacks:
            name = "inference" if attack.attack.startswith("inference of") else attack.attack
            if name not in found or found[name].value < attack.risk.value:
                found[name] = attack.risk
        found |= {WIDTHS[each.width]: each.mean for each in utility.marginals}
        found["queries"] = utility.queries.absolute
        if utility.learning:
            found["area"] = max((each.released for each in utility.learning[0].models), key=lambda area: area.value)
        if utility.distinction is not None:
            found["pmse"] = utility.distinction.pmse
        return found

    @property
    def area_of_originals(self) -> Quantity | None:
        """The area under the curve of the best model that was trained on originals; None where none was."""
        learned = () if self.assessment is None else self.assessment.utility.learning
        return max((each.original for each in learned[0].models), key=lambda area: area.value) if learned else None

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain values for JSON."""
        area = self.area_of_originals
        return {
            "name": self.name,
            "method": self.method,
            "claim": self.claim,
            "status": self.status,
            "rows": self.rows,
            "measured_on": self.measured_on,
            "cpu_seconds": self.cpu,
            "why_not": self.why_not,
            "measures": {name: one.to_json() for name, one in self.measures.items()},
            "area_of_originals": None if area is None else area.to_json(),
            "assessment": None if self.assessment is None else self.assessment.to_json(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class MethodsComparison:
    """Methods beside each other on one real table. All of it was computed from the original: it is for the custodian alone."""

    dataset: str
    rows: tuple[int, int, int]
    """Of the table, of the part that methods were run on, and of the control group."""
    columns: tuple[str, ...]
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    target: str | None
    """What models predict."""
    full: bool
    """Whether attacks were tried and models trained."""
    seed: int | None
    methods: tuple[MethodOutcome, ...]
    plans: int
    """Different plans that were tried on the real table."""
    ledger: str | None
    """Where these looks are on record; None where there is no ledger."""
    original_risk: tuple[Quantity, Quantity] | None = None
    """The largest and the mean prosecutor risk of the original; None without quasi-identifiers."""

    def __repr__(self) -> str:
        ran = [one for one in self.methods if one.why_not is None]
        return f"<Comparison of {len(self.methods)} methods on '{self.dataset}': {len(ran)} ran>"

    @property
    def ran(self) -> tuple[MethodOutcome, ...]:
        """The methods that gave something."""
        return tuple(one for one in self.methods if one.why_not is None)

    @property
    def tuned(self) -> bool:
        """Whether a plan that is chosen now counts as tuned on the data."""
        return self.plans > 1

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values, with a version."""
        table, part, control = self.rows
        return {
            "version": VERSION,
            "dataset": self.dataset,
            "rows": {"table": table, "part": part, "control": control},
            "columns": list(self.columns),
            "quasi": list(self.quasi),
            "confidential": list(self.confidential),
            "target": self.target,
            "full": self.full,
            "seed": self.seed,
            "charged": False,
            "plans_tried": self.plans,
            "tuned": self.tuned,
            "ledger": self.ledger,
            "original_risk": None
            if self.original_risk is None
            else {name: one.to_json() for name, one in zip(("largest", "mean"), self.original_risk, strict=True)},
            "measures": {
                one.name: {"risk": one.risk, "means": one.means, "large_is_good": one.large_is_good} for one in MEASURES
            },
            "methods": [one.to_json() for one in self.methods],
        }

    def words(self) -> list[str]:
        """What was done, what it means, and what it does not, in sentences."""
        table, part, control = self.rows
        first = (
            f"{len(self.ran)} of {len(self.methods)} methods were run on {part:,} of {table:,} rows of '{self.dataset}'; the "
            f"other {control:,}, drawn at random, took no part and are the control group. Nothing was published and nothing "
            "charged."
        )
        said = [first, *([TUNED] if self.tuned else [])]
        said += [f"{one.name}: {one.why_not}." for one in self.methods if one.why_not is not None]
        return [*said, LIMITS]

    def page(self) -> str:
        """One page of HTML without scripts: the table of methods, risk against utility, and a small chart for each measure."""
        from shoal.publish.comparison.page import comparison_page

        return comparison_page(self)


def name_policies(policies: Sequence[Policy]) -> dict[str, Policy]:
    """Policies by the names of their files; where two are alike, by their folders too, and by a number at last."""
    files = [Path(one.file) for one in policies]
    names = [file.stem for file in files]
    if len(set(names)) < len(names):
        names = [file.with_suffix("").as_posix() for file in files]
    found: dict[str, Policy] = {}
    for name, policy in zip(names, policies, strict=True):
        number = next(i for i in range(1, len(names) + 1) if (name if i == 1 else f"{name} ({i})") not in found)
        found[name if number == 1 else f"{name} ({number})"] = policy
    return found


def steps(methods: int, targets: Sequence[str], *, full: bool) -> int:
    """How often `compare_methods` calls `tick`."""
    return READING + methods * (1 + steps_of(targets, full=full))


def targets_of(policy: Policy, targets: Sequence[str] = ()) -> list[str]:
    """The columns that models predict: those that are named, else the first confidential attribute."""
    names = [each.name for each in policy.schema.published]
    for name in targets:
        if name not in names:
            raise UsageError("the target is no published attribute", came=name, allowed=", ".join(names[:12]))
    return list(targets) or [each.name for each in policy.schema.confidential if each.name in names][:1]


def compare_methods(
    policies: Mapping[str, Policy],
    data: object,
    *,
    masked: Mapping[str, object] | None = None,
    synthetic: Mapping[str, object] | None = None,
    yardsticks: Yardsticks | None = None,
    holdout: float = HOLDOUT,
    seed: int | None = None,
    targets: Sequence[str] = (),
    full: bool = True,
    ledger: str | None = None,
    part: Path | None = None,
    engine: str | Engine = "duckdb",
    tick: Callable[[], None] = lambda: None,
    stage: Stage = silent,
) -> MethodsComparison:
    """Run every policy on the same part of a table, and measure what each gives.

    Arguments  `policies`: by the name that each has in the comparison; they publish the same attributes, and the first says which
               are quasi-identifiers and confidential; `data`: the real table; `masked`, `synthetic`: tables of other tools by
               name, made from the very part that `seed` draws and `part` writes, of masked people or of nobody; `yardsticks`:
               synthesizers of OpenDP that are run at the promises of the policies; `holdout`: the share of units that takes no
               part; `seed`: of the part and of all draws, None for the operating system's; `targets`: columns that models
               predict; `full`: with attacks and models; `ledger`: where the looks go on record;
               `tick`: is called after each step, and `stage` with what begins
    Raises     UsageError for policies that cannot be compared, or a table of another tool without a seed; ParameterError for a
               share that is none; DataError for a table that cannot be read or is too small
    """
    others = {**(masked or {}), **(synthetic or {})}
    first = _check_asked(policies, masked or {}, synthetic or {}, holdout, seed)
    plans = {name: _planned(policy) for name, policy in policies.items()}
    measured = name_yardsticks(yardsticks, [found for found in plans.values() if isinstance(found, Plan)])
    predicted = targets_of(first, targets)
    if is_ledger_named(ledger) or not is_ledger_missing(ledger):
        open_ledger(ledger).close()  # one that cannot be written is refused before the work, not after it
    opened = open_engine(engine)
    names = [each.name for each in first.schema.published]
    unit = _unit_column(policies)
    schema = lenient_schema(first.schema, names, () if unit is None or unit in names else (unit,))
    whole = opened.scan(data, schema)
    tick()
    stage("drawing the part")
    with Source.secure() if seed is None else Source.seeded(f"comparison of methods {seed}") as source:
        with source.stream("parts") as chance:
            taking, held = _parts(whole, unit, holdout, chance)
        kept = whole.keep(taking)
        original = OriginalTable.of(kept, names)
        control = original.like(whole.keep(held))
        if part is not None:
            kept.select(names).write(part, sort=False)
        tick()
        trial = _Trial(opened, data, taking, unit, original, control, first.schema, predicted, full, tick, stage)
        locks = {name: found.confirmed_lock.sha256 for name, found in plans.items() if isinstance(found, Plan)}
        outcomes = []
        for number, (name, found) in enumerate(plans.items()):
            own = None if seed is None else source.stream(f"method {number}")
            outcomes.append(trial.run(name, policies[name], found, own, locks))
        for name, table in others.items():
            outcomes.append(trial.judge(name, table, real=name in (masked or {})))
        for name, (kind, target) in measured.items():
            with source.stream(f"yardstick {name}") as chance:
                outcomes.append(trial.measure(name, kind, target, cast("Yardsticks", yardsticks), chance))
    place = None
    for name, lock in locks.items():
        place = record_look(policies[name].dataset, "dry-run", lock=lock, ledger=ledger)
    before = next((one.assessment.before for one in outcomes if one.assessment is not None), None)
    return MethodsComparison(
        dataset=first.dataset,
        rows=(original.table.rows + control.rows, original.table.rows, control.rows),
        columns=tuple(names),
        quasi=tuple(each.name for each in first.schema.quasi if each.name in names),
        confidential=tuple(each.name for each in first.schema.confidential if each.name in names),
        target=predicted[0] if predicted else None,
        full=full,
        seed=seed,
        methods=tuple(outcomes),
        plans=len(set(locks.values())),
        ledger=place,
        original_risk=None if before is None else (before.prosecutor.largest, before.prosecutor.mean),
    )


def name_yardsticks(yardsticks: Yardsticks | None, plans: Sequence[Plan]) -> dict[str, tuple[str, YardstickTarget]]:
    """What is run as a yardstick, by the name of its line: of several promises each has its own."""
    if yardsticks is None:
        return {}
    targets = yardstick_targets(plans)
    return {
        KINDS[kind] if len(targets) == 1 else f"{KINDS[kind]}, {target.words}": (kind, target)
        for target in targets
        for kind in yardsticks.kinds
    }


# --- what is compared -------------------------------------------------------------------------------------------------


def _check_asked(
    policies: Mapping[str, Policy],
    masked: Mapping[str, object],
    synthetic: Mapping[str, object],
    holdout: float,
    seed: int | None,
) -> Policy:
    """Refuse what cannot be compared; the first policy."""
    if not policies:
        raise UsageError("there is no policy to compare", allowed="one or more")
    if not 0 < holdout < 1:
        raise ParameterError("the share that takes no part is no share", came=holdout, allowed="above 0, below 1")
    if seed is not None and seed < 0:
        raise ParameterError("the seed is negative", came=seed, allowed="0 or more")
    named = [*policies, *masked, *synthetic]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise UsageError("two methods have one name", came=twice, fix="give each a name of its own")
    if (masked or synthetic) and seed is None:
        raise UsageError(
            "a table of another tool was made from no part of this comparison",
            fix="give a seed, write the part of the table that it draws, and run the other tool on that part",
        )
    first = next(iter(policies.values()))
    for name, policy in list(policies.items())[1:]:
        ours, theirs = ({each.name: each.type for each in one.schema.published} for one in (first, policy))
        differ = sorted(each for each in {*ours, *theirs} if ours.get(each) != theirs.get(each))
        if differ:
            raise UsageError(
                "the policies publish different attributes, so their distances would be of different things",
                came=f"{name}: {', '.join(differ[:8])}",
                allowed=", ".join(ours)[:200],
            )
    return first


def _unit_column(policies: Mapping[str, Policy]) -> str | None:
    """The column that names people, so that nobody has rows in both parts; None where every row is somebody else's."""
    found = list(dict.fromkeys(one.unit.column for one in policies.values() if one.unit.column is not None))
    if len(found) > 1:
        raise UsageError("the policies name people by different columns", came=", ".join(found), allowed="one of them")
    return found[0] if found else None


Mask = Callable[[int, int], npt.NDArray[np.bool_]]


def _parts(table: Table, unit: str | None, holdout: float, source: Source) -> tuple[Mask, Mask]:
    """Masks of the rows that take part and of the control group: whole units, drawn at random."""
    rows = table.rows()
    if unit is None:
        people = np.arange(rows)
    else:
        names = table.collect([unit])[unit]
        people = np.unique(np.ma.filled(names.astype(object), "").astype(str), return_inverse=True)[1].ravel()
    units = int(people.max()) + 1 if rows else 0
    out = round(holdout * units)
    if units < FEWEST or not 0 < out < units:
        raise DataError(
            "the table is too small to be parted",
            came=f"{units:,} units",
            allowed=f"{FEWEST} or more, some on each side",
        )
    held = np.zeros(units, dtype=np.bool_)
    held[source.permutation(units)[:out]] = True
    control = held[people]
    return lambda start, count: ~control[start : start + count], lambda start, count: control[start : start + count]


def _planned(policy: Policy) -> Plan | ShoalError:
    try:
        return resolve(policy)
    except ShoalError as error:
        return error


# --- one method ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Trial:
    """What all methods are run on and judged by."""

    engine: Engine
    data: object
    taking: Mask
    unit: str | None
    original: OriginalTable
    control: ComparableTable
    schema: Schema
    targets: Sequence[str]
    full: bool
    tick: Callable[[], None]
    stage: Stage

    def run(
        self, name: str, policy: Policy, found: Plan | ShoalError, source: Source | None, locks: Mapping[str, str]
    ) -> MethodOutcome:
        """Plan, run and judge one policy."""
        ticks = _Steps(self.tick, 1 + steps_of(self.targets, full=self.full))
        method = (policy.release.method if policy.release else None) or "no release"
        if isinstance(found, ShoalError):
            ticks.finish()
            return MethodOutcome(name, method, "none", "", why_not=found.wrong)
        other = sum(lock != locks[name] for lock in locks.values())
        stated = found.after_looks((LookCount("dry-run", len(locks), other),))
        outcome = MethodOutcome(name, method, claim_text(stated), stated.claims[0].status.value)
        try:
            with temporary_folder("comparing methods") as place:
                own = within(self.stage, name)
                cpu, rows, notes = self._write(found, place / "release", source, own)
                ticks()
                own("reading the release")
                released = released_table(self.original, place / "release", own)
                assessment = self._assess(released, ticks, own)
            notes += tuple(f"the column '{each}' is not in it" for each in assessment.utility.lost_columns)
            return replace(outcome, rows=rows, measured_on=released.words, cpu=cpu, assessment=assessment, notes=notes)
        except ShoalError as error:
            return replace(outcome, why_not=error.wrong)
        finally:
            ticks.finish()

    def judge(self, name: str, data: object, *, real: bool) -> MethodOutcome:
        """Judge a table that another tool made."""
        ticks = _Steps(self.tick, 1 + steps_of(self.targets, full=self.full))
        what = "masked table" if real else "synthetic table"
        outcome = MethodOutcome(name, what, UNCLAIMED, "")
        try:
            return self._judge(outcome, read_masked(self.engine, data, self.schema), what, ticks, real=real)
        except ShoalError as error:
            return replace(outcome, why_not=error.wrong)
        finally:
            ticks.finish()

    def measure(
        self, name: str, kind: str, target: YardstickTarget, yardsticks: Yardsticks, source: Source
    ) -> MethodOutcome:
        """Run a synthesizer of another library on the part, and judge what it draws."""
        ticks = _Steps(self.tick, 1 + steps_of(self.targets, full=self.full))
        claimed = f"claimed by OpenDP {yardsticks.version}, not by Shoal"
        outcome = MethodOutcome(name, f"yardstick: {KINDS[kind]} of OpenDP", target.words, claimed)
        try:
            table = self.engine.scan(self.data, target.schema).keep(self.taking)
            within(self.stage, name)("running")
            drawn, cpu = yardsticks.run(kind, target, table, source)
            found = self._judge(outcome, drawn, "synthetic table", ticks, real=False)
            return replace(found, cpu=cpu, notes=(*found.notes, UNSEEDED))
        except ShoalError as error:
            said = error.wrong if error.came is None else f"{error.wrong}: {error.came}"
            return replace(outcome, why_not=said)
        finally:
            ticks.finish()

    def _judge(
        self, outcome: MethodOutcome, data: pa.Table, what: str, ticks: Callable[[], None], *, real: bool
    ) -> MethodOutcome:
        made = replace(masked_table(self.original, data), real=real, words=f"rows of a {what}")
        ticks()
        assessment = self._assess(made, ticks, within(self.stage, outcome.name))
        lost = tuple(f"the column '{each}' is not in it" for each in assessment.utility.lost_columns)
        return replace(
            outcome, rows=made.rows, measured_on=made.words, assessment=assessment, notes=(*made.notes, *lost)
        )

    def _write(
        self, found: Plan, folder: Path, source: Source | None, stage: Stage
    ) -> tuple[float, int, tuple[str, ...]]:
        """Run a plan into a folder as a release does, up to where it would be published: CPU seconds, rows and notes."""
        notes: tuple[str, ...] = ()
        begun = time.process_time()
        whole = self.engine.scan(self.data, found.schema)
        reading = time.process_time() - begun
        stage("running")
        found.check(whole.schema)
        found.job().check_table(whole)
        table = whole.keep(self.taking)
        declared = found.policy.release.rows if found.policy.release is not None else None
        if declared is not None:  # a public number of units is that of the table; the part has its own
            column = found.unit.column
            units = table.rows() if column is None else sum(table.class_sizes([column]).values())
            found = resolve(found.policy.with_changes({"release.rows": units}))
            notes = (f"planned for the {units:,} units of the part, not for the {declared:,} of the table",)
        job = found.job()
        with Ledger("sqlite://") as ledger:
            job.prepare(table.rows(), ledger)
            folder.mkdir()
            begun = time.process_time()
            job.charge(ledger, table, None)
            with source.stream("treatments") if source is not None else Source.secure() as chance:
                treated = treat(table, found.treatments, chance).table
            _, rows = job.write(treated, folder, source, ledger, stage)
        return reading + time.process_time() - begun, rows, notes

    def _assess(self, released: ComparableTable, tick: Callable[[], None], stage: Stage) -> Assessment:
        names = self.original.table.names
        return assess_tables(
            self.original, released, quasi=[each.name for each in self.schema.quasi if each.name in names],
            confidential=[each.name for each in self.schema.confidential if each.name in names],
            targets=[name for name in self.targets if name in released.names], control=self.control, full=self.full, tick=tick,
            stage=stage,
        )  # fmt: skip


class _Steps:
    """Calls on a tick up to so many times, and makes up for those that did not come."""

    def __init__(self, tick: Callable[[], None], left: int) -> None:
        self._tick, self._left = tick, left

    def __call__(self) -> None:
        if self._left > 0:
            self._left -= 1
            self._tick()

    def finish(self) -> None:
        while self._left > 0:
            self()


def claim_text(plan: Plan) -> str:
    """What a plan claims in few words: (1, 0.000001)-DP of one row added or removed; k-anonymity, k = 5."""
    return "; ".join(dict.fromkeys(_short_claim(claim) for claim in plan.claims))


def _short_claim(claim: Claim) -> str:
    own = claim.guarantee.own if isinstance(claim.guarantee, DifferentialPrivacy) else None
    if own is not None:
        whose = "" if claim.unit is None else f" of {claim.unit.words()}"
        epsilon, delta = text_up(own[0]), text_up(own[1])
        return f"({epsilon}, {delta})-DP{whose}" if own[1] else f"{epsilon}-DP{whose}"
    kind, *numbers = claim.guarantee.to_saved().items()
    return ", ".join([str(kind[1]), *(f"{name} = {value}" for name, value in numbers if value is not None)])
