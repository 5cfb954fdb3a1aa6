"""Assess a release against its original, or a masked table of any tool: from files to risks and utility.

A release says itself what its columns are: the locked policy lies in its folder. A masked table needs a policy that says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.assess.assessment import Assessment, assess_tables
from shoal.assess.comparison.parts import Ints, ReadColumn, read_column
from shoal.assess.comparison.release_tables import OriginalTable, masked_table, released_table
from shoal.assess.disclosure.check import open_labelled
from shoal.data.plain_file import advise, near_release
from shoal.data.schema import Missing, Outside, Schema
from shoal.engine.base import Engine, Table, open_engine
from shoal.engine.read.input import recognize
from shoal.errors import ParameterError, UsageError
from shoal.policy.policy import Policy
from shoal.progress import Stage, silent
from shoal.publish.verify.lock import read_locked_policy

if TYPE_CHECKING:
    import pyarrow as pa


def assess_release(
    original: object,
    *,
    folder: str | Path | None = None,
    masked: object = None,
    policy: Policy | None = None,
    aligned: bool = False,
    control: object = None,
    population: object = None,
    fraction: float | None = None,
    weights: str | None = None,
    targets: Sequence[str] = (),
    lenient: bool = False,
    full: bool = True,
    engine: str | Engine = "duckdb",
    tick: Callable[[], None] = lambda: None,
    stage: Stage = silent,
) -> Assessment:
    """Read everything and measure it.

    Arguments  `original`: the table that was released; `folder` of the release, or `masked`, a table that another tool made;
               `policy`: what the columns are, by default the one that the release was locked with; `aligned`: row i of the masked
               table is record i of the original; `control`: originals that took no part; `population`: a table of the population
               with the quasi-identifiers; `fraction`: the share of a population that the original is a sample of; `weights`: a
               column of the original with sampling weights; `targets`: columns that models predict; `lenient`: a suppressed cell
               matches anything; `full`: with attacks and models; `tick`: is called after each step, and `stage` with what begins
    Raises     UsageError where neither or both of folder and masked are given, a masked table has no policy, or a column is not
               there; DataError for tables that cannot be read
    """
    if (folder is None) == (masked is None):
        raise UsageError(
            "an assessment is of one release", came="none" if folder is None else "a folder and a masked table",
            allowed="the folder of a release, or a masked table with its policy",
        )  # fmt: skip
    policy, targets = confidential_of(None if folder is None else Path(folder), policy, targets)
    if fraction is not None and not 0 < fraction < 1:
        raise ParameterError(
            "the original is no sample of this share", came=fraction, allowed="above 0 and below 1",
            fix="where the original is the whole population, leave the fraction out",
        )  # fmt: skip
    schema, opened = policy.schema, open_engine(engine)
    wanted = [each.name for each in schema.published]
    quasi = [each.name for each in schema.quasi if each.name in wanted]
    extra = () if weights is None else (weights,)
    table = opened.scan(original, lenient_schema(schema, wanted, extra))
    tick()
    stage("reading the release")
    read = OriginalTable.of(table, wanted)
    released = (
        masked_table(read, read_masked(opened, masked, schema), aligned=aligned)
        if folder is None
        else released_table(read, Path(folder), stage)
    )
    tick()
    held = None if control is None else read.like(opened.scan(control, lenient_schema(schema, wanted)))
    people = None
    if population is not None:
        cells = opened.scan(population, lenient_schema(schema, quasi)).collect(list(quasi))
        people = {name: read_column(read.schema[name].type, cells[name]) for name in quasi}
    return assess_tables(
        read, released, quasi=quasi, confidential=[each.name for each in schema.confidential if each.name in wanted],
        targets=_known(targets, wanted), control=held, people=people, fraction=fraction,
        population=None if people is None else _population(people, read, quasi),
        weights=None if weights is None else _weights(table, weights), lenient=lenient, full=full, tick=tick, stage=stage,
    )  # fmt: skip


def confidential_of(folder: Path | None, policy: Policy | None, targets: Sequence[str]) -> tuple[Policy, list[str]]:
    """The policy that an assessment goes by, and the columns that its models predict where none is named."""
    if policy is None and folder is not None:
        if not (folder / "policy.lock.yaml").is_file():
            raise UsageError(
                "this is not the folder of a release" if folder.exists() else "there is no such release",
                came=str(folder), allowed="a folder that `shoal release` wrote, with its policy.lock.yaml",
                **advise(
                    folder, None if folder.exists() else near_release(folder),
                    "check the path; a table of another tool is given by --masked FILE --policy FILE",
                ),
            )  # fmt: skip
        policy, _ = read_locked_policy(folder)
    if policy is None:
        raise UsageError("a masked table needs a policy", fix="give the policy that says what its columns are")
    names = [each.name for each in policy.schema.published]
    return policy, list(targets) or [each.name for each in policy.schema.confidential if each.name in names][:2]


READING = 2
"""How often `assess_release` calls `tick` before anything is measured."""


def lenient_schema(schema: Schema, names: Sequence[str], extra: Sequence[str] = ()) -> Schema:
    """The attributes that are read; values beside their domains are counted as they are, since nothing is promised here."""
    kept = [
        replace(each, missing=Missing.VALUE, outside=Outside.SUPPRESS)
        for each in schema.attributes
        if each.name in names
    ]
    found = {each.name for each in schema.attributes}
    for name in extra:
        if name not in found:
            raise UsageError(
                "no attribute of the policy has this name", came=name, allowed=", ".join(sorted(found)[:12])
            )
        kept += [each for each in schema.attributes if each.name == name and name not in names]
    return replace(schema, attributes=tuple(kept))


def _known(targets: Sequence[str], names: Sequence[str]) -> list[str]:
    for name in targets:
        if name not in names:
            raise UsageError("the target is no published attribute", came=name, allowed=", ".join(names[:12]))
    return list(targets)


def _weights(table: Table, name: str) -> list[float]:
    found = np.ma.filled(table.collect([name])[name].astype(np.float64), np.nan)
    if not bool(np.all(found > 0)):
        raise UsageError(f"column '{name}' holds a weight that is missing or not positive", allowed="positive numbers")
    return [float(weight) for weight in found]


def _population(people: Mapping[str, ReadColumn], original: OriginalTable, quasi: Sequence[str]) -> Ints:
    """The quasi-identifiers of a population as codes of the original's values; values that it does not have get new codes."""
    return np.stack([_coded(original.columns[name], people[name]) for name in quasi], axis=1)


