"""The run of a release by clusters of near records: cluster, mask, write; the ledger notes it as unbounded before it appears."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.microaggregation import MaskedMicrodata
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage
from shoal.publish.certificate.counted import certificate
from shoal.publish.folder import (
    LOCK,
    hashes,
    read_hierarchies,
    table_file,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.run.charge import UnboundedJob
from shoal.publish.run.release import today
from shoal.publish.verify.recount import recount, refuse_alike

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections


class SyntacticJob(UnboundedJob):
    """The run of a plan by clusters of near records."""

    plan: SyntacticPlan

    modules = ("narwhals",)
    report_modules = ("shoal.publish.report.counted", "scipy.spatial.distance")

    def __init__(self, plan: SyntacticPlan) -> None:
        self.plan = plan
        self.masked: MaskedMicrodata | None = None
        self.hierarchies: dict[str, bytes] = {}

    @property
    def note(self) -> str:
        return f"{self.plan.method.name}, k = {self.plan.k}"

    def cells(self, rows: int) -> int:
        return rows * len(self.plan.policy.schema.published)

    def expected_bytes(self, rows: int) -> int:
        return self.cells(rows) * (16 if self.plan.format == "csv" else 8)

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Compile what takes long, and draw the certificate."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        file = table_file(plan.format)
        draft = certificate(plan, file, {LOCK: plan.lock.sha256}, ledger.account(plan.policy.dataset), today())
        try_handbook(draft.to_json(), plan.lock.text)
        return list(plan.method.load_kernels(plan.schema, rows))

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the table, the lock and the certificate; the key of the permutations is gone when this returns."""
        plan = self.plan
        file = table_file(plan.format)
        with source.stream("release") if source is not None else Source.secure() as chance:
            self.masked = plan.method.run(table, chance, stage)
        refuse_alike(plan, self.masked)
        recount(plan, self.masked)
        stage("writing")
        self.masked.table.write(folder / file)
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(plan.policy.dataset)
        made = certificate(plan, file, hashes(folder), account, today())
        return write_certificate(folder, made, stage).to_json(), self.masked.table.rows()

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write what was lost, and what an intruder could still find."""
        from shoal.publish.report.counted import counted_report

        if self.masked is None:
            raise UsageError("a report before the table was written")
        return counted_report(self.plan, table, self.masked, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.counted import counted_sections

        return counted_sections(values)
