"""How a finished release appears: each step looks at what is there, so that whoever comes after a kill can go on from any point.

    the journal says `publishing` -> the release gets its name -> the report gets its name -> the ledger notes it
    -> the journal says `published` -> the work folder is removed

A release that replaces another changes places with it at once: the old or the new one is always there, whole. What was
replaced is removed with the work folder, unless something was put into it meanwhile that is none of ours: that is kept, under
another name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import LedgerError, UsageError
from shoal.files.exchange import appear, exchange, finish_exchange, sync_folder
from shoal.files.work_folder import WorkFolder
from shoal.ledger.ledger import Ledger, Receipt, open_ledger
from shoal.ledger.store import file_of
from shoal.publish.folder import (
    CERTIFICATE,
    REPORT,
    custodian_folder,
    is_own_release,
    is_own_report,
    work_folder,
)
from shoal.publish.verify.standalone import read_json, sha256

PUBLIC, CUSTODIAN = "public", "custodian"
"""The folders in a work folder that become the release and the custodian's report."""


def begin(folder: Path, ledger: Ledger) -> WorkFolder:
    """Reserve the name of a release by its work folder; UsageError where another run has it, or where it cannot be made."""
    facts = {"purpose": "release", "name": folder.name, "ledger": ledger_key(ledger.url), "state": "preparing"}
    try:
        return WorkFolder.claim(work_folder(folder), facts)
    except OSError as error:
        raise _unwritable(folder, error) from None


def note_charging(work: WorkFolder, *, dataset: str, plan: str) -> None:
    """Note that the ledger is charged next: a run that dies before has charged nothing, for certain."""
    try:
        work.note(state="charging", dataset=dataset, plan=plan)
    except OSError as error:
        raise _unwritable(target_of(work), error) from None


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        "the release cannot be written there",
        came=f"{folder} ({error.strerror or type(error).__name__})",
        fix="make room or choose another place; nothing was charged",
    )


def target_of(work: WorkFolder) -> Path:
    """The folder that a run works for; UsageError where the journal names none."""
    target = work.path.with_name(work.path.name.removeprefix(".").removesuffix(".shoal-work"))
    if work_folder(target) != work.path or work.facts.get("name") != target.name:
        raise unreadable(work)
    return target


def unreadable(work: WorkFolder) -> UsageError:
    """The refusal of a journal that a run of this version did not write."""
    return UsageError(
        "the journal of a run that died cannot be read", came=work.path, fix="look at it and move it away"
    )


def announce(work: WorkFolder, *, seal: str, dataset: str, receipt: Receipt | None, replace: bool) -> None:
    """Note that everything is written, verified and on the disk: from here on a run that dies is finished by the next command."""
    report = work.path / CUSTODIAN / REPORT
    work.note(
        state="publishing",
        seal=seal,
        dataset=dataset,
        charge=None if receipt is None else [receipt.number, receipt.hash],
        report=sha256(report) if report.is_file() else None,
        replace=replace,
    )


def has_appeared(work: WorkFolder) -> bool:
    """Whether the release of a run is at its place, as it was sealed."""
    return _is_sealed(target_of(work), work.facts["seal"])


def refuse_changed(work: WorkFolder) -> None:
    """Raise UsageError where the release or the report that waits in a work folder is not as the run wrote it."""
    public, custodian, report = work.path / PUBLIC, work.path / CUSTODIAN, work.facts["report"]
    holder = custodian_folder(target_of(work))
    placed = [path for path in (custodian, holder) if is_own_report(path) and _hash_of(path / REPORT) == report]
    if not _is_sealed(public, work.facts["seal"]) or (report is not None and not placed):
        raise UsageError(
            "what a killed run had finished was changed since, so it is not published",
            came=work.path,
            fix="look at it and move it away; the charge stands",
        )


def place(work: WorkFolder) -> None:
    """Give the release its name; FileExistsError where something else has taken it."""
    facts = work.facts
    _place(work.path / PUBLIC, target_of(work), lambda path: _is_sealed(path, facts["seal"]), replace=facts["replace"])


