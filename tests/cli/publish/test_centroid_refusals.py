"""Noisy centroids that cannot be are refused from the shell and from Python, with what to do, and nothing is charged."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal as package
from shoal.errors import ShoalError
from shoal.ledger.ledger import Ledger
from tests.cli.custodian import BEFORE
from tests.cli.run import refused
from tests.publish.centroid_clinic import POLICY, write_table

REFUSED: dict[str, tuple[str, str, str, str]] = {
    "no bounds": ("domain: [0, 1000], missing", "missing", "attributes.pay", "declare"),
    "no list of values": ("domain: [f, m], ", "", "attributes.sex", "declare"),
    "a domain read from the data": (
        "domain: [0, 1000], missing: refuse",
        "domain: [0, 1000], missing: refuse, provenance: profiled",
        "drafted from the data",
        "confirm",
    ),
    "n below 2k": ("rows: 120", "rows: 3", "release.rows", "two clusters of two"),
    "k above n/2": ("rows: 120", "rows: 120\n  k: 61", "release.k", "at most 60"),
    "epsilon of nothing": ("epsilon: 8", "epsilon: 0", "release.epsilon", "above 0"),
    "epsilon below nothing": ("epsilon: 8", "epsilon: -1", "release.epsilon", "above 0"),
    "no epsilon": ("  epsilon: 8\n", "", "'epsilon' is missing", "needs it"),
    "no number of rows": ("  rows: 120\n", "", "'rows' is missing", "add it"),
    "another number of rows": ("rows: 120", "rows: 121", "another number of rows", "release.rows"),
    "Gaussian noise without a delta": ("rows: 120", "rows: 120\n  noise: gaussian", "release.noise", "delta above 0"),
    "values that may be missing": ("[0, 1000], missing: refuse", "[0, 1000]", "attributes.pay.missing", "set missing"),
    "several rows of a person": ("unit: row", "unit: {column: person, max_rows: 2}", "unit.max_rows", "one row each"),
    "rows that are added": ("neighbours: replace_one", "neighbours: add_remove", "neighbours", "replace_one"),
    "an order of too many corners": ("rows: 120", "rows: 120\n  corners: 65", "release.corners", "from 1 to 64"),
}
"""A part of the policy, what stands in its place, what is said to be wrong, and what helps."""


def furnished(folder: Path, old: str, new: str) -> Path:
    """A policy that is wrong in one place, a table and an empty ledger."""
    assert POLICY.count(old) == 1
    Ledger(str(folder / "ledger.sqlite")).close()
    (folder / "policy.yaml").write_text(POLICY.replace(old, new))
    write_table(folder / "table.csv")
    return folder


def nothing_happened(folder: Path) -> bool:
    with Ledger(str(folder / "ledger.sqlite")) as book:
        charged = book.account("earnings").costs
    return {path.name for path in folder.iterdir()} <= BEFORE and charged == ()


def words(error: dict[str, object]) -> str:
    return "; ".join(str(error[part]) for part in ("wrong", "came", "allowed", "fix") if error[part])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_from_the_shell_and_from_python(tmp_path, name):
    old, new, wrong, fix = REFUSED[name]
    place = furnished(tmp_path, old, new)
    command = ("release", place / "policy.yaml", place / "table.csv", "--out", place / "out")
    code = 5 if name == "another number of rows" else 2
    said = words(refused(*command, "--ledger", place / "ledger.sqlite", code=code))
    assert wrong in said
    assert fix in said
    with pytest.raises(ShoalError) as caught:
        package.release(place / "policy.yaml", place / "table.csv", place / "out", ledger=place / "ledger.sqlite")
    assert wrong in str(caught.value)
    assert fix in str(caught.value)
    assert nothing_happened(place)


@pytest.mark.parametrize(("old", "new"), [("Leeds", "Paris"), ("Leeds", ""), (",f,", ",x,")])
def test_a_value_outside_the_taxonomy_or_missing_is_refused_without_being_shown(tmp_path, old, new):
    place = furnished(tmp_path, "rows: 120", "rows: 120")
    table = (place / "table.csv").read_text()
    (place / "table.csv").write_text(table.replace(old, new, 1))
    command = ("release", place / "policy.yaml", place / "table.csv", "--out", place / "out")
    error = refused(*command, "--ledger", place / "ledger.sqlite", code=5)
    assert error["fix"]
    assert "Paris" not in words(error)
    assert nothing_happened(place)
