"""Every engine gives the same answers: those of a table small enough to work out, and the oracle engine's on any table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.chance.source import Source
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, ValueLevel
from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.base import RecodeRequest
from shoal.engine.column import arrow_type, edges_of
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DomainError, UsageError
from tests.engine.oracle import OracleEngine, engine_named
from tests.engine.tables import (
    LEVELS,
    NAMES,
    ODD,
    ROWS,
    SCHEMA,
    arrow,
    as_csv,
    as_folder,
    as_parquet,
    crowded,
    d,
    every_form,
    every_third,
    plain,
    scattered,
    tables,
)
from tests.spark import SPARK, require_spark

ENGINES = [DuckDB(), DuckDB(threads=1), DuckDB(threads=2), OracleEngine()]
OTHERS = ENGINES[:2]
EVERY = [*ENGINES, pytest.param(SPARK, marks=pytest.mark.slow, id="spark")]
few_examples = settings(
    max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)  # a scan takes long to shrink


def ids(one):
    return one.name + ("" if getattr(one, "threads", None) is None else f"-{one.threads}")


@pytest.fixture(params=EVERY, ids=ids)
def any_engine(request):
    if request.param is SPARK:
        require_spark()
    return request.param


@pytest.fixture
def table(any_engine):
    return any_engine.scan(arrow(ROWS), SCHEMA)


def test_an_engine_has_its_name():
    assert [engine_named(name).name for name in ("duckdb", "oracle", "spark")] == ["duckdb", "oracle", "spark"]
    with pytest.raises(UsageError, match=r"no such engine; got abacus; allowed: duckdb, spark$"):
        engine_named("abacus")


def test_a_scanned_table_has_the_columns_types_and_rows_of_its_input(table):
    assert table.columns == NAMES
    assert table.types["age"] is Type.INTEGER
    assert table.rows() == 7
    assert table.schema is SCHEMA


def test_collect_in_row_order_with_missing_masked(table):
    found = table.collect(["age", "seen", "smoker", "visit", ODD])
    assert plain(found["age"]) == [30, 5, None, 30, 70, 10, 17]
    assert plain(found[ODD]) == ["b", "B", None, "é", "z", "b", "a"]
    assert plain(found["smoker"]) == [True, False, None, True, None, False, True]
    kinds = {name: str(np.ma.getdata(values).dtype) for name, values in found.items()}
    assert list(kinds.values()) == ["int64", "datetime64[us]", "bool", "datetime64[D]", "object"]
    assert not isinstance(table.keep(lambda s, n: np.arange(s, s + n) < 2).collect(["age"])["age"], np.ma.MaskedArray)


def test_keep_counts_rows_of_the_input_even_after_other_verbs(table):
    once = table.keep(every_third)
    assert plain(once.collect(["age"])["age"]) == [30, 30, 17]
    twice = once.keep(lambda start, count: np.arange(start, start + count) >= 3)
    assert plain(twice.collect(["age"])["age"]) == [30, 17]
    after = table.suppress_below(["town"], 2).select(["age"]).keep(every_third)
    assert plain(after.collect(["age"])["age"]) == [30, 30]


def test_limit_per_keeps_the_rows_with_the_smallest_random_words(table):
    words = lambda start, count: np.array([5, 1, 9, 3, 7, 4, 2], dtype=np.uint64)[start : start + count]  # noqa: E731
    assert plain(table.limit_per("town", 1, words).collect(["age"])["age"]) == [5, None, 30, 70, 17]
    assert plain(table.limit_per("town", 2, words).collect(["age"])["age"]) == [5, None, 30, 70, 10, 17]
    none_left = table.keep(every_third).limit_per("smoker", 1, words)
    assert plain(none_left.collect(["age"])["age"]) == [17]


def test_limit_per_counts_missing_values_as_one_person(any_engine):
    words = Source.seeded(3).row_mask(Fraction(1, 2)).words
    found = any_engine.scan(arrow([ROWS[2]] * 5 + [ROWS[0]] * 4), SCHEMA).limit_per(ODD, 2, words)
    assert found.count_by([ODD]).counts.tolist() == [2, 2]


@pytest.mark.slow
def test_a_digest_tells_tables_apart_and_nothing_else(any_engine, table, tmp_path):
    whole = table.digest()
    assert len(whole) == 32
    shuffled = arrow([ROWS[place] for place in (3, 1, 0, 6, 5, 2, 4)])
    assert any_engine.scan(shuffled, SCHEMA).digest() == whole
    assert OracleEngine().scan(as_csv(ROWS, tmp_path / "t.csv"), SCHEMA).digest() == whole
    assert table.select(NAMES[::-1]).digest() == whole
    others = [table.select(NAMES[1:]), table.keep(every_third), table.attach("age", np.arange(7)), table.recode(LEVELS)]
    swapped = [(*ROWS[1][:2], *ROWS[0][2:]), (*ROWS[0][:2], *ROWS[1][2:]), *ROWS[2:]]
    others += [any_engine.scan(arrow(rows), SCHEMA) for rows in (swapped, [*ROWS, ROWS[2]])]
    assert len({whole, *(other.digest() for other in others)}) == 7
    towns, odds = (table.collect([name])[name] for name in ("town", ODD))
    crossed = table.attach("town", odds).attach(ODD, towns)
    straight = table.attach("town", towns).attach(ODD, odds)
    assert crossed.digest() != straight.digest()
    coarse = table.recode(LEVELS)
    assert coarse.suppress_below(coarse.columns, 1).digest() == coarse.digest()


def test_recode_gives_labels_and_leaves_out_the_rest(table):
    coarse = table.recode(LEVELS)
    assert coarse.columns == tuple(LEVELS)
    found = {name: plain(values) for name, values in coarse.collect(list(LEVELS)).items()}
    assert found["town"] == ["east", "west", "(missing)", "east", "Ägypten", "east", "Ägypten"]
    assert found["age"] == ["18-64", "0-9", "(missing)", "18-64", "65+", "10-17", "10-17"]
    assert found["zip"] == ["1**", "1**", "(missing)", "1**", "9**", "1**", "1**"]
    assert found["visit"] == ["early", "late", "(missing)", "early", "middle", "middle", "middle"]
    assert found["seen"] == ["*"] * 7
    assert found["smoker"] == ["yes", "no", "(missing)", "yes", "(missing)", "no", "yes"]
    assert found["weight"] == [1.5, None, 0.0, 2.5, 0.0, 1e-9, 7.25]
    assert coarse.types["age"] is Type.TEXT
    assert coarse.types["weight"] is Type.DECIMAL


MANY_EDGES = 300
"""More than an engine compares one after the other."""


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME], ids=lambda kind: kind.value)
def test_many_intervals_are_found_as_few_are(any_engine, kind):
    values = np.array([-9, 0, 1, 2, 3, 298, 299, 300, 301, 4000, 17, 17])
    days = values.astype("datetime64[D]")
    column, edges = {
        Type.INTEGER: (values, [0.5, 1.5, 1.75, *range(3, MANY_EDGES)]),  # two edges are 2 in whole numbers
        Type.DECIMAL: (values + 0.25, [0.25, 1.5, *range(2, MANY_EDGES)]),
        Type.DATE: (days, [date.fromordinal(date(1970, 1, 1).toordinal() + day) for day in range(MANY_EDGES)]),
        Type.DATETIME: (
            days.astype("datetime64[us]"),
            [datetime(1970, 1, 1) + timedelta(day) for day in range(MANY_EDGES)],
        ),
    }[kind]
    held = pa.table({"x": pa.array(column).cast(arrow_type(kind)).take(pa.array([*range(len(column)), None]))})
    level = IntervalLevel(tuple(edges), tuple(f"from {place}" for place in range(len(edges) + 1)))
    schema = Schema((Attribute("x", Role.QUASI, kind),))
    found = plain(any_engine.scan(held, schema).recode({"x": level}).collect(["x"])["x"])
    inner = edges_of(level, kind)
    assert found == [*(f"from {place}" for place in np.searchsorted(inner, column, side="right")), "(missing)"]


def test_a_column_is_recoded_once(table):
    with pytest.raises(UsageError, match="recoded once"):
        table.recode(LEVELS).recode({"town": ValueLevel()})
    with pytest.raises(UsageError, match="intervals need numbers"):
        table.recode({"town": IntervalLevel((1,), ("a", "b"))})


def test_a_level_that_does_not_cover_the_column_is_refused(table):
    with pytest.raises(DomainError, match="'town': some values are not in the hierarchy; got 2 rows") as caught:
        table.recode({"town": GroupLevel(("Zug", "Ürgüp"), (0, 0), ("here",))})
    assert "bay" not in str(caught.value)


def test_class_sizes_count_tuples_by_how_often_they_occur(table):
    assert table.class_sizes(["town", "age"]) == {1: 5, 2: 1}
    assert list(table.class_sizes(["town"])) == sorted(table.class_sizes(["town"]))
    coarse = table.recode({"age": LEVELS["age"]})
    for each in (
        coarse,
        coarse.suppress_below(["age"], 2),
        table.recode_many([RecodeRequest({"age": LEVELS["age"]}, None)])[0],
    ):
        expected = Counter(each.count_by(["age"]).counts.tolist())
        assert each.class_sizes(["age"]) == expected
    with pytest.raises(UsageError, match="no column to count by"):
        table.class_sizes([])


def test_count_by_sorts_tuples_with_missing_first(table):
    counts = table.count_by(["town", "age"])
    assert [plain(column) for column in counts.tuples] == [
        [None, "Zug", "Zug", "Ürgüp", "عمان", "🦀 bay"],
        [None, 10, 30, 5, 17, 70],
    ]
    assert counts.counts.tolist() == [1, 1, 2, 1, 1, 1]
    assert (len(counts), counts.rows) == (6, 7)
    labels = table.recode({"age": LEVELS["age"]}).count_by(["age"])
    assert labels.values[0].tolist() == ["(missing)", "0-9", "10-17", "18-64", "65+"]
    assert labels.codes[0].dtype == np.int32


def test_text_is_ordered_by_code_point(table):
    assert plain(table.distinct(ODD)) == ["B", "a", "b", "z", "é"]


def test_suppress_below_over_some_columns_keeps_row_order(table):
    assert plain(table.suppress_below(["town"], 2).collect(["age"])["age"]) == [30, 30, 10]
    assert table.suppress_below(["town"], 4).rows() == 0


def test_suppress_below_over_all_columns_sorts_and_drops_row_numbers(table):
    coarse = table.recode({"town": LEVELS["town"], "zip": LEVELS["zip"]}).suppress_below(["zip", "town"], 2)
    assert plain(coarse.collect(["town"])["town"]) == ["east"] * 3
    assert coarse.rows() == 3
    assert plain(coarse.select(["zip"]).distinct("zip")) == ["1**"]
    assert coarse.count_by(["zip"]).counts.tolist() == [3]
    assert coarse.suppress_below(["zip"], 3).rows() == 3
    assert plain(coarse.attach("x", np.arange(3)).collect(["x"])["x"]) == [0, 1, 2]
    with pytest.raises(UsageError, match="no numbers of the input"):
        coarse.keep(every_third)


def test_missing_equals_missing(any_engine):
    rows = [ROWS[2]] * 3
    table = any_engine.scan(arrow(rows), SCHEMA)
    assert table.suppress_below(["age", "weight", "town", ODD], 3).rows() == 3
    assert table.suppress_below(table.columns, 3).rows() == 3
    assert len(table.distinct("age")) == 0


def test_quantiles_take_values_that_occur(table):
    assert plain(table.quantiles("age", [0, 0.1, 0.5, 0.51, 1])) == [5, 5, 17, 30, 70]
    assert plain(table.quantiles("visit", [0.5])) == [d("2021-01-01")]
    with pytest.raises(UsageError, match="quantiles need numbers"):
        table.quantiles("town", [0.5])
    with pytest.raises(UsageError, match="share between 0 and 1"):
        table.quantiles("age", [1.5])


def test_chunk_orders_ties_by_row_and_gives_the_rest_to_the_last_group(table):
    grouped = table.chunk(["age"], 3, "group")
    assert plain(grouped.collect(["group"])["group"]) == [1, 0, 0, 1, 1, 0, 1]
    assert grouped.columns == (*NAMES, "group")
    assert plain(table.chunk(["age"], 9, "group").collect(["group"])["group"]) == [0] * 7


def test_means_by_group_leave_missing_out(table):
    found = table.chunk(["age"], 3, "group").means_by("group", ["age", "weight"])
    assert found["age"].tolist() == [7.5, 36.75]
    assert found["weight"].tolist() == [(0.0 + 1e-9) / 2, (1.5 + 2.5 + 0.0 + 7.25) / 4]
    lonely = table.attach("group", np.array([0, 2, 1, 0, 0, 0, 0])).means_by("group", ["weight"])["weight"]
    assert lonely[1] == 0.0
    assert np.isnan(lonely[2])
    with pytest.raises(UsageError, match="means need numbers"):
        table.means_by("age", ["town"])


def test_attach_adds_or_replaces_a_column(table):
    more = table.keep(every_third).attach("score", np.ma.MaskedArray([1.5, 2.5, 3.5], [False, True, False]))
    assert plain(more.collect(["score"])["score"]) == [1.5, None, 3.5]
    assert more.types["score"] is Type.DECIMAL
    replaced = table.attach("town", np.array(list("abcdefg")))
    assert replaced.columns == NAMES
    assert plain(replaced.collect(["town"])["town"]) == list("abcdefg")
    same = table.keep(every_third).attach("town", np.broadcast_to(np.int64(4), 3))
    assert (plain(same.collect(["town"])["town"]), same.types["town"]) == ([4, 4, 4], Type.INTEGER)
    for short in (np.zeros(6), np.broadcast_to(np.int64(4), 6)):
        with pytest.raises(UsageError, match="another length"):
            table.attach("score", short)
    with pytest.raises(UsageError, match="objects that are not all text"):
        table.attach("score", np.array([{}, 1, 2, 3, 4, 5, 6], dtype=object))


def test_a_column_that_is_not_in_the_table_is_refused(table):
    for verb in (
        table.distinct,
        lambda n: table.select([n]),
        lambda n: table.collect([n]),
        lambda n: table.count_by([n]),
    ):
        with pytest.raises(UsageError, match="no such column; got height"):
            verb("height")


@pytest.mark.slow
def test_written_rows_are_sorted_and_read_back(any_engine, table, tmp_path):
    chosen = table.select(["town", "weight", "seen", "smoker"])
    chosen.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == (
        "town,weight,seen,smoker\n"
        ",0,,\n"
        "Zug,1e-9,2023-01-01 00:00:00.000000,false\n"
        "Zug,1.5,2020-01-02 03:04:05.000006,true\n"
        "Zug,2.5,2021-01-01 00:00:00.000000,true\n"
        "Ürgüp,,,false\n"
        "عمان,7.25,2024-01-01 00:00:00.000000,true\n"
        "🦀 bay,0,2022-01-01 00:00:00.000000,\n"
    )
    for suffix in (".csv", ".parquet"):
        table.write(tmp_path / f"all{suffix}")
        again = any_engine.scan(tmp_path / f"all{suffix}", SCHEMA)
        again.write(tmp_path / f"again{suffix}", sort=False)
        assert (tmp_path / f"again{suffix}").read_bytes() == (tmp_path / f"all{suffix}").read_bytes()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_labels_are_written_as_plain_text(table, tmp_path):
    table.recode(LEVELS).write(tmp_path / "t.parquet")
    shape = parquet.read_schema(tmp_path / "t.parquet")
    assert [str(kind) for kind in shape.types] == ["string"] * 6 + ["double", "string"]
    with pytest.raises(UsageError, match=r"cannot write this kind of file; got \.xls"):
        table.write(tmp_path / "t.xls")


def answers(table):
    """What every verb says about one table."""
    coarse = table.recode(LEVELS)
    counts = coarse.count_by(list(LEVELS)[:6])
    raw = table.count_by(["weight", ODD, "seen"])
    grouped = table.chunk(["weight", "town"], 4, "group")
    everything = table.collect(table.columns) | coarse.collect(coarse.columns) | grouped.collect(["group"])
    everything |= {f"distinct {name}": table.distinct(name) for name in table.columns}
    everything |= grouped.means_by("group", ["age", "weight"])
    chosen = table.limit_per("town", 2, Source.seeded(9).row_mask(1).words)
    everything["chosen"] = chosen.collect([ODD])[ODD]
    said = {name: (str(values.dtype), repr(plain(values))) for name, values in everything.items()}
    for found in (counts, raw):
        said[str(found.columns)] = repr([[plain(c) for c in found.tuples], found.counts.tolist()])
        said[f"codes {found.columns}"] = repr([[plain(c) for c in part] for part in (found.values, found.codes)])
    if len(table.distinct("age")):
        said["quantiles"] = repr(plain(table.quantiles("age", [0, 0.25, 1 / 3, 0.9, 1])))
    return said | {"digest": [one.digest() for one in (table, coarse, grouped, chosen)]}


def written(table, folder, name):
    """The bytes of one table in both formats."""
    for suffix in (".csv", ".parquet"):
        table.write(folder / f"{name}{suffix}")
    return [(folder / f"{name}{suffix}").read_bytes() for suffix in (".csv", ".parquet")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("engines")


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS, ids=ids)
@given(rows=tables)
@few_examples
def test_every_verb_answers_as_the_oracle_engine_does(other, folder, rows):
    ours, slow = (one.scan(arrow(rows), SCHEMA) for one in (other, OracleEngine()))
    assert answers(ours) == answers(slow)
    assert written(ours, folder, "ours") == written(slow, folder, "slow")
    assert written(ours.recode(LEVELS), folder, "ours") == written(slow.recode(LEVELS), folder, "slow")


@pytest.mark.slow
@given(rows=tables)
@settings(few_examples, max_examples=2)
def test_every_verb_of_spark_answers_as_the_oracle_engine_does(folder, rows):
    require_spark()
    ours, slow = (one.scan(arrow(rows), SCHEMA) for one in (SPARK, OracleEngine()))
    assert answers(ours) == answers(slow)
    assert written(ours, folder, "ours") == written(slow, folder, "slow")
    assert written(ours.recode(LEVELS), folder, "ours") == written(slow.recode(LEVELS), folder, "slow")


@pytest.mark.slow
@given(rows=crowded, k=st.integers(1, 6), cuts=st.lists(st.integers(0, 30), max_size=4))
@settings(few_examples, max_examples=2)
def test_spark_samples_recodes_and_suppresses_files_as_the_oracle_engine_does(folder, rows, k, cuts):
    require_spark()
    mask = Source.seeded(5).row_mask(Fraction(1, 2)).keep

    def road(one):
        coarse = one.scan(as_folder(rows, folder / "spark-cut", cuts), SCHEMA).keep(mask).recode(LEVELS)
        return [written(coarse.suppress_below(chosen, k), folder, one.name) for chosen in (["town"], coarse.columns)]

    assert road(SPARK) == road(OracleEngine())


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS, ids=ids)
@given(rows=crowded, k=st.integers(1, 6), columns=st.sets(st.sampled_from(list(LEVELS)), min_size=1))
@few_examples
def test_sampling_recoding_and_suppression_write_what_the_oracle_engine_writes(other, folder, rows, k, columns):
    def road(one):
        coarse = one.scan(as_parquet(rows, folder / "in.parquet"), SCHEMA).keep(scattered).recode(LEVELS)
        return [
            written(coarse.suppress_below(chosen, k), folder, one.name) for chosen in (sorted(columns), coarse.columns)
        ]

    assert road(other) == road(OracleEngine())


@pytest.mark.slow
@given(rows=tables, cuts=st.lists(st.integers(0, 30), max_size=4))
@few_examples
def test_a_row_mask_does_not_depend_on_how_rows_are_cut_into_files(folder, rows, cuts):
    mask = Source.seeded(5).row_mask(Fraction(1, 2)).keep
    expected = OracleEngine().scan(arrow(rows), SCHEMA).keep(mask)
    parts = as_folder(rows, folder / "cut", cuts)
    for one in ENGINES:
        kept = one.scan(parts, SCHEMA).keep(mask)
        assert repr(plain(kept.collect([ODD])[ODD])) == repr(plain(expected.collect([ODD])[ODD]))


@pytest.mark.slow
@given(rows=tables)
@settings(few_examples, max_examples=8)
def test_every_form_of_an_input_is_the_same_table(folder, rows):
    expected = None
    for form, source in every_form(rows, folder).items():
        for one in (ENGINES[2], ENGINES[3]):
            schema = replace(SCHEMA, file=FileFormat("utf-16-le")) if form == "utf-16" else SCHEMA
            found = written(one.scan(source, schema).keep(scattered), folder, "form")
            expected = expected or found
            assert found == expected, f"{form} in {one.name}"


@pytest.mark.slow
def test_rows_keep_their_numbers_in_a_long_file(tmp_path):
    count = (1 << 20) + 5000
    rows = [(place % 100, float(place % 997), None, None, None, None, None, None) for place in range(1000)]
    long = arrow(rows).take(np.arange(count) % 1000)
    parquet.write_table(long, tmp_path / "long.parquet", row_group_size=100_000)
    mask = Source.seeded(1).row_mask(Fraction(1, 3)).keep
    expected = np.flatnonzero(mask(0, count)) % 997 % 100
    for threads in (1, 2):
        kept = DuckDB(threads=threads).scan(tmp_path / "long.parquet", SCHEMA).keep(mask)
        assert len(kept.collect(["age"])["age"]) == len(expected)
        found = kept.collect(["age", "weight"])
        numbers = np.flatnonzero(mask(0, count))
        assert np.array_equal(found["age"], numbers % 1000 % 100)
        assert np.array_equal(found["weight"], numbers % 1000 % 997)


@pytest.mark.slow
def test_the_number_of_threads_does_not_show_in_a_written_file(tmp_path):
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(ROWS), 300_000)
    as_csv([ROWS[pick] for pick in picks[:20_000]], tmp_path / "in.csv")
    parquet.write_table(arrow(ROWS).take(picks), tmp_path / "in.parquet", row_group_size=50_000)
    for source in ("in.csv", "in.parquet"):
        found = [written(DuckDB(threads=n).scan(tmp_path / source, SCHEMA), tmp_path, "out") for n in (1, 2)]
        assert found[0] == found[1]
