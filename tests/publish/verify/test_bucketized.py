"""Releases by groups under a forger's hands: what is resealed is seen by both verifiers, by the check that is about it."""

from __future__ import annotations

import json
import random
import shutil
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.bucketized import _largest_ratio
from shoal.publish.verify.release import verify
from tests.publish.verify.forgery import certificate, write
from tests.publish.verify.group_forgery import Change, grouped, lines_of, rule
from tests.publish.verify.noisy_forgery import put

__all__ = ["grouped"]

pytestmark = pytest.mark.slow


def without_a_bucket(rows: list[list[str]]) -> list[list[str]]:
    """The first group lacks its first bucket; its records have the second."""
    first, second, *rest = rows
    return [[*second[:-1], str(int(first[-1]) + int(second[-1]))], *rest]


def of_no_group(rows: list[list[str]]) -> list[list[str]]:
    """The last record has the number of a group that the other table does not have."""
    return [*rows[:-1], ["9999", *rows[-1][1:]]]


def of_no_number(rows: list[list[str]]) -> list[list[str]]:
    return [*rows[:-1], ["x", *rows[-1][1:]]]


def with_edges(*edges: str) -> Change:
    """A rule of numbers with other edges, and labels that fit them."""

    def alter(held: dict[str, Any]) -> None:
        inner = [f"[{low}, {high})" for low, high in pairwise(edges)]
        held.update(edges=list(edges), labels=[f"< {edges[0]}", *inner, f">= {edges[-1]}"])

    return rule(alter)


def renamed(held: dict[str, Any]) -> None:
    """A bucket is called by values that it does not hold."""
    old = next(label for label in held["labels"] if label.startswith("{"))
    held["labels"] = ["{flu, cold}" if label == old else label for label in held["labels"]]
    held["table"] = {value: "{flu, cold}" if label == old else label for value, label in held["table"].items()}


def shifted_label(rows: list[list[str]]) -> list[list[str]]:
    return [[*rows[0][:-2], "nothing", rows[0][-1]], *rows[1:]]


def messaged(folder: Path, content: dict[str, Any]) -> None:
    """The number of a group stands under a name that tells something of a person."""
    for entry in content["tables"]:
        entry["group"] = "p17 has flu"
        file = folder / entry["file"]
        file.write_text(file.read_text().replace("group", "p17 has flu", 1))


FORGED: dict[str, tuple[str, str, Change]] = {
    "a message in the name of a column": ("linked", "table-files", messaged),
    "a bucket that a group lacks": ("linked", "closeness", lines_of("confidential.csv", without_a_bucket)),
    "a group that one table lacks": ("linked", "linked-groups", lines_of("records.csv", of_no_group)),
    "a t that is larger": ("linked", "guarantee", put("guarantee", "t", value="3")),
    "a gain that is smaller": ("linked", "claims", put("claims", 2, "guarantee", "factor", value="1.5")),
    "a condition left out": ("linked", "conditions", put("claims", 2, "conditions", value=[])),
    "a theorem left out": ("linked", "theorems", lambda _, c: c["theorems"].pop()),
    "a form that is not locked": ("linked", "grouping", put("grouping", "form", value="permuted")),
    "a table that is not listed": ("linked", "no-idle-files", lambda _, c: c["tables"].pop(0)),
    "what a column shows": ("linked", "table-files", put("tables", 1, "shows", "diag", value="as it is")),
    "edges that fall": ("permuted", "buckets", with_edges("5000", "3000")),
    "edges beyond the domain": ("permuted", "buckets", with_edges("3000", "123456")),
    "edges in another spelling": ("permuted", "buckets", with_edges("3000", "5000.0")),
    "a set called by other values": ("linked", "buckets", rule(renamed)),
    "a label that no rule has": ("linked", "labels", lines_of("confidential.csv", shifted_label)),
    "rows in another order": ("linked", "row-order", lines_of("records.csv", lambda rows: rows[::-1])),
    "a group number that is none": ("linked", "linked-groups", lines_of("records.csv", of_no_number)),
    "a share above one in l": ("anatomy", "lock-keys", lambda folder, _: _lock(folder, "l: 2", 't: "2"')),
}  # fmt: skip


def _lock(folder: Path, old: str, new: str) -> None:
    file = folder / "policy.lock.yaml"
    file.write_text(file.read_text().replace(old, new))


def forge(folder: Path, place: Path, change: Change) -> Path:
    shutil.copytree(folder, place)
    content = certificate(place)
    change(place, content)
    write(place, content)
    return place


@pytest.mark.parametrize("name", FORGED)
def test_a_resealed_change_is_seen_by_both(grouped, tmp_path, name):
    kind, check, change = FORGED[name]
    place = forge(grouped(kind), tmp_path / kind, change)
    assert check in {each.id for each in verifier.verify(place) if each.agrees is False}
    assert any(each.agrees is False and each.promise for each in verify(place))


def test_a_parquet_table_without_its_order_is_seen(grouped, tmp_path):
    def change(folder: Path, _: dict[str, Any]) -> None:
        rows = pq.read_table(folder / "records.parquet")
        pq.write_table(rows.take(list(range(rows.num_rows))[::-1]), folder / "records.parquet")

    place = forge(grouped("linked-parquet"), tmp_path / "forged", change)
    assert "row-order" in {each.id for each in verifier.verify(place) if each.agrees is False}
    assert "table-rewritten" in {each.id for each in verify(place) if each.agrees is False}


def test_the_two_counts_of_a_ratio_agree():
    """Two pieces of code that share nothing, on groups drawn at random, and a definition spelled out."""
    chance = random.Random(5)  # noqa: S311 - made-up groups
    for _ in range(60):
        kinds = chance.randrange(1, 5)
        groups = [
            verifier.Counter({(kind,): many for kind in range(kinds) if (many := chance.randrange(4))})
            for _ in range(chance.randrange(1, 5))
        ]
        groups = [held for held in groups if held]
        if not groups:
            continue
        whole = sum(groups, verifier.Counter())
        shares = [Fraction(held[cell] * whole.total(), held.total() * whole[cell]) for held in groups for cell in whole]
        wanted = None if 0 in shares else max(max(share, 1 / share) for share in shares)
        assert verifier.largest_ratio(groups) == _largest_ratio(groups) == wanted


def test_a_certificate_of_another_method_does_not_fit(grouped, tmp_path):
    place = forge(grouped("linked"), tmp_path / "forged", put("method", value="anatomy"))
    assert {"method"} <= {each.id for each in verifier.verify(place) if each.agrees is False}
    assert json.loads((place / "certificate.json").read_text())["method"] == "anatomy"
