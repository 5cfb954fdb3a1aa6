"""Errors about values: in which rows, what is allowed, what to do; the values themselves only where they are asked for."""

from __future__ import annotations

import json

import pytest

from tests.cli.custodian import account, asked, furnished, nothing_happened
from tests.cli.run import shoal

SECRET = "Sentinel7391"  # noqa: S105 - it stands in a cell


@pytest.fixture
def place(tmp_path):
    """A table in which one row has an age that is none."""
    furnished(tmp_path, rows=40)
    lines = (tmp_path / "table.csv").read_text().splitlines()
    at = lines[0].split(",").index("age")
    cells = lines[3].split(",")
    cells[at] = SECRET + "\x1b[31m"
    lines[3] = ",".join(cells)
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_release_names_rows_and_shows_values_on_request_alone(place, more):
    silent = shoal(*asked(place, *more))
    assert silent.exit_code == 5
    assert SECRET not in silent.output
    assert "got 'age' in 1 row (3), counted from 1 after the header; allowed: 'age' integer" in silent.stderr
    assert "--show-values shows these cells" in silent.stderr
    shown = shoal(*asked(place, *more, "--show-values"))
    assert shown.exit_code == 5
    assert SECRET not in shown.stdout
    assert f"'age', row 3: '{SECRET}\\x1b[31m'" in shown.stderr  # signs that a terminal obeys are spelled out
    assert nothing_happened(place)


def test_json_holds_values_on_request_alone(place):
    silent = json.loads(shoal(*asked(place, "--json")).stdout)["error"]
    assert "values" not in silent
    assert SECRET not in json.dumps(silent)
    shown = json.loads(shoal(*asked(place, "--json", "--show-values")).stdout)["error"]
    assert SECRET in shown["values"]["age"]["3"]


@pytest.mark.slow
def test_checking_and_registering(place):
    policy, table, ledger = place / "policy.yaml", place / "table.csv", place / "ledger.sqlite"
    lines = table.read_text().splitlines()
    register = ("dataset", "register", policy, table, "--ledger", ledger)
    assert SECRET not in shoal(*register).output
    assert SECRET in shoal(*register, "--show-values").stderr
    stray = shoal("ask", "clinic", "count", "--epsilon", "1", "--show-values", "--ledger", ledger)
    assert (stray.exit_code, "No such option '--show-values'" in stray.stderr) == (2, True)
    level = shoal("check", table, "--policy", policy, "--level", "age=1")
    assert (level.exit_code, SECRET in level.output) == (5, False)
    assert SECRET in shoal("check", table, "--policy", policy, "--level", "age=1", "--show-values").stderr
    table.write_text("\n".join(lines[:3] + lines[4:]) + "\n")
    assert shoal(*register, "--show-values").exit_code == 0
    assert account(place).costs == ()


def test_an_analyst_is_told_nothing_about_rows(place):
    policy, table, ledger = place / "policy.yaml", place / "table.csv", place / "ledger.sqlite"
    bad = table.read_text()
    lines = bad.splitlines()
    table.write_text("\n".join(lines[:3] + lines[4:]) + "\n")
    assert shoal("dataset", "register", policy, table, "--ledger", ledger).exit_code == 0
    table.write_text(bad)
    for form in ((), ("--json",)):
        told = shoal("ask", "clinic", "count", "--epsilon", "0.1", "--ledger", ledger, *form)
        assert told.exit_code == 5
        assert "cannot be opened as it was registered" in told.output + told.stderr
        for word in (SECRET, "row", "age", "values"):
            assert word not in (told.output + told.stderr).replace("its custodian", "")
