"""One release, from a plan and a table to a folder that exists whole or not at all.

    check the target and the lock -> open the table -> charge the ledger -> draw -> write -> verify -> rename -> note the release

The charge comes before the first random draw and stands whatever happens afterwards: failing is an output too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.chance.source import Source
from shoal.engine.base import Engine, Table
from shoal.engine.digest import file_digest
from shoal.errors import BudgetError, DataError, PolicyError, ShoalError, UsageError
from shoal.guarantee.claim import Claim
from shoal.guarantee.rounding import text_up
from shoal.ledger.event import Budget
from shoal.ledger.ledger import Ledger
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.run.counted import SyntacticJob
from shoal.publish.run.safe_k import Job, PaidJob
from shoal.publish.verify import release as verifying
from shoal.publish.verify.lock import unlocked

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
"""What a run that is paid for goes through; near neighbours are grouped, recoded or permuted instead of sampled."""


@dataclass(frozen=True)
class Release:
    """What was published: where, what holds, and how many rows are in it (which the table shows anyway)."""

    folder: Path
    holder: Path | None
    claims: tuple[Claim, ...]
    certificate: dict[str, Any]
    rows_published: int
    notes: tuple[str, ...] = ()
    """For the holder alone."""
    charged: Budget | None = None
    """What it cost; None for a release without a price."""
    budget: Budget | None = None
    left: Budget | None = None
    """What is left of the budget; None where none is set."""
    ledger: str = ""
    new_ledger: bool = False
    """Where it was charged, and whether that ledger was new."""
    not_read: tuple[str, ...] = ()
    """Which columns of the original were not read, and why: for the holder alone."""
    rows_in: int = 0
    """Rows of the original: for the holder alone."""
    report: Mapping[str, Any] | None = None
    """The holder's report as plain values, computed from the original: for the holder alone."""

    def __repr__(self) -> str:
        """What others may know of it; nothing that was computed from the original."""
        promised = f"{self.claims[0].guarantee!r}, {self.claims[0].status.value}"
        return (
            f"<Release of '{self.certificate['dataset']}' in {self.folder}: {self.rows_published:,} rows; {promised}>"
        )


def job(plan: Plan) -> Job:
    """The job of a plan."""
    if isinstance(plan, SyntacticPlan):
        return SyntacticJob(plan)
    if isinstance(plan, SafeKPlan):
        return PaidJob(plan)
    raise UsageError("no such plan", came=type(plan).__name__)


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
    holder = folder.with_name(folder.name + ".holder")
    refuse_target(folder, force=force)
    if source is not None and not source.carries_guarantee:
        raise UsageError("a release made with a fixed seed carries no guarantee", fix="leave the source out")
    work = job(plan)
    _refuse_unreadable_lock(plan)
    _refuse_other_plan(plan)
    stage("reading")
    table = engine.scan(data, plan.schema)
    plan.check(table.schema)
    rows_in, file = table.rows(), file_digest(data)
    notes = work.notes(rows_in)
    if not again:
        refuse_repeat(plan, table, file, ledger)
    stage("charging")
    work.enter(ledger, table, file)
    with _entered(work), _workshop(folder) as shop:
        public, private = shop / "public", shop / "holder"
        public.mkdir()
        values: dict[str, Any] | None = None
        content, rows = work.write(table, public, source, ledger, stage)
        stage("verifying")
        verifying.require(verifying.verify(public))
        if report:
            stage("reporting")
            private.mkdir(mode=0o700)
            values = _report(work, table, public, private, content, notes)
        _sync(shop)
        work.appears(ledger, table, content)
        if force and holder.exists():
            shutil.rmtree(holder)  # it speaks of the release that is about to be replaced
        _move(public, folder, force)
        if report and private.is_dir():
            _move(private, holder, force)
        work.appeared(ledger, content)
    account = ledger.account(plan.policy.dataset)
    return Release(
        folder=folder,
        holder=holder if holder.is_dir() else None,
        claims=plan.claims,
        certificate=content,
        rows_published=rows,
        notes=tuple(notes),
        charged=Budget(plan.cost.epsilon, plan.cost.delta) if isinstance(plan, SafeKPlan) else None,
        budget=account.budget,
        left=account.left,
        ledger=ledger.url,
        new_ledger=ledger.made,
        not_read=tuple(table.notes),
        rows_in=rows_in,
        report=values,
    )


