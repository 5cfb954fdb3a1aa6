"""Verify a release whose guarantee is counted: its certificate is made again from the lock, and its table read and counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from shoal.anonymize.cluster.columns import ROOT
from shoal.assess.disclosure.measures import observe
from shoal.data.domain import list_values
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, Outside, Schema, Type
from shoal.engine.base import Table, open_engine
from shoal.engine.write import BATCH_ROWS, files_of, rebatch, table_files
from shoal.errors import DataError
from shoal.files.work_folder import temporary_folder
from shoal.guarantee.rounding import exact
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.publish.certificate.counted import certificate as make_certificate
from shoal.publish.certificate.model import CountedCertificate, CountedPromiseEntry
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.verify.compare import compare
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.recount import TOLERANCE, distance_of, without_hierarchy
from shoal.publish.verify.standalone import Check, bounded, open_inside, sha256

AnyPlan = TypeVar("AnyPlan", bound=Plan)
LABELS = ("interval", "set", "concept", "ancestor")
"""What a group may show that is no value of the attribute."""
LONGEST = 1 << 26
"""Bytes of the longest row that is read."""
MOST_ROWS_IN_A_BYTE = 2000
"""Rows of a Parquet table for each byte of its file: a few bytes can say that a row is there a million times."""


def counted_checks(folder: Path, policy: Policy, certificate: CountedCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes, and the table read as a stranger would, and counted."""
    resolved = resolve(policy)
    if not isinstance(resolved, SyntacticPlan):
        return [Check("lock-method", False, "makes no certificates of this kind", promise=True)]
    plan = in_published_order(resolved, certificate.tables[0].columns)
    ledger = certificate.ledger
    account = Account(
        dataset=plan.policy.dataset, budget=None, neighbours=None, unit=None, costs=(), releases=0,
        unbounded=ledger.unbounded_releases, looks=0, sample_used=False,
    )  # fmt: skip
    wanted = make_certificate(plan, f"table.{plan.format}", certificate.files, account, certificate.date)
    # What was spent before is not in the locked plan.
    wanted = wanted.model_copy(update={"ledger": ledger})
    return [*compare(certificate, wanted), *_table_checks(folder, certificate, plan)]


def in_published_order(plan: AnyPlan, columns: Sequence[str]) -> AnyPlan:
    """The plan with its columns as they were published; a lock has them in the order of the alphabet."""
    place = {name: number for number, name in enumerate(columns)}
    own = sorted(plan.policy.schema.attributes, key=lambda one: place.get(one.name, len(place)))
    return replace(plan, policy=replace(plan.policy, schema=replace(plan.policy.schema, attributes=tuple(own))))


def _table_checks(folder: Path, certificate: CountedCertificate, plan: SyntacticPlan) -> list[Check]:
    """The published table, read as a stranger would and counted by code that shares nothing with the methods."""
    table = certificate.tables[0]
    name, rules = f"table.{plan.format}", plan.method.rules(plan.policy.schema)
    if table.file != name or sorted(table.columns) != sorted(rules):
        return []  # said before
    shown = Schema(tuple(_as_displayed(one, rules[one.name]) for one in plan.policy.schema.published))
    read, checks = read_published(folder, name, shown, certificate.files)
    if read is None:
        return checks
    return [*checks, *_concept_checks(read, plan, rules), *_counts(read, certificate.guarantee, plan, name)]


def read_published(
    folder: Path, name: str, shown: Schema, listed: Mapping[str, str]
) -> tuple[Table | None, list[Check]]:
    """A published table, read by what its columns show and written again; None where it cannot be read, and why.

    `listed` has the hashes of all files of the release. A table of parts is never in memory as a whole.
    """
    parts = table_files(listed, name)
    try:
        if parts != (name,):
            return _read_parts(folder, name, parts, shown)
        with open_inside(folder, name) as file:
            if name.endswith(".parquet"):
                return _read_parquet(file, name, shown)
            return _read_csv(file, name, shown, listed[name])
    except DataError as error:
        return None, [Check("table-rewritten", False, error.wrong, promise=True, about=name)]


