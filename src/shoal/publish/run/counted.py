"""Run a release by near neighbours: group, show, write; the ledger notes it as unbounded before it appears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.anonymize.method.clusters import Masked
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.counted import certificate
from shoal.publish.certificate.counted_page import certificate_page
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.run.safe_k import hashes, papers, today
from shoal.publish.run.tables import write_text
from shoal.publish.verify.recount import recount, refuse_alike

Stage = Callable[[str], None]


class SyntacticJob:
    """Nothing is charged, because there is no price: a failed run leaves no trace, a release that appears is noted."""

    def __init__(self, plan: SyntacticPlan) -> None:
        self._plan = plan
        self._masked: Masked | None = None
        self._file: bytes | None = None

    def notes(self, rows: int) -> list[str]:  # noqa: ARG002 - the protocol's
        """Nothing: too few records are refused."""
        return []

    def enter(self, ledger: Ledger, table: Table, file: bytes | None) -> None:  # noqa: ARG002 - the protocol's
        """Nothing to pay; what the file holds is kept for the note."""
        self._file = file

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """The table, the lock, the certificate; the key of the permutations is gone when this returns."""
        plan = self._plan
        file = f"table.{plan.format}"
        with source.stream("release") if source is not None else Source.secure() as chance:
            self._masked = plan.method.run(table, chance, stage)
        refuse_alike(plan, self._masked)
        recount(plan, self._masked)
        stage("writing")
        self._masked.table.write(folder / file)
        write_text(folder / "policy.lock.yaml", plan.lock.text)
        account = ledger.account(plan.policy.dataset)
        content = certificate(plan, file, hashes(folder), account, today())
        papers(folder, content, certificate_page(content))
        return content, self._masked.table.rows()

    def report(self, table: Table, public: Path, private: Path, content: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """What was lost, and what an intruder could still find."""
        from shoal.publish.report.counted import write_report

        if self._masked is None:
            raise UsageError("a report before the table was written")
        return write_report(self._plan, table, self._masked, private, content)

    def appears(self, ledger: Ledger, table: Table, content: dict[str, Any]) -> None:  # noqa: ARG002
        """Note it as unbounded; a table that may not be used is refused here, before anything is published."""
        plan = self._plan
        what = f"{plan.method.name}, k = {plan.k}"
        contents = table.contents()
        ledger.unbounded(
            plan.policy.dataset, what, plan.lock.sha256, contents.whole, columns=contents.columns, file=self._file
        )

    def appeared(self, ledger: Ledger, content: dict[str, Any]) -> None:
        """Nothing more to say."""

    def failed(self, fix: str | None) -> str:
        """Nothing was charged."""
        said = "nothing was published"
        return said if not fix else fix if said in fix else f"{fix}; {said}"