def place_report(work: WorkFolder) -> None:
    """Give the custodian's report its name, or take away the one of the release that was replaced."""
    facts, made, holder = work.facts, work.path / CUSTODIAN, custodian_folder(target_of(work))
    if facts["report"] is not None:
        _place(made, holder, lambda path: _hash_of(path / REPORT) == facts["report"], replace=facts["replace"])
    elif facts["replace"] and os.path.lexists(holder):
        appear(holder, made)


def keep_others(work: WorkFolder) -> list[str]:
    """Move what was replaced and is none of ours out of the work folder; a sentence for each."""
    target, said = target_of(work), []
    for made, name, is_own in (
        (work.path / PUBLIC, target, is_own_release),
        (work.path / CUSTODIAN, custodian_folder(target), is_own_report),
    ):
        if os.path.lexists(made) and not is_own(made):
            kept = _appear_beside(made, name)
            said.append(f"what was replaced had been changed in the meantime, so it was kept: {kept}")
    return said


def note_release(work: WorkFolder, ledger: Ledger) -> None:
    """Let the ledger note the release, once, and forget the run."""
    facts = work.facts
    if facts["charge"] is None:
        ledger.end_run(str(work.path))
        return
    number, hash_ = facts["charge"]
    ledger.record_release(facts["dataset"], Receipt(number, hash_), facts["seal"], work=str(work.path))


def remove(work: WorkFolder) -> None:
    """Remove the work folder of a release that is there and noted, and what was replaced; a kill in between is no matter."""
    with suppress(OSError):  # on a full disk it is removed without
        work.note(state="published")
    work.remove()


def level_times(public: Path, date: str) -> None:
    """Give every public file and folder one time, the beginning of its day: how long each took to make depends on the table."""
    when = datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
    for path in (*public.rglob("*"), public):
        os.utime(path, (when, when))


def sync(made: Path) -> None:
    """Force every file and folder below a folder to the disk."""
    for path in sorted(made.rglob("*")):
        if path.is_dir():
            sync_folder(path)
            continue
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(made)


# --- which ledger ------------------------------------------------------------------------------------------------------


def ledger_key(url: str) -> str | None:
    """How a journal names a ledger: by its file, or by a hash where the address may hold a password; None for one in memory."""
    path = file_of(url)
    if path is not None:
        return str(path.absolute())
    in_memory = url.startswith("sqlite")
    return None if in_memory else f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"


@contextmanager
def ledger_of(work: WorkFolder, ledger: Ledger | None) -> Iterator[Ledger | None]:
    """The ledger that a run was charged to: the one that is open, or its file; None where it died with its process.

    Raises  LedgerError where it is not there or cannot be opened
    """
    key = work.facts.get("ledger")
    if key is None:
        yield None
    elif ledger is not None and ledger_key(ledger.url) == key:
        yield ledger
    elif str(key).startswith("sha256:"):
        raise LedgerError("the ledger that the run was charged to is another one", fix="name it in the next command")
    elif not isinstance(key, str) or not Path(key).is_absolute() or "://" in key:
        raise unreadable(work)
    else:
        with open_ledger(key) as found:
            yield found


# --- one step ----------------------------------------------------------------------------------------------------------


def _place(made: Path, target: Path, is_new: Callable[[Path], bool], *, replace: bool) -> None:
    """Give a folder its name, or let it change places with the one that is to be replaced, unless that is done already."""
    finish_exchange(made, target)
    if is_new(target):
        return
    if replace and os.path.lexists(target):
        exchange(made, target)
    else:
        appear(made, target)


def _appear_beside(made: Path, target: Path) -> Path:
    """Give a folder the first free name of NAME.replaced, NAME.replaced-2, ..."""
    number = 1
    while True:
        kept = target.with_name(f"{target.name}.replaced{'' if number == 1 else f'-{number}'}")
        try:
            appear(made, kept)
        except FileExistsError:
            number += 1
        else:
            return kept


def _is_sealed(folder: Path, seal: Any) -> bool:
    """Whether a folder holds a release with this seal, every file as it was sealed and no other."""
    try:
        return read_json(folder, CERTIFICATE)["seal"] == seal and is_own_release(folder)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _hash_of(path: Path) -> str | None:
    try:
        return sha256(path)
    except OSError:
        return None
