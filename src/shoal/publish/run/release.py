"""One release, from a plan and a table to a folder that exists whole or not at all.

    recover what a killed run left -> check the target and the lock -> reserve the target -> open the table -> prepare everything
    -> charge the ledger -> draw -> write -> verify -> publish -> note the release

The charge comes before the first random draw and stands whatever happens afterwards: failing is an output too. What can fail for
reasons that are not the data is tried before it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.treatment.steps import ChangeCount, TreatedTable, treat
from shoal.chance.source import Source
from shoal.engine.base import Engine, Table
from shoal.engine.digest import file_digest
from shoal.errors import BudgetError, DataError, NextCommand, PolicyError, ShoalError, UsageError
from shoal.files.work_folder import WorkFolder
from shoal.guarantee.claim import Claim
from shoal.ledger.event import Budget, Event
from shoal.ledger.ledger import Ledger, Receipt, RefuseRepeat, RunState
from shoal.ledger.look import LookCount
from shoal.progress import Stage, report_progress, silent, within
from shoal.publish.folder import custodian_folder, refuse_name, refuse_target, write_report
from shoal.publish.plan.base import Plan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.run.interrupts import hold_interrupts, interrupt_behind
from shoal.publish.run.preflight import free, prepare
from shoal.publish.run.publication import (
    CUSTODIAN,
    PUBLIC,
    announce,
    begin,
    keep_others,
    level_times,
    note_charging,
    note_release,
    place,
    place_report,
    remove,
    sync,
)
from shoal.publish.run.recover import recover_target
from shoal.publish.verify import release as verifying
from shoal.publish.verify.lock import policy_of_lock

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections

STAGES = (
    "reading",
    "preparing",
    "charging",
    "choosing the views",
    "choosing the recoding",
    "choosing rows of each unit",
    "sampling",
    "grouping",
    "writing",
    "verifying",
    "reporting",
)
"""What a run goes through that is charged; other methods cluster, recode or permute records instead of sampling them.

A run that also assesses its release does so after verifying.
"""


@dataclass(frozen=True)
class Release:
    """A release that was made: its folder, what it claims, what it cost, and what the custodian alone should know."""

    folder: Path
    custodian_folder: Path | None
    """Where the custodian's report is; None where none was made."""
    claims: tuple[Claim, ...]
    certificate: dict[str, Any]
    rows_published: int
    sentences: tuple[str, ...] = ()
    """The promise in sentences, as the certificate says it."""
    looks: tuple[LookCount, ...] = ()
    """Looks at the real table that were on record before the charge."""
    notes: tuple[str, ...] = ()
    """What the custodian should know: for the custodian alone."""
    charged: Budget | None = None
    """What it cost; None for a release without a price."""
    budget: Budget | None = None
    left: Budget | None = None
    """What is left of the budget; None where none is set."""
    ledger: str = ""
    new_ledger: bool = False
    """Where it was charged, and whether that ledger was new."""
    not_read: tuple[str, ...] = ()
    """Which columns of the original were not read, and why: for the custodian alone."""
    rows_in: int = 0
    """Rows of the original: for the custodian alone."""
    report: Mapping[str, Any] | None = None
    """The custodian's report as plain values, computed from the original: for the custodian alone."""

    def __repr__(self) -> str:
        """Shown wherever the value is printed, so it holds nothing that was computed from the original."""
        promised = f"{self.claims[0].guarantee!r}, {self.claims[0].status.value}"
        return (
            f"<Release of '{self.certificate['dataset']}' in {self.folder}: {self.rows_published:,} rows; {promised}>"
        )


