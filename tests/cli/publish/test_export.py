"""`shoal export`: what it prints, and its exit codes."""

from __future__ import annotations

import pytest

from tests.cli.run import answer, refused, shoal
from tests.publish.handbook.survey import released

pytestmark = pytest.mark.slow


def test_words_and_json_say_what_was_written(tmp_path):
    done = shoal("export", released("groups"), tmp_path / "a.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"table: 1,500 rows, 8 columns, written to {tmp_path / 'a.csv'}\n"
    found = answer("export", released("groups"), tmp_path / "a.parquet")
    assert (found["table"], found["rows"], found["columns"][0]) == ("table", 1500, "age")


def test_an_existing_file_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("mine")
    assert refused("export", released("groups"), tmp_path / "a.csv", code=2)["wrong"] == "the file exists"
    assert (tmp_path / "a.csv").read_text() == "mine"
