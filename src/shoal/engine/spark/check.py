"""The check of a table that Spark reads: every row against the schema, once, on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from shoal.data.domain import Pattern
from shoal.data.schema import Attribute, Missing
from shoal.engine.read.storage import WORDS
from shoal.engine.read.violations import LOOKED_AT, Violation, ViolationCounts, refuse, refuse_domain
from shoal.engine.spark import sql, workers
from shoal.engine.spark.read import SparkInput
from shoal.errors import DataError


def check_input(opened: SparkInput) -> tuple[DataFrame, int]:
    """Check every row against the schema: the frame of the input with columns c0, c1, … and r, and how many rows there are."""
    attributes, kinds, form = opened.attributes, opened.opened.kinds, opened.form
    for attribute in attributes:
        refuse_domain(attribute)
    read = [sql.read_value(F.col(f"s{i}"), kind, attributes[i], form) for i, kind in enumerate(kinds)]
    shown = [value.alias(f"v{i}") for i, (value, _) in enumerate(read)]
    shown += [wrong.alias(f"u{i}") for i, (_, wrong) in enumerate(read) if wrong is not None]
    typed = opened.frame.select(*shown, "r")
    if not opened.settled and (opened.parsed or any(wrong is not None for _, wrong in read)):
        # What takes work to read is read once, and what was checked is what is used afterwards.
        typed = opened.connection.hold(typed)
    outside = [_outside(opened, F.col(f"v{i}"), attribute, typed) for i, attribute in enumerate(attributes)]
    finals = [
        sql.apply_outside_rule(F.col(f"v{i}"), attribute, out)
        for i, (attribute, (out, _)) in enumerate(zip(attributes, outside, strict=True))
    ]
    asked: list[Column] = [F.count("*").alias("rows")]
    for i, attribute in enumerate(attributes):
        out, found = outside[i]
        asked.append(_count(F.col(f"u{i}") if read[i][1] is not None else None).alias(f"u{i}"))
        asked.append(_count(finals[i].isNull() if attribute.missing is Missing.REFUSE else None).alias(f"m{i}"))
        asked.append((_count(out) if found is None else F.lit(found)).alias(f"o{i}"))
    texts = [F.col(f"v{i}") for i, attribute in enumerate(attributes) if attribute.type in WORDS]
    asked.append(_count(_any([~F.is_valid_utf8(text) for text in texts])).alias("broken"))
    asked += [F.min("r").alias("first"), F.max("r").alias("last")]
    # A column that nothing is asked about is read all the same: a broken page shows here, not later.
    asked.append(F.max(F.xxhash64(*(F.col(f"v{i}") for i in range(len(attributes))))).alias("read"))
    counts: dict[str, Any] = opened.connection.attempt(typed.agg(*asked).toArrow).to_pylist()[0]
    rows = int(counts["rows"])
    if opened.opened.rows and rows != opened.opened.rows:
        raise DataError("the table has another number of rows than its file says", came=opened.opened.name)
    if rows and (counts["first"], counts["last"]) != (0, rows - 1):
        raise DataError(
            "the rows could not be numbered, each by a number of its own",
            came=opened.opened.name,
            fix="name each file once, and start again",
        )
    if counts["broken"]:
        raise DataError(
            "some texts are not in UTF-8",
            came=f"{opened.opened.name}, {counts['broken']:,} rows",
            fix="write the table again with its texts in UTF-8",
        )
    findings = [
        ViolationCounts(attribute, *(int(counts[f"{sign}{i}"] or 0) for sign in "umo"))
        for i, attribute in enumerate(attributes)
    ]

    def rows_of(place: int, violation: Violation) -> list[int]:
        wrong = {
            Violation.UNREADABLE: F.col(f"u{place}") if read[place][1] is not None else None,
            Violation.OUTSIDE: outside[place][0],
            Violation.MISSING: finals[place].isNull(),
        }[violation]
        first = typed.where(F.lit(False) if wrong is None else wrong).select("r").orderBy("r").limit(LOOKED_AT)
        return [int(number) for number in opened.connection.attempt(first.toArrow)["r"].to_pylist()]

    refuse(findings, opened, rows_of)
    # Where nothing lies outside, nothing is left to clamp or suppress.
    settled = [finals[i] if finding.outside else F.col(f"v{i}") for i, finding in enumerate(findings)]
    return typed.select(*(value.alias(f"c{i}") for i, value in enumerate(settled)), "r"), rows


def _any(conditions: Sequence[Column]) -> Column | None:
    return reduce(lambda one, other: one | other, conditions) if conditions else None


def _count(condition: Column | None) -> Column:
    found: Column = F.lit(0) if condition is None else F.count_if(condition)
    return found


def _outside(opened: SparkInput, v: Column, attribute: Attribute, typed: DataFrame) -> tuple[Column | None, int | None]:
    """Whether a value lies outside its domain, and in how many rows one does where that is known already."""
    if not isinstance(attribute.domain, Pattern):
        return sql.outside(v, attribute), None
    text = sql.as_text(v, attribute.type)
    return workers.mismatches(attribute.domain)(text), _count_mismatches(opened, attribute.domain, text, v, typed)


def _count_mismatches(opened: SparkInput, domain: Pattern, text: Column, v: Column, typed: DataFrame) -> int:
    """Count the rows whose text does not match the pattern, by Python's expressions; each different text is tried once."""
    counted = typed.where(v.isNotNull()).select(text.alias("v")).groupBy("v").agg(F.count("*").alias("n"))
    mismatched = workers.map_batches(counted, workers.find_mismatches(domain), "v string, n bigint")
    found = opened.connection.attempt(mismatched.agg(F.sum("n").alias("n")).toArrow)["n"][0].as_py()
    return int(found or 0)