class Job(ABC):
    """The run of one plan: what the ledger is told and when, what is written, and the custodian's report."""

    receipt: Receipt | None = None
    """What the ledger gave for the charge; None before it, and for a run without a price."""

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The dataset that is charged."""

    @abstractmethod
    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Do everything that could fail after the charge for reasons that are not the data; what the custodian should know.

        The modules of later steps are imported, loops compiled, and the certificate's page drawn for this plan.
        """

    modules: tuple[str, ...] = ()
    """What is imported after the charge, beside what every run imports."""
    report_modules: tuple[str, ...] = ()
    """What the custodian's report imports."""

    @abstractmethod
    def cells(self, rows: int) -> int:
        """How many cells the engine has to do with for a table with so many rows."""

    @abstractmethod
    def expected_bytes(self, rows: int) -> int:
        """About how many bytes the release of a table with so many rows takes."""

    @abstractmethod
    def charge(
        self,
        ledger: Ledger,
        table: Table,
        file: bytes | None,
        work: str | None = None,
        repeat: RefuseRepeat | None = None,
    ) -> None:
        """Charge the ledger before the first random draw, where there is a price.

        `work` is the folder that the run works in; `repeat` makes the refusal of what was charged before, and None lets it pass.
        """

    @abstractmethod
    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write all public files; the certificate, and how many rows were published.

        `source` is None for a release, whose keys come from the operating system; tests give their own.
        """

    @abstractmethod
    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:
        """The custodian's report as plain values; `public` is read and left as it is, `stage` is told what is done."""

    @abstractmethod
    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        """The sections of the report's page, from its plain values alone: the page can be made again from report.json."""

    @abstractmethod
    def fix_after_failure(self, fix: str | None) -> str:
        """What to do after a failure behind the charge, and what it means for the ledger."""

    def check_table(self, table: Table) -> None:  # noqa: B027 - not every method
        """Refuse, before anything is charged, a table that the plan is not about, such as one of another public size."""

    def notes(self, rows: int) -> list[str]:  # noqa: ARG002 - for methods that have something to say
        """What the custodian should know of a table with so many rows before anything is done."""
        return []

    def before_publishing(self, ledger: Ledger, table: Table, work: str | None = None) -> None:  # noqa: B027 - not every method
        """Tell the ledger that the folder is about to appear; a table that may not be used is refused here at the latest."""


def today() -> str:
    """Today's date, which is all that a certificate says of the time of a release."""
    return datetime.now(UTC).date().isoformat()


def release(
    plan: Plan,
    data: object,
    out: str | Path,
    *,
    ledger: Ledger,
    engine: Engine,
    source: Source | None = None,
    force: bool = False,
    report: bool = True,
    again: bool = False,
    assess: bool = False,
    stage: Stage = silent,
) -> Release:
    """Run a plan. Raises before anything is charged where it can; after the charge, the error says that it stands.

    The same plan of the same table draws a new sample and costs its full price once more, so a repeat is refused unless
    `again` says that it is meant. With `assess` the report has risks and utility of the release, measured on the table.
    """
    outcome, before = _Outcome(), sys.exception()
    try:
        return _run(plan, data, out, ledger, engine, source, force, report, again, assess, stage, outcome)
    except BaseException as error:
        ended = interrupt_behind(error, before) or error  # a library may make another error of an interrupt
        if isinstance(ended, ShoalError):  # it says in its own words what became of the charge
            ended.outcome = outcome.words
        elif outcome.words:
            ended.add_note(outcome.words)
        if ended is error:
            raise
        raise ended from None


@dataclass
class _Outcome:
    """What is true at each moment of a run, for whoever interrupts it."""

    words: str = "there is no release, and nothing was charged"


