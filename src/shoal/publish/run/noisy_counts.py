"""The run of a release with noisy counts: charge, count and add noise, draw rows and synthetic rows, write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.measure.tables import MeasuredCounts, NoisyTable
from shoal.anonymize.method.safe_k import bound_rows
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.guarantee.noisy_counts import noise_half_width
from shoal.guarantee.rounding import exact_text
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage, StageProgress, silent, within
from shoal.publish.certificate.model import CountsTableEntry, SyntheticEntry, TableEntry
from shoal.publish.certificate.noisy_counts import certificate
from shoal.publish.folder import (
    COUNTS,
    LOCK,
    counts_file,
    hashes,
    read_hierarchies,
    rule_file,
    synthetic_file,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.noisy_counts import NUMBERS, NoisyCountsPlan, SyntheticRows, count_index
from shoal.publish.plan.views import view_names
from shoal.publish.run.charge import ChargedJob
from shoal.publish.run.release import today
from shoal.publish.run.safe_k import BYTES_OF_CELL, RuleFiles, SafeKJob, key

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.publish.report.document import MethodSections

BYTES_OF_LINE = {"csv": 24, "parquet": 8}
"""About how many bytes a line of a table of counts takes beside its labels: three numbers."""
NOBODY = "rows of nobody: synthetic, drawn from noisy counts"
"""What the metadata of a Parquet file of synthetic rows say under the key `shoal`."""


class NoisyCountsJob(ChargedJob):
    """The run of a plan of noisy counts; everything in it is charged once, before the first random draw."""

    plan: NoisyCountsPlan
    report_modules: tuple[str, ...] = ("shoal.publish.report.noisy_counts",)

    def __init__(self, plan: NoisyCountsPlan) -> None:
        self.plan = plan
        self.hierarchies: dict[str, bytes] = {}
        self.measured: MeasuredCounts | None = None
        self.rows: SafeKJob | None = plan.rows.job() if plan.rows is not None else None
        self.modules = (
            "shoal.anonymize.measure.count",
            "shoal.publish.verify.noisy_counts",
            *(("shoal.model.fit",) if plan.setting.kind == "rounds" or plan.synthetic is not None else ()),
            *(("shoal.datasets.cell_values",) if plan.synthetic is not None else ()),
        )

    def notes(self, rows: int) -> list[str]:
        """A warning, and no refusal: whether a release appears must not depend on one row more or less."""
        width = min(self.plan.half_widths.values())
        found = [] if self.rows is None else self.rows.notes(rows)
        if rows < 10 * width:
            found.append(
                f"the table has fewer rows than ten times the least error of a count ({width:,}); expect counts that say little"
            )
        return found

    def expected_bytes(self, rows: int) -> int:
        """About how many bytes are written; of merged cells there are at most so many."""
        plan, form = self.plan, self.plan.format
        line = BYTES_OF_LINE[form] + 2 * BYTES_OF_CELL[form]
        wide = sorted(plan.table_sizes.values(), reverse=True)[: plan.most_tables]
        found = (sum(map(len, plan.method.cells)) + sum(wide)) * line
        if plan.synthetic is not None:
            found += (plan.synthetic.rows or rows) * len(plan.method.cells) * BYTES_OF_CELL[form]
        return found + (0 if self.rows is None else self.rows.expected_bytes(rows))

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Compile what takes long, and draw the certificate with names in the place of what is not settled yet."""
        from shoal.publish.verify.noisy_counts import refuse_unverifiable

        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        paid = self.account_after(ledger)
        beside = [table for table, _ in self.rows.draft_tables()] if self.rows is not None else []
        synthetic = self.synthetic_entry(0) if plan.synthetic is not None else None
        draft = certificate(plan, {LOCK: plan.lock.sha256}, self.draft_counts(), beside, synthetic, paid, today())
        refuse_unverifiable(draft)
        try_handbook(draft.to_json(), plan.lock.text)
        _warm_up()
        notes = [] if self.rows is None else self.rows.load_kernels(rows)
        return [*notes, *(_load_loops() if plan.synthetic is not None else ())]

    def draft_counts(self) -> list[CountsTableEntry]:
        """The tables as the certificate will list them, as far as the plan knows them."""
        method, setting = self.plan.method, self.plan.setting
        singles = [(name,) for name in method.columns] if setting.singles else []
        groups = [*singles, *method.groups[: self.plan.most_tables]]
        sigma = setting.single_sigma if setting.single_sigma is not None else setting.tables[0][1]
        return [
            CountsTableEntry(
                file=counts_file(name, self.plan.format),
                name=name,
                columns=group,
                sigma=exact_text(sigma),
                half_width=noise_half_width(sigma),
                cells=1,
                recoding={each: rule_file(number, each) for number, each in enumerate(group, 1)},
            )
            for name, group in zip(view_names(groups), groups, strict=True)
        ]

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the counts, the rows, the rules of their labels, the lock and the certificate; every key is gone then."""
        plan = self.plan
        if self.rows is not None:
            # Estimates join counts and rows, so both are about the same rows of each person: those that are drawn here.
            with key(source, "contributions") as chance:
                table = bound_rows(table, plan.unit, chance.row_mask(1).words, "adaptive-tables", stage)
        with key(source, "counts") as chance:
            measured = self.measured = plan.method.measure(table, chance, stage)
        counts = self._write_counts(measured, folder, stage)
        tables, rows = self._write_rows(table, folder, source, stage)
        counts = self._write_rules(measured, counts, folder)
        synthetic = None
        if plan.synthetic is not None:
            stage("drawing synthetic rows")
            with key(source, "synthetic") as chance:
                synthetic = self._write_synthetic(measured, folder, chance, stage)
                rows += synthetic.rows
        stage("writing")
        scores = [
            {"attributes": list(each.attributes), "score": each.score, "chosen": each.chosen}
            for each in measured.scores
        ]
        index = count_index(plan, counts, scores)
        write_text(folder / COUNTS, json.dumps(index, indent=1, ensure_ascii=False) + "\n")
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(plan.policy.dataset, self.receipt)
        made = certificate(plan, hashes(folder), counts, tables, synthetic, account, today())
        return write_certificate(folder, made, stage).to_json(), rows

    def _write_counts(self, measured: MeasuredCounts, folder: Path, stage: Stage) -> list[CountsTableEntry]:
        """A file for each table, with a line for each of its cells; their rules are not named yet."""
        found: list[CountsTableEntry] = []
        (folder / "counts").mkdir()
        names = view_names([own.attributes for own in measured.tables])
        for name, each in zip(names, measured.tables, strict=True):
            stage(StageProgress("writing the counts", len(found), len(names)))
            file, width = counts_file(name, self.plan.format), noise_half_width(each.sigma)
            write_frame(folder / file, counts_frame(each, width))
            found.append(
                CountsTableEntry(
                    file=file,
                    name=name,
                    columns=each.attributes,
                    sigma=exact_text(each.sigma),
                    half_width=width,
                    cells=each.cells,
                    recoding=dict.fromkeys(each.attributes, "-"),
                )
            )
        return found

    def _write_rows(
        self, table: Table, folder: Path, source: Source | None, stage: Stage
    ) -> tuple[list[TableEntry], int]:
        """The rows beside the counts, as the job of the rows draws them."""
        if self.rows is None:
            (folder / "recoding").mkdir()
            return [], 0
        return self.rows.write_tables(table, folder, source, stage)

    def _write_rules(
        self, measured: MeasuredCounts, counts: Sequence[CountsTableEntry], folder: Path
    ) -> list[CountsTableEntry]:
        """What each label of the counts stands for, the same rule once; the numbers go on where those of the rows end."""
        first = sum(1 for path in (folder / "recoding").iterdir() if path.suffix == ".json")
        rules = RuleFiles(folder, first)
        return [
            entry.model_copy(update={"recoding": rules.write(each.rules())})
            for entry, each in zip(counts, measured.tables, strict=True)
        ]

    def _write_synthetic(self, measured: MeasuredCounts, folder: Path, source: Source, stage: Stage) -> SyntheticEntry:
        """One table drawn from a model of the published counts; the original is not here."""
        from shoal.datasets.cell_values import synthetic_columns

        codes = draw_codes(self.plan, measured, source, within(stage, "drawing synthetic rows"))
        stage("writing synthetic rows")
        frame = synthetic_columns(measured.cells, codes, source.stream("values"))
        write_frame(folder / synthetic_file(self.plan.format), frame, {"shoal": NOBODY})
        return self.synthetic_entry(len(codes))

    def synthetic_entry(self, rows: int) -> SyntheticEntry:
        """The synthetic table as the certificate lists it."""
        plan = self.plan
        return SyntheticEntry(
            file=synthetic_file(plan.format),
            rows=rows,
            declared=plan.synthetic is not None and plan.synthetic.rows is not None,
            columns=plan.method.columns,
            of="rows of nobody",
            rules=len(plan.synthetic.never) if plan.synthetic is not None else 0,
        )

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:
        from shoal.publish.report.noisy_counts import noisy_counts_report

        if self.measured is None:
            raise UsageError("nothing was counted yet")
        return noisy_counts_report(self.plan, table, self.measured, public, content, stage)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.noisy_counts import noisy_counts_sections

        return noisy_counts_sections(values)


def draw_codes(
    plan: NoisyCountsPlan, measured: MeasuredCounts, source: Source, stage: Stage = silent
) -> npt.NDArray[np.int64]:
    """Synthetic rows as numbers of cells, drawn from a model of published counts; the original is not here. `stage` is told what
    is done.
    """
    from shoal.model.fit import fit

    asked = plan.synthetic or SyntheticRows(None)
    forbidden = tuple(
        tuple(None if mask is None else np.array(mask, dtype=np.bool_) for mask in box) for box in asked.never
    )
    model = fit(
        measured.axes(), measured.as_measurements(), source=source.stream("fit"), forbidden=forbidden, stage=stage
    )
    stage("drawing from the model")
    many = max(0, round(model.total)) if asked.rows is None else asked.rows
    return model.draw(many, source.stream("rows"), stage, favour=asked.favour)


def _warm_up() -> None:
    """Draw some noise, so that what is compiled or imported for it is there before the charge."""
    with Source.secure() as source:
        source.stream("trial").discrete_gaussian(2, 3)


def _load_loops() -> tuple[str, ...]:
    """Compile what draws synthetic rows; a note where that fails."""
    from shoal.compilation import load_kernels
    from shoal.model.descent import improve
    from shoal.model.gibbs import resample

    return load_kernels((improve, resample))


def counts_frame(table: NoisyTable, half_width: int) -> pa.Table:
    """A line for each cell, the last attribute fastest: its labels, the noisy count, and the ends of its interval."""
    import pyarrow as pa

    shape = table.values.shape
    columns: dict[str, Any] = {}
    for axis, (name, labels) in enumerate(zip(table.attributes, table.labels, strict=True)):
        inner, outer = prod(shape[axis + 1 :]), prod(shape[:axis])
        codes = np.tile(np.repeat(np.arange(len(labels), dtype=np.int32), inner), outer)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(labels), pa.string()))
    counts = table.values.reshape(-1)
    numbers = {name: pa.array(counts + add) for name, add in zip(NUMBERS, (0, -half_width, half_width), strict=True)}
    return pa.table({**columns, **numbers})


def write_frame(path: Path, frame: pa.Table, metadata: Mapping[str, str] | None = None) -> None:
    """Write a table, CSV or Parquet by its suffix, the same bytes for the same values."""
    from shoal.engine.write import BATCH_ROWS, rebatch, write_file

    shape = frame.schema if metadata is None else frame.schema.with_metadata(dict(metadata))
    write_file(path, shape, rebatch(_batches(frame, BATCH_ROWS), BATCH_ROWS), lambda: None)


def _batches(frame: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    yield from frame.combine_chunks().to_batches(max_chunksize=rows)