def _concept_checks(read: Table, plan: SyntacticPlan, rules: Mapping[str, str]) -> list[Check]:
    """Whether columns that show concepts of a hierarchy show nothing else; None where the hierarchy cannot be listed here."""
    found = []
    for name in (name for name, rule in rules.items() if rule in ("concept", "ancestor")):
        attribute = plan.policy.schema[name]
        listed = None if attribute.domain is None else list_values(attribute.type, attribute.domain)
        if is_unread(plan.policy, name) or listed is None or attribute.hierarchy is None:
            found.append(Check("labels", None, "what its concepts are called is not in the folder", about=name))
            continue
        own = np.array(listed, dtype=object)
        levels = [level for level in attribute.hierarchy.levels if not isinstance(level, ValueLevel)]
        known = {*listed, ROOT}.union(*({str(label) for label in level.apply(own)} for level in levels))
        shown = {cell for cell in read.collect([name])[name].tolist() if cell is not None}
        found.append(Check("labels", shown <= known, "concepts of its hierarchy", promise=True, about=name))
    return found


def _as_displayed(one: Attribute, rule: str) -> Attribute:
    """An attribute as its column shows it: labels are text, a middle of numbers is a decimal, a value is one of its domain."""
    bare = replace(one, hierarchy=None, outside=Outside.ERROR)
    if rule in LABELS:
        return replace(bare, type=Type.TEXT, domain=None)
    if rule in ("mean", "median") and one.type in (Type.INTEGER, Type.DECIMAL):
        return replace(bare, type=Type.DECIMAL, domain=None)
    return replace(bare, domain=None) if rule == "mean" else bare


def _read_csv(file: BinaryIO, name: str, shown: Schema, listed: str) -> tuple[Table | None, list[Check]]:
    """Read it and write it again: the same bytes come out where columns, cells, spelling and order are as we write them."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(len(shown.names))]
    try:
        lines = csv.read_csv(
            file,
            read_options=csv.ReadOptions(column_names=names, block_size=LONGEST),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=len(names) == 1,  # an empty text is quoted; alone in its row, it is missing
            ),
        )
    except (pa.ArrowException, OSError):
        return None, [
            Check(
                "table-columns",
                False,
                "not all rows have as many cells as there are columns",
                promise=True,
                about=name,
            )
        ]
    if [column[0].as_py() for column in lines.columns] != list(shown.names):
        return None, [Check("table-columns", False, "not those that are declared", promise=True, about=name)]
    read = open_engine().scan(lines.slice(1).rename_columns(list(shown.names)), shown)
    with temporary_folder("verify") as place:
        again = place / Path(name).name
        read.write(again)
        same = sha256(again) == listed
    return read, [
        Check("table-rewritten", same, "its values as we write them, sorted by themselves", promise=True, about=name)
    ]


def _read_parquet(file: BinaryIO, name: str, shown: Schema) -> tuple[Table | None, list[Check]]:
    """Read it and write it again: the same table comes out where columns, types, values and order are as we write them."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as table:
            bounded("rows", table.metadata.num_rows, MOST_ROWS_IN_A_BYTE * os.fstat(file.fileno()).st_size)
            rows, notes = table.read(), table.metadata.metadata
    except (pa.ArrowException, OSError):
        return None, [Check("table-text", False, "it cannot be read", promise=True, about=name)]
    if rows.column_names != list(shown.names):
        return None, [Check("table-columns", False, "not those that are declared", promise=True, about=name)]
    silent = not notes and not any(field.metadata for field in rows.schema)
    read = open_engine().scan(rows, shown)
    with temporary_folder("verify") as place:
        again = place / Path(name).name
        read.write(again)
        same = _without_types_of_nothing(parquet.read_table(again)).equals(_without_types_of_nothing(rows))
    return read, _parquet_checks(name, silent=silent, same=same and not _has_negative_zero(rows))


def _parquet_checks(name: str, *, silent: bool, same: bool) -> list[Check]:
    detail = "values of their own types, sorted by themselves"
    return [
        Check("table-notes", silent, "no notes in the file", promise=True, about=name),
        Check("table-rewritten", same, detail, promise=True, about=name),
    ]