def _run(
    plan: Plan,
    data: object,
    out: str | Path,
    ledger: Ledger,
    engine: Engine,
    source: Source | None,
    force: bool,
    report: bool,
    again: bool,
    assess: bool,
    stage: Stage,
    outcome: _Outcome,
) -> Release:
    """The whole way of a release; `outcome` follows it."""
    folder = refuse_name(out)
    notes = recover_target(folder, ledger)
    none = "there is no new release" if os.path.lexists(folder) else "there is no release"
    outcome.words = f"{none}, and nothing was charged"
    with uncharged():
        refuse_target(folder, force=force, locks=(plan.lock.sha256, plan.confirmed_lock.sha256))
        if source is not None and not source.carries_guarantee:
            raise UsageError("a release made with a fixed seed carries no guarantee", fix="leave the source out")
        _refuse_engine(plan, engine)
        job = plan.job()
        _refuse_unreadable_lock(plan)
        _refuse_other_plan(plan)
    with _reserved(folder, ledger) as work:
        with uncharged():
            stage("reading")
            table = engine.scan(data, plan.schema)
            plan.check(table.schema)
            job.check_table(table)
            rows_in, file = table.rows(), file_digest(data) if engine.is_local else None
            notes += job.notes(rows_in)
            if not again:
                refuse_repeat(plan, table, file, ledger)
            stage("preparing")
            notes += prepare(job, rows_in, ledger, work.path, report=report, spills=engine.is_local)
        stage("charging")
        note_charging(work, dataset=plan.policy.dataset, plan=plan.lock.sha256)
        with _forgotten_by(ledger, work):
            outcome.words = f"{none}; if the ledger was charged, the charge stands (`shoal ledger show`)"
            job.charge(ledger, table, file, str(work.path), None if again else _repeat_refusal(plan))
            outcome.words = job.fix_after_failure(none)
            with _explain_failures(job):
                treated = _treat(plan, table, source, stage)
                original = data if assess else None
                content, rows, values = _write(
                    job, plan, treated, work.path, source, ledger, report, notes, stage, original
                )
                job.before_publishing(ledger, table, work=str(work.path))
                account = ledger.account(plan.policy.dataset)
                level_times(work.path / PUBLIC, content["date"])
                sync(work.path)
        with hold_interrupts():
            outcome.words = ""  # its errors say it
            notes += _publish(job, work, ledger, content["seal"], replace=force)
            outcome.words = f"the release is there, whole: {folder}"
    private_folder = custodian_folder(folder)
    looks = tuple(LookCount(**each) for each in content["ledger"]["looks"])
    stated = plan.after_looks(looks)
    return Release(
        folder=folder,
        custodian_folder=private_folder if private_folder.is_dir() else None,
        claims=stated.claims,
        sentences=tuple(stated.sentences()),
        looks=looks,
        certificate=content,
        rows_published=rows,
        notes=tuple(notes),
        charged=None if plan.cost is None else Budget(plan.cost.epsilon, plan.cost.delta),
        budget=account.budget,
        left=account.left,
        ledger=ledger.url,
        new_ledger=ledger.is_new,
        not_read=tuple(table.notes),
        rows_in=rows_in,
        report=values,
    )


@contextmanager
def _reserved(folder: Path, ledger: Ledger) -> Iterator[WorkFolder]:
    """The work folder of a run, removed by whatever ends it, unless a finished release waits in it for its name or its note."""
    work: WorkFolder | None = None
    try:
        with hold_interrupts(), uncharged():
            work = begin(folder, ledger)
        yield work
    finally:
        if work is not None:
            with hold_interrupts():
                if work.facts.get("state") == "publishing":
                    work.close()
                else:
                    with suppress(OSError):  # what cannot be removed now is removed by the next command
                        work.remove()


@contextmanager
def _forgotten_by(ledger: Ledger, work: WorkFolder) -> Iterator[None]:
    """A run that fails is forgotten by the ledger, which keeps the charge; if that fails too, the next command does it."""
    try:
        yield
    except BaseException:
        with suppress(ShoalError, OSError):
            ledger.end_run(str(work.path))
        raise


def _treat(plan: Plan, table: Table, source: Source | None, stage: Stage) -> TreatedTable:
    """The table after the treatments of the plan, drawn once, after the charge; everything that is published is made from it.

    The rows that a person may have are bounded afterwards, by the method: which rows take part depends on their numbers and on
    whose they are, and treatments touch neither.
    """
    if not plan.treatments:
        return TreatedTable(table)
    stage("treating values")
    with source.stream("treatments") if source is not None else Source.secure() as chance:
        return treat(table, plan.treatments, chance)


def _write(
    job: Job,
    plan: Plan,
    treated: TreatedTable,
    made: Path,
    source: Source | None,
    ledger: Ledger,
    report: bool,
    notes: list[str],
    stage: Stage,
    original: object = None,
) -> tuple[dict[str, Any], int, dict[str, Any] | None]:
    """Write and verify the release, and write the report: the certificate, the number of rows, the report's values.

    Where `original` is given, the release is assessed against it.
    """
    public, private = made / PUBLIC, made / CUSTODIAN
    free(made)
    public.mkdir()
    values: dict[str, Any] | None = None
    content, rows = job.write(treated.table, public, source, ledger, stage)
    stage("verifying")
    verifying.require(verifying.verify(public, within(stage, "verifying")))
    if report:
        assessed = None if original is None else _assess(public, original, notes, stage)
        stage("reporting")
        private.mkdir(mode=0o700)
        values = _report(job, plan, treated, public, private, content, assessed, notes, stage)
    return content, rows, values


