"""Reading is a map applied to each record: what decides how a file is read is the policy and the header line."""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.data.date_format import DateFormat
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, FileFormat, Missing, Outside, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read.violations import LOOKED_AT
from shoal.errors import DataError, DomainError
from tests.engine.oracle import OracleEngine


@pytest.fixture(params=[DuckDB(threads=1), OracleEngine()], ids=lambda one: one.name)
def engine(request):
    return request.param


def column(engine, source, schema, name="x"):
    return engine.scan(source, schema).collect([name])[name].tolist()


def one(kind, domain=None, form=None, **more):
    attribute = Attribute("x", Role.QUASI, kind, domain, **more)
    return Schema((attribute,)) if form is None else Schema((attribute,), form)


PRICES = Schema(
    (
        Attribute("price", Role.QUASI, Type.CATEGORY, Values(("£10", "£20")), outside=Outside.SUPPRESS),
        Attribute("name", Role.DROP, Type.TEXT),
    )
)


@pytest.mark.parametrize(
    "row",
    [b"\xa310,caf\xe9\n", "£10,'O''Neill, Ann'\n".encode(), b"\xc2\xa310,\xff\n", "£10,x;y\n".encode(), b"1\x00\n"],
    ids=["latin", "single quotes", "no text", "semicolons", "NUL"],
)
def test_a_row_in_a_dropped_column_does_not_change_how_the_others_are_read(engine, tmp_path, row):
    """3,000 prices became missing because one row's dropped column held the byte E9, or a comma in single quotes."""
    usual = "price,name\n" + "£10,Ann\n£20,'Bob'\n" * 1500
    path = tmp_path / "t.csv"
    path.write_bytes(usual.encode())
    before = column(engine, path, PRICES, "price")
    assert before == ["£10", "£20"] * 1500
    path.write_bytes(usual.encode() + row)
    try:
        after = column(engine, path, PRICES, "price")
    except DataError:
        return
    assert after[:3000] == before


def test_only_the_header_line_decides_the_delimiter(engine, tmp_path):
    schema = Schema((Attribute("a", Role.QUASI, Type.TEXT), Attribute("b", Role.QUASI, Type.TEXT)))
    path = tmp_path / "t.csv"
    for rows in ("1;2\n", "1;2\n" + "3,4;5,6\n" * 50, "1;2\n\n\n"):
        path.write_text("a;b\n" + rows)
        assert column(engine, path, schema, "a")[0] == "1"
    path.write_text("a,b\n1;2\n3;4\n")
    with pytest.raises(DataError, match="another number of cells"):
        engine.scan(path, schema)
    with pytest.raises(DataError, match=r"without 'a', 'b'.*`file: {delimiter: \.\.\.}`"):
        engine.scan(path, replace(schema, file=FileFormat(delimiter=";")))


# --- codes and marks ----------------------------------------------------------------------------------------------


def test_a_decimal_comma(engine, tmp_path):
    comma = FileFormat(delimiter=";", decimal=",")
    path = tmp_path / "t.csv"
    path.write_text("x\n1,5\n,5\n-2\n1,5e3\nnan\n")
    assert column(engine, path, one(Type.DECIMAL, form=comma)) == [1.5, 0.5, -2.0, 1500.0, None]
    path.write_text("x\n1,5\n1.5\n")
    with pytest.raises(DataError, match=r"'x' in 1 row \(2\).*allowed: 'x' decimal \(numbers such as 1,5\).*point"):
        engine.scan(path, one(Type.DECIMAL, form=comma))
    for stored in (pa.array([1.5]), pa.array([decimal.Decimal("1.50")])):  # what is stored as a number has no mark
        assert column(engine, pa.table({"x": stored}), one(Type.DECIMAL, form=comma)) == [1.5]