def _read_parts(folder: Path, name: str, parts: Sequence[str], shown: Schema) -> tuple[Table | None, list[Check]]:
    """Read the parts of a table and write it again, some rows at a time: the same rows come out, in the same order."""
    import pyarrow as pa
    from pyarrow import parquet

    silent = True
    try:
        for part in parts:
            with open_inside(folder, part) as file, parquet.ParquetFile(file) as table:
                bounded("rows", table.metadata.num_rows, MOST_ROWS_IN_A_BYTE * os.fstat(file.fileno()).st_size)
                shape = table.schema_arrow
                silent = silent and not table.metadata.metadata and not any(field.metadata for field in shape)
                if shape.names != list(shown.names):
                    detail = "not those that are declared"
                    return None, [Check("table-columns", False, detail, promise=True, about=name)]
    except (pa.ArrowException, OSError):
        return None, [Check("table-text", False, "it cannot be read", promise=True, about=name)]
    read = open_engine().scan(folder / name, shown)
    with temporary_folder("verify") as place:
        again = place / Path(name).name
        read.write(again)
        pairs = zip_longest(_batches(files_of(again)), _batches([folder / part for part in parts]))
        same = all(one is not None and other is not None and _are_same(one, other) for one, other in pairs)
    return read, _parquet_checks(name, silent=silent, same=same)


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    """The rows of Parquet files, one file after the other, in batches of one length."""
    from pyarrow import parquet

    def pieces() -> Iterator[Any]:
        for path in files:
            with parquet.ParquetFile(path) as file:
                yield from file.iter_batches(BATCH_ROWS)

    return rebatch(pieces(), BATCH_ROWS)


def _are_same(ours: Any, told: Any) -> bool:
    """Whether two batches hold the same rows in the same types; a column without a value has none."""
    import pyarrow as pa

    one, other = (_without_types_of_nothing(pa.Table.from_batches([batch])) for batch in (ours, told))
    return bool(one.equals(other)) and not _has_negative_zero(other)


def _without_types_of_nothing(rows: Any) -> Any:
    """A table in which columns without a value have no type."""
    import pyarrow as pa

    many = rows.num_rows
    return pa.table([pa.nulls(many) if one.null_count == many else one for one in rows.columns], rows.column_names)


def _has_negative_zero(rows: Any) -> bool:
    """Whether a zero has a sign, which comparing does not see."""
    import pyarrow as pa

    held = [one.drop_null().to_numpy() for one in rows.columns if pa.types.is_floating(one.type)]
    return any(bool((np.signbit(values) & (values == 0)).any()) for values in held)


def _counts(read: Table, promised: CountedPromiseEntry, plan: SyntacticPlan, name: str) -> list[Check]:
    """What is promised of the table, counted on it; of groups that are not published, what must hold of the whole."""
    schema, rows = read.schema, read.rows()
    least = 2 * max(plan.k, *plan.k_by_attribute().values(), 0)
    checks = [Check("row-count", rows >= least, f"{rows}; two groups have {least} or more", promise=True, about=name)]
    if promised.kind != "k-anonymity":
        fewest = min((len(read.count_by([one.name])) for one in schema.confidential), default=0)
        enough = promised.l is None or fewest >= promised.l
        return [*checks, Check("distinct-values", enough, f"{fewest} in the table", promise=True)]
    asked = [without_hierarchy(one) for one in (*schema.quasi, *schema.confidential)]
    seen = observe(read.count_by([one.name for one in asked]), Schema(tuple(asked)))
    detail = f"the smallest class has {seen.k} rows"
    checks.append(Check("class-size", seen.k >= promised.k, detail, promise=True, about=name))
    if promised.l is not None:
        detail = f"the least diverse class has {seen.l} values"
        checks.append(Check("distinct-values", (seen.l or 0) >= promised.l, detail, promise=True))
    if promised.t is not None:
        far = max((distance_of(one) for one in seen.confidential), default=float("inf"))
        near = far <= float(exact(promised.t)) + TOLERANCE
        checks.append(Check("closeness", near, f"the farthest class lies {far:.4g} off", promise=True))
    return checks
