"""Many narrow tables made at once are those made one after the other, on every engine and however rows are read and held."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Type
from shoal.engine import tuple_counts
from shoal.engine.base import RecodeRequest
from shoal.engine.duckdb import codes as duckdb_codes
from shoal.engine.duckdb import table as duckdb_table
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.grouped import GroupedTable
from shoal.engine.spark import table as spark_table
from shoal.errors import DataError, DomainError, UsageError
from tests.engine.oracle import OracleEngine
from tests.engine.tables import (
    LEVELS,
    NAMES,
    ODD,
    ROWS,
    SCHEMA,
    TOWNS,
    arrow,
    as_csv,
    as_folder,
    as_parquet,
    crowded,
    every_third,
    plain,
    scattered,
    tables,
)
from tests.spark import SPARK, require_spark

CODES, TUPLES, TABLE = duckdb_codes, tuple_counts, duckdb_table
WAYS = {
    "fetched": (DuckDB(), []),
    "looked up": (DuckDB(threads=2), [(CODES, "SMALL", 0), (TUPLES, "MASK_ROWS", 4)]),
    "column by column": (DuckDB(threads=1), [(CODES, "SMALL", 0), (TABLE, "TOGETHER", 1), (TUPLES, "MASK_ROWS", 5)]),
    "request by request, on the disk": (DuckDB(), [(TUPLES, "MOST_CODES", 0), (TUPLES, "MEMORY", 0)]),
    "stored": (DuckDB(), [(TABLE, "MANY", 0)]),
    "oracle": (OracleEngine(), []),
    "spark": (SPARK, []),
    "spark, with the workers": (SPARK, [(spark_table, "MANY", 0), (spark_table, "LISTED", 0)]),
}
OFFERED = {
    "age": [LEVELS["age"], ValueLevel(), IntervalLevel((50,), ("young", "old")), TopLevel()],
    "weight": [ValueLevel(), IntervalLevel((0.0, 1.0), ("below", "some", "more")), TopLevel("any")],
    "town": [LEVELS["town"], ValueLevel(), TopLevel(), GroupLevel(TOWNS, (0,) * 9, ("",))],
    "zip": [LEVELS["zip"], MaskLevel(2, "left"), MaskLevel(0, "right", ""), ValueLevel()],
    "visit": [LEVELS["visit"], ValueLevel()],
    "seen": [TopLevel(), ValueLevel(), IntervalLevel((dt.datetime.fromisoformat("2022-01-01"),), ("before", "after"))],
    "smoker": [LEVELS["smoker"], ValueLevel()],
    ODD: [ValueLevel(), MaskLevel(1, "right", ""), TopLevel()],
}
MASKS = {
    "all": None,
    "third": every_third,
    "scattered": scattered,
    "sample": Source.seeded(4).row_mask(Fraction(2, 5)).keep,
    "none": lambda _, count: np.zeros(count, dtype=bool),
}
few_examples = settings(
    max_examples=max(8, settings().max_examples // 100), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
levels = st.permutations(NAMES).flatmap(
    lambda order: st.integers(1, 4).flatmap(
        lambda count: st.fixed_dictionaries({name: st.sampled_from(OFFERED[name]) for name in order[:count]})
    )
)
many = st.lists(st.builds(RecodeRequest, levels, st.sampled_from(list(MASKS.values()))), min_size=1, max_size=6)


@contextmanager
def opened(way, source):
    """A table in one of the ways."""
    engine, settings_of = WAYS[way]
    with ExitStack() as stack:
        for module, name, value in settings_of:
            stack.enter_context(patch.object(module, name, value))
        yield engine.scan(source, SCHEMA)


MARKS = {"spark": [pytest.mark.slow], "spark, with the workers": [pytest.mark.slow, pytest.mark.long]}
QUICK = [way for way in WAYS if way not in MARKS]
FEW = [
    RecodeRequest({"town": LEVELS["town"], "weight": ValueLevel()}, every_third),
    RecodeRequest({"age": LEVELS["age"], ODD: ValueLevel(), "smoker": LEVELS["smoker"]}, None),
]
"""What Spark is asked in every run; `make slow` asks it what the other engines are asked."""


@pytest.fixture(params=[pytest.param(way, marks=MARKS.get(way, [])) for way in WAYS])
def way(request):
    if request.param in MARKS:
        require_spark()
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("at-once")


def shown(table):
    """The rows as tuples, in row order."""
    found = table.collect(table.columns)
    return list(zip(*(plain(found[name]) for name in table.columns), strict=True))


def written(table, folder):
    """The bytes of one table in both formats."""
    for suffix in (".csv", ".parquet"):
        table.write(folder / f"out{suffix}")
    return [(folder / f"out{suffix}").read_bytes() for suffix in (".csv", ".parquet")]


def said(table, folder):
    """What a table says of itself."""
    counts = table.count_by(table.columns)
    codes = [[plain(column) for column in part] for part in (counts.values, counts.codes)]
    first = table.count_by(table.columns[-1:])
    kinds = {name: (str(np.ma.getdata(v).dtype), plain(v)) for name, v in table.collect(table.columns).items()}
    batches = [[column.to_pylist() for column in batch.columns] for batch in table.batches()]
    distinct = {name: plain(table.distinct(name)) for name in table.columns}
    alone = [plain(first.values[0]), plain(first.codes[0]), first.counts.tolist()]
    about = [table.columns, table.types, table.rows(), table.digest(), kinds, batches, distinct]
    return repr([*about, codes, counts.counts.tolist(), alone]), written(table, folder)


def one_by_one(table, ask):
    """What `at_once` replaces."""
    return (table if ask.mask is None else table.keep(ask.mask)).recode(ask.levels)


def test_each_table_has_its_own_columns_levels_and_rows(way):
    with opened(way, arrow(ROWS)) as table:
        coarse, fine, alone = table.recode_many(
            [
                RecodeRequest({"town": LEVELS["town"], "age": IntervalLevel((50,), ("young", "old"))}, None),
                RecodeRequest({"age": LEVELS["age"], "weight": ValueLevel()}, every_third),
                RecodeRequest({"age": ValueLevel()}, lambda start, count: np.arange(start, start + count) > 3),
            ]
        )
        assert shown(coarse) == [
            (MISSING, MISSING),
            ("east", "young"),
            ("east", "young"),
            ("east", "young"),
            ("west", "young"),
            ("Ägypten", "old"),
            ("Ägypten", "young"),
        ]
        assert shown(fine) == [("10-17", 7.25), ("18-64", 1.5), ("18-64", 2.5)]
        assert shown(alone) == [(10,), (17,), (70,)]
        assert (coarse.columns, fine.types["weight"]) == (("town", "age"), Type.DECIMAL)
        assert (coarse.schema, alone.notes) == (table.schema, table.notes)
        assert shown(coarse.suppress_below(["town"], 3)) == [("east", "young")] * 3
        assert coarse.suppress_below(["age", "town"], 2).rows() == 3
        assert coarse.suppress_below(["age"], 6).rows() == 0


@pytest.mark.slow
def test_every_other_verb_works_on_the_result(way):
    with opened(way, arrow(ROWS)) as table:
        found, values = table.recode_many(
            [
                RecodeRequest({"town": LEVELS["town"], "age": LEVELS["age"]}, None),
                RecodeRequest({"weight": ValueLevel(), "age": ValueLevel(), "smoker": ValueLevel()}, None),
            ]
        )
        assert shown(found.select(["age"]))[:3] == [(MISSING,), ("0-9",), ("10-17",)]
        assert plain(found.distinct("town")) == [MISSING, "east", "west", "Ägypten"]
        assert plain(values.distinct("age")) == [5, 10, 17, 30, 70]
        assert plain(values.quantiles("age", [0, 0.5])) == [5, 17]
        assert plain(found.attach("x", np.arange(7)).collect(["x"])["x"]) == list(range(7))
        grouped = values.chunk(["weight"], 3, "group")
        assert plain(grouped.collect(["group"])["group"]) == [0, 0, 0, 1, 1, 1, 1]
        assert grouped.means_by("group", ["age"])["age"].tolist() == [(5 + 70) / 2, (10 + 30 + 30 + 17) / 4]
        boxes = found.relabel(
            [["west", "Ägypten", "east", MISSING], [MISSING, "65+", "0-9", "18-64", "10-17"]],
            lambda at: (at[0] == 2).astype(np.int32),
            [["elsewhere", "east"], ["*", "*"]],
        )
        assert shown(boxes) == [("east", "*")] * 3 + [("elsewhere", "*")] * 4
        with pytest.raises(UsageError, match="not among those known"):
            found.relabel([["west"], [MISSING]], lambda at: at[0], [["a"], ["b"]])
        for verb in (
            lambda: found.keep(every_third),
            lambda: found.limit_per("town", 1, lambda s, n: np.arange(s, s + n, dtype=np.uint64)),
        ):
            with pytest.raises(UsageError, match="no numbers of the input"):
                verb()
        for verb in (
            lambda: found.recode({"age": ValueLevel()}),
            lambda: found.recode_many([RecodeRequest({"age": ValueLevel()}, None)]),
        ):
            with pytest.raises(UsageError, match="recoded once"):
                verb()
        for verb in (found.distinct, *(lambda n, v=v: v([n]) for v in (found.select, found.collect, found.count_by))):
            with pytest.raises(UsageError, match="no such column; got height"):
                verb("height")
        with pytest.raises(UsageError, match="no column to count by"):
            found.count_by([])


def test_requests_that_do_not_fit_the_table_are_refused(way):
    with opened(way, arrow(ROWS)) as table:
        good = RecodeRequest({"age": LEVELS["age"]}, None)
        for asked, words in (
            ([], "no table was requested.*got none"),
            ([good, RecodeRequest({}, None)], "a request without columns"),
            ([good, RecodeRequest({"height": ValueLevel()}, None)], "no such column; got height; allowed: age"),
            ([good, RecodeRequest({"town": IntervalLevel((1,), ("a", "b"))}, None)], "intervals need numbers"),
            ([good, RecodeRequest({"age": MaskLevel(1, "left")}, None)], "only text can be masked"),
        ):
            with pytest.raises(UsageError, match=words):
                table.recode_many(asked)
        with pytest.raises(UsageError, match="recoded once"):
            table.recode(LEVELS).recode_many([good])
        with pytest.raises(UsageError, match="no numbers of the input"):
            table.suppress_below(table.columns, 1).recode_many([good, RecodeRequest(good.levels, every_third)])
        with pytest.raises(DataError if way.startswith("spark") else ZeroDivisionError):  # a worker raises elsewhere
            table.recode_many([good, RecodeRequest(good.levels, lambda *_: 1 / 0)])
        assert table.recode_many([good])[0].rows() == 7  # what failed before leaves nothing behind


def test_a_level_has_to_cover_rows_that_no_mask_keeps(way):
    short = GroupLevel(("Zug", "Ürgüp"), (0, 0), ("here",))
    with opened(way, arrow(ROWS)) as table:
        with pytest.raises(DomainError, match="'town': some values are not in the hierarchy; got 2 rows") as caught:
            table.recode_many([RecodeRequest({"town": short, "age": ValueLevel()}, MASKS["none"])])
        assert "bay" not in str(caught.value)


@pytest.mark.slow
def test_a_table_without_row_numbers_is_recoded_as_a_whole(way, folder):
    asked = [
        RecodeRequest({"town": LEVELS["town"], "age": ValueLevel()}, None),
        RecodeRequest({"age": LEVELS["age"]}, None),
        RecodeRequest({"zip": MaskLevel(1, "right"), "age": TopLevel()}, None),
    ]
    with opened(way, arrow([*ROWS, *ROWS, ROWS[0]])) as table:
        for rows, count in ((table.suppress_below(table.columns, 2), 15), (table.suppress_below(table.columns, 9), 0)):
            for ask, found in zip(asked, rows.recode_many(asked), strict=True):
                assert found.rows() == count
                once = rows.recode(ask.levels)
                assert said(found, folder) == said(once.suppress_below(once.columns, 1), folder)


def test_a_file_that_changed_after_the_scan_is_refused(way, tmp_path):
    path = as_csv(ROWS, tmp_path / "t.csv")
    with opened(way, path) as table:
        found = table.recode_many([RecodeRequest(LEVELS, None)])[0]
        as_csv(ROWS[1:], path)
        for verb in (
            found.rows,
            found.digest,
            lambda: found.write(tmp_path / "out.csv"),
            lambda: list(found.batches()),
        ):
            with pytest.raises(DataError, match="the file changed"):
                verb()
    assert not (tmp_path / "out.csv").exists()


def check_together(ways, folder, source, requests, k):
    """What is recoded together is what is recoded one by one, in each of the ways and in all alike."""
    answers = []
    for way in ways:
        with opened(way, source) as table:
            everything = []
            for request, found in zip(requests, table.recode_many(requests), strict=True):
                apart = one_by_one(table, request)
                assert Counter(map(repr, shown(found))) == Counter(map(repr, shown(apart)))
                assert found.digest() == apart.digest()
                assert written(found, folder) == written(apart, folder)
                kept = found.suppress_below(found.columns[::-1], k)
                assert said(kept, folder) == said(apart.suppress_below(apart.columns, k), folder)
                some = found.suppress_below(found.columns[:1], k)
                assert Counter(map(repr, shown(some))) == Counter(
                    map(repr, shown(apart.suppress_below(apart.columns[:1], k)))
                )
                everything.append([said(each, folder) for each in (found, kept, some)])
            answers.append(everything)
    assert all(each == answers[0] for each in answers)


def check_numbers(ways, folder, rows, requests, most, seed):
    """Tables of chosen rows, in any order, are recoded together as one by one, in each of the ways."""
    rng = np.random.default_rng(seed)
    words = Source.seeded(seed).row_mask(1).words
    shuffled = arrow([rows[place] for place in rng.permutation(len(rows))])
    order = rng.permutation(len(requests))
    whole = [RecodeRequest(request.levels, None) for request in requests]
    for way in ways:
        with opened(way, arrow(rows)) as table:
            chosen = table.limit_per("age", most, words)
            found = chosen.recode_many(requests)
            for request, each in zip(requests, found, strict=True):
                assert each.digest() == one_by_one(chosen, request).digest()
            again = chosen.recode_many([requests[place] for place in order])
            assert [each.digest() for each in again] == [found[place].digest() for place in order]
            expected = [said(each, folder) for each in table.recode_many(whole)]
        with opened(way, shuffled) as table:
            assert [said(each, folder) for each in table.recode_many(whole)] == expected


SOURCES = {
    "arrow": lambda rows, folder: arrow(rows),
    "csv": lambda rows, folder: as_csv(rows, folder / "in.csv"),
    "parquet": lambda rows, folder: as_parquet(rows, folder / "in.parquet"),
    "folder": lambda rows, folder: as_folder(rows, folder / "in", (2, 5, 6)),
}
drawn_requests = given(rows=tables | crowded, requests=many, k=st.integers(1, 4), form=st.sampled_from(list(SOURCES)))
drawn_numbers = given(rows=crowded, requests=many, most=st.integers(1, 3), seed=st.integers(0, 99))


@pytest.mark.slow
@drawn_requests
@few_examples
def test_tables_recoded_together_equal_those_recoded_one_by_one(folder, rows, requests, k, form):
    check_together(QUICK, folder, SOURCES[form](rows, folder), requests, k)


@pytest.mark.slow
@drawn_numbers
@few_examples
def test_row_numbers_may_have_gaps_and_any_order(folder, rows, requests, most, seed):
    check_numbers(QUICK, folder, rows, requests, most, seed)


@pytest.mark.slow
def test_spark_recodes_together_as_one_by_one(folder):
    require_spark()
    check_together(["oracle", "spark"], folder, as_folder(ROWS, folder / "in", (2, 5, 6)), FEW[:1], 2)


@pytest.mark.slow
def test_row_numbers_may_have_gaps_and_any_order_on_spark(folder):
    require_spark()
    check_numbers(["spark"], folder, [*ROWS, *ROWS[:3]], FEW[1:], 1, 3)


@pytest.mark.long
@drawn_requests
@few_examples
def test_spark_recodes_any_tables_together_as_one_by_one(folder, rows, requests, k, form):
    require_spark()
    check_together(["oracle", *MARKS], folder, SOURCES[form](rows, folder), requests, k)


@pytest.mark.long
@drawn_numbers
@few_examples
def test_any_row_numbers_may_have_gaps_and_any_order_on_spark(folder, rows, requests, most, seed):
    require_spark()
    check_numbers(list(MARKS), folder, rows, requests, most, seed)


@pytest.mark.slow
def test_a_long_table_keeps_its_row_numbers(tmp_path):
    count = 300_000
    rng = np.random.default_rng(5)
    picks = rng.integers(0, len(ROWS), count)
    long = arrow(ROWS).take(picks)
    masks = [Source.seeded(seed).row_mask(Fraction(1, 7)).keep for seed in range(4)]
    pairs = [("town", "age"), ("age", "zip"), ("zip", "weight"), (ODD, "seen")]
    asked = [RecodeRequest({a: LEVELS[a], b: LEVELS[b]}, mask) for (a, b), mask in zip(pairs, masks, strict=True)]
    asked.append(RecodeRequest({"weight": ValueLevel(), "seen": ValueLevel(), "visit": ValueLevel()}, masks[0]))
    small = OracleEngine().scan(arrow(ROWS), SCHEMA)
    for threads, fetched in ((1, True), (2, False)):
        with patch.object(CODES, "SMALL", CODES.SMALL if fetched else 0):
            table = DuckDB(threads=threads).scan(long, SCHEMA)
            for ask, found in zip(asked, table.recode_many(asked), strict=True):
                assert isinstance(found, GroupedTable)
                labels = shown(small.recode(ask.levels))
                expected = Counter(labels[pick] for pick in picks[ask.mask(0, count)])
                assert Counter(shown(found)) == expected
                found.write(tmp_path / "ours.parquet")
                one_by_one(table, ask).write(tmp_path / "theirs.parquet")
                assert (tmp_path / "ours.parquet").read_bytes() == (tmp_path / "theirs.parquet").read_bytes()


@pytest.mark.slow
def test_a_result_of_more_than_one_row_group_is_written_alike(tmp_path):
    long = arrow(ROWS).take(np.arange(600_000) % len(ROWS))
    ask = RecodeRequest({"town": LEVELS["town"], "weight": ValueLevel(), "smoker": ValueLevel()}, None)
    table = DuckDB().scan(long, SCHEMA)
    table.recode_many([ask])[0].write(tmp_path / "ours.parquet")
    table.recode(ask.levels).suppress_below(list(ask.levels), 1).write(tmp_path / "theirs.parquet")
    assert (tmp_path / "ours.parquet").read_bytes() == (tmp_path / "theirs.parquet").read_bytes()


@pytest.mark.slow
def test_tables_that_stay_with_sparks_workers_are_the_same():
    require_spark()
    request = RecodeRequest({"town": LEVELS["town"], "age": ValueLevel(), "weight": ValueLevel()}, every_third)
    with opened("spark, with the workers", arrow(ROWS)) as table:
        [found] = table.recode_many([request])
        assert not isinstance(found, GroupedTable)
        assert shown(found) == shown(OracleEngine().scan(arrow(ROWS), SCHEMA).recode_many([request])[0])
