"""Forgeries of k-anonymity by levels, each made for the check that must catch it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Change = Callable[[Path, dict[str, Any]], object]


def confidential(value: Callable[[str], str]) -> Change:
    """The last column of the table, made anew from what stands before it; rows sorted again."""

    def change(folder: Path, _: dict[str, Any]) -> None:
        head, *rows = (folder / "table.csv").read_text().splitlines()
        kept = [row.rpartition(",")[0] for row in rows]
        (folder / "table.csv").write_text("\n".join([head, *sorted(f"{one},{value(one)}" for one in kept)]) + "\n")

    return change


def one_class_apart(folder: Path, content: dict[str, Any]) -> None:
    """The first class shows one confidential value throughout, and all others another."""
    first = (folder / "table.csv").read_text().splitlines()[1].rpartition(",")[0]
    confidential(lambda one: "rare" if one == first else "flu")(folder, content)


def more_people(folder: Path, content: dict[str, Any]) -> None:
    """The plan, the promise and the claim ask for more people than the population has."""
    lock = (folder / "policy.lock.yaml").read_text()
    assert "k_map:\n      k: 20\n" in lock
    (folder / "policy.lock.yaml").write_text(lock.replace("k_map:\n      k: 20\n", "k_map:\n      k: 2000\n"))
    content["guarantee"]["k_map"]["k"] = content["claims"][-1]["guarantee"]["k"] = 2000


LEVEL_FORGERIES: dict[str, tuple[str, Change]] = {
    "search": ("searched", lambda _, content: content["search"].update(suppression="0.9")),
    "entropy-diversity": ("every", confidential(lambda _: "flu")),
    "recursive-diversity": ("every", confidential(lambda _: "flu")),
    "largest-share": ("every", confidential(lambda _: "flu")),
    "likeness": ("every", one_class_apart),
    "disclosure": ("delta", one_class_apart),
    "k-map": ("every", more_people),
}
"""For each check that only such releases have, a kind of release and a forgery that it must catch."""
