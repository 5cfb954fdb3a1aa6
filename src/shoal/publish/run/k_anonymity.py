"""The run of k-anonymity by full-domain recoding: search, recode, suppress, write; the ledger notes it as unbounded."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.method.k_anonymity import RecodedMicrodata
from shoal.chance.source import Source
from shoal.data.plain_file import LARGEST_POPULATION, read_plain_file
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema, Type
from shoal.engine.base import Counts, Table, open_engine
from shoal.errors import DataError, PolicyError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage
from shoal.publish.certificate.k_anonymity import certificate, level_rules
from shoal.publish.folder import (
    LOCK,
    hashes,
    population_file,
    read_hierarchies,
    table_file,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.run.charge import UnboundedJob
from shoal.publish.run.release import today

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections


class FullDomainJob(UnboundedJob):
    """The run of a plan of levels."""

    plan: FullDomainPlan

    modules = ("narwhals",)
    report_modules = ("shoal.publish.report.k_anonymity",)

    def __init__(self, plan: FullDomainPlan) -> None:
        self.plan = plan
        self.recoded: RecodedMicrodata | None = None
        self.hierarchies: dict[str, bytes] = {}
        self.population: Population | None = None

    @property
    def note(self) -> str:
        return f"{self.plan.method.name}, k = {self.plan.k}"

    def cells(self, rows: int) -> int:
        return rows * len(self.plan.policy.schema.published)

    def expected_bytes(self, rows: int) -> int:
        carried = len(self.population.content) if self.population is not None else 0
        return self.cells(rows) * (16 if self.plan.format == "csv" else 8) + carried

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Read the population, compile what takes long, and draw the certificate with the coarsest levels."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        self.population = read_population(plan)
        lattice = plan.method.lattice(plan.policy.schema)
        levels = {name: own[-1:] for name, own in zip(lattice.names, lattice.levels, strict=True)}
        account = ledger.account(plan.policy.dataset)
        draft = certificate(plan, level_rules(plan, levels), {LOCK: plan.lock.sha256}, account, today())
        try_handbook(draft.to_json(), plan.lock.text)
        return list(plan.method.load_kernels(plan.schema, rows))

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the table, the rules of its labels, the lock and the certificate."""
        plan = self.plan
        people = self.population.counts if self.population is not None else None
        with source.stream("release") if source is not None else Source.secure() as chance:
            self.recoded = plan.method.run(table, chance, stage, people)
        stage("writing")
        self.recoded.table.write(folder / table_file(plan.format))
        rules = level_rules(plan, self.recoded.levels_used)
        (folder / "recoding").mkdir()
        for file, text in rules.texts.items():
            write_text(folder / file, text)
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        if self.population is not None and plan.k_map is not None and plan.k_map.public:
            place = folder / population_file(self.population.sha256)
            place.parent.mkdir()
            place.write_bytes(self.population.content)
        account = ledger.account(plan.policy.dataset)
        made = certificate(plan, rules, hashes(folder), account, today())
        return write_certificate(folder, made, stage).to_json(), self.recoded.table.rows()

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write what was lost, what was left out, and what every criterion reached."""
        from shoal.publish.report.k_anonymity import full_domain_report

        if self.recoded is None:
            raise UsageError("a report before the table was written")
        return full_domain_report(self.plan, table, self.recoded, self.population, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.k_anonymity import full_domain_sections

        return full_domain_sections(values)


# --- the population ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Population:
    """The people among whom those of the table are: how many have each combination of quasi-identifiers."""

    counts: Counts
    content: bytes
    """The file as it was read."""
    sha256: str


def read_population(plan: FullDomainPlan) -> Population | None:
    """The population that k-map is counted on; None where it is not asked for.

    Raises     PolicyError where it is not the file that was read with the policy, DataError where it does not fit the policy.
    """
    asked, place = plan.k_map, plan.policy.population_path
    if asked is None or place is None:
        return None
    content = read_plain_file(place, LARGEST_POPULATION)
    digest = hashlib.sha256(content).hexdigest()
    if digest != plan.policy.population:
        raise PolicyError(
            "the population file was changed since the policy was read",
            came=place,
            fix="plan again, and release that plan",
        )
    return Population(count_population(content, plan.policy.schema, asked.count), content, digest)


def count_population(content: bytes, schema: Schema, count: str | None) -> Counts:
    """How many people have each combination of quasi-identifiers, from a CSV file; values lie in their declared domains."""
    quasi = [replace(one, hierarchy=None, outside=Outside.ERROR) for one in schema.quasi]
    names = [one.name for one in quasi]
    read = [*quasi, *([Attribute(count, Role.OTHER, Type.INTEGER, missing=Missing.REFUSE)] if count else [])]
    rows = _csv_columns(content, [one.name for one in read])
    try:
        found = open_engine().scan(rows, Schema(tuple(read))).count_by([one.name for one in read])
    except DataError as error:
        raise DataError(
            f"the population file: {error.wrong}",
            came=error.came,
            allowed=error.allowed,
            fix="spell its values as the policy declares them",
        ) from None
    if count is None:
        return found
    people = found.values[-1].astype(np.int64).take(found.codes[-1])
    if len(people) and int(people.min()) < 0:
        raise DataError("the population file: a line stands for fewer than no people", came=f"column '{count}'")
    starts = np.flatnonzero(_begins(found.codes[:-1], len(found)))
    return Counts(
        tuple(names),
        found.values[:-1],
        tuple(codes.take(starts) for codes in found.codes[:-1]),
        np.add.reduceat(people * found.counts, starts) if len(starts) else found.counts,
    )


def _begins(codes: Sequence[npt.NDArray[np.int32]], many: int) -> npt.NDArray[np.bool_]:
    """Where, in sorted tuples, one differs from the one before."""
    new = np.zeros(many, dtype=np.bool_)
    new[:1] = True
    for each in codes:
        new[1:] |= each[1:] != each[:-1]
    return new


def _csv_columns(content: bytes, names: Sequence[str]) -> Any:
    """Some columns of a CSV file as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    unreadable = DataError(
        "the population file: it cannot be read as a CSV file",
        allowed="UTF-8, commas, a header line, as many cells in every line",
    )
    try:
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")), [])
    except (UnicodeDecodeError, csv.Error):
        raise unreadable from None
    if wrong := [name for name in names if header.count(name) != 1]:
        raise DataError(
            "the population file: columns are lacking, or there twice",
            came=", ".join(f"{header.count(name) or 'no'} '{name}'" for name in wrong),
            allowed="a header line, by commas, with the name of each quasi-identifier and of `count` once",
        )
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(names),
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowException, KeyError, OSError):
        raise unreadable from None
