"""JSON lines: every line is read by itself, or the file is refused as a whole with the number of the line."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random

import pytest

from shoal.data.date_format import DateFormat
from shoal.data.schema import Attribute, FileFormat, Role, Schema, Type
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.read.foreign import json_lines
from shoal.engine.read.input import recognize
from shoal.errors import DataError
from tests.engine.oracle import OracleEngine
from tests.engine.read.foreign.refusals import outcome

SCHEMA = Schema(
    (
        Attribute("n", Role.QUASI, Type.INTEGER),
        Attribute("x", Role.QUASI, Type.DECIMAL, decimal=","),
        Attribute("t", Role.QUASI, Type.TEXT),
        Attribute("b", Role.QUASI, Type.BOOLEAN),
        Attribute("d", Role.QUASI, Type.DATE, format=DateFormat("%d.%m.%Y")),
    )
)
LINES = [
    '{"n": 1, "x": 1.50, "t": "Zürich\\n", "b": true, "d": "31.12.2024"}',
    "",
    '{"x": null, "n": 2.0, "b": "no", "t": "007", "d": null}',
    '{"n": 9223372036854775807, "x": "1,5", "t": 12.0, "b": 0, "d": ""}',
    '{"n": -1e2, "x": 1E-7, "t": "", "b": null, "d": "1.2.2024"}',
]


def write(path, *lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize("engine", [DuckDB(threads=1), OracleEngine()], ids=lambda one: one.name)
def test_every_value_is_spelled_by_its_own_kind_and_read_by_its_declared_type(engine, tmp_path):
    path = write(tmp_path / "t.jsonl", *LINES)
    found = {name: values.tolist() for name, values in engine.scan(path, SCHEMA).collect(SCHEMA.names).items()}
    assert found["n"] == [1, 2, 2**63 - 1, -100]
    assert found["x"] == [1.5, None, 1.5, 1e-7]
    assert found["t"] == ["Zürich\n", "007", "12", None]
    assert found["b"] == [True, False, False, None]
    assert found["d"] == [dt.date(2024, 12, 31), None, None, dt.date(2024, 2, 1)]


def test_packed_and_in_another_encoding(tmp_path):
    text = "\n".join(LINES)
    (tmp_path / "t.ndjson.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "u.jsonl").write_bytes(text.encode("utf-16"))
    (tmp_path / "v.jsonl").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    for name, form in (("t.ndjson.gz", FileFormat()), ("u.jsonl", FileFormat("utf-16")), ("v.jsonl", FileFormat())):
        found = recognize(tmp_path / name, form)
        assert (found.names, found.rows) == (("n", "x", "t", "b", "d"), 4)
        assert next(found.opener([2, 1])).to_pydict() == {
            "0": ["Zürich\n", "007", "12", None],
            "1": ["1.5", None, "1,5", "0.0000001"],
        }


BAD = [
    ('{"a": 1, "a": 1}', "a key twice"),
    ('{"a": {"b": "SECRET"}}', "values inside a value"),
    ('{"a": ["SECRET"]}', "values inside a value"),
    ('{"a": {"b": 1, "b": 2}}', "a key twice"),
    ('{"b": "SECRET"}', "other keys than the first"),
    ('{"a": 1, "b": "SECRET"}', "other keys than the first"),
    ("{}", "other keys than the first"),
    ('{"a": "SECRET"', "no JSON;"),
    ('{"a": "SECRET"} {"a": 1}', "no JSON;"),
    ('["SECRET"]', "no JSON object"),
    ("12", "no JSON object"),
    ('{"a": NaN}', "NaN or Infinity"),
    ('{"a": -Infinity}', "NaN or Infinity"),
    ('{"a": "\\ud800"}', "no JSON;"),
    ("[" * 100_000, "no JSON;"),
    ('{"a": ' + "1" * 5000 + "}", "no JSON;"),
    ('{"a": 1e9999999999999999999999}', "no JSON;"),
]


@pytest.mark.parametrize(("line", "match"), BAD, ids=[line[:25] for line, _ in BAD])
def test_a_broken_line_is_named_and_not_quoted(tmp_path, line, match):
    with pytest.raises(DataError, match=match) as caught:
        recognize(write(tmp_path / "t.jsonl", '{"a": "x"}', "", line))
    assert "t.jsonl, row 2, counted from 1 without empty lines" in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_no_line_is_a_table_without_rows_where_columns_are_known(tmp_path):
    path = write(tmp_path / "t.jsonl", "", "  ")
    assert DuckDB(threads=1).scan(path, SCHEMA).rows() == 0
    with pytest.raises(DataError, match="the file is empty"):
        recognize(path)
    with pytest.raises(DataError, match="lacks columns that the policy names"):
        DuckDB(threads=1).scan(write(path, '{"n": 1}'), SCHEMA)


def test_a_line_may_not_be_endless(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 1000)
    with pytest.raises(DataError, match="a line is too long"):
        recognize(write(tmp_path / "t.jsonl", json.dumps({"a": "x" * 2000})))


def test_altered_bytes_are_refused_or_read(tmp_path):
    whole = "\n".join(json.dumps({"a": number, "b": f"SECRET{number}"}) for number in range(50)).encode()
    draw = random.Random(3)  # noqa: S311
    outcomes = set()
    for _ in range(60):
        altered = bytearray(whole)
        altered[draw.randrange(len(altered))] = draw.randrange(256)
        (tmp_path / "t.jsonl").write_bytes(altered)
        outcomes.add(outcome(tmp_path / "t.jsonl", "SECRET"))
    assert outcomes == {"read", "refused"}
