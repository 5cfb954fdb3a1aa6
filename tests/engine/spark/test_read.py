"""Files and frames come to Spark as they come to every engine: the same rows under the same numbers, or a plain refusal."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.hierarchy.level import ValueLevel
from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.base import open_engine
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.spark.session import start
from shoal.errors import DataError, DomainError, UsageError
from tests.engine.tables import NAMES, ROWS, SCHEMA, TOWNS, arrow, as_csv, as_folder, plain
from tests.spark import SETTINGS, SPARK, require_spark

pytestmark = pytest.mark.slow
MASK = Source.seeded(5).row_mask(Fraction(1, 2)).keep
PICKS = np.random.default_rng(0).integers(0, len(ROWS), 300)
MANY = [ROWS[pick] for pick in PICKS]


@pytest.fixture(autouse=True)
def _spark():
    require_spark()


def written(table, folder):
    table.write(folder / "out.csv")
    return (folder / "out.csv").read_bytes()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The same rows as folders of Parquet and CSV files, in places whose names need care."""
    place = tmp_path_factory.mktemp("many rows [1]")
    as_folder(MANY, place / "parquet", (10, 100, 101))
    (place / "csv").mkdir()
    for number, (start_at, stop) in enumerate(((0, 10), (10, 200), (200, 300))):
        as_csv(MANY[start_at:stop], place / "csv" / f"part {number}.csv")
    return place


def forms(place):
    return {
        "a folder of Parquet": place / "parquet",
        "a folder of CSV": place / "csv",
        "an address": (place / "parquet").as_uri(),
    }


@pytest.mark.parametrize("form", ["a folder of Parquet", "a folder of CSV", "an address"])
def test_rows_have_the_numbers_that_every_engine_gives_them(inputs, tmp_path, form):
    expected = written(DuckDB().scan(arrow(MANY), SCHEMA).keep(MASK), tmp_path)
    table = SPARK.scan(forms(inputs)[form], SCHEMA)
    assert table.rows() == 300
    assert written(table.keep(MASK), tmp_path) == expected


def test_a_pattern_names_files(tmp_path):
    for number in range(3):
        as_csv(MANY[number * 10 : number * 10 + 10], tmp_path / f"p{number}.csv")
    as_csv(MANY[:5], tmp_path / "other.csv")
    expected = written(DuckDB().scan(arrow(MANY[:30]), SCHEMA).keep(MASK), tmp_path)
    (tmp_path / "out.csv").unlink()
    assert written(SPARK.scan(str(tmp_path / "p*.csv"), SCHEMA).keep(MASK), tmp_path) == expected


def test_a_pattern_that_matches_a_folder_and_what_is_in_it_reads_each_file_once(tmp_path):
    place = tmp_path / "_raw"
    (place / "sub").mkdir(parents=True)
    parquet.write_table(arrow(MANY[:5]), place / "a.parquet")
    parquet.write_table(arrow(MANY[5:10]), place / "sub" / "b.parquet")
    table = SPARK.scan(str(place / "**"), SCHEMA)
    assert table.rows() == 10
    assert table.digest() == DuckDB().scan(arrow(MANY[:10]), SCHEMA).digest()


def test_a_column_with_the_name_of_sparks_own_does_not_number_the_rows(tmp_path):
    held = pa.table({"x": list(range(200)), "_metadata": pa.array([{"row_index": 0}] * 200)})
    parquet.write_table(held, tmp_path / "t.parquet")
    schema = Schema((Attribute("x", Role.QUASI, Type.INTEGER),))
    kept = SPARK.scan(tmp_path / "t.parquet", schema).keep(MASK).collect(["x"])["x"]
    assert kept.tolist() == np.flatnonzero(MASK(0, 200)).tolist()


def test_rows_that_share_a_number_are_refused(tmp_path, monkeypatch):
    from pyspark.sql import functions as F  # noqa: N812

    from shoal.engine.spark import read

    SPARK.scan(arrow(MANY[:1]), SCHEMA)  # every module has imported what is replaced now
    monkeypatch.setattr(
        read,
        "from_arrow",
        lambda session, table, made=read.from_arrow: made(session, table).withColumn("r", F.lit(0).cast("bigint")),
    )
    with pytest.raises(DataError, match="could not be numbered"):
        SPARK.scan(arrow(MANY[:3]), SCHEMA)