def _refuse_unreadable_lock(plan: Plan) -> None:
    """Read the lock as the verification will, before anything is charged: the policy alone decides whether that works."""
    text = plan.lock.text
    try:
        same = unlocked(text).lock().text == text
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
    """What is to be said before the same plan runs on the same table once more; None where it is the first time."""
    name, own = plan.policy.dataset, plan.lock.sha256
    if isinstance(plan, SafeKPlan) and plan.method.drawn_before:
        return None  # it cannot be repeated at all, and the ledger says why
    if not ledger.same_plan(name, own):
        return None  # without a look at the table, which would take a pass over it
    found = ledger.same_release(name, own, table.digest(), file)
    if not found:
        return None
    last = found[-1]
    when = f"entry {last.number} of the ledger, {last.time[:10]}"
    if not isinstance(plan, SafeKPlan):
        return f"this very release was made before ({when}); with each one more, groups of k hide fewer"
    price = f"({text_up(plan.cost.epsilon)}, {text_up(plan.cost.delta)})"
    done = any(e.kind == "release" and e.payload.get("charge") == last.number for e in ledger.events(name))
    state = "was charged before" if done else "was charged before, though it did not appear"
    return f"this very release {state} ({when}); a repeat draws a new sample and costs {price} once more"


def _report(
    work: Job, table: Table, public: Path, private: Path, content: dict[str, Any], notes: list[str]
) -> dict[str, Any] | None:
    """Write the holder's report; a report that fails does not take the verified release with it."""
    try:
        return work.report(table, public, private, content)
    except Exception as error:  # noqa: BLE001 - whatever it is, the release stands without it
        shutil.rmtree(private, ignore_errors=True)
        notes.append(f"the report could not be made ({type(error).__name__}); the release stands without it")
        return None


def refuse_target(out: str | Path, *, force: bool) -> None:
    """Raise before any work is done if the release could not be written there."""
    folder = Path(out).absolute()
    for path in (folder, folder.with_name(folder.name + ".holder")):
        if path.is_symlink():
            raise UsageError("the folder is a link", came=path, fix="name the place itself")
        if path.exists() and not force:
            raise UsageError("the folder exists", came=path, fix="choose another name, or say --force to replace it")
        if path.exists() and not (path / "certificate.json").is_file() and not (path / "report.json").is_file():
            raise UsageError("the folder is none of ours, so it is not replaced", came=path, fix="choose another name")
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise UsageError("the folder to write into does not exist", came=parent, fix="make it first")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError("the folder cannot be written to", came=parent, fix="choose another place")


@contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """A hidden folder beside the target, gone afterwards whatever happens."""
    shop = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        yield shop
    finally:
        shutil.rmtree(shop, ignore_errors=True)


@contextmanager
def _entered(work: Job) -> Iterator[None]:
    """Say what became of the ledger's entry when something goes wrong after it."""
    try:
        yield
    except ShoalError as error:
        error.fix = work.failed(error.fix)
        error.args = (str(error),)
        raise
    except OSError as error:
        raise DataError(
            "the release could not be written",
            came=error.strerror or type(error).__name__,
            fix=work.failed("make room or choose another place; nothing was published"),
        ) from None
    except Exception as error:
        raise DataError(
            "the release failed",
            came=type(error).__name__,
            fix=work.failed("this is a fault of ours: please report it; nothing was published"),
        ) from error


def _sync(shop: Path) -> None:
    for path in sorted(shop.rglob("*")):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _move(made: Path, target: Path, force: bool) -> None:
    if target.exists() and force:
        shutil.rmtree(target)
    made.rename(target)
    handle = os.open(target.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
