"""Commands that start together: budgets hold, nothing is paid twice, what is there is whole, and nothing is left."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.journeys import Place
from tests.faults.races import RACES

SHORT = ("releases for one target", "the same question", "shares", "new ledgers", "recoveries late")
"""What `make test` tries, once each."""


def run(prepared: Callable[[str], Place], folder: Path, name: str, times: int) -> None:
    journey, race = RACES[name]
    for _ in range(times):
        place = prepared(journey).copy(folder)
        race(place)
        shutil.rmtree(place.folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_whoever_comes_first(prepared: Callable[[str], Place], tmp_path: Path, name: str) -> None:
    run(prepared, tmp_path / "race", name, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", list(RACES))
def test_whoever_comes_first_each_time(
    prepared: Callable[[str], Place], tmp_path: Path, effort: int, name: str
) -> None:
    run(prepared, tmp_path / "race", name, effort)