def _publish(job: Job, work: WorkFolder, ledger: Ledger, seal: str, *, replace: bool) -> list[str]:
    """Give the release its name; what fails after that is left for the next command and said, because the release is there."""
    with _forgotten_by(ledger, work), _explain_failures(job):
        announce(work, seal=seal, dataset=job.dataset, receipt=job.receipt, replace=replace)
    try:
        place(work)
    except Exception as error:  # noqa: BLE001 - whatever it is, the release waits for its name
        raise DataError(
            "the release is finished, and could not be given its name",
            came=getattr(error, "strerror", None) or type(error).__name__,
            fix=job.fix_after_failure(
                f"it is kept in {work.path}: remove what is in the way, and the next command on this folder or ledger "
                "gives it its name"
            ),
        ) from None
    try:
        place_report(work)
        kept = keep_others(work)
    except Exception as error:  # noqa: BLE001 - the release is there: nothing may say the opposite
        return [_unfinished("the report is not in its place yet", error)]
    try:
        note_release(work, ledger)
    except Exception as error:  # noqa: BLE001 - likewise
        return [*kept, _unfinished("the ledger has not noted it yet", error)]
    with suppress(OSError):  # a folder that cannot be removed now is removed by the next command
        remove(work)
    return kept


def _unfinished(what: str, error: Exception) -> str:
    why = (
        f"{error.wrong}" if isinstance(error, ShoalError) else getattr(error, "strerror", None) or type(error).__name__
    )
    return (
        f"the release is there and whole, but {what} ({why}); the next command on this folder or ledger makes up for it"
    )


def _refuse_engine(plan: Plan, engine: Engine) -> None:
    """Raise where a step needs all records in one memory and the engine has them on many machines."""
    if engine.is_local:
        return
    asked = plan.policy.model.release
    fix = "run it with --engine duckdb on a machine that holds the table; nothing was charged"
    if plan.one_memory is not None:
        raise UsageError(
            f"this method never runs on {engine.name}, because {plan.one_memory}",
            came=f"method {asked.method if asked is not None else 'none'}",
            allowed="safe-k, views and noisy counts, synthetic, sample; dp-microaggregation by a single order",
            fix=fix,
        )
    if plan.treatments:
        raise UsageError(
            f"treatments never run on {engine.name}, because their draws and changes are made for whole columns in one memory",
            came=f"treatments: {', '.join(each.kind for each in plan.treatments)}",
            allowed="a policy without treatments",
            fix=fix,
        )


def _refuse_unreadable_lock(plan: Plan) -> None:
    """Read the lock as the verification will, before anything is charged: the policy alone decides whether that works."""
    text = plan.lock.text
    try:
        same = policy_of_lock(text).lock().text == text
    except Exception as error:
        raise _unreadable(plan) from error
    if not same:
        raise _unreadable(plan)


def _refuse_other_plan(plan: Plan) -> None:
    """Raise where a plan is not the one that its policy makes: its release would be charged, and then fail to verify."""
    if resolve(plan.policy).to_json() != plan.to_json():
        raise UsageError(
            "the plan is not the one that its policy makes",
            came=f"a plan of dataset '{plan.policy.dataset}' that was changed",
            fix="change the policy and plan it again; nothing was charged",
        )


def _unreadable(plan: Plan) -> PolicyError:
    return PolicyError(
        "the lock of this policy cannot be read again, so nobody could verify a release by it",
        came=plan.policy.dataset,
        fix="this is a fault of ours: please report it; nothing was charged. Simpler names and labels may help",
    )


def refuse_repeat(plan: Plan, table: Table, file: bytes | None, ledger: Ledger) -> None:
    """Raise where the same plan was charged for the same table before; see `repeats`."""
    found = _earlier_run(plan, table, file, ledger)
    refuse = _repeat_refusal(plan)
    if found is not None and refuse is not None:
        raise refuse(*found)


def _repeat_refusal(plan: Plan) -> RefuseRepeat | None:
    """The refusal of a plan that was charged for the same table before; None where the ledger has its own."""

    def refuse(event: Event, state: RunState) -> BudgetError:
        return BudgetError(
            plan.repeat_words(_entry(event), state) or "this very release was charged before",
            came=f"plan {plan.lock.sha256[:16]} of dataset '{plan.policy.dataset}'",
            fix=f"{_AFTER_REPEAT[state]}; nothing was charged",
            step=NextCommand(("ledger", "show", plan.policy.dataset), keep="--ledger"),
        )

    return None if plan.repeat_words("", "unknown") is None else refuse


_AFTER_REPEAT: dict[RunState, str] = {
    "appeared": "use that release, or say --again (again=True) if another one is meant",
    "running": "wait for it, or say --again (again=True) if another one is meant",
    "unknown": "use that release if it is there, or say --again (again=True) if another one is meant",
    "ended": "--again (again=True) pays once more",
}
"""What to do where the same plan was charged for the same table, by what became of it."""