def _coded(own: ReadColumn, other: ReadColumn) -> Ints:
    """A column of the population by the codes that the original's column has in an assessment."""
    if own.points is None or other.points is None:
        place = {name: code for code, name in enumerate(own.names)}
        codes = [place.setdefault(name, len(place)) for name in other.names]
        return np.asarray(np.array([*codes, -1], dtype=np.int64)[other.codes])
    # Codes of numbers are ranks among the original's numbers, as `assessment` makes them.
    ranks = np.unique(np.where(np.isnan(own.points), 0.0, own.points))
    gone = np.isnan(other.points)
    at = np.searchsorted(ranks, np.where(gone, 0.0, other.points))
    here = (at < len(ranks)) & (ranks[np.minimum(at, len(ranks) - 1)] == other.points)
    new = np.unique(np.where(gone | here, 0.0, other.points), return_inverse=True)[1].ravel() + len(ranks)
    return np.asarray(np.where(gone, -1, np.where(here, at, new)))


def read_masked(opened: Engine, masked: object, schema: Schema) -> pa.Table:
    """A masked table with the columns that the policy knows, each of its declared type where it holds values, else as text."""
    import pyarrow as pa

    held = recognize(masked, schema.file).names
    attributes = tuple(each for each in schema.published if each.name in held)
    if not attributes:
        raise UsageError(
            "the masked table has no column of the policy", came=", ".join(map(str, held[:8])),
            allowed=", ".join(each.name for each in schema.published[:8]),
        )  # fmt: skip
    table, _ = open_labelled(opened, masked, replace(schema, attributes=attributes), {})
    cells = table.collect([each.name for each in attributes])
    return pa.table({name: pa.array(np.ma.getdata(own), mask=np.ma.getmaskarray(own)) for name, own in cells.items()})
