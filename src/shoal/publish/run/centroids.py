"""The runs of dp-microaggregation: charge, group records, add noise, write the tables sorted by their own values.

`CentroidsJob` is for noisy centroids of clusters, `BoxesJob` for rows that are spread inside boxes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.box_microaggregation import BoxRows
from shoal.anonymize.method.dp_microaggregation import CentroidTable, NoisyCentroids
from shoal.anonymize.method.microaggregation import bound_to_one_row
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table, open_engine
from shoal.errors import DataError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Account
from shoal.progress import Stage
from shoal.publish.certificate import boxes, centroids
from shoal.publish.certificate.model import BoxesCertificate, CentroidsCertificate
from shoal.publish.folder import LOCK, hashes, read_hierarchies, write_certificate, write_hierarchies, write_text
from shoal.publish.handbook.files import concepts_of, drawn_columns, try_handbook
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.run.charge import ChargedJob
from shoal.publish.run.release import today
from shoal.publish.run.safe_k import BYTES_OF_CELL, key

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.publish.report.document import MethodSections


class MicroaggregationJob(ChargedJob):
    """What the runs of clusters and of boxes share; they are charged once, before the first random draw."""

    plan: CentroidsPlan | BoxesPlan
    modules = ("shoal.publish.verify.centroids",)

    def __init__(self) -> None:
        self.hierarchies: dict[str, bytes] = {}

    @abstractmethod
    def certificate(
        self, files: Mapping[str, str], account: Account, rows: int = 1
    ) -> CentroidsCertificate | BoxesCertificate:
        """The certificate of these files, with so many published rows."""

    @abstractmethod
    def seal(self, folder: Path, account: Account, rows: int) -> dict[str, Any]:
        """Write the certificate of the folder, and give its plain values."""

    @abstractmethod
    def draw(self, table: Table, chance: Source, stage: Stage) -> Sequence[CentroidTable]:
        """The tables to publish: the only place where the data are seen."""

    def expected_bytes(self, rows: int) -> int:
        return self.cells(rows) * BYTES_OF_CELL[self.plan.format]

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Draw the certificate, which the plan decides but for its hashes, and in boxes the number of rows."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        content = self.certificate({LOCK: plan.lock.sha256}, self.account_after(ledger)).to_json()
        try_handbook(content, plan.lock.text, concepts_of(plan.policy, drawn_columns(content)))
        return list(plan.method.load_kernels(plan.schema, rows))

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the tables, the lock and the certificate; the key is gone when this returns."""
        plan = self.plan
        with key(source, "centroids") as chance:
            drawn = self.draw(table, chance, stage)
        stage("writing")
        rows = 0
        for file, made in zip(plan.files, drawn, strict=True):
            (folder / file).parent.mkdir(exist_ok=True)
            shown = published(made, plan.displayed)
            shown.write(folder / file)
            rows = shown.rows()
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(self.dataset, self.receipt)
        return self.seal(folder, account, rows), rows


class CentroidsJob(MicroaggregationJob):
    """The run of a plan of noisy centroids."""

    plan: CentroidsPlan
    report_modules = ("shoal.publish.report.centroids",)

    def __init__(self, plan: CentroidsPlan) -> None:
        super().__init__()
        self.plan = plan
        self.taking_part: Table | None = None
        """One row of each unit, as it was clustered."""
        self.made: NoisyCentroids | None = None

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

    def certificate(self, files: Mapping[str, str], account: Account, rows: int = 1) -> CentroidsCertificate:  # noqa: ARG002
        return centroids.certificate(self.plan, files, account, today())

    def seal(self, folder: Path, account: Account, rows: int) -> dict[str, Any]:
        return write_certificate(folder, self.certificate(hashes(folder), account, rows)).to_json()

    def draw(self, table: Table, chance: Source, stage: Stage) -> Sequence[CentroidTable]:
        theorem = self.plan.setting.cluster_theorem
        self.taking_part = bound_to_one_row(table, self.plan.unit, chance, stage, theorem)
        self.made = self.plan.method.run(self.taking_part, chance, stage)
        return self.made.tables

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write how far the published values are from the original, and how much of that is noise."""
        from shoal.publish.report.centroids import centroids_report

        if self.made is None or self.taking_part is None:
            raise UsageError("a report before the tables were written")
        return centroids_report(self.plan, table, self.taking_part, self.made, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.centroids import centroids_sections

        return centroids_sections(values)


class BoxesJob(MicroaggregationJob):
    """The run of a plan of rows inside boxes."""

    plan: BoxesPlan
    report_modules = ("shoal.publish.report.boxes",)

    def __init__(self, plan: BoxesPlan) -> None:
        super().__init__()
        self.plan = plan
        self.made: BoxRows | None = None

    def notes(self, rows: int) -> list[str]:
        """A warning, and no refusal: whether a release appears must not depend on one row more or less."""
        fewest = self.plan.fewest_rows
        if rows >= fewest:
            return []
        return [
            f"the table has fewer rows than the {fewest:,} below which noise drowns it; expect rows that say little"
        ]

    def certificate(self, files: Mapping[str, str], account: Account, rows: int = 1) -> BoxesCertificate:
        return boxes.certificate(self.plan, files, account, today(), rows=rows)

    def seal(self, folder: Path, account: Account, rows: int) -> dict[str, Any]:
        return write_certificate(folder, self.certificate(hashes(folder), account, rows)).to_json()

    def draw(self, table: Table, chance: Source, stage: Stage) -> Sequence[CentroidTable]:
        self.made = self.plan.method.run(table, chance, stage)
        return self.made.tables

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write how far distributions, means and relations are from the original, and how the domain was divided."""
        from shoal.publish.report.boxes import boxes_report

        if self.made is None:
            raise UsageError("a report before the table was written")
        return boxes_report(self.plan, table, self.made, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.boxes import boxes_sections

        return boxes_sections(values)


def published(made: CentroidTable, displayed: Schema) -> Table:
    """The rows of a table of centroids, as an engine writes them: sorted by their own values."""
    columns = made.rows
    shown = Schema(tuple(displayed[name] for name in columns))
    return open_engine().scan(_arrow(columns), shown)


def _arrow(columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})
