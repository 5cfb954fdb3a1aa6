"""What a run that was killed has left: a release that was finished gets its name and its note, everything else is removed.

Each command on a folder looks for the work folder beside it, and each command on a ledger for those of all runs that the
ledger waits for. A sentence says what was done. A charge stands in any case.
"""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import LedgerError, ShoalError, UsageError
from shoal.files.work_folder import WorkFolder, is_abandoned, sweep_temporary
from shoal.ledger.ledger import Ledger
from shoal.publish.folder import work_folder
from shoal.publish.run.interrupts import hold_interrupts
from shoal.publish.run.publication import (
    has_appeared,
    keep_others,
    ledger_of,
    note_release,
    place,
    place_report,
    refuse_changed,
    remove,
    target_of,
    unreadable,
)

_MOST_SAID = 10
_NOTHING = "nothing was charged"
_POSSIBLY = "if it was charged, the charge stands (`shoal ledger show`)"


def recover_target(folder: str | Path, ledger: Ledger | None = None) -> list[str]:
    """Finish or remove what a killed run has left beside a release folder; a sentence for each thing that was done.

    Raises  UsageError where a finished release waits there and cannot be given its name or its note
    """
    path = work_folder(Path(folder).absolute()) if Path(folder).absolute().name else None
    if path is None or not os.path.lexists(path) or not is_abandoned(path):
        return []
    said = recover(path, ledger)
    return [] if said is None else [said]


def recover_runs(ledger: Ledger) -> list[str]:
    """Finish or remove what the killed runs have left that a ledger waits for, and temporary folders; a sentence for each.

    Nothing is raised: what cannot be finished now is said, and left for the next command.
    """
    said: list[str] = []
    failed: list[str] = []
    gone = []
    try:
        runs = ledger.runs()
    except LedgerError as error:
        runs, failed = [], [f"what killed runs have left cannot be looked for: {error}"]
    for run in runs:
        path = Path(run.work)
        try:
            if is_abandoned(path):
                said += [recover(path, ledger) or ""]
            elif not os.path.lexists(path) and path.parent.is_dir():
                gone.append(run)
        except (ShoalError, OSError) as error:
            failed.append(f"what a killed run left in {path} could not be finished: {error}")
    try:
        ledger.end_runs(gone)
    except ShoalError as error:
        failed.append(f"runs that left nothing could not be taken off the ledger's list: {error}")
    said += failed[:_MOST_SAID]
    if len(failed) > _MOST_SAID:
        said.append(f"what {len(failed) - _MOST_SAID:,} more killed runs left could not be finished either")
    swept = sweep_temporary()
    if len(swept) > 1:
        swept = [f"removed {len(swept):,} temporary folders that runs left when they were killed"]
    return [sentence for sentence in [*said, *swept] if sentence]


def recover(path: Path, ledger: Ledger | None) -> str | None:
    """Finish or remove the work of one dead run; what was done, or None where another process came first."""
    path = path.absolute()  # as the ledger lists it
    try:
        work = WorkFolder.take_over(path)
    except FileNotFoundError:
        return None
    except UsageError:
        if is_abandoned(path):
            raise
        return None
    try:
        with hold_interrupts():
            if work.is_empty:
                work.remove()
                return None
            target = target_of(work)
            if work.facts.get("state") == "publishing":
                return _finish(work, target, ledger)
            if work.facts.get("state") == "published":
                work.remove()
                return f"removed what a killed run left beside {target}: its release had appeared, and is noted"
            return _remove(work, target, ledger)
    except (KeyError, TypeError, ValueError):
        raise unreadable(work) from None
    finally:
        work.close()


def _finish(work: WorkFolder, target: Path, ledger: Ledger | None) -> str:
    """Give a finished release its name, its report and its note, if the ledger waits for this very run.

    A journal is a file that anybody can write. What is believed of it is what the ledger says too, and what is placed is the
    release as it was sealed. Where neither a ledger waits nor the release has appeared, nothing is done.
    """
    appeared = has_appeared(work)
    try:
        with ledger_of(work, ledger) as own:
            if own is not None and _is_awaited(work, own):
                return _finish_awaited(work, target, own, appeared=appeared)
    except LedgerError as error:
        there = "is there and whole" if appeared else f"waits in {work.path}"
        raise LedgerError(
            f"the release in {target} {there}, but the run that made it was killed before the ledger noted it",
            came=str(error),
            fix=f"name the ledger {work.facts.get('ledger')} in the next command; the charge stands",
        ) from None
    if not appeared:
        raise UsageError(
            "a work folder says that its release is finished, and no ledger waits for it",
            came=work.path,
            fix="look at it and move it away",
        )
    kept = keep_others(work)
    remove(work)
    said = f"removed what a killed run left beside {target}: its release had appeared, and no ledger waits for it"
    return "; ".join([said, *kept])


def _is_awaited(work: WorkFolder, ledger: Ledger) -> bool:
    """Whether the ledger waits for the run of this folder, with the charge that its journal names."""
    here, charge = os.path.realpath(work.path), work.facts["charge"]
    listed = [run for run in ledger.runs() if os.path.realpath(run.work) == here]
    return any(run.dataset == work.facts["dataset"] and (charge is None or charge[0] == run.number) for run in listed)


def _finish_awaited(work: WorkFolder, target: Path, ledger: Ledger, *, appeared: bool) -> str:
    if not appeared:
        refuse_changed(work)
    try:
        place(work)
        place_report(work)
    except OSError as error:
        raise UsageError(
            "a release that a killed run had finished cannot be given its name",
            came=f"{target} ({error.strerror or type(error).__name__})",
            fix=f"move away what stands there; the release waits in {work.path}",
        ) from None
    kept = keep_others(work)
    note_release(work, ledger)
    remove(work)
    noted = "" if work.facts["charge"] is None else ", and noted in the ledger; the charge stands"
    return "; ".join([f"the release of a killed run was finished: it is in {target}, whole{noted}", *kept])


def _remove(work: WorkFolder, target: Path, ledger: Ledger | None) -> str:
    """Remove an unfinished release; the ledger forgets the run, and keeps the charge."""
    charged = _POSSIBLY
    try:
        with ledger_of(work, ledger) as own:
            if own is not None:
                here = os.path.realpath(work.path)
                listed = [run for run in own.runs() if os.path.realpath(run.work) == here]
                charged = _charge_words(work, own, [run.number for run in listed])
                for name in dict.fromkeys(run.work for run in listed):
                    own.end_run(name)
    except ShoalError:
        pass  # a ledger that is not there now finds the folder gone when it is
    if work.facts.get("state") == "preparing":
        charged = _NOTHING
    work.remove()
    return f"removed what a killed run left beside {target}: its release had not appeared; {charged}"


def _charge_words(work: WorkFolder, ledger: Ledger, listed: list[int]) -> str:
    """What is certain of a charge: a run that the ledger does not list any more may have been charged."""
    if listed:
        return f"the charge (entry {listed[-1]} of the ledger) stands"
    dataset, plan = work.facts.get("dataset"), work.facts.get("plan")
    known = isinstance(dataset, str) and isinstance(plan, str)
    return _NOTHING if known and not ledger.same_plan(str(dataset), str(plan)) else _POSSIBLY
