"""Tables in Spark: no step gathers rows in one task because they share a value, and what is kept is let go."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.chance.source import Source
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from tests.spark import SPARK, require_spark

pytestmark = pytest.mark.slow
SCHEMA = Schema((Attribute("who", Role.IDENTIFIER, Type.TEXT), Attribute("age", Role.QUASI, Type.INTEGER)))
ROWS = 4000


@pytest.fixture(scope="module")
def skewed(tmp_path_factory):
    """Half of the rows have one age, a quarter belong to one person, and some to nobody."""
    require_spark()
    rng = np.random.default_rng(2)
    ages = np.where(np.arange(ROWS) % 2 == 0, 30, rng.integers(0, 90, ROWS))
    people = [None if number % 50 == 7 else "one" if number % 4 == 0 else f"p{number % 900}" for number in range(ROWS)]
    folder = tmp_path_factory.mktemp("skewed")
    table = pa.table({"who": people, "age": ages.astype(np.int32)})
    for number in range(4):
        parquet.write_table(table.slice(number * 1000, 1000), folder / f"{number}.parquet")
    return folder


def plan_of(frame):
    """The plan that Spark runs, as text: its last step first."""
    return frame._jdf.queryExecution().executedPlan().toString()


def test_equal_rows_are_counted_where_they_lie_before_they_are_shuffled(skewed):
    table = SPARK.scan(skewed, SCHEMA).select(["age"])
    steps = plan_of(table._grouped(["age"]))
    assert steps.index("partial_count") > steps.index("Exchange hashpartitioning")


def test_rows_of_one_person_are_limited_before_they_are_shuffled(skewed):
    words = Source.seeded(4).row_mask(Fraction(1, 2)).words
    table = SPARK.scan(skewed, SCHEMA)
    limited = table.limit_per("who", 2, words)
    steps = plan_of(limited.frame)
    assert steps.index("row_number(), 2, Partial") > steps.index("Exchange hashpartitioning")
    expected = DuckDB().scan(skewed, SCHEMA).limit_per("who", 2, words)
    assert limited.digest() == expected.digest()
    assert max(limited.class_sizes(["who"])) == 2


def test_a_skewed_table_gives_the_same_answers_as_elsewhere(skewed):
    ours, other = (engine.scan(skewed, SCHEMA) for engine in (SPARK, DuckDB()))
    assert ours.count_by(["age"]).counts.tolist() == other.count_by(["age"]).counts.tolist()
    assert (
        ours.quantiles("age", [0, 0.25, 0.5, 0.9, 1]).tolist()
        == other.quantiles("age", [0, 0.25, 0.5, 0.9, 1]).tolist()
    )
    assert ours.contents() == other.contents()
    for size in (3, 7):
        mine, others = (
            each.chunk(["age"], size, "group").means_by("group", ["age"])["age"].tolist() for each in (ours, other)
        )
        assert mine == others


def test_what_a_table_keeps_is_let_go_with_it(skewed):
    table = SPARK.scan(skewed, SCHEMA)
    coarse = table.select(["age"])
    grouped = coarse.suppress_below(coarse.columns, 5)
    held = grouped.frame
    assert grouped.rows() > 0
    assert held.storageLevel.useDisk
    connection = table.input.connection
    del table, coarse, grouped
    assert connection._kept
    connection.__del__()
    assert not held.storageLevel.useDisk