def _entry(event: Event) -> str:
    return f"entry {event.number} of the ledger, {event.time[:10]}"


def repeats(plan: Plan, table: Table, file: bytes | None, ledger: Ledger) -> str | None:
    """A sentence about the earlier release, where the same plan was run on the same table before; None the first time."""
    found = _earlier_run(plan, table, file, ledger)
    return None if found is None else plan.repeat_words(_entry(found[0]), found[1])


def _earlier_run(plan: Plan, table: Table, file: bytes | None, ledger: Ledger) -> tuple[Event, RunState] | None:
    name, own = plan.policy.dataset, plan.lock.sha256
    if not ledger.same_plan(name, own):
        return None  # without a look at the table, which would take a pass over it
    return ledger.same_release(name, own, table.digest(), file)


def _report(
    job: Job,
    plan: Plan,
    treated: TreatedTable,
    public: Path,
    private: Path,
    content: dict[str, Any],
    assessed: dict[str, Any] | None,
    notes: list[str],
    stage: Stage,
) -> dict[str, Any] | None:
    """Write the custodian's report; a report that fails does not take the verified release with it."""
    try:
        return _write_report(job, plan, treated, public, private, content, assessed, within(stage, "reporting"))
    except Exception as error:  # noqa: BLE001 - whatever it is, the release stands without it
        shutil.rmtree(private, ignore_errors=True)
        notes.append(f"the report could not be made ({type(error).__name__}); the release stands without it")
        return None


def _write_report(
    job: Job,
    plan: Plan,
    treated: TreatedTable,
    public: Path,
    private: Path,
    content: dict[str, Any],
    assessed: dict[str, Any] | None,
    stage: Stage,
) -> dict[str, Any]:
    values = job.report(treated.table, public, content, stage)
    if plan.treatments:
        values["treatments"] = [asdict(each) for each in treated.changes]
    if assessed is not None:
        values["assessment"] = assessed
    stage("the page")
    write_report(private, values, page_of(plan, job, values))
    return values


def page_of(plan: Plan, job: Job, values: Mapping[str, Any]) -> str:
    """The page of the custodian's report, from its plain values alone."""
    from shoal.publish.report.document import report_page
    from shoal.publish.report.sections import treatment_section

    steps = None
    if plan.treatments:
        steps = treatment_section(plan.treatments, [ChangeCount(**each) for each in values["treatments"]])
    return report_page(values, job.sections(values), steps)


def _assess(public: Path, original: object, notes: list[str], stage: Stage) -> dict[str, Any] | None:
    """Risks and utility of the verified release; a failure is said, and the report is made without them."""
    stage("assessing")
    try:
        from shoal.assess.assessment import steps_of
        from shoal.publish.assess import READING, assess_release, confidential_of

        _, targets = confidential_of(public, None, ())
        report, done = report_progress(stage, "assessing"), itertools.count(1)
        total = READING + steps_of(targets, full=True)
        return assess_release(  # by the lock, as `shoal assess` does
            original, folder=public, tick=lambda: report(next(done), total)
        ).to_json()
    except Exception as error:  # noqa: BLE001 - whatever it is, the release stands, and its report is made
        why = error.wrong if isinstance(error, ShoalError) else type(error).__name__
        notes.append(f"the release could not be assessed ({why}); the report is without risk and utility")
        return None


@contextmanager
def uncharged() -> Iterator[None]:
    """Say of whatever is refused here that nothing was charged."""
    try:
        yield
    except ShoalError as error:
        said = "nothing was charged"
        if said not in str(error):
            error.fix = f"{error.fix}; {said}" if error.fix else said
            error.args = (str(error),)
        raise


@contextmanager
def _explain_failures(job: Job) -> Iterator[None]:
    """Say what became of the charge when something goes wrong after it."""
    try:
        yield
    except ShoalError as error:
        error.fix = job.fix_after_failure(error.fix)
        error.args = (str(error),)
        raise
    except OSError as error:
        raise DataError(
            "the release could not be written",
            came=error.strerror or type(error).__name__,
            fix=job.fix_after_failure("make room or choose another place; nothing was published"),
        ) from None
    except Exception as error:
        raise DataError(
            "the release failed",
            came=type(error).__name__,
            fix=job.fix_after_failure("this is a fault of ours: please report it; nothing was published"),
        ) from error
