"""Verify a release folder: everything the one-file verifier does, and the whole certificate made again from its locked plan.

The checks are a closed list: those of the one-file verifier (`standalone.CHECKS`), and those of `OWN_CHECKS`. Which of them are
made depends on the release.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from shoal.data.archive import UnpackedRelease, is_archive
from shoal.data.plain_file import advise, near_release
from shoal.errors import ShoalError, UsageError, VerificationError
from shoal.progress import Stage, report_progress, silent
from shoal.publish.handbook.files import handbook_checks
from shoal.publish.plan.methods import CERTIFIED
from shoal.publish.verify import standalone
from shoal.publish.verify.compare import page_check
from shoal.publish.verify.enclosure import enclosure_checks
from shoal.publish.verify.lock import read_locked_policy
from shoal.publish.verify.standalone import Check

OWN_CHECKS = {
    "model": "the certificate fits the model of its method",
    "lock-canonical": "the locked plan says what was locked, and nothing beside it",
    "numbers": "the numbers of the certificate make a plan that keeps its promise",
    "rebuilt": "an entry of the certificate is the one that the locked plan makes with its numbers",
    "premises": "every premise of every theorem is met in the way that the locked plan meets it",
    "page": "certificate.html is the page that this version draws",
    "table-rewritten": "a table that is read and written again is the same",
    "enclosure": "what lies beside the release in a zip file is what `shoal share` packs",
}
"""The checks that need more than the standard library, beside those of the one-file verifier."""
CHECKS = {**standalone.CHECKS, **OWN_CHECKS}


def verify(folder: str | Path, stage: Stage = silent) -> list[Check]:
    """All checks of a release folder, or of the zip file that `shoal share` made of it; UsageError when it is none.

    A check that the one-file verifier leaves open is left out where it is made here; what stays open stays None. `stage` is
    called with the name of each stage as it begins.
    """
    path = Path(folder)
    if not is_archive(path):
        return _verify(path, stage)
    stage("unpacking")
    unpacked = UnpackedRelease(path)
    try:
        return [*_verify(unpacked.release, stage), *enclosure_checks(unpacked)]
    finally:
        unpacked.close()


GATES = frozenset({"format", "keys", "bounds", "plain-files", "lock-text", "lock-keys", "readable"})
"""Checks without which nothing more is read: what is behind them is written otherwise, larger or deeper than what we write."""
FIRST, LAST = "1 of 3: files and figures", "3 of 3: the pages, drawn again"
"""The names of the first and the last stage."""
MADE_ANEW = frozenset({"ledger-composed"})
"""What the one-file verifier may leave open and is part of the certificate that is made again."""


def _verify(where: Path, stage: Stage) -> list[Check]:
    if not os.path.lexists(where):
        raise UsageError("there is no such folder", came=where, **advise(where, near_release(where)))
    if not os.path.lexists(where / "certificate.json"):
        raise UsageError(
            "this is no release folder", came=where, fix="name a folder that holds certificate.json, or what was packed"
        )
    alone: list[Check] = []
    own: list[Check] = []
    stage(FIRST)
    with standalone.limited_work():
        content: Any = None
        try:
            content = standalone.read_json(where, "certificate.json")
            alone.extend(_counted(standalone.checks_of(where, content), content, stage))
        except Exception as error:  # noqa: BLE001 - what is no file's fault is raised again
            alone.append(standalone.unreadable(error))
        if not any(not check.agrees and (check.id in GATES or check.detail == standalone.NOT_THERE) for check in alone):
            with _reading(own, "readable"):
                own += _own_checks(where, content, alone, stage)
    made = {check.id for check in own} | MADE_ANEW
    return [standalone.shown(each) for each in (*(_made(alone, made)), *own)]


def _counted(checks: Iterator[Check], content: Any, stage: Stage) -> Iterator[Check]:
    """The checks one after another, as they say how many files, and then how many tables of counts, are done."""
    files, tables = report_progress(stage, f"{FIRST}, hashes"), report_progress(stage, f"{FIRST}, counts")
    hashed = counted = 0
    for check in checks:
        if check.id == "file-hash":
            hashed += 1
            files(hashed, len(content["files"]))
        elif check.id == "no-other-files":
            stage(FIRST)
        elif check.id == "count-numbers":
            counted += 1
            tables(counted, len(content["counts"]))
        yield check


def _made(alone: list[Check], made: Collection[str]) -> list[Check]:
    """The checks of the one-file verifier, without those that it left open and that are made here."""
    return [check for check in alone if check.agrees is not None or check.id not in made]


def _own_checks(where: Path, content: dict[str, Any], alone: list[Check], stage: Stage) -> list[Check]:
    """The checks that need more than the standard library."""
    checks: list[Check] = []
    certificate = _read(content, checks)
    if certificate is not None:
        with _reading(checks, "numbers"):
            stage("2 of 3: the plan, made again")
            checks += _against_the_lock(where, certificate)
        stage(LAST)
        if not any(check.agrees is False for check in (*alone, *checks)):  # else it may not be possible to draw it
            checks.append(page_check(standalone.read_text(where, "certificate.html"), certificate))
        if not any(check.agrees is False and check.promise for check in (*alone, *checks)):
            with _reading(checks, "handbook"):
                checks += handbook_checks(where, content, stage, LAST)
    return checks


def _read(content: dict[str, Any], checks: list[Check]) -> Any:
    """The certificate, if it fits the model of its method."""
    try:
        found = CERTIFIED[content["method"]].verification().model.read(content)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False)]
        checks.append(Check("model", False, "; ".join(wrong[:3]), promise=True))
        return None
    checks.append(Check("model", True, "every key, with a value of its type", promise=True))
    return found


def _against_the_lock(folder: Path, certificate: Any) -> list[Check]:
    """The certificate made again from the locked plan, and compared."""
    policy, as_locked = read_locked_policy(folder)
    return [as_locked, *CERTIFIED[certificate.method].verification().against_lock(folder, policy, certificate)]


@contextmanager
def _reading(checks: list[Check], check: str) -> Iterator[None]:
    """Turn whatever a certificate that makes no sense leads to into a check that failed."""
    try:
        yield
    except standalone.BoundError as error:
        checks.append(Check("bounds", False, str(error), promise=True))
    except MemoryError:
        checks.append(Check("readable", None, "it takes more memory than there is", promise=True))
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        YAMLError,
    ) as error:
        checks.append(Check(check, False, f"it cannot be read to its end: {type(error).__name__}", promise=True))
    except ShoalError as error:
        checks.append(Check(check, False, f"it says something that cannot be: {error.wrong}", promise=True))
    except OSError as error:
        checks.append(Check("readable", False, f"a file cannot be read: {error.strerror}", promise=True))


def require(checks: list[Check]) -> None:
    """VerificationError that names what does not agree."""
    failed = [check for check in checks if check.agrees is False]
    if failed:
        raise VerificationError(
            f"{len(failed)} of {len(checks)} checks failed",
            came="; ".join(f"{check.name}: {check.detail}" for check in failed[:6]),
            fix="do not rely on this folder; ask the custodian for it again",
        )
