"""A draft of a policy: every column with its role, type, domain and hierarchy, a reason for each, and where each came from."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.codebook import Codebook
from shoal.data.schema import STANDARD, FileFormat, Role
from shoal.data.type import Type
from shoal.draft.codes.table import Labels
from shoal.draft.description import Description, apply_description, apply_rows, describe, value_labels
from shoal.draft.opening import OpenedTable
from shoal.draft.profile import ColumnProfile, TableProfile, profile_table
from shoal.draft.proposal import Origin, propose
from shoal.draft.recognize.column import Recognition
from shoal.draft.recognize.table import recognize_table
from shoal.engine.read.storage import Storage
from shoal.files.work_folder import WorkFolder

if TYPE_CHECKING:
    from shoal.policy.policy import Policy


@dataclass(frozen=True)
class DraftedColumn:
    """One column of a draft: what was proposed, the reason in one sentence, and where domain and hierarchy came from.

    `domain` and `hierarchy` are written as in a policy. `rows` is what the hierarchy file of the column lists, where it has one.
    `candidates` are values that may stand for a missing one; nothing was done about them.
    """

    name: str
    role: Role
    type: Type | None
    reason: str
    domain: Any = None
    hierarchy: Any = None
    domain_provenance: Origin = "declared"
    hierarchy_provenance: Origin = "declared"
    label: str | None = None
    value_labels: Mapping[str, str] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """Those of `missing_values` that nobody said to be missing codes: without them the column would not read as its type."""
    format: str | None = None
    decimal: str | None = None
    outside: str | None = None
    notes: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    domain_without: Any = None
    """The domain that would do if the candidates were missing values."""
    hierarchy_without: Any = None
    """The hierarchy that would, where it is another."""
    file: str | None = None
    """The name of the hierarchy file, beside the policy."""
    rows: tuple[Labels, ...] | None = field(default=None, repr=False)
    subject: str | None = None
    """What the column is about, in a word or two, where that was recognized."""

    @property
    def published(self) -> bool:
        """Whether a release may show the column."""
        return self.role not in (Role.IDENTIFIER, Role.DROP)

    @property
    def provenance(self) -> Origin:
        """`profiled` where anything was read off the data that a person has not confirmed."""
        return "profiled" if "profiled" in (self.domain_provenance, self.hierarchy_provenance) else "declared"

    @property
    def complete(self) -> bool:
        """Whether what is published has a domain."""
        return not self.published or self.domain is not None or self.rows is not None or self.type is Type.BOOLEAN


@dataclass(frozen=True)
class DraftedUnit:
    """Whose contribution is hidden: one row, or the rows of one value of a column."""

    column: str | None
    reason: str
    max_rows: int = 1
    typical_rows: int = 1
    """The rows of a person in the middle, rounded; 1 where each has one."""


@dataclass(frozen=True)
class Draft:
    """A policy that nobody has confirmed yet, with everything that was proposed and why; `save` writes it.

    `columns` has one entry for each column of the table. What was read off the data is `profiled` and stays so until a person
    confirms it; what follows from names, code tables or a codebook alone is `declared`.
    """

    dataset: str
    source: str
    columns: tuple[DraftedColumn, ...]
    unit: DraftedUnit
    file: FileFormat = STANDARD
    rows: int = 0
    looked_at: bool = True
    """Whether any value of the table was looked at."""
    notes: tuple[str, ...] = ()
    ledger: str | None = None
    """The ledger in which it is noted that somebody looked."""

    def __repr__(self) -> str:
        return f"<Draft of '{self.dataset}': {len(self.columns)} columns, {len(self.profiled)} profiled keys>"

    def __getitem__(self, name: str) -> DraftedColumn:
        return next(column for column in self.columns if column.name == name)

    @property
    def profiled(self) -> tuple[str, ...]:
        """The keys of the policy that were read off the data, as `Policy.profiled_keys` names them."""
        return self.policy.profiled_keys()

    @property
    def complete(self) -> bool:
        """Whether every published column has a domain, so that a release can be planned."""
        return all(column.complete for column in self.columns) and any(column.published for column in self.columns)

    def sentences(self) -> list[str]:
        """What was looked at, whose contribution is hidden, and what a person has to decide."""
        from shoal.draft.text import sentences

        return sentences(self)

    def to_json(self) -> dict[str, Any]:
        """The draft as plain values, without any value of the table that the policy does not hold."""
        from shoal.draft.text import fields

        return fields(self)

    def with_look(self, ledger: str) -> Draft:
        """The draft, with the ledger in which the look is noted."""
        return replace(self, ledger=ledger)

    def policy_text(self) -> str:
        """The text of the policy, with a comment for each column: what was proposed, and why."""
        from shoal.draft.text import policy_text

        return policy_text(self)

    def files(self) -> dict[str, str]:
        """The files that the policy names, by their names beside it: hierarchies, as ARX writes them."""
        from shoal.draft.text import hierarchy_text

        return {
            column.file: hierarchy_text(column.rows)
            for column in self.columns
            if column.file is not None and column.rows is not None
        }

    @cached_property
    def policy(self) -> Policy:
        """The draft as a policy; its hierarchy files lie in a temporary folder as long as the draft lives."""
        from shoal.draft.text import POLICY_FILE
        from shoal.policy.policy import Policy

        folder = WorkFolder.temporary("draft")
        weakref.finalize(self, folder.remove)
        for name, content in self.files().items():
            path = folder.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, "utf-8", newline="")
        return Policy.parse(self.policy_text(), folder.path, POLICY_FILE)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write policy.yaml, hierarchies/ and the schema for editors into a folder; the policy comes last, and whole.

        Raises     UsageError where a file of these names is there and `force` is not given; nothing is written then.
        """
        from shoal.draft.text import save

        return save(self, Path(folder), force=force)

    def refuse_overwriting(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Raise UsageError where `save` would replace a file and may not."""
        from shoal.draft.text import refuse_existing

        refuse_existing(self, Path(folder), force=force)


@dataclass(frozen=True)
class Beside:
    """What stands beside a table and is believed before its rows: codebooks, roles that somebody gave, hierarchy files.

    `books` are asked in their order. `hierarchies` has the rows of a hierarchy file, and its name, for each column that has one.
    """

    books: tuple[Codebook, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict)
    hierarchies: Mapping[str, tuple[Sequence[Labels], str]] = field(default_factory=dict)
    unit: str | None = None
    """The column that numbers people, where somebody named it."""


def draft_table(
    opened: OpenedTable,
    *,
    schema_only: bool = False,
    beside: Beside | None = None,
    dataset: str | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Draft:
    """Draft a policy for a table that was opened; `progress` is told the rows that were read, and all."""
    known = beside or Beside()
    books = (*known.books, opened.stored.codebook)
    said = {name: describe(name, books) for name in opened.stored.names}
    missing = {name: [each.value for each in one.column.missing] for name, one in said.items() if one is not None}
    profile = profile_table(opened.stored, schema_only=schema_only, missing=missing, progress=progress)
    recognized = recognize_table(profile, _labels(said), known.roles)
    columns = [
        _drafted(column, found, said[column.name], known.hierarchies.get(column.name))
        for column, found in zip(profile.columns, recognized, strict=True)
    ]
    unit = _unit(profile, recognized, known.unit)
    columns = [_as_unit(column, unit) for column in _with_files(columns)]
    form, columns = _decimal_marks(opened.form, columns)
    table = opened.form.table
    return Draft(
        dataset or dataset_name(opened.stored.name if table is None else table.rpartition(".")[2]),
        opened.stored.name,
        tuple(columns),
        unit,
        form,
        profile.rows,
        profile.looked_at,
        opened.notes,
    )


def _labels(said: Mapping[str, Description | None]) -> dict[str, str]:
    return {name: one.column.label for name, one in said.items() if one is not None and one.column.label}


def dataset_name(source: str) -> str:
    """A name for a dataset, from that of its file.

    >>> dataset_name("Visits 2026 (final).csv")
    'visits-2026-final'
    """
    stem = Path(source).name.split(".")[0]
    name = re.sub(r"[^0-9a-z]+", "-", stem.casefold()).strip("-")
    return name if name and source != "the frame" else "table"


_UNNAMED = {Storage.FLOAT: Type.DECIMAL, Storage.DATE: Type.DATE, Storage.MOMENT: Type.DATETIME}
"""Types of identifiers that are not stored as texts or whole numbers: a policy has to name them to read the table."""


def _drafted(
    profile: ColumnProfile,
    found: Recognition,
    said: Description | None,
    file: tuple[Sequence[Labels], str] | None,
) -> DraftedColumn:
    """One column: what is said beside the table comes before what was read off it."""
    label = None if said is None else said.column.label
    if found.role in (Role.IDENTIFIER, Role.DROP):
        kind = None if found.role is Role.DROP else _UNNAMED.get(profile.storage)
        return DraftedColumn(profile.name, found.role, kind, found.reason, label=label, subject=found.subject)
    notes: list[str] = []
    made = None if file is None else apply_rows(profile, found, *file)
    if file is not None and made is None:
        notes.append(f"the hierarchy of {file[1]} was not taken: it lacks values of this column")
    labels: dict[str, str] = {}
    if made is not None:
        found, proposal = made
    elif said is not None:
        found, proposal = apply_description(profile, found, said)
    else:
        proposal = propose(profile, found)
    if said is not None:
        labels = value_labels(said, proposal, found.type)
    if found.other_format is not None:
        notes.append(f"all dates also read as {found.other_format}: write down which form is meant")
    return DraftedColumn(
        profile.name,
        found.role,
        found.type,
        found.reason,
        proposal.domain,
        proposal.hierarchy,
        proposal.provenance,
        proposal.hierarchy_provenance or proposal.provenance,
        label,
        labels,
        proposal.missing_values,
        proposal.missing_values if proposal.assumed is None else proposal.assumed,
        found.format,
        found.decimal,
        proposal.outside,
        tuple(note for note in (*notes, *proposal.notes) if note),
        proposal.codes,
        proposal.without,
        proposal.hierarchy_without,
        rows=proposal.rows,
        subject=found.subject,
    )


def _with_files(columns: Sequence[DraftedColumn]) -> list[DraftedColumn]:
    """Give each hierarchy file a name of its own."""
    taken: set[str] = set()
    made = []
    for column in columns:
        if column.rows is None:
            made.append(column)
            continue
        stem = re.sub(r"[^0-9A-Za-z_-]+", "_", column.name).strip("_")[:80] or "column"
        name, number = stem, 2
        while name.casefold() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.casefold())
        path = f"hierarchies/{name}.csv"
        made.append(replace(column, file=path, hierarchy={"file": path}))
    return made


def _unit(profile: TableProfile, recognized: Sequence[Recognition], given: str | None) -> DraftedUnit:
    """The column that names people and repeats, if there is one; else one row is one person."""
    if given is not None:
        repeated = next((column for column in profile.columns if column.name == given), None)
        typical = 1 if repeated is None else max(1, round(repeated.typical_rows))
        return DraftedUnit(given, "the settings name it", 1, typical)
    pairs = list(zip(profile.columns, recognized, strict=True))
    named = [
        (column, found)
        for column, found in pairs
        if found.role is Role.IDENTIFIER
        and found.subject in ("person id", "id", "official number")
        and column.storage in (Storage.TEXT, Storage.INTEGER)
        and column.missing == 0
        and not column.gaps
    ]
    if not profile.looked_at:
        person = next((column for column, found in named if found.subject == "person id"), None)
        if person is None:
            return DraftedUnit(None, "no column is named like the number of a person: each row is taken for one person")
        return DraftedUnit(person.name, "by its name it numbers people, who may have several rows")
    order = {"person id": 0, "official number": 1, "id": 2}
    for column, _ in sorted(named, key=lambda pair: order[pair[1].subject or "id"]):
        if column.most_rows > 1:
            typical = max(1, round(column.typical_rows))
            return DraftedUnit(column.name, "its values repeat: a person may have several rows", 1, typical)
    if named:
        return DraftedUnit(None, f"every row has its own '{named[0][0].name}': one person is one row")
    household = next((column for column, found in pairs if found.subject == "household id"), None)
    if household is not None and household.most_rows > 1:
        return DraftedUnit(None, f"one row is taken for one person; '{household.name}' groups them into households")
    return DraftedUnit(None, "no column numbers people: one row is taken for one person")


def _as_unit(column: DraftedColumn, unit: DraftedUnit) -> DraftedColumn:
    if column.name != unit.column:
        return column
    return replace(
        column,
        role=Role.IDENTIFIER,
        type=None,
        reason=f"{column.reason}; it is the unit of privacy",
        rows=None,
        file=None,
    )


def _decimal_marks(form: FileFormat, columns: Sequence[DraftedColumn]) -> tuple[FileFormat, list[DraftedColumn]]:
    """One decimal mark for the file where all decimals have it; else a mark for each column that differs."""
    decimals = [column for column in columns if column.type is Type.DECIMAL]
    if decimals and all(column.decimal == "," for column in decimals):
        return replace(form, decimal=","), [replace(column, decimal=None) for column in columns]
    return form, list(columns)
