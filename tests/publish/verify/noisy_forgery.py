"""Forgeries of noisy counts and of synthetic rows, each made for the check that must catch it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.publish import sample_clinic
from tests.publish.box_clinic import publish as publish_boxes
from tests.publish.level_clinic import METHODS as LEVELS
from tests.publish.level_clinic import publish as publish_levels
from tests.publish.noisy_clinic import publish
from tests.publish.verify.freeze import FROZEN

Change = Callable[[Path, dict[str, Any]], object]


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of each kind: the frozen one, or one that is made when it is first asked for; nobody changes it."""
    place, made = tmp_path_factory.mktemp("noisy"), dict[str, Path]()

    def folder(kind: str) -> Path:
        if kind == "boxes" and kind not in made:
            made[kind] = publish_boxes(place / kind, rows=150).folder
        if kind not in made:
            own = sample_clinic.publish if kind == "sample" else publish_levels if kind in LEVELS else publish
            made[kind] = FROZEN / kind if (FROZEN / kind).exists() else own(place / kind, kind).folder
        return made[kind]

    return folder


def put(*path: Any, value: Any) -> Change:
    """One place of the certificate."""

    def change(_: Path, content: dict[str, Any]) -> None:
        place: Any = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def lines_of(name: str, alter: Callable[[list[str]], list[str]]) -> Change:
    """The lines of a CSV file after the first, altered; `name` is a file, or the number of a table of counts."""

    def change(folder: Path, content: dict[str, Any]) -> None:
        file = folder / (content["counts"][int(name)]["file"] if name.isdigit() else name)
        head, *rest = file.read_text().splitlines()
        file.write_text("\n".join([head, *alter(rest)]) + "\n")

    return change


def json_of(place: Callable[[dict[str, Any]], str], alter: Callable[[Any], object]) -> Change:
    """A JSON file, altered."""

    def change(folder: Path, content: dict[str, Any]) -> None:
        file = folder / place(content)
        held = json.loads(file.read_text())
        alter(held)
        ours = "recoding" in place(content)
        file.write_text(json.dumps(held, indent=1, ensure_ascii=False, sort_keys=ours) + "\n")

    return change


def shifted(rows: list[str]) -> list[str]:
    """The first count is one more than the middle of its interval."""
    *labels, count, low, high = rows[0].split(",")
    return [",".join([*labels, str(int(count) + 1), low, high]), *rows[1:]]


def emptied(rows: list[str]) -> list[str]:
    """All counts but the first are none, and the intervals with them."""
    found = []
    for place, row in enumerate(rows):
        *labels, _, low, high = row.split(",")
        half = (int(high) - int(low)) // 2
        value = 5000 if place == 0 else 0
        found.append(",".join([*labels, str(value), str(value - half), str(value + half)]))
    return found


def rule_of_age(content: dict[str, Any]) -> str:
    """The rule by which wider tables divide the ages."""
    wide = next(table for table in content["counts"] if len(table["columns"]) > 1 and "age" in table["columns"])
    return wide["recoding"]["age"]


def overlapping(rule: dict[str, Any]) -> None:
    rule["members"][1][0][0] -= 1


def other_scores(index: dict[str, Any]) -> None:
    """The scores speak for a table that was not published."""
    for each in index["scores"]:
        each["score"] = 0 if each["chosen"] else 10**6


def forbidden(rows: list[str]) -> list[str]:
    return ["33,m,rare", *rows[1:]]


def fewer(folder: Path, content: dict[str, Any]) -> None:
    """Two synthetic rows less, in the file and in the certificate alike."""
    lines_of("synthetic.csv", lambda rows: rows[2:])(folder, content)
    content["synthetic"]["rows"] -= 2


NOISY_FORGERIES: dict[str, tuple[str, Change]] = {
    "noise": ("counts", put("noise", "tables", 0, 0, value=2)),
    "noise-parts": ("counts", put("parts", 0, "guarantee", "choices", 0, 1, value="1000")),
    "composed": ("counts", put("epsilon_composed", value="0.1")),
    "count-tables": ("counts", put("counts", 4, "columns", value=["age", "sex"])),
    "count-files": ("counts", put("counts", 0, "name", value="1-x")),
    "count-noise": ("counts", lambda _, c: c["counts"][0].update(half_width=c["counts"][0]["half_width"] + 1)),
    "count-cells": ("counts", lines_of("3", lambda rows: rows[:-1])),
    "count-numbers": ("counts", lines_of("3", shifted)),
    "count-labels": ("counts", json_of(rule_of_age, overlapping)),
    "count-index": ("counts", json_of(lambda _: "counts.json", lambda index: index["tables"][0].update(half_width=1))),
    "count-choice": ("counts-chosen", json_of(lambda _: "counts.json", other_scores)),
    "count-bins": ("counts", lines_of("0", emptied)),
    "synthetic-file": ("synthetic", lambda _, c: c["synthetic"].update(rows=c["synthetic"]["rows"] + 1)),
    "synthetic-number": ("synthetic", fewer),
    "synthetic-values": ("synthetic", lines_of("synthetic.csv", forbidden)),
}
"""For each check of noisy counts a kind of release and a forgery that it must catch."""
NOISY_LEFT_OPEN = {"count-bins", "count-choice"}
"""What the one-file verifier does not make again."""