CODES = FileFormat(missing=("-9", "NA", "1900-01-01"))
CODED = [
    (
        Type.INTEGER,
        ["1", " -9 ", "NA"],
        [pa.int64(), pa.float64(), pa.decimal128(25, 2)],
        [1, -9, None],
        [1, None, None],
    ),
    (Type.DECIMAL, ["1.5", "-9", "NA"], [pa.float64(), pa.decimal128(25, 2)], [1.5, -9, None], [1.5, None, None]),
    (Type.CATEGORY, ["1", "-9", "NA"], [pa.int8()], [1, -9, None], ["1", None, None]),
    (Type.TEXT, ["-9 ", "-9", "NA"], [], [], ["-9 ", None, None]),
    (Type.BOOLEAN, ["yes", "-9", "NA"], [pa.bool_()], [True, None, None], [True, None, None]),
    (
        Type.DATE,
        ["2020-01-01", "1900-01-01", "NA"],
        [pa.date32(), pa.timestamp("us")],
        [dt.date(2020, 1, 1), dt.date(1900, 1, 1), None],
        [dt.date(2020, 1, 1), None, None],
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "texts", "types", "values", "expected"), CODED, ids=lambda v: getattr(v, "value", ""))
def test_missing_codes_mean_the_same_however_a_column_is_stored(engine, tmp_path, kind, texts, types, values, expected):
    schema = one(kind, form=CODES)
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f'"{text}"' for text in texts) + "\n")
    assert column(engine, tmp_path / "t.csv", schema) == expected
    assert column(engine, pa.table({"x": texts}), schema) == expected
    for stored in types:
        parquet.write_table(pa.table({"x": pa.array(values).cast(stored)}), tmp_path / "t.parquet")
        assert column(engine, tmp_path / "t.parquet", schema) == expected
    strict = one(kind, form=CODES, missing=Missing.REFUSE)
    with pytest.raises(DataError, match=r"'x' in 2 rows \(2, 3\), counted from 1 after the header"):
        engine.scan(tmp_path / "t.csv", strict)


def test_a_decimal_mark_of_one_column(engine, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1,5;2.5\n-,25;1e3\n")
    schema = Schema(
        (Attribute("x", Role.QUASI, Type.DECIMAL, decimal=","), Attribute("y", Role.QUASI, Type.DECIMAL)),
        FileFormat(delimiter=";"),
    )
    assert column(engine, path, schema) == [1.5, -0.25]
    assert column(engine, path, schema, "y") == [2.5, 1000.0]
    path.write_text("x;y\n1.5;2.5\n")
    with pytest.raises(
        DataError, match=r"allowed: 'x' decimal \(numbers such as 1,5\).*`decimal: '\.'` for the column"
    ):
        engine.scan(path, schema)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "texts", "types", "values", "expected"), CODED, ids=lambda v: getattr(v, "value", ""))
def test_missing_codes_of_one_column_mean_what_those_of_its_file_mean(engine, kind, texts, types, values, expected):
    schema = one(kind, form=FileFormat(missing=CODES.missing[:1]), missing_values=CODES.missing[1:])
    assert column(engine, pa.table({"x": texts}), schema) == expected
    for stored in types:
        assert column(engine, pa.table({"x": pa.array(values).cast(stored)}), schema) == expected


def test_missing_codes_of_one_column_are_values_of_another(engine):
    schema = Schema(
        (Attribute("x", Role.QUASI, Type.INTEGER, missing_values=("-9",)), Attribute("y", Role.QUASI, Type.INTEGER))
    )
    table = pa.table({"x": ["-9", "1"], "y": ["-9", "1"]})
    assert column(engine, table, schema) == [None, 1]
    assert column(engine, table, schema, "y") == [-9, 1]


# --- declared date formats ------------------------------------------------------------------------------------------

FORMS = [
    "%d.%m.%Y",
    "%Y%m%d",
    "%m/%d/%y",
    "%d %b %Y",
    "%d. %B %Y",
    "%y-%d%m",
    "%Y年%m月%d日",
    "%%%d-%m-%Y",
    "%%d%d%m.%Y",
]
MOMENTS = [
    "%d.%m.%Y %H:%M",
    "%m/%d/%y %I:%M %p",
    "%Y%m%dT%H%M%S",
    "%Y-%m-%d %H",
    "%H:%M:%S.%f on %d.%m.%Y",
    "%I%p %d%b%Y",
]
WHEN = [
    dt.datetime(*parts)
    for parts in (
        (1969, 1, 1),
        (2000, 2, 29, 23, 59, 59, 999999),
        (2024, 12, 31, 12),
        (2068, 10, 9, 0, 5),
        (2011, 11, 1, 11, 1),
    )
]
BROKEN = ["", " ", "31.02.2024", "00.01.2024", "1.1.24", "x", "31.12.2024x", "32.12.2024", "2024-12-31", "20241301"]
BROKEN += ["1/1/2024", "0/0/00", "13/13/13", "1.1.0000", "9 ſep 2024", "1 Sept 2024", "٣١.١٢.٢٠٢٤", "99/99/99 13:00 pm"]
BROKEN += [
    "1/1/24 0:00 am",
    "1/1/24 13:00 pm",
    "31.12.2024 24:00",
    "31.12.2024 23:60",
    "20240101T000060",
    "2024-1-1 7 ",
]


KINDS = {**dict.fromkeys(FORMS, Type.DATE), **dict.fromkeys(MOMENTS, Type.DATETIME)}


def by_form(**more):
    """A schema with a column for each form, named by it."""
    return Schema(tuple(Attribute(form, Role.QUASI, KINDS[form], format=DateFormat(form), **more) for form in KINDS))


