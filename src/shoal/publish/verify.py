"""Verify a release folder: everything the one-file verifier does, and what needs more than the standard library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.errors import ShoalError, UsageError, VerificationError
from shoal.guarantee.claim import Claim
from shoal.guarantee.compose import compose
from shoal.guarantee.promise import Whose
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k import delta_exactly
from shoal.guarantee.saved import load
from shoal.guarantee.theorem import THEOREMS
from shoal.publish import verifier
from shoal.publish.verifier import Check

SLACK = exact("1.001")


def verify(folder: str | Path) -> list[Check]:
    """All checks of a release folder; UsageError when it is none."""
    where = Path(folder)
    file = where / "certificate.json"
    if not file.is_file():
        raise UsageError("this is no release folder", came=where, fix="name a folder that holds certificate.json")
    try:
        certificate = json.loads(file.read_text(encoding="utf-8"))
        checks = verifier.verify(where)
        if certificate.get("version") == verifier.KNOWN_VERSION:
            checks = [check for check in checks if check.agrees is not None]
            checks += _claims(certificate)
            checks += _numbers(certificate)
            checks += _ledger(certificate)
            checks += _parquet(where, certificate)
            checks += _page(where, certificate)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        return [Check("certificate", False, f"it cannot be read: {type(error).__name__}")]
    except ShoalError as error:
        return [Check("certificate", False, f"it says something that cannot be: {error.wrong}")]
    except OSError as error:
        return [Check("files", False, f"one cannot be read: {error.strerror}")]
    return checks


def require(checks: list[Check]) -> None:
    """VerificationError that names what does not agree."""
    failed = [check for check in checks if check.agrees is False]
    if failed:
        raise VerificationError(
            f"{len(failed)} of {len(checks)} checks failed",
            came="; ".join(f"{check.name} ({check.detail})" for check in failed[:6]),
            fix="do not rely on this folder; ask the holder for it again",
        )


def _claims(certificate: dict[str, Any]) -> list[Check]:
    claims = [Claim.from_saved(saved) for saved in certificate["claims"]]
    first, promised = claims[0], certificate["guarantee"]
    same = first.guarantee.to_saved() == {name: promised[name] for name in ("kind", "epsilon", "delta")}
    unit = first.unit is not None and first.unit.to_saved() == promised["unit"]
    named = {entry["name"] for entry in certificate["theorems"]} == set(first.theorems)
    stated = all(
        entry["statement"] == THEOREMS[entry["name"]].statement and entry["source"] == THEOREMS[entry["name"]].source
        for entry in certificate["theorems"]
    )
    return [
        Check("sentence", certificate["sentence"] == first.words(), "says what the claim says"),
        Check(
            "claim",
            same and unit and first.status.value == promised["status"] == certificate["status"],
            "one promise throughout",
        ),
        Check("theorems", named and stated, "as in the registry"),
    ]


def _numbers(certificate: dict[str, Any]) -> list[Check]:
    checks = []
    promised = certificate["guarantee"]
    for number, part in enumerate(certificate["parts"], 1):
        k, beta, epsilon = part["k"], exact(part["beta"]), exact(part["epsilon"])
        whose = Whose(promised["unit"]["max_rows"], promised["neighbours"])
        if certificate["bound"] == "published":
            found = delta_exactly(k, beta, epsilon, "published")
            fits = found <= exact(part["delta"])
        else:
            found = delta_exactly(k, beta, epsilon) if whose.is_one_step else exact(whose.delta(k, beta, epsilon))
            fits = found <= exact(part["delta_unit"]) <= found * SLACK and found <= exact(part["delta"])
        checks.append(Check(f"delta of part {number} for the unit", fits, f"at most {text_up(found)}"))
        if part["delta_published"] is not None:
            published = delta_exactly(k, beta, epsilon, "published")
            close = published <= exact(part["delta_published"]) <= published * SLACK
            checks.append(Check(f"published bound of part {number}", close, "recomputed"))
    if not certificate["basic"]:
        parts = [(load(p["guarantee"]), p["times"]) for p in certificate["ledger"]["entries"][-1]["parts"]]
        total = compose(parts).epsilon_at(promised["delta"])
        checks.append(
            Check("the promise", exact(total) <= exact(promised["epsilon"]), f"composed epsilon {text_up(total)}")
        )
    return checks


def _ledger(certificate: dict[str, Any]) -> list[Check]:
    book = certificate["ledger"]
    parts = [(load(p["guarantee"]), p["times"]) for entry in book["entries"] for p in entry["parts"]]
    total = compose(parts).epsilon_at(book["total"]["delta"])
    last, promised = book["entries"][-1], certificate["guarantee"]
    return [
        Check(
            "composition of all releases",
            text_up(total, 6) == text_up(exact(book["composed_epsilon"]), 6),
            "recomputed",
        ),
        Check(
            "charge",
            all(last[name] == promised[name] for name in ("epsilon", "delta")),
            "this release is the last entry",
        ),
    ]


def _parquet(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    checks = []
    for table in certificate["tables"]:
        path = folder / table["file"]
        if path.suffix != ".parquet":
            continue
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(path).unify_dictionaries()
        except (OSError, ValueError):
            checks.append(Check(f"table {table['file']}", False, "it cannot be read"))
            continue
        checks.append(Check(f"columns of {table['file']}", rows.column_names == table["columns"], "as declared"))
        sizes = rows.group_by(rows.column_names).aggregate([([], "count_all")]).column("count_all").to_pylist()
        smallest = min(sizes, default=table["k"])
        detail = f"the smallest has {smallest} rows, k = {table['k']}"
        checks.append(Check(f"groups of {table['file']}", smallest >= table["k"], detail))
        for column in rows.column_names:
            allowed = verifier.allowed_labels(folder / table["recoding"][column])
            if allowed is not None:
                found = {str(value) for value in rows.column(column).unique().to_pylist() if value is not None}
                checks.append(Check(f"labels of {column}", found <= allowed, "all come from the recoding"))
    return checks


def _page(folder: Path, certificate: dict[str, Any]) -> list[Check]:
    from shoal.publish.paper import certificate_page

    page = folder / "certificate.html"
    if certificate["software"]["shoal"] != __version__:  # another version draws it in another way
        same = page.is_file() and certificate["seal"] in page.read_text(encoding="utf-8")
        return [Check("certificate.html", same, "names the certificate's seal; drawn by another version")]
    same = page.is_file() and page.read_text(encoding="utf-8") == certificate_page(certificate)
    return [Check("certificate.html", same, "says what certificate.json says")]
