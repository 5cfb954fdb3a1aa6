"""What the handbook of a release speaks of: its tables and columns, from the certificate, the locked plan and the rules alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Literal

from shoal.assess.frame.column import PublishedColumn, describe_column, with_concepts
from shoal.data.type import Type
from shoal.engine.write import table_files

ROWS, COUNTS, SYNTHETIC, RECORDS, RECODED = "rows", "counts", "synthetic", "records", "recoded"
LINKED, GROUPS, CENTROIDS, BOXES = "linked", "groups", "centroids", "boxes"
Kind = Literal["rows", "counts", "synthetic", "records", "recoded", "linked", "groups", "centroids", "boxes"]
"""What the lines of a table are: sampled rows, cells with noisy counts, rows of nobody, masked or recoded records, records with
the number of their group, what groups hold, noisy centroids of clusters, or rows of nobody inside boxes."""
OF_VALUES: tuple[Kind, ...] = ("synthetic", "records", "linked", "groups", "centroids", "boxes")
"""The kinds of tables whose columns need no rule: without one they show values."""
NUMBERS = ("count", "low", "high")
"""The columns of a table of counts after its attributes."""
LABELLED = ("interval", "set", "concept", "ancestor", "drawn concept")
"""What a column of masked records or centroids may show that is no value of the attribute."""


@dataclass(frozen=True)
class HandbookTable:
    """One published table as its recipient has to know it."""

    name: str
    file: str
    kind: Kind
    columns: tuple[str, ...]
    rules: Mapping[str, tuple[str, ...]]
    """The rule files of each column whose labels have some; several where rows show labels of different levels."""
    shows: Mapping[str, str]
    """What each column of masked records shows; empty for other tables."""
    k: int | None = None
    beta: Fraction | None = None
    sigma: str | None = None
    half_width: int | None = None
    lines: int | None = None
    """How many lines it has, where the certificate says it."""
    group: str | None = None
    """The column before all others that holds the number of a group; None where there is none."""
    count: str | None = None
    """The column after all others that says how many records a line stands for; None where there is none."""
    parts: tuple[str, ...] = ()
    """The files of its parts in the order of their rows, where it is a folder of parts; empty where it is one file."""

    @property
    def weight(self) -> float | None:
        """How many records a row stands for on average; None where rows have no weights."""
        return None if self.beta is None else float(1 / self.beta)

    @property
    def added(self) -> dict[str, str]:
        """What the columns are that hold no attribute: the number of a group, and how many of its records a line counts."""
        own = {
            self.group: "the number of a group, which says nothing else",
            self.count: "how many records of the group",
        }
        return {name: words for name, words in own.items() if name is not None}

    @property
    def header(self) -> tuple[str, ...]:
        """Its columns in their order, those that hold no attribute among them."""
        return tuple(name for name in (self.group, *self.columns, self.count) if name is not None)

    @property
    def form(self) -> str:
        """csv or parquet."""
        return PurePosixPath(self.file).suffix[1:]


@dataclass(frozen=True)
class Handbook:
    """The content of every file of the handbook."""

    certificate: Mapping[str, Any]
    """As plain values; its hashes and its seal are not used, because they are made later. Of its files the tables are."""
    lock: Mapping[str, Any]
    tables: tuple[HandbookTable, ...]
    columns: tuple[PublishedColumn, ...]

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    def of_kind(self, kind: Kind) -> tuple[HandbookTable, ...]:
        """The tables of one kind."""
        return tuple(table for table in self.tables if table.kind == kind)

    @property
    def has_views(self) -> bool:
        """Whether rows come as views: narrow tables, each from a sample of its own."""
        return bool(self.certificate.get("views"))

    @property
    def was_sampled_before(self) -> bool:
        """Whether the original was itself a sample of a population."""
        sampling = self.lock["release"].get("sampling")
        return isinstance(sampling, dict) and sampling.get("already") is not None

    def shows_values(self, table: HandbookTable, name: str) -> bool:
        """Whether the cells of a column are values of the attribute in its own type; else they are labels, which are text."""
        if table.kind in (SYNTHETIC, BOXES):
            return True
        if table.kind in (RECORDS, LINKED, GROUPS, CENTROIDS):
            return name not in table.rules and table.shows[name] not in LABELLED
        column = self.by_name[name]
        kept = len(table.rules[name]) == 1 and table.rules[name][0] in column.kept
        return kept and (table.kind in (ROWS, RECODED) or column.type.numeric)

    def cell_type(self, table: HandbookTable, name: str) -> Type:
        """The type of a column's cells: text for labels; a mean or a median of whole numbers need not be whole."""
        own = self.by_name[name].type
        if not self.shows_values(table, name):
            return Type.TEXT
        return Type.DECIMAL if own is Type.INTEGER and table.shows.get(name) in ("mean", "median") else own


