"""One release, from a plan and a table to a folder that exists whole or not at all.

    check the target and the lock -> open the table -> charge the ledger -> draw -> write -> verify -> rename -> note the release

The charge comes before the first random draw and stands whatever happens afterwards: failing is an output too.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.chance.source import Source
from shoal.engine.base import Engine, Table
from shoal.engine.digest import file_digest
from shoal.errors import BudgetError, DataError, PolicyError, ShoalError, UsageError
from shoal.guarantee.claim import Claim
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from shoal.publish.folder import custodian_folder, hidden_folder, move, refuse_target, sync
from shoal.publish.plan.base import Plan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.verify import release as verifying
from shoal.publish.verify.lock import policy_of_lock

Stage = Callable[[str], None]

STAGES = (
    "reading",
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
"""What a run goes through that is charged; other methods cluster, recode or permute records instead of sampling them."""


@dataclass(frozen=True)
class Release:
    """A release that was made: its folder, what it claims, what it cost, and what the custodian alone should know."""

    folder: Path
    custodian_folder: Path | None
    """Where the custodian's report is; None where none was made."""
    claims: tuple[Claim, ...]
    certificate: dict[str, Any]
    rows_published: int
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

    @abstractmethod
    def charge(self, ledger: Ledger, table: Table, file: bytes | None) -> None:
        """Charge the ledger before the first random draw, where there is a price."""

    @abstractmethod
    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write all public files; the certificate, and how many rows were published.

        `source` is None for a release, whose keys come from the operating system; tests give their own.
        """

    @abstractmethod
    def report(self, table: Table, public: Path, private: Path, content: dict[str, Any]) -> dict[str, Any]:
        """Write the custodian's report; its plain values."""

    @abstractmethod
    def fix_after_failure(self, fix: str | None) -> str:
        """What to do after a failure behind the charge, and what it means for the ledger."""

    def notes(self, rows: int) -> list[str]:  # noqa: ARG002 - for methods that have something to say
        """What the custodian should know of a table with so many rows before anything is done."""
        return []

    def before_publishing(self, ledger: Ledger, table: Table) -> None:  # noqa: B027 - not every method has something to tell
        """Tell the ledger that the folder is about to appear; a table that may not be used is refused here at the latest."""

    def after_publishing(self, ledger: Ledger, content: dict[str, Any]) -> None:  # noqa: B027 - likewise
        """Tell the ledger that the folder is there."""


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
    stage: Stage = lambda _: None,
) -> Release:
    """Run a plan. Raises before anything is charged where it can; after the charge, the error says that it stands.

    The same plan of the same table draws a new sample and costs its full price once more, so a repeat is refused unless
    `again` says that it is meant.
    """
    folder = Path(out).absolute()
    private_folder = custodian_folder(folder)
    refuse_target(folder, force=force)
    if source is not None and not source.carries_guarantee:
        raise UsageError("a release made with a fixed seed carries no guarantee", fix="leave the source out")
    job = plan.job()
    _refuse_unreadable_lock(plan)
    _refuse_other_plan(plan)
    stage("reading")
    table = engine.scan(data, plan.schema)
    plan.check(table.schema)
    rows_in, file = table.rows(), file_digest(data)
    notes = job.notes(rows_in)
    if not again:
        refuse_repeat(plan, table, file, ledger)
    stage("charging")
    job.charge(ledger, table, file)
    with _explain_failures(job), hidden_folder(folder) as made:
        public, private = made / "public", made / "custodian"
        public.mkdir()
        values: dict[str, Any] | None = None
        content, rows = job.write(table, public, source, ledger, stage)
        stage("verifying")
        verifying.require(verifying.verify(public))
        if report:
            stage("reporting")
            private.mkdir(mode=0o700)
            values = _report(job, table, public, private, content, notes)
        sync(made)
        job.before_publishing(ledger, table)
        if force and private_folder.exists():
            shutil.rmtree(private_folder)  # it speaks of the release that is about to be replaced
        move(public, folder, force=force)
        if report and private.is_dir():
            move(private, private_folder, force=force)
        job.after_publishing(ledger, content)
    account = ledger.account(plan.policy.dataset)
    return Release(
        folder=folder,
        custodian_folder=private_folder if private_folder.is_dir() else None,
        claims=plan.claims,
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
    said = repeats(plan, table, file, ledger)
    if said is not None:
        raise BudgetError(
            said,
            came=f"plan {plan.lock.sha256[:16]} of dataset '{plan.policy.dataset}'",
            fix="use the release that is there, or say --again (again=True) if another one is meant; nothing was charged",
        )


def repeats(plan: Plan, table: Table, file: bytes | None, ledger: Ledger) -> str | None:
    """A sentence about the earlier release, where the same plan was run on the same table before; None the first time."""
    name, own = plan.policy.dataset, plan.lock.sha256
    if not ledger.same_plan(name, own):
        return None  # without a look at the table, which would take a pass over it
    found = ledger.same_release(name, own, table.digest(), file)
    if not found:
        return None
    last = found[-1]
    done = any(e.kind == "release" and e.payload.get("charge") == last.number for e in ledger.events(name))
    return plan.repeat_words(f"entry {last.number} of the ledger, {last.time[:10]}", appeared=done)


def _report(
    job: Job, table: Table, public: Path, private: Path, content: dict[str, Any], notes: list[str]
) -> dict[str, Any] | None:
    """Write the custodian's report; a report that fails does not take the verified release with it."""
    try:
        return job.report(table, public, private, content)
    except Exception as error:  # noqa: BLE001 - whatever it is, the release stands without it
        shutil.rmtree(private, ignore_errors=True)
        notes.append(f"the report could not be made ({type(error).__name__}); the release stands without it")
        return None


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
