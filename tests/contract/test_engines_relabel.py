"""New labels by whole tuples, and counts of tuples, are the same on every engine, whether rows are fetched or looked up."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel, TopLevel, ValueLevel
from shoal.data.schema import Type
from shoal.engine.duckdb import codes as duckdb_codes
from shoal.engine.duckdb.engine import DuckDB
from shoal.errors import DataError, UsageError
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
    crowded,
    plain,
    scattered,
    tables,
)
from tests.spark import SPARK, require_spark

WAYS = {
    "fetched": (DuckDB(), None),
    "looked up": (DuckDB(), 0),
    "looked up by one": (DuckDB(threads=1), 0),
    "oracle": (OracleEngine(), None),
    "spark": (SPARK, None),
}
QUICK = [way for way in WAYS if way != "spark"]
KEPT = {name: ValueLevel() for name in NAMES}
few_examples = settings(
    max_examples=max(7, settings().max_examples // 100), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
ODD_LABELS = ("", "(missing)", '"', "a,b", "line\nbreak", "🦀", "é", "'; DROP", "*", "NULL", "Z", "a")


@contextmanager
def opened(way, source):
    """A table in one of the ways."""
    engine, small = WAYS[way]
    with patch.object(duckdb_codes, "SMALL", duckdb_codes.SMALL if small is None else small):
        yield engine.scan(source, SCHEMA)


@pytest.fixture(params=[pytest.param(way, marks=[pytest.mark.slow] * (way == "spark")) for way in WAYS])
def way(request):
    if request.param == "spark":
        require_spark()
    return request.param


def text(value):
    """What a value shows where it is read by its text."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    return str(np.datetime64(value, "us")) if isinstance(value, dt.datetime) else str(value)


def shown(table):
    """The rows as tuples of texts, in row order."""
    found = table.collect(table.columns)
    return [tuple(map(text, row)) for row in zip(*(plain(found[name]) for name in table.columns), strict=True)]


def request_for(rows, columns, seed, boxes):
    """Known labels in some order, some of them nowhere; a number for each tuple by chance; new labels, some of them twice."""
    rng = np.random.default_rng(seed)
    known = []
    for column in range(columns):
        listed = sorted({row[column] for row in rows} | {MISSING, "never", ""})
        known.append([listed[place] for place in rng.permutation(len(listed))])
    weights = rng.integers(1, 1 << 20, columns)
    numbers = rng.integers(0, boxes, 64).astype(np.int32)
    labels = [[ODD_LABELS[pick] for pick in rng.integers(0, len(ODD_LABELS), boxes)] for _ in range(columns)]

    def place(indices):
        assert all(index.dtype == np.int32 and len(index) for index in indices)
        return numbers[sum(index * int(weight) for index, weight in zip(indices, weights, strict=True)) % 64]

    return known, place, labels


def by_hand(rows, known, place, labels):
    """How often each new tuple occurs, one row after the other."""
    made = []
    for row in rows:
        index = [np.array([listed.index(label)], dtype=np.int32) for listed, label in zip(known, row, strict=True)]
        made.append(tuple(new[int(place(index)[0])] for new in labels))
    return Counter(made)


