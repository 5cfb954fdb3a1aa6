"""`check`: what a table discloses, from the distinct tuples that an engine counts in one pass."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.assess.disclosure.measures import RECURSIVE_C, observe
from shoal.assess.disclosure.report import DisclosureReport
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Attribute, Missing, Outside, Schema, Type
from shoal.engine.base import open_engine
from shoal.errors import DataError, UsageError
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    from shoal.engine.base import Engine, Table
    from shoal.policy.policy import Policy


def check(
    data: object,
    policy: Policy | Schema | str | os.PathLike[str],
    *,
    levels: Mapping[str, int] | None = None,
    lenient: bool = False,
    recursive_c: float = RECURSIVE_C,
    engine: str | Engine = "duckdb",
    stage: Stage = silent,
) -> DisclosureReport:
    """Measure what a table discloses: rows, equivalence classes, k, l, t, beta, delta, and the sizes of the classes.

    A class is a set of rows with equal quasi-identifiers. Classes depend only on whether cells are equal, so a published table is
    read as it is: its cells are not compared with the domains, and a column that does not read as its declared type is read
    as labels, which `DisclosureReport.labels` names. The numbers describe this table as it is, without the treatments that a
    policy may list for its releases; they are no guarantee.

    Arguments  `data`: a path or a frame; only the quasi-identifiers and the confidential attributes are read.
               `policy`: says which they are; a path, a `Policy` or a `Schema`.
               `levels`: recode these attributes by their hierarchies first, such as {"age": 2}.
               `lenient`: a missing or suppressed cell matches anything; by default it matches only its like.
               `recursive_c`: the c of recursive (c, l)-diversity.
               `engine`: "duckdb", or an engine of your own (`shoal.engine.base.Engine`).
               `stage`: is told what is done with the table once it is read.
    Raises     UsageError without a quasi-identifier or for a level of another attribute; ParameterError for a c that is not
               positive; DataError for a table that cannot be read, has no rows or lacks a column

    >>> import pyarrow as pa
    >>> from shoal.data.schema import Attribute, Role, Schema, Type
    >>> age, ill = Attribute("age", Role.QUASI, Type.INTEGER), Attribute("ill", Role.CONFIDENTIAL, Type.TEXT)
    >>> check(pa.table({"age": [31, 31, 64, 64], "ill": ["flu", "ulcer", "flu", "flu"]}), Schema((age, ill)))
    <DisclosureReport: 4 rows in 2 classes, k = 2, l = 1, t = 0.25>
    """
    schema = _schema(policy)
    if not schema.quasi:
        raise UsageError("the policy names no quasi-identifier", fix="give at least one attribute the role quasi")
    asked = (*schema.quasi, *schema.confidential)
    chosen = {name: _level(schema, name, level) for name, level in (levels or {}).items()}
    opened = open_engine(engine, data=data, counted=True)
    table, labels = open_labelled(opened, data, replace(schema, attributes=asked), chosen)
    names = [attribute.name for attribute in asked]
    if chosen:
        table = table.recode({name: chosen.get(name, ValueLevel()) for name in names})
    stage("counting classes")
    counts = table.count_by(names)
    del table  # what was read takes memory, and the counts are all that is needed
    return observe(
        counts, Schema(asked), lenient=lenient, recursive_c=recursive_c, levels=levels, labels=labels, stage=stage
    )


def _schema(policy: Policy | Schema | str | os.PathLike[str]) -> Schema:
    if isinstance(policy, Schema):
        return policy
    if isinstance(policy, str | os.PathLike):
        from shoal.policy.policy import Policy

        return Policy.load(policy).schema
    return policy.schema


def _level(schema: Schema, name: str, index: int) -> Level:
    attribute = schema[name]
    if attribute not in (*schema.quasi, *schema.confidential):
        raise UsageError(
            f"attribute '{name}' is neither a quasi-identifier nor confidential", came=attribute.role.value,
            fix="leave out its level: the attribute is not read",
        )  # fmt: skip
    if attribute.hierarchy is None:
        raise UsageError(f"attribute '{name}' has no hierarchy", came=f"level {index}", fix="declare one in the policy")
    return attribute.hierarchy.level(index)


def open_labelled(
    engine: Engine, data: object, schema: Schema, chosen: Mapping[str, Level]
) -> tuple[Table, tuple[str, ...]]:
    """Open a table that may hold labels, and say which columns do; one that is to be recoded must hold values of its domain."""
    bare = tuple(one if one.name in chosen else _without_domain(one) for one in schema.attributes)
    try:
        return engine.scan(data, replace(schema, attributes=bare)), ()
    except DataError as error:
        trouble = error
    labels = [
        attribute.name
        for attribute in bare
        if attribute.name not in chosen and not _reads(engine, data, replace(schema, attributes=(attribute,)))
    ]
    if not labels:
        raise trouble
    read = tuple(replace(one, type=Type.TEXT) if one.name in labels else one for one in bare)
    return engine.scan(data, replace(schema, attributes=read)), tuple(labels)


def _reads(engine: Engine, data: object, alone: Schema) -> bool:
    """Whether the column can be read as its type; of a column of text that is not asked."""
    if alone.attributes[0].type is Type.TEXT:
        return True
    try:
        engine.scan(data, alone)
    except DataError:
        return False
    return True


def _without_domain(attribute: Attribute) -> Attribute:
    return replace(attribute, domain=None, hierarchy=None, missing=Missing.VALUE, outside=Outside.ERROR)