def test_texts_that_are_no_utf8_are_refused_and_not_quoted(tmp_path):
    raw = pa.array([b"Zug", b"\xff\xfe secret"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    parquet.write_table(pa.table({"town": broken}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"some texts are not in UTF-8; got t\.parquet, 1 rows") as caught:
        SPARK.scan(tmp_path / "t.parquet", Schema((Attribute("town", Role.QUASI, Type.TEXT),)))
    assert "secret" not in str(caught.value)


def test_texts_outside_a_pattern_stand_in_no_plan():
    from shoal.data.domain import Pattern
    from shoal.data.schema import Outside

    schema = Schema((Attribute("zip", Role.QUASI, Type.TEXT, Pattern("[0-9]{3}"), outside=Outside.SUPPRESS),))
    table = SPARK.scan(pa.table({"zip": ["123", "SECRETCELL", None, "456"]}), schema)
    assert plain(table.collect(["zip"])["zip"]) == ["123", None, None, "456"]
    frame = table.recode({"zip": ValueLevel()}).frame
    held = frame._jdf.queryExecution()
    assert "isin" not in held.toString()
    assert " IN (" not in held.toString()


def test_what_pyspark_logs_of_a_failure_quotes_no_cell(capfd):
    session = start("local[2]", SETTINGS)
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", "true")
    try:
        frame = session.createDataFrame([("SECRETCELL",)], "x string").selectExpr("CAST(x AS INT) AS x")
        with pytest.raises(DataError) as caught:
            open_engine(data=frame).scan(frame, Schema((Attribute("x", Role.QUASI, Type.INTEGER),)))
    finally:
        session.conf.set("spark.sql.ansi.enabled", before)
    said = capfd.readouterr()
    assert "SECRETCELL" not in said.err + said.out + str(caught.value)
    views = session.sql("SHOW VIEWS IN global_temp").collect()
    assert views == []


def test_an_address_with_a_password_is_not_quoted():
    with pytest.raises(DataError) as caught:
        SPARK.scan("webhdfs://ann:hunter2@127.0.0.1:1/x", SCHEMA)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("text", ["\u00a05", "5\u2003", " 5 ", "\u30005"])
def test_blanks_around_numbers_are_those_that_duckdb_takes_away(text):
    schema = Schema((Attribute("x", Role.QUASI, Type.INTEGER),))
    found = [engine.scan(pa.table({"x": [text]}), schema).collect(["x"])["x"].tolist() for engine in (DuckDB(), SPARK)]
    assert found == [[5], [5]]


def test_a_file_system_of_the_cluster_is_read_as_spark_reaches_it(inputs, tmp_path):
    """Hadoop's own mounts stand for a remote file system: no path of this machine leads there."""
    session = start("local[2]", SETTINGS)
    hadoop = session._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.away.link./data", inputs.parent.as_uri())
    expected = written(DuckDB().scan(arrow(MANY), SCHEMA).keep(MASK), tmp_path)
    for kind in ("parquet", "csv"):
        (tmp_path / "mount").mkdir(exist_ok=True)
        plain_place = inputs.parent / "plain"
        if not plain_place.exists():
            plain_place.symlink_to(inputs)
        address = f"viewfs://away/data/plain/{kind}"
        assert written(SPARK.scan(address, SCHEMA).keep(MASK), tmp_path) == expected
    with pytest.raises(DataError, match="no Parquet or CSV file is there"):
        SPARK.scan("viewfs://away/data/nothing", SCHEMA)


def test_a_file_that_changes_between_two_passes_is_refused(tmp_path):
    as_folder(MANY, tmp_path / "parts", (10, 100))
    table = SPARK.scan(tmp_path / "parts", SCHEMA)
    parquet.write_table(arrow(MANY[:50]), tmp_path / "parts" / "part-001.parquet")
    with pytest.raises(DataError, match="the file changed while it was read"):
        table.count_by(["age"])
    (tmp_path / "parts" / "part-001.parquet").unlink()
    with pytest.raises(DataError, match="the file changed while it was read"):
        table.keep(MASK).rows()


def test_what_is_kept_of_files_is_not_taken_for_files_written_anew(tmp_path):
    path = tmp_path / "t.parquet"
    for rows in (MANY[:40], MANY[:70]):
        parquet.write_table(arrow(rows), path)
        coarse = SPARK.scan(path, SCHEMA).select(["town", "age"])
        assert coarse.suppress_below(coarse.columns, 1).rows() == len(rows)


def test_parts_with_other_columns_are_refused(tmp_path):
    (tmp_path / "drift").mkdir()
    parquet.write_table(arrow(MANY[:5]), tmp_path / "drift" / "a.parquet")
    parquet.write_table(arrow(MANY[5:]).drop_columns(["age"]), tmp_path / "drift" / "b.parquet")
    with pytest.raises(DataError, match=r"do not have the same columns; got drift: b\.parquet differs"):
        SPARK.scan(tmp_path / "drift", SCHEMA)
    (tmp_path / "lines").mkdir()
    as_csv(MANY[:5], tmp_path / "lines" / "a.csv")
    as_csv([row[:7] for row in MANY[:5]], tmp_path / "lines" / "b.csv", names=NAMES[:7])
    with pytest.raises(DataError, match=r"do not have the same columns; got lines: b\.csv differs"):
        SPARK.scan(tmp_path / "lines", SCHEMA)


def test_a_file_that_would_be_left_out_is_refused(tmp_path):
    """Rows of a file that cannot be opened must not be missing in silence."""
    lost, pipe = tmp_path / "lost", tmp_path / "pipe"
    for folder in (lost, pipe):
        folder.mkdir()
        parquet.write_table(arrow(MANY[:5]), folder / "a.parquet")
    (lost / "b.parquet").symlink_to("moved-away.parquet")
    os.mkfifo(pipe / "b.parquet")
    for engine in (SPARK, DuckDB()):
        with pytest.raises(DataError, match=r"a link that leads nowhere; got b\.parquet; restore the file"):
            engine.scan(lost, SCHEMA)
        with pytest.raises(DataError, match=r"read from a plain file; got b\.parquet, a named pipe"):
            engine.scan(pipe, SCHEMA)
    with pytest.raises(DataError, match="a link that leads nowhere"):
        SPARK.scan(str(lost / "*.parquet"), SCHEMA)


def test_what_spark_does_not_open_is_told_by_what_is_wrong_with_it(tmp_path):
    parquet.write_table(arrow(MANY[:5]), tmp_path / "10:30.parquet")
    with pytest.raises(DataError, match=r"with a colon in their name; got 10:30\.parquet; rename it"):
        SPARK.scan(tmp_path / "10:30.parquet", SCHEMA)
    age = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
    for name, held, wrong in (
        ("twice", pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]), "have the name of an earlier column"),
        ("clock", pa.table({"age": [1], "at": pa.array([1], pa.time64("us"))}), "a type that Spark does not read"),
    ):
        parquet.write_table(held, tmp_path / f"{name}.parquet")
        with pytest.raises(DataError, match=wrong):
            SPARK.scan(tmp_path / f"{name}.parquet", age)


@pytest.mark.parametrize("name", ["a b", "a%41b", "a#?b", "a=1", "[x]{y}", "back\\slash", "*", "z\nz"])
def test_names_of_files_and_folders_are_taken_as_they_are(tmp_path, name):
    place = tmp_path / name
    place.mkdir()
    parquet.write_table(arrow(MANY[:5]), place / f"{name}.parquet")
    (place / f"{name}=2").mkdir()
    parquet.write_table(arrow(MANY[5:9]), place / f"{name}=2" / f"{name}.parquet")
    ours, other = (engine.scan(place, SCHEMA).keep(MASK).digest() for engine in (SPARK, DuckDB()))
    assert ours == other


def test_what_is_no_table_is_refused_as_every_engine_does(tmp_path):
    (tmp_path / "ragged.csv").write_text("age,weight\n1,2\n3\n")
    narrow = Schema((Attribute("age", Role.QUASI, Type.INTEGER), Attribute("weight", Role.QUASI, Type.DECIMAL)))
    with pytest.raises(DataError, match="another number of cells than the header"):
        SPARK.scan(tmp_path / "ragged.csv", narrow)
    with pytest.raises(DataError, match="there is no such file"):
        SPARK.scan(tmp_path / "nothing.parquet", SCHEMA)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet or CSV file is there"):
        SPARK.scan(tmp_path / "empty", SCHEMA)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(DataError) as caught:
        SPARK.scan(tmp_path / "broken.parquet", SCHEMA)
    assert "nothing else" not in str(caught.value)
    outside = arrow(MANY).set_column(0, "age", pa.array([999] * 299 + [5], pa.int32()))
    parquet.write_table(outside, tmp_path / "outside.parquet")
    with pytest.raises(DomainError, match=r"'age' in 299 rows \(1, 2, 3, 4, 5, …\)") as refused:
        SPARK.scan(tmp_path / "outside.parquet", SCHEMA)
    assert "such as -9 or 999" in str(refused.value)


def test_a_frame_of_spark_is_read_by_spark_whatever_engine_is_named(tmp_path):
    as_folder(MANY, tmp_path / "parts", (10, 100, 200))
    session = start("local[2]", SETTINGS)
    frame = session.read.parquet(str(tmp_path / "parts")).repartition(3)
    table = open_engine("duckdb", data=frame).scan(frame, SCHEMA)
    expected = DuckDB().scan(arrow(MANY), SCHEMA)
    assert table.digest() == expected.digest()
    every = table.keep(lambda start_at, count: np.ones(count, dtype=bool))
    assert every.rows() == 300
    halves = [
        table.keep(lambda start_at, count, half=half: (np.arange(start_at, start_at + count) < 150) == half).rows()
        for half in (True, False)
    ]
    assert halves == [150, 150]  # numbers are 0 to 299, each once
    again = table.keep(MASK)
    assert written(again, tmp_path) == written(again, tmp_path)


def test_a_table_of_the_session_is_read_as_a_frame(tmp_path):
    """A table of a catalog, partitioned by a column, as those of Iceberg and Delta come too."""
    session = start("local[2]", SETTINGS)
    held = pa.table({"age": [30, 5, 30, 70] * 5, "town": ["Zug", "Zug", None, "ab;c"] * 5})
    parquet.write_table(held, tmp_path / "t.parquet")
    frame = session.read.parquet(str(tmp_path / "t.parquet"))
    frame.write.partitionBy("town").option("path", str(tmp_path / "table")).saveAsTable("visits_of_a_test")
    schema = Schema(
        (Attribute("age", Role.QUASI, Type.INTEGER), Attribute("town", Role.QUASI, Type.CATEGORY, Values(TOWNS)))
    )
    try:
        visits = session.table("visits_of_a_test")
        table = open_engine("duckdb", data=visits).scan(visits, schema)
        assert table.digest() == DuckDB().scan(held, schema).digest()
        assert table.rows() == 20
    finally:
        session.sql("DROP TABLE visits_of_a_test")


def test_frames_that_no_settled_table_can_be_made_of_are_refused():
    session = start("local[2]", SETTINGS)
    age = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
    endless = session.readStream.format("rate").load().selectExpr("value AS age")
    with pytest.raises(UsageError, match="frames of a stream are not read"):
        open_engine(data=endless).scan(endless, age)
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        both = session.sql("SELECT 1 AS age, 2 AS Age")
    finally:
        session.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(DataError, match="differ in capital letters alone, and its session does not tell them apart"):
        open_engine(data=both).scan(both, age)


def test_a_frame_that_draws_at_random_is_computed_once():
    from pyspark.sql import functions as F  # noqa: N812

    session = start("local[2]", SETTINGS)
    frame = session.range(0, 1000, 1, 3).select((F.rand() * 100).cast("int").alias("age"))
    table = open_engine(data=frame).scan(frame, Schema((Attribute("age", Role.QUASI, Type.INTEGER),)))
    assert table.digest() == table.digest()
    first, second = (table.count_by(["age"]).counts.tolist() for _ in range(2))
    assert first == second


def test_every_type_of_spark_is_read_as_its_declared_type():
    from decimal import Decimal

    session = start("local[2]", SETTINGS)
    frame = session.sql(
        "SELECT CAST(1.50 AS DECIMAL(10, 2)) AS a, CAST(0.00000012 AS DECIMAL(20, 10)) AS b, CAST(7 AS TINYINT) AS c, "
        "DATE '2020-02-29' AS d, TIMESTAMP '2020-01-01 10:00:00.000001' AS e, TRUE AS f, CAST(2.0 AS FLOAT) AS g, "
        "CAST(12 AS DECIMAL(20, 0)) AS h, CAST(NULL AS VOID) AS i"
    )
    kinds = (
        Type.DECIMAL,
        Type.DECIMAL,
        Type.INTEGER,
        Type.DATE,
        Type.DATETIME,
        Type.BOOLEAN,
        Type.INTEGER,
        Type.TEXT,
        Type.TEXT,
    )
    schema = Schema(tuple(Attribute(name, Role.QUASI, kind) for name, kind in zip("abcdefghi", kinds, strict=True)))
    found = {
        name: plain(values)[0]
        for name, values in open_engine(data=frame).scan(frame, schema).collect("abcdefghi").items()
    }
    assert found["a"] == 1.5
    assert found["b"] == float(Decimal("0.00000012"))
    assert (found["c"], found["f"], found["g"], found["h"], found["i"]) == (7, True, 2, "12", None)
    assert (str(found["d"]), str(found["e"])) == ("2020-02-29", "2020-01-01 10:00:00.000001")
    nested = session.sql("SELECT array(1, 2) AS a")
    with pytest.raises(DataError, match="the column cannot be read as integer"):
        open_engine(data=nested).scan(nested, Schema((Attribute("a", Role.QUASI, Type.INTEGER),)))


def test_texts_are_read_by_the_policys_words(tmp_path):
    """Decimal commas, missing codes and date formats are the policy's, on the workers as elsewhere."""
    (tmp_path / "t.csv").write_text("x;d\n1,5;31.12.2024\n-9;01.02.2023\n;29.02.2023\n", encoding="utf-8")
    attributes = (Attribute("x", Role.QUASI, Type.DECIMAL, missing_values=("-9",)),)
    schema = Schema(attributes, file=FileFormat(delimiter=";", decimal=","))
    assert plain(SPARK.scan(tmp_path / "t.csv", schema).collect(["x"])["x"]) == [1.5, None, None]