def written(table, folder):
    """The bytes of one table in both formats, and what else it says."""
    said = [table.rows(), table.digest()]
    for suffix in (".csv", ".parquet"):
        table.write(folder / f"out{suffix}")
        said.append((folder / f"out{suffix}").read_bytes())
    counts = table.count_by(table.columns)
    codes = [[plain(column) for column in part] for part in (counts.values, counts.codes)]
    return [*said, codes, counts.counts.tolist(), {name: plain(v) for name, v in table.collect(table.columns).items()}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("relabel")


def test_rows_show_the_labels_of_their_number(way):
    with opened(way, arrow(ROWS)) as table:
        coarse = table.recode({"town": LEVELS["town"], "age": LEVELS["age"]})
        known = [["Ägypten", "west", "east", MISSING], [MISSING, "65+", "0-9", "18-64", "10-17"]]
        boxes = [["anywhere", "east"], ["any age", "18-64"]]
        found = coarse.relabel(known, lambda at: ((at[0] == 2) & (at[1] == 3)).astype(np.int32), boxes)
        assert found.columns == ("town", "age")
        assert set(found.types.values()) == {Type.TEXT}
        assert shown(found) == [("anywhere", "any age")] * 5 + [("east", "18-64")] * 2
        assert found.count_by(["age"]).values[0].tolist() == ["18-64", "any age"]
        assert found.suppress_below(["town", "age"], 3).rows() == 5
        assert plain(found.select(["age"]).distinct("age")) == ["18-64", "any age"]
        assert plain(found.attach("x", np.arange(7)).collect(["x"])["x"]) == list(range(7))
        for again in (found, found.suppress_below(["age"], 5)):
            with pytest.raises(UsageError, match="no numbers of the input"):
                again.keep(scattered)
        with pytest.raises(UsageError, match="recoded once"):
            found.recode({"age": ValueLevel()})
        twice = found.relabel([boxes[0], boxes[1]], lambda at: 1 - at[0], boxes)
        assert shown(twice) == [("anywhere", "any age")] * 2 + [("east", "18-64")] * 5


def test_rows_are_counted_by_class_and_by_label_within_it(way):
    with opened(way, arrow(ROWS)) as table:
        coarse = table.recode({"town": LEVELS["town"], "age": LEVELS["age"]})
        known = [["Ägypten", "west", "east", MISSING], [MISSING, "65+", "0-9", "18-64", "10-17"]]
        place = lambda at: 2 * ((at[0] == 2) & (at[1] == 3)).astype(np.int32)  # noqa: E731
        found = coarse.count_classes(known, place, 3, ["age", "town"])
        seen = Counter(shown(coarse))
        assert found.rows.tolist() == [5, 0, 2]
        assert [each.shape for each in found.labels] == [(3, 5), (3, 4)]
        for each, column, listed in zip(found.labels, (1, 0), (known[1], known[0]), strict=True):
            for at, label in enumerate(listed):
                east = seen["east", "18-64"] if label == ("east", "18-64")[column] else 0
                all_rows = sum(count for row, count in seen.items() if row[column] == label)
                assert each[:, at].tolist() == [all_rows - east, 0, east]
        again = coarse.count_classes(known, place, 3)  # what an engine may hold by now
        assert (again.rows.tolist(), again.labels) == ([5, 0, 2], ())
        whole = coarse.suppress_below(coarse.columns, 1).count_classes(known, lambda at: at[0] * 0, 1, ["town"])
        assert whole.labels[0].tolist() == found.labels[1].sum(axis=0, keepdims=True).tolist()
        one = coarse.select(["age"]).count_classes(known[1:], lambda at: at[0], 5)
        assert one.rows.tolist() == found.labels[0].sum(axis=0).tolist()


def test_requests_for_counts_by_class_that_do_not_fit_the_table_are_refused(way):
    with opened(way, arrow(ROWS)) as table:
        coarse = table.recode({"age": TopLevel(), "town": TopLevel()})
        zero = lambda at: np.zeros(len(at[0]), dtype=np.int32)  # noqa: E731
        one = [["*"], ["*"]]
        for known, place, columns, words in (
            ([["*"]], zero, (), "known are listed for each column; got 1; allowed: 2 lists"),
            ([["*", "*"], ["*"]], zero, (), "'age': a known label is listed twice"),
            ([["x"], ["*"]], zero, (), "'age' shows a label that is not among those known"),
            (one, lambda at: zero(at) + 1, (), r"no labels; got 1\.\.1; allowed: 0\.\.0"),
            (one, lambda at: zero(at)[1:], (), "a whole number is needed for each tuple"),
            (one, zero, ["zip"], "no such column"),
        ):
            with pytest.raises(UsageError, match=words):
                coarse.count_classes(known, place, 1, columns)
        none = coarse.keep(lambda _, count: np.zeros(count, dtype=bool))
        assert none.count_classes(one, lambda _: 1 / 0, 2, ["age"]).labels[0].tolist() == [[0], [0]]
        assert coarse.count_classes(one, zero, 1).rows.tolist() == [7]


@pytest.mark.slow
def test_values_are_read_by_their_text(way):
    rows = [
        (
            30,
            1e-9,
            "Zug",
            "123",
            dt.date(2020, 5, 1),
            dt.datetime.fromisoformat("2020-01-02T03:04:05.000006"),
            True,
            "b",
        ),
        (5, 2.0, "Zug", "123", dt.date(2020, 5, 1), dt.datetime.fromisoformat("2020-01-02"), False, MISSING),
        (None,) * 8,
    ]
    known = [
        ["30", "5", MISSING],
        ["1e-09", "2.0", MISSING],
        ["x", "Zug", MISSING],
        ["123", MISSING],
        ["2020-05-01", MISSING],
        ["2020-01-02T03:04:05.000006", "2020-01-02T00:00:00.000000", MISSING],
        ["true", "false", MISSING],
        ["b", MISSING],
    ]
    with opened(way, arrow(rows)) as table:
        for asked in (table, table.recode(KEPT)):
            found = asked.relabel(known, lambda at: sum(at).astype(np.int32), [[str(i) for i in range(20)]] * 8)
            assert sorted(row[0] for row in shown(found)) == sorted(["1", str(1 + 1 + 1 + 1 + 1 + 1), "13"])


@pytest.mark.slow
def test_a_table_without_rows_is_relabelled_to_one_without_rows(way, tmp_path):
    with opened(way, arrow(ROWS)) as table:
        none = table.recode(KEPT).keep(lambda _, count: np.zeros(count, dtype=bool))
        found = none.relabel([[]] * 8, lambda _: 1 / 0, [["a"]] * 8)
        assert found.rows() == 0
        assert len(found.count_by(["age"])) == 0
        assert len(none.count_by(NAMES)) == 0
        found.suppress_below(found.columns, 2).write(tmp_path / "t.csv")
        assert len((tmp_path / "t.csv").read_text("utf-8").splitlines()) == 1
        assert none.relabel([[]] * 8, lambda _: 1 / 0, [[]] * 8).digest() == found.digest()


@pytest.mark.slow
@pytest.mark.parametrize("level", [ValueLevel(), LEVELS["town"], TopLevel("secret")])
def test_a_label_that_is_not_known_is_refused_and_not_quoted(way, level):
    with opened(way, arrow(ROWS)) as table:
        coarse = table.recode({"town": level, "age": TopLevel()})
        place = lambda at: np.zeros(len(at[0]), dtype=np.int32)  # noqa: E731
        listed = sorted({row[0] for row in shown(coarse)})
        for left_out in listed:
            known = [[label for label in listed if label != left_out], ["*"]]
            with pytest.raises(UsageError, match="column 'town' shows a label that is not among those known") as caught:
                coarse.relabel(known, place, [["a"], ["b"]])
            assert left_out not in str(caught.value)
        assert coarse.relabel([listed, ["*"]], place, [["a"], ["b"]]).rows() == 7


def test_requests_that_do_not_fit_the_table_are_refused(way):
    with opened(way, arrow(ROWS)) as table:
        coarse = table.recode({"age": TopLevel(), "town": TopLevel()})
        zero = lambda at: np.zeros(len(at[0]), dtype=np.int32)  # noqa: E731
        one = [["*"], ["*"]]
        for known, place, labels, words in (
            ([["*"]], zero, one, "known are listed for each column; got 1; allowed: 2 lists"),
            (one, zero, [["*"]], "new labels are listed for each column"),
            (one, zero, [["a"], ["a", "b"]], "a new label for each number; got 1, 2"),
            ([["*", "*"], ["*"]], zero, one, "'age': a known label is listed twice"),
            (one, lambda at: zero(at) + 1, one, r"no labels; got 1\.\.1; allowed: 0\.\.0"),
            (one, lambda at: zero(at) - 1, one, "no labels"),
            (one, lambda at: zero(at)[1:], one, "a whole number is needed for each tuple"),
            (one, lambda at: zero(at) / 2, one, "a whole number is needed for each tuple"),
        ):
            with pytest.raises(UsageError, match=words):
                coarse.relabel(known, place, labels)
        with pytest.raises(DataError if way.startswith("spark") else ZeroDivisionError):  # a worker raises elsewhere
            coarse.relabel(one, lambda _: 1 / 0, one)
        assert coarse.relabel(one, zero, one).rows() == 7  # what failed before leaves nothing behind


def check_new_labels(ways, folder, levels, rows, seed, boxes, k):
    """New labels, counts of classes and written rows are those worked out by hand, in each of the ways and in all alike."""
    rng = np.random.default_rng(seed)
    said, said_by_class = [], []
    for way in ways:
        with opened(way, arrow([rows[place] for place in rng.permutation(len(rows))])) as table:
            before = table.recode(levels)
            seen = sorted(shown(before))
            asked = request_for(seen, len(levels), seed, boxes)
            after = before.relabel(*asked)
            assert Counter(shown(after)) == by_hand(seen, *asked)
            counted = before.suppress_below(before.columns, 1).relabel(*asked)
            assert counted.digest() == after.digest()
            some = after.suppress_below(list(levels)[:2], k)
            for each in (before, before.suppress_below(before.columns, 1)):
                classes = each.count_classes(*asked[:2], boxes, each.columns[1:3])
                said_by_class.append([classes.rows.tolist(), *(found.tolist() for found in classes.labels)])
            said.append([written(each, folder) for each in (after, after.suppress_below(after.columns, k), some)])
    assert all(each == said[0] for each in said)
    assert all(each == said_by_class[0] for each in said_by_class)
    assert sum(said_by_class[0][0]) == len(rows)


def check_counts(ways, folder, rows, chosen, form):
    """Counts of rows as they are, recoded, chosen and suppressed are the same in all of the ways."""
    said = []
    for way in ways:
        with opened(way, arrow(rows) if form else as_csv(rows, folder / "in.csv")) as table:
            kept, coarse = table.recode(KEPT), table.recode(LEVELS)
            for asked in (table, kept, coarse, table.keep(scattered), coarse.suppress_below(coarse.columns, 2)):
                found = asked.count_by(chosen)
                said.append(repr([[plain(c) for c in part] for part in (found.values, found.codes)] + [found.counts]))
    assert said[:5] * len(ways) == said


some_levels = pytest.mark.parametrize(
    "levels", [LEVELS, KEPT, dict(list(LEVELS.items())[2:5])], ids=["levels", "values", "few"]
)
drawn_boxes = given(rows=tables | crowded, seed=st.integers(0, 1 << 30), boxes=st.integers(1, 12), k=st.integers(1, 4))
fewer_examples = settings(few_examples, max_examples=max(3, settings().max_examples // 200))
drawn_columns = given(
    rows=tables | crowded, columns=st.permutations(NAMES), count=st.integers(1, 8), form=st.booleans()
)


@pytest.mark.slow
@some_levels
@drawn_boxes
@fewer_examples
def test_new_labels_are_those_worked_out_by_hand(folder, levels, rows, seed, boxes, k):
    check_new_labels(QUICK, folder, levels, rows, seed, boxes, k)


@pytest.mark.slow
@drawn_columns
@few_examples
def test_counts_do_not_depend_on_how_rows_are_found(folder, rows, columns, count, form):
    check_counts(QUICK, folder, rows, columns[:count], form)


@pytest.mark.slow
def test_new_labels_on_spark_are_those_worked_out_by_hand(folder):
    require_spark()
    check_new_labels(["oracle", "spark"], folder, LEVELS, [*ROWS, *ROWS[:4]], 7, 3, 2)


@pytest.mark.slow
def test_counts_on_spark_are_those_of_the_oracle(folder):
    require_spark()
    check_counts(["oracle", "spark"], folder, [*ROWS, *ROWS[:4]], ["town", "seen", "weight", ODD], form=False)


@pytest.mark.long
@some_levels
@drawn_boxes
@fewer_examples
def test_any_new_labels_on_spark_are_those_worked_out_by_hand(folder, levels, rows, seed, boxes, k):
    require_spark()
    check_new_labels(["oracle", "spark"], folder, levels, rows, seed, boxes, k)


@pytest.mark.long
@drawn_columns
@few_examples
def test_any_counts_on_spark_are_those_of_the_oracle(folder, rows, columns, count, form):
    require_spark()
    check_counts(["oracle", "spark"], folder, rows, columns[:count], form)


@pytest.mark.slow
def test_many_columns_are_looked_up_together(way):
    with opened(way, arrow(ROWS)) as table:
        wide = table
        for place in range(17):
            wide = wide.attach(f"x{place}", np.arange(7) % (place + 1))
        found = wide.count_by(wide.columns)
        assert found.counts.tolist() == [1] * 7
        values = dict(zip(found.columns, found.values, strict=True))
        assert [plain(values[f"x{place}"]) for place in (0, 3, 16)] == [[0], [0, 1, 2, 3], list(range(7))]
        assert plain(values[ODD]) == ["B", "a", "b", "z", "é"]


@pytest.mark.slow
def test_a_long_table_is_relabelled_in_batches():
    rng = np.random.default_rng(5)
    picks = rng.integers(0, len(ROWS), 300_000)
    long = arrow(ROWS).take(picks)
    batches = []

    def place(indices):
        batches.append(len(indices[0]))
        return indices[0]

    levels = {"town": GroupLevel(TOWNS, tuple(range(9)), TOWNS), "age": IntervalLevel((18,), ("young", "old"))}
    with opened("looked up", long) as table:
        known = [[MISSING, *TOWNS], [MISSING, "young", "old"]]
        found = table.recode(levels).relabel(known, place, [[f"town {i}" for i in range(10)], ["*"] * 10])
        expected = Counter(f"town {known[0].index(ROWS[pick][2] or MISSING)}" for pick in picks)
        counts = found.count_by(["town"])
        assert dict(zip(plain(counts.tuples[0]), counts.counts.tolist(), strict=True)) == expected
        with pytest.raises(ZeroDivisionError):  # in the middle of the rows
            table.recode(levels).relabel(known, lambda _: 1 / 0, [["*"]] * 2)
        with pytest.raises(UsageError, match="not among those known"):
            table.recode(KEPT).relabel([TOWNS] * 8, place, [["*"]] * 8)
        assert table.count_by(["age", "age"]).codes[1].tolist() == [-1, 0, 1, 2, 3, 4]
    assert sum(batches) == 300_000
    assert max(batches) < 200_000
