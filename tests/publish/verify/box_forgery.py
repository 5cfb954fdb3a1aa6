"""Forgeries of rows inside boxes, each made for the check that must catch it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.publish.verify.noisy_forgery import Change, lines_of, put


def fewer_numbers(_: Path, content: dict[str, Any]) -> None:
    """A box has one number less than it is said to have."""
    content["boxes"]["means"]["numbers"] -= 1


def less_noise(_: Path, content: dict[str, Any]) -> None:
    """The tree is said to have had a tenth of the noise."""
    content["boxes"]["tree"]["scale"] = "0.5"


def spent_twice(_: Path, content: dict[str, Any]) -> None:
    """The means are said to cost all of epsilon, and the tree costs something too."""
    content["boxes"]["means"]["epsilon"] = content["boxes"]["row_epsilon"]


def coarser(_: Path, content: dict[str, Any]) -> None:
    """An attribute is said to have had half as many values."""
    content["attributes"][0]["points"] //= 2


def beyond(rows: list[str]) -> list[str]:
    """The last row lies beyond its domain."""
    return [*rows[:-1], ",".join(["1001", *rows[-1].split(",")[1:]])]


BOX_FORGERIES: dict[str, tuple[str, Change]] = {
    "box-numbers": ("boxes", fewer_numbers),
    "box-tree": ("boxes", less_noise),
    "box-shares": ("boxes", spent_twice),
    "box-error": ("boxes", put("boxes", "means", "half_width", value="0.01")),
    "box-grid": ("boxes", coarser),
}
"""For each check that only rows inside boxes have, a change of their folder that it must find."""
OTHER_BOX_FORGERIES: dict[str, tuple[str, Change]] = {
    "labels (pay)": ("boxes", lines_of("table.csv", beyond)),
    "row-count (table.csv)": ("boxes", lines_of("table.csv", lambda rows: rows[1:])),
    "row-order (table.csv)": ("boxes", lines_of("table.csv", lambda rows: rows[::-1])),
    "noise-parts": ("boxes", put("parts", 0, "times", value=2)),
    "composed": ("boxes", put("epsilon_composed", value="1")),
    "theorems": ("boxes", lambda _, content: content["theorems"].pop()),
    "guarantee": ("boxes", put("guarantee", "epsilon", value="7")),
    "display": ("boxes", put("tables", 0, "shows", "pay", value="as it is")),
}
"""Changes that checks of every release must find in this one too."""