ReadRule = Callable[[str], Mapping[str, Any]]
"""The rule that a file of the folder holds, by the file's name."""


Concepts = Mapping[str, Mapping[str, tuple[str, ...]]]
"""For each column whose cells may be concepts, the values below each of them."""


def make_handbook(
    certificate: Mapping[str, Any], lock: Mapping[str, Any], read_rule: ReadRule, concepts: Concepts | None = None
) -> Handbook:
    """The handbook of a release from its certificate and its locked plan, as plain values, its rules and its concepts."""
    tables = tuple(_with_parts(table, certificate) for table in _tables(certificate))
    rules: dict[str, dict[str, None]] = {}
    for table in tables:
        for name in table.columns:
            own = rules.setdefault(name, {})
            own.update(dict.fromkeys(table.rules.get(name, ())))
    attributes = lock["attributes"]
    columns = tuple(
        describe_column(name, attributes[name], ((file, read_rule(file)) for file in files))
        for name, files in rules.items()
    )
    known = concepts or {}
    shown = (with_concepts(each, known[each.name]) if each.name in known else each for each in columns)
    return Handbook(certificate, lock, tables, tuple(shown))


def _with_parts(table: HandbookTable, certificate: Mapping[str, Any]) -> HandbookTable:
    """The table with the parts that the certificate lists, where it is a folder of parts."""
    found = table_files(certificate["files"], table.file)
    return table if found == (table.file,) else replace(table, parts=found)


def _group_table(name: str, entry: Mapping[str, Any], k: int) -> HandbookTable:
    """A table of a release by groups: records, what groups hold, or one table that shows no groups."""
    kind: Kind = "records" if entry["group"] is None else "groups" if entry["count"] is not None else "linked"
    return HandbookTable(
        name, entry["file"], kind, tuple(entry["columns"]), rules_of(entry), entry["shows"], k,
        group=entry["group"], count=entry["count"],
    )  # fmt: skip


def _tables(certificate: Mapping[str, Any]) -> Iterator[HandbookTable]:
    """Every published table: rows or records, counts, synthetic rows."""
    names: set[str] = set()
    for entry in certificate["tables"]:
        name = entry.get("name") or PurePosixPath(entry["file"]).stem
        names.add(name)
        if "group" in entry:
            yield _group_table(name, entry, certificate["guarantee"]["k"])
            continue
        if "clusters" in certificate:
            own = entry["columns"][0] if len(certificate["tables"]) > 1 else name
            columns, k = tuple(entry["columns"]), certificate["clusters"]["k"]
            yield HandbookTable(own, entry["file"], "centroids", columns, {}, entry["shows"], k, lines=entry["rows"])
            continue
        if certificate["method"] == "box-microaggregation":
            columns, lines = tuple(entry["columns"]), entry["rows"]
            yield HandbookTable(name, entry["file"], "boxes", columns, {}, entry["shows"], lines=lines)
            continue
        if "shows" in entry:
            yield HandbookTable(name, entry["file"], "records", tuple(entry["columns"]), {}, entry["shows"], entry["k"])
            continue
        if "levels" in entry:
            yield HandbookTable(
                name, entry["file"], "recoded", tuple(entry["columns"]), rules_of(entry), {}, entry["k"]
            )
            continue
        beta = Fraction(certificate["samples"][entry["sample"]]["beta"])
        k = None if certificate["method"] == "sample" else entry["k"]
        yield HandbookTable(name, entry["file"], "rows", tuple(entry["columns"]), rules_of(entry), {}, k, beta)
    for entry in certificate.get("counts", ()):
        name = f"counts/{entry['name']}" if entry["name"] in names else entry["name"]
        yield HandbookTable(
            name, entry["file"], "counts", tuple(entry["columns"]), rules_of(entry), {},
            sigma=entry["sigma"], half_width=entry["half_width"], lines=entry["cells"],
        )  # fmt: skip
    synthetic = certificate.get("synthetic")
    if synthetic:
        file, columns = synthetic["file"], tuple(synthetic["columns"])
        yield HandbookTable(PurePosixPath(file).stem, file, "synthetic", columns, {}, {}, lines=synthetic["rows"])


def rules_of(entry: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The rule files of each column of a table as its certificate lists it: one, or one for each level that it shows."""
    found = entry.get("recoding", {})
    return {name: (files,) if isinstance(files, str) else tuple(files) for name, files in found.items()}
