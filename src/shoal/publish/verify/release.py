"""Verify a release folder: everything the one-file verifier does, and the whole certificate made again from its lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruamel.yaml.error import YAMLError

from shoal.data.archive import open_release
from shoal.errors import ShoalError, UsageError, VerificationError
from shoal.publish.plan.base import Verification
from shoal.publish.plan.methods import PLANS
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.lock import canonical
from shoal.publish.verify.rebuild import rebuilt
from shoal.publish.verify.shape import faults
from shoal.publish.verify.standalone import Check, visible

SCHEMA = Path(__file__).parents[1] / "certificate" / "safe_k.schema.json"
"""What a certificate may hold, as it ships."""
SHIPPED = ("0.1.0",)
"""The versions whose certificates this one knows word by word; what another version would say cannot be told from a forgery."""


def verify(folder: str | Path) -> list[Check]:
    """All checks of a release folder, or of the zip file that `shoal share` made of it; UsageError when it is none.

    A check that the one-file verifier leaves open is left out where it is made here; what stays open stays None.
    """
    with open_release(Path(folder)) as where:
        return _verify(where)


def _verify(where: Path) -> list[Check]:
    file = where / "certificate.json"
    if not file.is_file():
        raise UsageError(
            "this is no release folder", came=where, fix="name a folder that holds certificate.json, or what was packed"
        )
    checks: list[Check] = []
    with _reading(checks, "certificate"):
        certificate = verifier.strict_json(file.read_bytes().decode("utf-8"))
        if not isinstance(certificate, dict) or certificate.get("version") != verifier.KNOWN_VERSION:
            return [Check("version", False, f"this version knows certificates of version {verifier.KNOWN_VERSION}")]
        with _reading(checks, "numbers of the certificate"):
            for check in verifier.checks_of(where, certificate):
                checks += [check] if check.agrees is not None else []
        checks += _form(certificate)
        with _reading(checks, "certificate of the lock"):
            checks += _verification(certificate).against_lock(where, certificate)
        if not any(check.agrees is False for check in checks):  # else it may not be possible to draw it
            checks += _page(where, certificate)
    return [check._replace(name=visible(check.name), detail=visible(check.detail)) for check in checks]


def _verification(certificate: dict[str, Any]) -> Verification:
    """How a certificate of its method is verified; one of no known method fails as a safe-k certificate."""
    return PLANS.get(certificate["method"], SafeKPlan).verification()


def verify_safe_k(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    """The certificate of a safe-k release made again from the lock, and compared."""
    policy, as_locked = canonical(folder)
    return [as_locked, *rebuilt(folder, policy, certificate), *_named(certificate)]


@contextmanager
def _reading(checks: list[Check], name: str) -> Iterator[None]:
    """Turn whatever a certificate that makes no sense leads to into a check that failed."""
    try:
        yield
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
        checks.append(Check(name, False, f"it cannot be read to its end: {type(error).__name__}"))
    except ShoalError as error:
        checks.append(Check(name, False, f"it says something that cannot be: {error.wrong}"))
    except OSError as error:
        checks.append(Check("files", False, f"one cannot be read: {error.strerror}"))


def require(checks: list[Check]) -> None:
    """VerificationError that names what does not agree."""
    failed = [check for check in checks if check.agrees is False]
    if failed:
        raise VerificationError(
            f"{len(failed)} of {len(checks)} checks failed",
            came="; ".join(f"{check.name} ({check.detail})" for check in failed[:6]),
            fix="do not rely on this folder; ask the holder for it again",
        )


def _form(certificate: dict[str, Any]) -> list[Check]:
    """Whether a certificate has the shape that its schema fixes, and comes from a version that is known here."""
    wrong = faults(certificate, json.loads(_verification(certificate).schema.read_text(encoding="utf-8")))
    made = certificate["software"]["shoal"]
    known = f"this one knows those of {', '.join(SHIPPED)}"
    return [
        Check("shape", not wrong, "; ".join(wrong[:3]) or "what a certificate has, and nothing else"),
        Check("software", made in SHIPPED, f"certificates of other versions are read by those; {known}"),
    ]


def _named(certificate: dict[str, Any]) -> list[Check]:
    """Whether every file of the folder is there for something: the plan, a table, what its labels mean, the index of views."""
    tables = certificate["tables"]
    named = {"policy.lock.yaml", *(table["file"] for table in tables)}
    named |= {place for table in tables for place in table["recoding"].values()}
    named |= {table["boxes"] for table in tables if "boxes" in table}
    named |= {certificate["views"]["index"]} if "views" in certificate else set()
    return [Check("files and tables", set(certificate["files"]) == named, "every file is there for something")]


def _page(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    drawn = _verification(certificate).page(certificate)
    page = folder / "certificate.html"
    same = page.is_file() and page.read_text(encoding="utf-8") == drawn
    return [Check("certificate.html", same, "says what certificate.json says")]
