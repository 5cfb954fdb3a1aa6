"""The run of a plain sample: find the rate on the table, draw once, write; the ledger notes it as unbounded before it appears."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.method.sample import SampledMicrodata
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage
from shoal.publish.certificate.model import TableEntry
from shoal.publish.certificate.sample import certificate
from shoal.publish.folder import (
    LOCK,
    hashes,
    read_hierarchies,
    rule_file,
    table_file,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.sample import SamplePlan
from shoal.publish.run.charge import UnboundedJob
from shoal.publish.run.release import today
from shoal.publish.run.safe_k import BYTES_OF_CELL, RuleFiles, key

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections


class SampleJob(UnboundedJob):
    """The run of a plan of a plain sample. What the table does not allow is refused before anything is written or noted."""

    plan: SamplePlan

    report_modules = ("shoal.publish.report.sample",)

    def __init__(self, plan: SamplePlan) -> None:
        self.plan = plan
        self.drawn: SampledMicrodata | None = None
        self.hierarchies: dict[str, bytes] = {}

    @property
    def note(self) -> str:
        asked = self.plan.method
        return f"sample, epsilon = {exact_text(asked.epsilon)}, delta = {exact_text(asked.delta)}, c = {asked.c}"

    def cells(self, rows: int) -> int:
        return rows * len(self.plan.schema.published)

    def expected_bytes(self, rows: int) -> int:
        rate = self.plan.method.rate or Fraction(self.plan.method.largest_rate)
        return int(self.cells(rows) * rate * BYTES_OF_CELL[self.plan.format])

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:  # noqa: ARG002 - nothing is compiled
        """Draw the certificate with names in the place of what is not settled yet."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        rate = plan.method.rate or Fraction(1, 100)
        names = {name: rule_file(number, name) for number, name in enumerate(plan.method.scheme.columns, 1)}
        account = ledger.account(self.dataset)
        draft = certificate(plan, rate, {LOCK: plan.lock.sha256}, [table_entry(plan, names)], account, today())
        try_handbook(draft.to_json(), plan.lock.text)
        return []

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the sample, the rules of its labels, the lock and the certificate; the key is gone when this returns."""
        plan = self.plan
        with key(source, "release") as chance:
            self.drawn = plan.method.run(table, chance, stage)
            stage("writing")
            self.drawn.table.write(folder / table_file(plan.format))
            rows = self.drawn.table.rows()
        (folder / "recoding").mkdir()
        rules = RuleFiles(folder).write(self.drawn.recoding.rules())
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(self.dataset)
        made = certificate(plan, self.drawn.rate, hashes(folder), [table_entry(plan, rules)], account, today())
        return write_certificate(folder, made, stage).to_json(), rows

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write how the rate came about, which values are rare, and what other choices would allow."""
        from shoal.publish.report.sample import sample_report

        if self.drawn is None:
            raise UsageError("a report before the table was written")
        return sample_report(self.plan, table, self.drawn, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.sample import sample_sections

        return sample_sections(values)


def table_entry(plan: SamplePlan, rules: dict[str, str]) -> TableEntry:
    """The one table as the certificate lists it."""
    return TableEntry(
        file=table_file(plan.format),
        name=None,
        sample=0,
        k=1,
        columns=tuple(rules),
        recoding=rules,
        boxes=None,
        recoding_choice=None,
    )
