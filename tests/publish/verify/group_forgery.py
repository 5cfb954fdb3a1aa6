"""Forgeries of releases by groups, each made for the check that must catch it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.publish.grouped_clinic import publish

Change = Callable[[Path, dict[str, Any]], object]


@pytest.fixture(scope="session")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each kind, made when it is first asked for; nobody changes it."""
    place, made = tmp_path_factory.mktemp("groups"), dict[str, Path]()

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = publish(place / kind, kind).folder
        return made[kind]

    return folder


def lines_of(name: str, alter: Callable[[list[list[str]]], list[list[str]]]) -> Change:
    """The lines of a CSV file after the first, as cells that hold no commas or are the only quoted ones, altered."""

    def change(folder: Path, _: dict[str, Any]) -> None:
        file = folder / name
        head, *rest = file.read_text().splitlines()
        file.write_text("\n".join([head, *(",".join(row) for row in alter([_cells(row) for row in rest]))]) + "\n")

    return change


def _cells(row: str) -> list[str]:
    """The cells of a line as they are written."""
    before, quote, rest = row.partition('"')
    if not quote:
        return row.split(",")
    inside, _, after = rest.partition('"')
    return [*before.split(",")[:-1], f'"{inside}"', *after.split(",")[1:]]


def moved(rows: list[list[str]]) -> list[list[str]]:
    """The first record stands in another group."""
    other = next(row for row in rows if row[0] != rows[0][0])
    return sorted(([other[0], *rows[0][1:]], *rows[1:]), key=lambda row: (int(row[0]), int(row[1] or -1), row[2:]))


def of_one_value(rows: list[list[str]]) -> list[list[str]]:
    """All records of the first group have one value."""
    own = [row for row in rows if row[0] == rows[0][0]]
    many = sum(int(row[-1]) for row in own)
    return [[*rows[0][:-1], str(many)], *rows[len(own) :]]


def uncounted(rows: list[list[str]]) -> list[list[str]]:
    return [[*rows[0][:-1], "0"], *rows[1:]]


def one_small(folder: Path, _: dict[str, Any]) -> None:
    """Of the first group but one record is left, in both tables."""
    for name in ("records.csv", "confidential.csv"):
        file = folder / name
        head, *rest = file.read_text().splitlines()
        own = [row for row in rest if row.startswith("1,")][:1]
        if name == "confidential.csv":
            own = [f"{own[0].rpartition(',')[0]},1"]
        file.write_text("\n".join([head, *own, *(row for row in rest if not row.startswith("1,"))]) + "\n")


def rule(alter: Callable[[dict[str, Any]], object]) -> Change:
    """The rule of the buckets, altered, and written as rules are."""

    def change(folder: Path, content: dict[str, Any]) -> None:
        (file,) = (folder / "recoding").glob("*.json")
        held = json.loads(file.read_text())
        alter(held)
        content["buckets"] = {held["attribute"]: held["labels"]}
        file.write_text(json.dumps(held, indent=1, ensure_ascii=False, sort_keys=True) + "\n")

    return change


def overlapping(held: dict[str, Any]) -> None:
    """A value that no bucket holds."""
    del held["table"]["heart"]


GROUP_FORGERIES: dict[str, tuple[str, Change]] = {
    "buckets": ("linked", rule(overlapping)),
    "group-counts": ("linked", lines_of("confidential.csv", uncounted)),
    "linked-groups": ("linked", lines_of("records.csv", moved)),
    "group-size": ("linked", one_small),
    "value-share": ("anatomy", lines_of("confidential.csv", of_one_value)),
    "achieved-t": ("linked", lambda _, c: c.update(achieved_t="1")),
}
"""For each check of groups a kind of release and a forgery that it must catch."""
