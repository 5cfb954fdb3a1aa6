"""What is special about a kind of plan when it runs, and the job of a plan that is paid for."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.ledger.ledger import Ledger, Receipt
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.safe_k import certificate
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.run.tables import Made, index, make, write_rules, write_text
from shoal.publish.verify.standalone import sha256

Stage = Callable[[str], None]


class Job(Protocol):
    """What the ledger is told and when, what is written, and the holder's report."""

    def notes(self, rows: int) -> list[str]:
        """A word to the holder before anything is done."""

    def enter(self, ledger: Ledger, table: Table, file: bytes | None) -> None:
        """Tell the ledger before the first random draw, where a price is paid."""

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """All public files; the certificate, and how many rows were published."""

    def report(self, table: Table, public: Path, private: Path, content: dict[str, Any]) -> dict[str, Any]:
        """Write the holder's report; its plain values."""

    def appears(self, ledger: Ledger, table: Table, content: dict[str, Any]) -> None:
        """The folder is about to appear."""

    def appeared(self, ledger: Ledger, content: dict[str, Any]) -> None:
        """The folder is there."""

    def failed(self, fix: str | None) -> str:
        """What to do after a failure, and what it means for the ledger."""


class PaidJob:
    """Charge, draw, write: the charge comes first and stands whatever happens afterwards."""

    def __init__(self, plan: SafeKPlan) -> None:
        self._plan = plan
        self._made: list[Made] = []
        self._receipt: Receipt | None = None

    def notes(self, rows: int) -> list[str]:
        """A word to the holder; no refusal: whether a release appears must not depend on one row more or less."""
        k = self._plan.promise.k
        if rows >= 2 * k:
            return []
        few = f"the table has fewer than 2k = {2 * k} rows"
        return [f"{few}, so hardly a group can reach k = {k}; expect an empty release"]

    def enter(self, ledger: Ledger, table: Table, file: bytes | None) -> None:
        """Charge the whole release."""
        plan = self._plan
        contents = table.contents()
        self._receipt = ledger.charge(
            plan.policy.dataset,
            plan.cost,
            budget=plan.budget,
            neighbours=plan.policy.neighbours,
            plan=plan.lock.sha256,
            table=contents.whole,
            columns=contents.columns,
            file=file,
            unit=plan.method.unit,
            uses_sample=plan.method.drawn_before,
        )

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """The tables, the rules, the index of views, the lock, the certificate."""
        plan = self._plan
        self._made = make(plan, table, folder, source, stage)
        stage("writing")
        tables = write_rules(self._made, folder)
        if plan.views:
            write_text(folder / "views.json", json.dumps(index(plan, tables), indent=1, ensure_ascii=False) + "\n")
        write_text(folder / "policy.lock.yaml", plan.lock.text)
        account = ledger.account(plan.policy.dataset, self._receipt)
        content = certificate(plan, hashes(folder), tables, account, today())
        papers(folder, content, certificate_page(content))
        return content, sum(each.rows for each in self._made)

    def report(self, table: Table, public: Path, private: Path, content: dict[str, Any]) -> dict[str, Any]:
        """What went in, what came out and what got lost."""
        from shoal.publish.report.safe_k import write_report
        from shoal.publish.report.views import write_view_report

        if self._plan.views:
            return write_view_report(self._plan, table, self._made, public, private, content)
        return write_report(self._plan, table, self._made[0].recoding, public, private, content)

    def appears(self, ledger: Ledger, table: Table, content: dict[str, Any]) -> None:
        """Nothing: it was charged."""

    def appeared(self, ledger: Ledger, content: dict[str, Any]) -> None:
        """Note the release by the seal of its certificate."""
        if self._receipt is not None:
            ledger.released(self._plan.policy.dataset, self._receipt, content["seal"])

    def failed(self, fix: str | None) -> str:
        """The charge stands."""
        return f"{fix}; the charge stands" if fix else "the charge stands: what failed may have been seen"


def hashes(folder: Path) -> dict[str, str]:
    """The hash of every file that is there."""
    return {path.relative_to(folder).as_posix(): sha256(path) for path in folder.rglob("*") if path.is_file()}


def today() -> str:
    """The day of the release; no more of the time is told."""
    return datetime.now(UTC).date().isoformat()


def papers(folder: Path, content: dict[str, Any], page: str) -> None:
    """The certificate, for programs and for people."""
    write_text(folder / "certificate.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "certificate.html", page)