def table_of(columns):
    """A table of columns of different lengths: what is not there is missing."""
    longest = max(map(len, columns.values()))
    return pa.table({name: pa.array([*held, *[None] * (longest - len(held))]) for name, held in columns.items()})


def every_column(engine, table, schema):
    return {name: values.tolist() for name, values in engine.scan(table, schema).collect(schema.names).items()}


def told(form):
    """What a form spells of some times, and what is read of it: dates where it tells no time of day."""
    days = KINDS[form] is Type.DATE
    whole = [when.replace(hour=0, minute=0, second=0, microsecond=0) if days else when for when in WHEN]
    found = [
        (text, when.date() if days else when) for when in whole if (text := DateFormat(form).spell(when)) is not None
    ]
    assert len(found) >= 2, form
    return found


def test_dates_in_a_declared_form(engine):
    """What is spelled in a form is read back, with blanks around it; what is stored as a date needs no form."""
    texts = {form: [each for text, _ in told(form) for each in (text, f" {text} ")] for form in KINDS}
    values = {form: [value for _, value in told(form) for _ in range(2)] for form in KINDS}
    for stored in (texts, values):
        found = every_column(engine, table_of(stored), by_form())
        assert {form: held[: len(values[form])] for form, held in found.items()} == values
        coded = Schema(
            tuple(replace(each, missing_values=(told(each.name)[0][0],)) for each in by_form().attributes), FileFormat()
        )
        for form, held in every_column(engine, table_of(stored), coded).items():
            assert held[:4] == [None, None, *values[form][2:4]], form


@pytest.mark.slow
def test_both_engines_read_the_same_of_any_text():
    """Texts that are nearly dates: each is read by both engines alike, or by neither."""
    near = {}
    for form in KINDS:
        texts = [DateFormat(form).spell(when) or "" for when in WHEN]
        texts += [text[1:] for text in texts] + [text.replace("0", "1") for text in texts]
        texts += [f"{text}0" for text in texts] + [text.replace("0", "") for text in texts]
        near[form] = sorted({*texts, *map(str.upper, texts), *map(str.lower, texts), *BROKEN} - {""})
    readings = [_readings(engine, near) for engine in (DuckDB(threads=1), OracleEngine())]
    assert readings[0] == readings[1]
    assert all(any(value is not None for value in held) for held in readings[0].values())


def _readings(engine, texts):
    """What each text is read as by itself, None where it is not: the error names the rows."""
    with pytest.raises(DataError, match="some values do not read as their declared type") as caught:
        engine.scan(table_of(texts), by_form())
    bad = {form: {number - 1 for number in caught.value.rows[form]} for form in texts}
    kept = {
        form: [None if place in bad[form] else text for place, text in enumerate(held)] for form, held in texts.items()
    }
    assert all(len(each) < LOOKED_AT for each in bad.values())
    return every_column(engine, table_of(kept), by_form())


def test_a_value_that_the_form_does_not_read(engine):
    schema = one(Type.DATE, format=DateFormat("%d.%m.%Y"))
    with pytest.raises(DataError, match=r"'x' date \(written as 01\.03\.2025, by `format: '%d\.%m\.%Y'`\)"):
        engine.scan(pa.table({"x": ["soon"]}), schema)
    for text, hint in (
        ("31.02.2024", "no date that there is"),
        ("2024-12-31", "leave `format` out"),
        ("1/2/24", "another form"),
    ):
        with pytest.raises(DataError, match=hint):
            engine.scan(pa.table({"x": [text]}), schema)


# --- what one row may do to the type of a column ----------------------------------------------------------------------


def test_how_many_places_a_column_of_decimals_has_does_not_count(engine):
    """Python decimals in a frame get as many places as the row with most of them asks for."""
    large, small = decimal.Decimal(2**53 + 1), decimal.Decimal("1.23")
    for others in ([], [decimal.Decimal("0.5")], [decimal.Decimal("0.000000000001")]):
        frame = pd.DataFrame({"x": [small, *others]})
        assert column(engine, frame, one(Type.DECIMAL))[0] == 1.23
    assert column(engine, pd.DataFrame({"x": [large, decimal.Decimal("2.000")]}), one(Type.INTEGER)) == [2**53 + 1, 2]


def test_floats_that_may_stand_for_several_whole_numbers_are_refused(engine):
    assert column(engine, pd.DataFrame({"x": [2**53 + 1, 2]}), one(Type.INTEGER)) == [2**53 + 1, 2]
    with pytest.raises(DataError, match=r"'x' in 1 row \(1\).*from 2\^53 up"):
        engine.scan(pd.DataFrame({"x": [2**53 + 1, 2, None]}), one(Type.INTEGER))


