"""The run of noisy centroids: charge, cluster, add noise, write the tables sorted by their own values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.dp_microaggregation import CentroidTable, NoisyCentroids
from shoal.anonymize.method.microaggregation import bound_to_one_row
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table, open_engine
from shoal.errors import DataError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.centroids import certificate
from shoal.publish.folder import LOCK, hashes, read_hierarchies, write_certificate, write_hierarchies, write_text
from shoal.publish.handbook.files import concepts_of, drawn_columns, try_handbook
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.run.charge import ChargedJob
from shoal.publish.run.release import Stage, today
from shoal.publish.run.safe_k import BYTES_OF_CELL, key

if TYPE_CHECKING:
    import pyarrow as pa


class CentroidsJob(ChargedJob):
    """The run of a plan of noisy centroids; it is charged once, before the first random draw."""

    plan: CentroidsPlan
    modules = ("shoal.publish.verify.centroids",)
    report_modules = ("shoal.publish.report.centroids",)

    def __init__(self, plan: CentroidsPlan) -> None:
        self.plan = plan
        self.hierarchies: dict[str, bytes] = {}
        self.taking_part: Table | None = None
        """One row of each unit, as it was clustered."""
        self.made: NoisyCentroids | None = None

    def expected_bytes(self, rows: int) -> int:
        return self.cells(rows) * BYTES_OF_CELL[self.plan.format]

    def check_table(self, table: Table) -> None:
        """Refuse a table with another number of rows, or people, than the policy declares to be public."""
        declared, unit = self.plan.setting.rows, self.plan.unit
        if unit.column is None:
            found, what = table.rows(), "rows"
        else:
            found, what = sum(table.class_sizes([unit.column]).values()), f"different values of '{unit.column}'"
        if found != declared:
            raise DataError(
                f"the table has another number of {what} than the policy declares",
                came=f"{found:,}",
                allowed=f"{declared:,}",
                fix="if the number of the table is public, declare it as release.rows, and plan again",
            )

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Draw the certificate, which the plan decides but for its hashes."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        draft = certificate(plan, {LOCK: plan.lock.sha256}, self.account_after(ledger), today())
        content = draft.to_json()
        try_handbook(content, plan.lock.text, concepts_of(plan.policy, drawn_columns(content)))
        return list(plan.method.load_kernels(plan.schema, rows))

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the tables, the lock and the certificate; the key is gone when this returns."""
        plan = self.plan
        with key(source, "centroids") as chance:
            theorem = plan.setting.cluster_theorem
            self.taking_part = bound_to_one_row(table, plan.unit, chance, stage, theorem)
            self.made = plan.method.run(self.taking_part, chance, stage)
        stage("writing")
        for file, made in zip(plan.files, self.made.tables, strict=True):
            (folder / file).parent.mkdir(exist_ok=True)
            published(made, plan.displayed).write(folder / file)
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(self.dataset, self.receipt)
        sealed = certificate(plan, hashes(folder), account, today())
        return write_certificate(folder, sealed).to_json(), plan.setting.rows

    def report(self, table: Table, public: Path, private: Path, content: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Write how far the published values are from the original, and how much of that is noise."""
        from shoal.publish.report.centroids import write_centroids_report

        if self.made is None or self.taking_part is None:
            raise UsageError("a report before the tables were written")
        return write_centroids_report(self.plan, table, self.taking_part, self.made, private, content)


def published(made: CentroidTable, displayed: Schema) -> Table:
    """The rows of a table of centroids, as an engine writes them: sorted by their own values."""
    columns = made.rows
    shown = Schema(tuple(displayed[name] for name in columns))
    return open_engine().scan(_arrow(columns), shown)


def _arrow(columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})
