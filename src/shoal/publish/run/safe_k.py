"""The run of a safe k-anonymous release: charge, settle the recoding, draw, label, write. The charge stands whatever happens."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.generalize.tree.boxes import BoxRecoding
from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.guarantee.safe_k.setting import Setting
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage
from shoal.publish.certificate.model import RecodingChoiceEntry, TableEntry
from shoal.publish.certificate.safe_k import certificate
from shoal.publish.folder import (
    LOCK,
    box_file,
    hashes,
    read_hierarchies,
    rule_file,
    rule_text,
    table_file,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.run.charge import ChargedJob
from shoal.publish.run.release import today

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections

BYTES_OF_CELL = {"csv": 16, "parquet": 2}
"""About how many bytes a published cell takes: a label with its comma; a number of a label, compressed."""


@dataclass(frozen=True)
class DrawnTable:
    """One table that is published: its file, its recoding, its setting."""

    file: str
    recoding: Recoding
    promise: Setting
    sample: int = 0
    """Which of the plan's distinct settings it has."""
    view: str | None = None
    """The name of the view; None for a wide table."""
    choice: RecodingChoiceEntry | None = None
    """How its recoding was chosen, where that was paid for and it is a view's."""


class SafeKJob(ChargedJob):
    """The run of a plan that publishes rows of a sample."""

    plan: SafeKPlan

    report_modules: tuple[str, ...] = ("shoal.publish.report.safe_k", "shoal.assess.release.estimate")

    def __init__(self, plan: SafeKPlan) -> None:
        self.plan = plan
        self.drawn: list[DrawnTable] = []
        self.hierarchies: dict[str, bytes] = {}

    @property
    def uses_sample(self) -> bool:
        return self.plan.method.drawn_before

    def notes(self, rows: int) -> list[str]:
        """A warning, and no refusal: whether a release appears must not depend on one row more or less."""
        k = self.plan.promise.k
        if rows >= 2 * k:
            return []
        few = f"the table has fewer than 2k = {2 * k} rows"
        return [f"{few}, so hardly a class can reach k = {k}; expect an empty release"]

    def expected_bytes(self, rows: int) -> int:
        shown = sum(float(promise.beta) * len(table.columns) for table, promise in self.draft_tables())
        return int(rows * shown * BYTES_OF_CELL[self.plan.format])

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Compile what takes long, and draw the certificate with names in the place of what is not settled yet."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        paid = self.account_after(ledger)
        tables = [table for table, _ in self.draft_tables()]
        draft = certificate(plan, {LOCK: plan.lock.sha256}, tables, paid, today())
        try_handbook(draft.to_json(), plan.lock.text)
        return self.load_kernels(rows)

    def load_kernels(self, rows: int) -> list[str]:
        """Compile the loops that so many rows take; a note where that fails."""
        return list(self.plan.method.load_kernels(rows))

    def draft_tables(self) -> list[tuple[TableEntry, Setting]]:
        """The tables as the certificate will list them, as far as the plan knows them, each with its setting."""
        plan = self.plan
        names = tuple(attribute.name for attribute in plan.schema.published)
        return [
            (draft_table(self.file(number), names, plan.promise), plan.promise) for number in range(1, plan.repeat + 1)
        ]

    def file(self, number: int) -> str:
        """The file of the table of this number."""
        return table_file(self.plan.format, number if self.plan.repeat > 1 else None)

    def draw(
        self, table: Table, source: Source | None, stage: Stage = lambda _: None
    ) -> Generator[tuple[DrawnTable, Table], None, None]:
        """Every table of the plan with its rows, to be written before the next is asked for.

        Each random key is destroyed when its part is done: that of the recoding before a sample is drawn, that of a sample
        when the next table is asked for or the iterator is closed.
        """
        plan = self.plan
        if plan.repeat > 1:
            # Estimates join the tables, so all are about the same rows of each person: those that are drawn here.
            with key(source, "contributions") as chance:
                table = plan.method.bound_contributions(table, chance, stage)
        with key(source, "settle") as chance:
            recoding = plan.method.settle(table, chance, stage)
        for number in range(1, plan.repeat + 1):
            with key(source, "release") as chance:
                yield (
                    DrawnTable(self.file(number), recoding, plan.promise),
                    plan.method.run(table, recoding, chance, stage),
                )

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the tables, the rules of their labels, the lock and the certificate; every key is gone when this returns."""
        plan = self.plan
        tables, rows = self.write_tables(table, folder, source, stage)
        records = self.draw_total(table, source, stage)
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(plan.policy.dataset, self.receipt)
        made = certificate(plan, hashes(folder), tables, account, today(), records)
        return write_certificate(folder, made, stage).to_json(), rows

    def draw_total(self, table: Table, source: Source | None, stage: Stage) -> int:
        """Draw the noisy number of the rows that take part, with a key of its own; the number itself where the plan publishes
        that, and 0 where it publishes neither.

        How many rows of a unit take part is decided by how many it has, and not by which of them are drawn.
        """
        noise = self.plan.total_noise
        if self.plan.tells_exact_total:
            return table.rows()  # a row is the unit, so all of them take part
        if noise is None:
            return 0
        with key(source, "total") as chance:
            rows = self.plan.method.bound_contributions(table, chance.stream("rows"), stage).rows()
            drawn = int(rows + noise.noise(chance.stream("noise"), 1)[0, 0])
            return max(drawn, 0)  # computed from the noisy number alone, and never further from the true one

    def write_tables(
        self, table: Table, folder: Path, source: Source | None, stage: Stage
    ) -> tuple[list[TableEntry], int]:
        """Draw and write every table, the rules of their labels and their index; the tables as listed, and how many rows."""
        rows = 0
        with closing(self.draw(table, source, stage)) as drawn:
            for one, published in drawn:
                stage(self.writing(len(self.drawn) + 1))
                (folder / one.file).parent.mkdir(exist_ok=True)
                published.write(folder / one.file)
                rows += published.rows()
                self.drawn.append(one)
        stage("writing")
        tables = write_rules(self.drawn, folder)
        self.write_index(folder, tables)
        return tables, rows

    def writing(self, number: int) -> str:  # noqa: ARG002 - a view's
        """The stage of the run in which the table of this number is written."""
        return "writing"

    def write_index(self, folder: Path, tables: Sequence[TableEntry]) -> None:
        """Write a list of the tables, where there are so many that it takes one."""

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:
        from shoal.publish.report.safe_k import safe_k_report

        return safe_k_report(self.plan, table, self.drawn[0].recoding, public, content, stage)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.safe_k import safe_k_sections

        return safe_k_sections(self.plan, values)


def draft_table(
    file: str,
    columns: Sequence[str],
    promise: Setting,
    sample: int = 0,
    view: str | None = None,
    choice: RecodingChoiceEntry | None = None,
) -> TableEntry:
    """A table as a certificate lists it, before anything is settled on the data."""
    return TableEntry(
        file=file,
        name=view,
        sample=sample,
        k=promise.k,
        columns=tuple(columns),
        recoding={name: rule_file(number, name) for number, name in enumerate(columns, 1)},
        boxes=None,
        recoding_choice=choice,
    )


def key(source: Source | None, purpose: str) -> Source:
    """A key for one purpose: fresh from the operating system, unless a test gives its own source."""
    return source.stream(purpose) if source is not None else Source.secure()


class RuleFiles:
    """The files in which a release says what its labels stand for, each rule once; numbers go on where others end."""

    def __init__(self, folder: Path, before: int = 0) -> None:
        """`before` is how many files of rules the folder has already."""
        self._folder, self._before = folder, before
        self._places: dict[tuple[str, str], str] = {}

    def write(self, rules: Mapping[str, Any]) -> dict[str, str]:
        """Write the rules that are new; for each attribute the file of its rule."""
        found = {}
        for name, rule in rules.items():
            text = rule_text(rule)
            if (name, text) not in self._places:
                place = self._places[name, text] = rule_file(self._before + len(self._places) + 1, name)
                write_text(self._folder / place, text)
            found[name] = self._places[name, text]
        return found


def write_rules(tables: Sequence[DrawnTable], folder: Path) -> list[TableEntry]:
    """Write what each label stands for, the same rule once; the tables as the certificate lists them."""
    (folder / "recoding").mkdir()
    rules = RuleFiles(folder)
    listings: dict[int, str] = {}
    found = []
    for each in tables:
        own = rules.write(each.recoding.rules())
        boxes = _write_boxes(each, each.recoding, folder, listings) if isinstance(each.recoding, BoxRecoding) else None
        found.append(
            TableEntry(
                file=each.file,
                name=each.view,
                sample=each.sample,
                k=each.promise.k,
                columns=tuple(own),
                recoding=own,
                boxes=boxes,
                recoding_choice=each.choice,
            )
        )
    return found


def _write_boxes(table: DrawnTable, recoding: BoxRecoding, folder: Path, known: dict[int, str]) -> str:
    """Write the boxes of a table, and say where; repeats of one release share a list."""
    if id(recoding) not in known:
        known[id(recoding)] = box_file(table.view)
        path = folder / known[id(recoding)]
        path.parent.mkdir(exist_ok=True)
        write_text(path, recoding.listing())
    return known[id(recoding)]