@pytest.mark.parametrize(
    "values",
    [
        [dt.datetime(2020, 1, 2, 3), dt.date(2020, 1, 1)],
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3)],
        [1, True],
        [1, "1"],
        [decimal.Decimal(1), 2.5],
        [1, 2**63],
    ],
    ids=str,
)
def test_objects_of_several_kinds_are_refused(engine, values):
    """Arrow takes the kind of the first: one day in front cuts every time to its day."""
    for kind in (Type.DATETIME, Type.INTEGER, Type.TEXT):
        with pytest.raises(DataError, match=r"cannot be read|do not read"):
            engine.scan(pd.DataFrame({"x": pd.Series(values, dtype=object)}), one(kind))


@pytest.mark.parametrize(
    "values",
    [[np.float16(0.1), 1], [np.uint64(2**64 - 1), 2.5], [np.uint8(200), np.float32(0.5)], [np.longdouble(0.1), 1]],
    ids=str,
)
def test_numbers_that_arrow_joins_wrongly_are_refused(engine, values):
    """Beside an integer Arrow reads a float16 of .1 as 0; beside a float, an unsigned 2^64 - 1 as -1."""
    for each in (values, values[::-1]):
        with pytest.raises(DataError, match="cannot be read"):
            engine.scan(pd.DataFrame({"x": pd.Series(each, dtype=object)}), one(Type.DECIMAL))


def test_categories_of_several_kinds_are_refused(engine):
    times = [dt.datetime(2020, 1, 2, 3), dt.datetime(2020, 1, 3, 4)]
    plain = pd.DataFrame({"x": pd.Categorical(times, categories=pd.Index(times, dtype=object))})
    assert column(engine, plain, one(Type.DATETIME)) == times
    mixed = [dt.date(2020, 1, 1), *times]
    with pytest.raises(DataError, match="cannot be read"):
        engine.scan(
            pd.DataFrame({"x": pd.Categorical(mixed, categories=pd.Index(mixed, dtype=object))}), one(Type.DATETIME)
        )


def test_columns_that_are_not_read_may_hold_anything(engine):
    frame = pd.DataFrame({"note": pd.Series([1, "x", object()], dtype=object), "x": [1, 2, 3], 5: [[], {}, None]})
    table = engine.scan(frame, one(Type.INTEGER))
    assert table.collect(["x"])["x"].tolist() == [1, 2, 3]
    assert "2 columns" in table.notes[0]


# --- footers ------------------------------------------------------------------------------------------------------


def lying(path, values, kind, told):
    """A Parquet file whose footer says that its largest (or smallest) value is another."""
    parquet.write_table(pa.table({"x": pa.array(values, kind)}), path)
    content = path.read_bytes()
    size = struct.unpack("<I", content[-8:-4])[0]
    body, footer = content[: -8 - size], content[-8 - size :]
    for true, false in told.items():
        assert struct.pack("<q", true) in footer
        footer = footer.replace(struct.pack("<q", true), struct.pack("<q", false))
    path.write_bytes(body + footer)
    return path


def test_what_a_footer_says_of_the_values_is_not_believed(engine, tmp_path):
    path = lying(tmp_path / "t.parquet", [1, 10**9, 7], pa.int64(), {10**9: 300})
    assert parquet.read_metadata(path).row_group(0).column(0).statistics.max == 300
    with pytest.raises(DomainError, match=r"'x' in 1 row \(2\).*allowed: 'x' 0\.\.300"):
        engine.scan(path, one(Type.INTEGER, Interval(0, 300)))
    clamped = engine.scan(path, one(Type.INTEGER, Interval(0, 300), outside=Outside.CLAMP))
    assert clamped.collect(["x"])["x"].tolist() == [1, 300, 7]
    assert clamped.distinct("x").tolist() == [1, 7, 300]
    free = engine.scan(path, one(Type.INTEGER))
    counts = free.count_by(["x"])
    assert counts.tuples[0].tolist() == [1, 7, 10**9]
    assert counts.counts.tolist() == [1, 1, 1]
    assert free.quantiles("x", [1]).tolist() == [10**9]


def test_a_footer_that_says_all_values_are_one(engine, tmp_path):
    path = lying(tmp_path / "t.parquet", [5, 9, 5, 9], pa.int64(), {9: 5})
    assert column(engine, path, one(Type.INTEGER)) == [5, 9, 5, 9]
    table = engine.scan(path, one(Type.INTEGER, Interval(0, 20)))
    assert table.keep(lambda start, count: np.arange(start, start + count) % 2 == 1).distinct("x").tolist() == [9]
    assert table.count_by(["x"]).counts.tolist() == [2, 2]
